/** `/activate`: a person approves or denies a device. Source: RFC 8628 sections 3.3 and 5.4 (remote phishing). */
import type { PendingDevice } from "../../identity/device-login.ts"
import { html } from "./html.ts"
import type { Page } from "./layout.ts"

export const userCodePage = (alert?: string): Page => ({
  title: "Connect a device",
  alert,
  body: html`<form method="get" action="/activate">
<label for="user-code">Code shown on the device</label>
<input class="code" id="user-code" name="code" type="text" autocomplete="off" autocapitalize="characters" spellcheck="false" placeholder="XXXX-XXXX" required maxlength="16" autofocus>
<button>Continue</button>
</form>`,
})

export const decisionPage = ({ userCode, clientName, scope }: PendingDevice, email: string): Page => ({
  title: "Connect this device?",
  body: html`<dl>
<dt>Device</dt><dd><strong>${clientName}</strong></dd>
<dt>Code</dt><dd><strong class="code">${userCode}</strong></dd>
${scope === undefined ? undefined : html`<dt>Scope</dt><dd>${scope}</dd>`}
<dt>Acts as</dt><dd>${email}</dd>
</dl>
<p>Approve only if you started this yourself just now and your device shows the code above. Never approve because somebody asks you to.</p>
<form method="post" action="/activate">
<input type="hidden" name="userCode" value="${userCode}">
<button name="decision" value="approve">Approve</button>
<button class="quiet" name="decision" value="deny">Deny</button>
</form>`,
})

export const decidedPage = (approved: boolean): Page => ({
  title: approved ? "The device is connected" : "The device was refused",
  body: html`<p>You can close this page and go back to your device.</p>`,
})
