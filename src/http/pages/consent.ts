/** `/oauth/consent`: a person decides whether a client may use tools. Source: OAuth 2.1 sections 7.4 and 9.5. */
import { html } from "./html.ts"
import { hidden, type Page } from "./layout.ts"

export interface Consent {
  /** The id of the request. */
  readonly request: string
  readonly clientName: string
  /** The host that published the client's document; undefined if the client chose its name itself. */
  readonly publisher: string | undefined
  readonly redirectHost: string
  /** Whether the client is a program on the person's computer. */
  readonly isLocal: boolean
  /** The only server of tools; undefined for all. */
  readonly server: string | undefined
  readonly email: string
  readonly orgs: ReadonlyArray<{ readonly id: string; readonly name: string }>
}

export const consentPage = (
  { request, clientName, publisher, redirectHost, isLocal, server, email, orgs }: Consent,
  alert?: string,
): Page => ({
  title: "Connect this application?",
  alert,
  body: html`<dl>
<dt>Application</dt><dd><strong>${clientName}</strong></dd>
<dt>Published by</dt><dd>${publisher === undefined ? "not verified: anybody can use this name" : html`<strong>${publisher}</strong>`}</dd>
<dt>Continues at</dt><dd><strong>${redirectHost}</strong></dd>
<dt>Acts as</dt><dd>${email}</dd>
${orgs.length === 1 ? html`<dt>Organisation</dt><dd>${orgs[0]?.name}</dd>` : undefined}
</dl>
<p>It may use ${server === undefined ? "all tools, prompts and resources" : html`the tools, prompts and resources of the server <strong>${server}</strong>`} that you may use in the organisation, with your limits. Its calls are recorded as yours and paid by the organisation. You can disconnect it at any time.</p>
${isLocal ? html`<p><strong>It runs on this computer.</strong> Any program here can pretend to be it: approve only if you started it yourself just now.</p>` : html`<p>Approve only if you started this yourself just now, and know ${redirectHost}.</p>`}
<form method="post" action="/oauth/consent">
${hidden("request", request)}
${orgs.length === 1 ? hidden("org", orgs[0]?.id) : choice(orgs)}
<button name="decision" value="approve">Approve</button>
<button class="quiet" name="decision" value="deny">Deny</button>
</form>`,
})

const choice = (orgs: Consent["orgs"]) => html`<label for="org">Organisation</label>
<select id="org" name="org">
${orgs.map(({ id, name }) => html`<option value="${id}">${name} (${id})</option>`)}
</select>`

export const noOrgPage = (email: string): Page => ({
  title: "You are in no organisation",
  alert: `${email} is a member of no organisation that may use tools.`,
  body: html`<form method="post" action="/logout"><button class="quiet">Log out</button></form>`,
})

/** A request that cannot be sent back to its client: nothing says that the client is what it claims to be. */
export const refusedClientPage = (why: string): Page => ({
  title: "The application cannot be connected",
  alert: why,
  body: html`<p>Go back to the application and start again. If this happens again, its request is not valid.</p>`,
})

export const connectedPage = (url: string, approved: boolean): Page => ({
  title: approved ? "The application is connected" : "The application was refused",
  onward: url,
  body: html`<p>You will continue at the application. You can then close this page.</p>
<p><a class="button" href="${url}">Continue</a></p>`,
})

/** A request that is not valid, of a client at a site: the person decides whether to go back there. */
export const invalidRequestPage = (url: string, host: string, why: string): Page => ({
  title: "The application's request is not valid",
  alert: `${why}.`,
  body: html`<p>You can go back to <strong>${host}</strong>, which learns why.</p>
<p><a class="button" href="${url}">Go back</a></p>`,
})
