/** The error page, which a browser gets instead of the error envelope. */
import { html } from "./html.ts"
import type { Page } from "./layout.ts"

export const failurePage = (message: string, code: string, requestId: string): Page => ({
  title: "This did not work",
  alert: `${message}.`,
  body: html`<p><a href="/login">Start again</a></p>
<p class="hint">For support, quote <code>${code}</code> and <code>${requestId}</code>.</p>`,
})
