/**
 * Login at an organisation's identity provider. A new subject is linked to a member after the member confirms with a
 * mailed code; every step is valid once.
 */

import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { type ServiceError, serviceError } from "../protocol/error.ts"
import { mintSecret, sha256 } from "../secrets.ts"
import { queryDeadline } from "../store/database.ts"
import { afterNow } from "../store/store-time.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"
import { People } from "../tenants/people.ts"
import { type SsoEntry, Tenants } from "../tenants/tenants.ts"
import { type Account, Accounts } from "./accounts.ts"
import { type FederatedIdentity, IdentityProviders, type ProviderError } from "./identity-providers.ts"
import { Invitations } from "./invitations.ts"
import { Logins, type LoginTokens } from "./logins.ts"
import { MailedCodes } from "./mailed-codes.ts"
import { codeTtlMs, OneTimeCodes } from "./one-time-codes.ts"
import { mayAssert } from "./sso-claims.ts"
import { type FlowSecrets, flowSecrets, newBrowserSecret } from "./sso-flow.ts"
import { makeSsoPeople } from "./sso-people.ts"

/** The page where a finished login continues. */
export interface Onward {
  /** An address that the catalogue allows; Weir's own pages if absent. */
  readonly returnTo: string | undefined
  /** An opaque value that is returned to that address. */
  readonly clientState: string | undefined
  /** The device that the person wants to approve, for Weir's own pages. */
  readonly userCode: string | undefined
  /** The request of a client that the person wants to decide on, for Weir's own pages. */
  readonly oauthRequest: string | undefined
}

/** A one-time login code, and its destination. */
export interface LoginCode {
  readonly code: string
  readonly onward: Onward
}

/** The outcome of a callback: a known person, or one who must confirm first. */
export type Answered =
  | { readonly _tag: "Known"; readonly login: LoginCode }
  | { readonly _tag: "Unconfirmed"; readonly linkToken: string }

type Failures = ServiceError<"bad_request" | "not_found" | "forbidden"> | StoreUnavailable
type AnswerError = Failures | ProviderError | ServiceError<"otp_rate_limited" | "auth_channel_undelivered">
type ConfirmError = Failures | ServiceError<"otp_invalid" | "otp_rate_limited">

export class SsoLogin extends Context.Service<
  SsoLogin,
  {
    /** The URL to redirect to, and the secret that the browser stores until then. */
    readonly start: (
      orgId: string,
      redirectUri: string,
      onward: Onward,
    ) => Effect.Effect<{ readonly url: URL; readonly browserSecret: string }, Failures | ProviderError>
    /**
     * Handles a callback.
     * @param answer the callback's whole URL
     * @param browserSecret the secret that the browser stored
     */
    readonly answer: (answer: URL, browserSecret: string | undefined) => Effect.Effect<Answered, AnswerError>
    readonly confirm: (linkToken: string, code: string) => Effect.Effect<LoginCode, ConfirmError>
    /** Exchanges a login code for tokens, which act only in the organisation of the identity provider. */
    readonly exchange: (
      code: string,
    ) => Effect.Effect<LoginTokens, ServiceError<"unauthorized" | "forbidden"> | StoreUnavailable>
  }
