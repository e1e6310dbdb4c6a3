/** `/tools/connect/…`: a person connects an account at a server of tools. */
import { html } from "./html.ts"
import type { Page } from "./layout.ts"

export const connectPage = (server: string, name: string, email: string): Page => ({
  title: `Connect ${name}`,
  body: html`<dl>
<dt>Server of tools</dt><dd><strong>${name}</strong></dd>
<dt>Acts as</dt><dd>${email}</dd>
</dl>
<p>You will continue at its login, and give consent there. Tools of ${name} then act with your account when you call them.</p>
<form method="post" action="/tools/connect/${server}">
<button>Connect</button>
</form>`,
})

export const loginFirstPage = (name: string): Page => ({
  title: `Connect ${name}`,
  body: html`<p>Log in first, then open this address again.</p>
<p><a class="button" href="/login">Log in</a></p>`,
})

export const connectedPage = (name: string): Page => ({
  title: `${name} is connected`,
  body: html`<p>You can close this page and go back to your client.</p>`,
})
