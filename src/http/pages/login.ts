/** `/login`: by mailed code, or at the organisation's identity provider. */
import { html } from "./html.ts"
import { hidden, type Page } from "./layout.ts"

/** The purpose of a login, if it has one. */
export interface Bound {
  /** The device that the person wants to approve: its code, or empty if not entered yet. */
  readonly device?: string | undefined
  /** The request of a client that the person wants to decide on. */
  readonly request?: string | undefined
}

const purpose = ({ device, request }: Bound) => html`${hidden("device", device)}${hidden("request", request)}`

const queryOf = ({ device, request }: Bound): string => {
  const query = new URLSearchParams({
    ...(device !== undefined && { device }),
    ...(request !== undefined && { request }),
  })
  return query.size === 0 ? "" : `?${query}`
}

/** @param hasSso whether any organisation has an identity provider */
export const loginPage = (bound: Bound, hasSso: boolean, alert?: string): Page => ({
  title: "Log in",
  alert,
  body: html`<form method="post" action="/login">
${purpose(bound)}
<label for="email">E-mail address</label>
<p class="hint" id="email-hint">We will mail you a code. The first login creates your account.</p>
<input id="email" name="email" type="email" autocomplete="email" required maxlength="254" aria-describedby="email-hint" autofocus>
<button>Send me a code</button>
</form>
${hasSso ? ssoForm(bound) : undefined}`,
})

const ssoForm = (bound: Bound) => html`<form method="post" action="/login/sso">
${purpose(bound)}
<label for="org">Or log in through your organisation</label>
<p class="hint" id="org-hint">The organisation's id, for example org_example</p>
<input id="org" name="org" type="text" autocomplete="organization" autocapitalize="none" spellcheck="false" required maxlength="64" aria-describedby="org-hint">
<button class="quiet">Continue to its login</button>
</form>`

export const codePage = (bound: Bound, email: string, alert?: string): Page => ({
  title: "Enter the code",
  alert,
  body: html`<p>If <strong>${email}</strong> can receive mail, we have sent it a six-digit code.</p>
<form method="post" action="/login/code">
${purpose(bound)}${hidden("email", email)}
<label for="code">Code</label>
${codeField}
<button>Log in</button>
</form>
<p class="hint"><a href="/login${queryOf(bound)}">Use another address or request another code</a></p>`,
})

export const codeField = html`<input class="code" id="code" name="code" type="text" inputmode="numeric" autocomplete="one-time-code" pattern="\\s*[0-9]{6}\\s*" title="six digits" required maxlength="16" autofocus>`

export const loggedInPage = (email: string): Page => ({
  title: "You are logged in",
  body: html`<p>You are logged in as <strong>${email}</strong>.</p>
<p><a class="button" href="/console/">Open the console</a></p>
<form method="post" action="/logout"><button class="quiet">Log out</button></form>`,
})

/**
 * An intermediate page before another site: the reply to a form cannot redirect there, and the person sees the target.
 */
export const onwardPage = (url: string): Page => ({
  title: "One moment",
  onward: url,
  body: html`<p>You will continue at <strong>${URL.parse(url)?.host ?? "your organisation's login"}</strong>.</p>
<p><a class="button" href="${url}">Continue</a></p>`,
})