>()("weir/identity/SsoLogin") {
  static readonly layer = Layer.effect(
    SsoLogin,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const tenants = yield* Tenants
      const people = yield* People
      const accounts = yield* Accounts
      const providers = yield* IdentityProviders
      const logins = yield* Logins
      const invitations = yield* Invitations
      const mailed = yield* MailedCodes
      const codes = yield* OneTimeCodes
      const bounded = yield* queryDeadline
      const ssoPeople = yield* makeSsoPeople

      const providerOf = (orgId: string) =>
        Effect.flatMap(tenants.sso(orgId), (entry) => (entry === undefined ? noProvider : Effect.succeed(entry)))

      /** Ends the flow to which a callback belongs and returns it. */
      const endFlow = Effect.fnUntraced(function* (state: string | null, secrets: FlowSecrets | undefined) {
        if (secrets === undefined || state !== secrets.state) return yield* noSuchFlow
        const [flow] = yield* bounded(sql<OnwardRow>`
          delete from sso_flows where state_sha256 = ${sha256(secrets.state)} and expires_at > now()
          returning org_id, return_to, client_state, user_code, oauth_request`)
        return flow ?? (yield* noSuchFlow)
      })

      const boundTo = (orgId: string, { issuer, subject }: FederatedIdentity) =>
        Effect.map(
          bounded(sql<Account>`
            select u.id, u.email, u.status from federated_identities f join users u on u.id = f.user_id
            where f.org_id = ${orgId} and f.issuer = ${issuer} and f.subject = ${subject}`),
          ([account]) => account,
        )

      const newLoginCode = Effect.fnUntraced(function* ({ id }: Account, orgId: string) {
        const code = mintSecret("lgc")
        yield* bounded(sql`
          insert into login_codes (code_sha256, user_id, org_id, expires_at)
          values (${sha256(code)}, ${id}, ${orgId}, ${afterNow(sql, loginCodeTtlMs)})`)
        return code
      })

      /** A new subject is linked at once if the provider is trusted for the address, and otherwise after a mailed code. */
      const answerNew = Effect.fnUntraced(function* (
        entry: SsoEntry,
        identity: FederatedIdentity,
        flow: OnwardRow,
      ): Effect.fn.Return<Answered, AnswerError> {
        const { orgId, provider } = entry
        const { email, groups, isDenied } = identity
        if (email === undefined) {
          return yield* serviceError("idp_untrusted", "The identity provider returned no e-mail address")
        }
        if (!mayAssert(provider, email)) {
          return yield* serviceError("idp_untrusted", "The identity provider is not allowed to assert this address")
        }
        // The provider's assertion is no consent: a person who is invited confirms.
        const isInvited = yield* invitations.isOpen(email, orgId)
        const isProven = !isDenied && !isInvited && (yield* ssoPeople.isProven(entry, email))
        if (!isInvited && !(yield* people.isMember({ id: "", email }, orgId))) {
          if (!isProven || provider.createPeople !== true) return yield* unusable
          yield* Effect.mapError(ssoPeople.create(entry, email, groups), cannotJoin)
        }
        const link = yield* newLink(orgId, identity, email, flow)
        if (!isProven) {
          if (!(yield* mailed.send("sso-link", email, sha256(link).toString("hex")))) {
            return yield* serviceError("otp_rate_limited", "This address has reached its hourly limit of codes")
          }
          return { _tag: "Unconfirmed", linkToken: link }
        }
        yield* ssoPeople.followGroups(entry, email, groups)
        return { _tag: "Known", login: yield* bind(link, { ...flow, email }, yield* accounts.forVerifiedEmail(email)) }
      })

      const newLink = Effect.fnUntraced(function* (
        orgId: string,
        { issuer, subject }: FederatedIdentity,
        email: string,
        flow: OnwardRow,
      ) {
        const linkToken = mintSecret("lk")
        yield* bounded(sql`
          insert into sso_links
            (link_sha256, org_id, issuer, subject, email, return_to, client_state, user_code, oauth_request, expires_at)
          values (${sha256(linkToken)}, ${orgId}, ${issuer}, ${subject}, ${email}, ${flow.return_to},
            ${flow.client_state}, ${flow.user_code}, ${flow.oauth_request}, ${afterNow(sql, codeTtlMs)})`)
        return linkToken
      })

      /** Links the subject to the person whose address is proven, and ends the link. */
      const bind = Effect.fnUntraced(function* (linkToken: string, link: LinkRow, account: Account) {
        const isMember = yield* people.isMember(account, link.org_id)
        if (account.status === "disabled" || !isMember) return yield* unusable
        const code = mintSecret("lgc")
        const [row] = yield* bounded(sql<{ bound: boolean }>`
          select sso_bind(${sha256(linkToken)}, ${account.id}, ${sha256(code)},
            ${afterNow(sql, loginCodeTtlMs)}) as bound`)
        return row?.bound === true ? { code, onward: onwardOf(link) } : yield* noSuchLink
      })

      /** Logs for operators why a login failed; nothing that the provider says is logged. */
      const logRefusal = <A, E extends AnswerError>(orgId: string, login: Effect.Effect<A, E>) =>
        Effect.tapError(login, (error) =>
          error._tag === "ServiceError"
            ? Effect.logWarning("A login at an identity provider was refused", {
                org: orgId,
                code: error.code,
                reason: error.message,
              })
            : Effect.void,
        )

      const complete = Effect.fnUntraced(function* (
        flow: OnwardRow,
        secrets: FlowSecrets,
        answer: URL,
      ): Effect.fn.Return<Answered, AnswerError> {
        if (answer.searchParams.has("error")) {
          return yield* serviceError("forbidden", "The identity provider rejected the login")
        }
        const entry = yield* providerOf(flow.org_id)
        const identity = yield* providers.identify(entry, secrets, answer)
        const account = yield* boundTo(entry.orgId, identity)
        // A person who was linked before and is invited again confirms again.
        if (account === undefined || (yield* invitations.isOpen(account.email, entry.orgId))) {
          return yield* answerNew(entry, identity, flow)
        }
        const isMember = yield* people.isMember(account, entry.orgId)
        if (account.status === "disabled" || !isMember) return yield* unusable
        yield* ssoPeople.followGroups(entry, account.email, identity.groups)
        const code = yield* newLoginCode(account, entry.orgId)
        return { _tag: "Known", login: { code, onward: onwardOf(flow) } }
      })

      return SsoLogin.of({
        start: Effect.fnUntraced(function* (orgId, redirectUri, onward) {
          const entry = yield* providerOf(orgId)
          if (onward.returnTo !== undefined && !entry.provider.returnTo?.includes(onward.returnTo)) {
            return yield* serviceError("bad_request", "returnTo is not an allowed address of the organisation")
          }
          const browserSecret = newBrowserSecret()
          const secrets = flowSecrets(browserSecret)
          const url = yield* providers.authorizationUrl(entry, secrets, redirectUri)
          yield* bounded(sql`
            insert into sso_flows (state_sha256, org_id, return_to, client_state, user_code, oauth_request, expires_at)
            values (${sha256(secrets.state)}, ${orgId}, ${onward.returnTo ?? null}, ${onward.clientState ?? null},
              ${onward.userCode ?? null}, ${onward.oauthRequest ?? null}, ${afterNow(sql, flowTtlMs)})`)
          return { url, browserSecret }
        }),
        answer: Effect.fnUntraced(function* (answer, browserSecret) {
          const secrets = browserSecret === undefined ? undefined : flowSecrets(browserSecret)
          const flow = yield* endFlow(answer.searchParams.get("state"), secrets)
          if (secrets === undefined) return yield* noSuchFlow
          return yield* logRefusal(flow.org_id, complete(flow, secrets, answer))
        }),
        confirm: Effect.fnUntraced(function* (linkToken, code) {
          const hash = sha256(linkToken)
          const [link] = yield* bounded(sql<LinkRow>`
            select org_id, email, return_to, client_state, user_code, oauth_request from sso_links
            where link_sha256 = ${hash} and expires_at > now()`)
          if (link === undefined) return yield* noSuchLink
          yield* codes.spend("sso-link", link.email, code.trim(), hash.toString("hex"))
          const account = yield* accounts.forVerifiedEmail(link.email)
          if (account.status === "active") yield* invitations.acceptFrom(link.org_id, account)
          return yield* bind(linkToken, link, account)
        }),
        exchange: Effect.fnUntraced(function* (code) {
          const [row] = yield* bounded(sql<{ user_id: string; org_id: string }>`
            delete from login_codes where code_sha256 = ${sha256(code)} and expires_at > now() returning user_id, org_id`)
          const account = row === undefined ? undefined : yield* accounts.find(row.user_id)
          if (row === undefined || account === undefined) {
            return yield* serviceError("unauthorized", "The login code is invalid, expired or already used")
          }
          return yield* logins.begin(account, "sso", row.org_id)
        }),
      })
    }),
  )
}

