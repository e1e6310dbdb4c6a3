/** `/auth/sso/link`: at the first login through a provider, the person confirms the address with a mailed code. */
import { html } from "./html.ts"
import { hidden, type Page } from "./layout.ts"
import { codeField } from "./login.ts"

export const linkPage = (linkToken: string, alert?: string): Page => ({
  title: "Confirm that it is you",
  alert,
  body: html`<p>This is your first login through your organisation. We have sent a code to your address there.</p>
<form method="post" action="/auth/sso/link">
${hidden("linkToken", linkToken)}
<label for="code">Code</label>
${codeField}
<button>Confirm</button>
</form>`,
})
