/** `/auth/sso/link`: at the first login through a provider, the person confirms the address with a mailed code. */
import { html } from "./html.ts"
import { hidden, type Page } from "./layout.ts"
import { codeField } from "./login.ts"

export const linkPage = (linkToken: string, alert?: string): Page => ({
  title: "Confirm that it is you",
  alert,
  body: html`<p>You have logged in at your organisation for the first time. We have sent a code to the address that it has of you.</p>
<form method="post" action="/auth/sso/link">
${hidden("linkToken", linkToken)}
<label for="code">Code</label>
${codeField}
<button>Confirm</button>
</form>`,
})