/** Time limits for the login at the provider, the confirmation, and the exchange of the login code. */
export const flowTtlMs = 600_000
const loginCodeTtlMs = 60_000

interface OnwardRow {
  readonly org_id: string
  readonly return_to: string | null
  readonly client_state: string | null
  readonly user_code: string | null
  readonly oauth_request: string | null
}

interface LinkRow extends OnwardRow {
  readonly email: string
}

const onwardOf = ({ return_to, client_state, user_code, oauth_request }: OnwardRow): Onward => ({
  returnTo: return_to ?? undefined,
  clientState: client_state ?? undefined,
  userCode: user_code ?? undefined,
  oauthRequest: oauth_request ?? undefined,
})

/** A person who was disabled there, or a plan that is full. */
const cannotJoin = (error: ServiceError | StoreUnavailable): ServiceError<"forbidden"> | StoreUnavailable => {
  if (error._tag !== "ServiceError") return error
  return error.code === "conflict" ? unusable : serviceError("forbidden", error.message)
}

const noProvider = serviceError("not_found", "The organisation does not exist or has no identity provider")
const noSuchFlow = serviceError("bad_request", "The login was not started in this browser, has expired, or has ended")
const noSuchLink = serviceError("bad_request", "The link is invalid, expired or already used")
const unusable = serviceError("forbidden", "The account is not a member of the organisation, or is disabled")
