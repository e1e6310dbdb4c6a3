/** The routes of the authorization server that people see: `/oauth/authorize` and `/oauth/consent`. */
import { Effect, Result, Schema } from "effect"
import { HttpRouter } from "effect/http"
import { WeirConfig } from "../../config.ts"
import type { LoggedIn } from "../../identity/logins.ts"
import { isDocumentId } from "../../identity/oauth/client-documents.ts"
import { OauthClients } from "../../identity/oauth/oauth-clients.ts"
import { type OauthRequest, OauthRequests } from "../../identity/oauth/oauth-requests.ts"
import { mayRedirect, placeOf, shownHost } from "../../identity/oauth/redirect-uris.ts"
import { StoredText, storedName } from "../../protocol/values/text.ts"
import { People } from "../../tenants/people.ts"
import { makeAnonymousRoutes } from "../anonymous.ts"
import { goTo, pageReply, readForm, respondPage } from "../page.ts"
import {
  type Consent,
  connectedPage,
  consentPage,
  invalidRequestPage,
  noOrgPage,
  refusedClientPage,
} from "../pages/consent.ts"
import { originOf, type Request } from "../request.ts"
import { makeVisitor } from "../visitor.ts"
import { type AuthorizationAnswer, answerUri } from "./answer-uri.ts"
import { type Parameters, parametersOf } from "./oauth-reply.ts"
import { readAuthorization } from "./read-authorization.ts"

const ConsentForm = Schema.Struct({
  request: StoredText.check(Schema.isMaxLength(64)),
  org: storedName(64),
  decision: Schema.Literals(["approve", "deny"]),
})

export const oauthPersonRoutes = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const { admitAddress } = yield* makeAnonymousRoutes
    const visitor = yield* makeVisitor
    const config = yield* WeirConfig
    const clients = yield* OauthClients
    const requests = yield* OauthRequests
    const people = yield* People
    const origin = (request: Request) => originOf(config, request)
    const refuse = (request: Request, why: string, status = 400) => pageReply(request, refusedClientPage(why), status)

    /** A program on the person's computer may learn that its registration has expired, so that it registers again. */
    const unknownClient = (request: Request, parameters: Parameters) => {
      const [redirectUri = "", state] = [parameters.get("redirect_uri"), parameters.get("state")]
      const why = "The application is not known, or its registration has expired"
      if (placeOf(redirectUri) !== "loopback") return refuse(request, `${why}.`)
      const answer = { iss: origin(request), state, error: "invalid_client", description: why }
      const page = invalidRequestPage(answerUri(redirectUri, answer), shownHost(redirectUri), why)
      return pageReply(request, page, 400)
    }

    /** The client and its address are checked first: until they are known, nobody is sent anywhere. */
    const authorize = Effect.fnUntraced(function* (request: Request) {
      yield* admitAddress(request)
      const read = parametersOf(queryOf(request))
      if (Result.isFailure(read)) return refuse(request, "A parameter of the application's request is not valid.")
      const parameters = read.success
      const [clientId, redirectUri] = [parameters.get("client_id"), parameters.get("redirect_uri")]
      const found = yield* Effect.catchTag(clients.find(clientId ?? ""), "ServiceError", ({ message }) =>
        Effect.succeed(message),
      )
      if (typeof found === "string") return refuse(request, `${found}.`)
      if (found === undefined) return unknownClient(request, parameters)
      if (redirectUri === undefined || !mayRedirect(found.redirectUris, redirectUri))
        return refuse(request, "The application has not registered the address at which it wants to continue.")
      const asked = readAuthorization(parameters, origin(request))
      if (Result.isFailure(asked)) {
        const { error, description } = asked.failure
        const answer = { iss: origin(request), state: parameters.get("state"), error, description }
        const back = answerUri(redirectUri, answer)
        // A site that anybody can register is no place to which people are sent at once.
        if (placeOf(redirectUri) !== "site") return goTo(request, back, 302)
        return pageReply(request, invalidRequestPage(back, shownHost(redirectUri), description), 400)
      }
      const id = yield* requests.begin({
        clientId: found.id,
        clientName: found.name,
        redirectUri,
        ...asked.success,
      })
      const again = parameters.has("prompt") ? "&again=1" : ""
      return goTo(request, `${consentPath(id)}${again}`)
    })

    const orgsOf = Effect.fnUntraced(function* ({ account, orgId }: LoggedIn) {
      const memberships = yield* people.membershipsOf(account)
      return memberships
        .filter(({ org }) => org.isDisabled !== true && (orgId === undefined || org.org.id === orgId))
        .map(({ org }) => ({ id: org.org.id, name: org.org.name }))
    })

    const approve = Effect.fnUntraced(function* (
      request: Request,
      id: string,
      { redirectUri, state }: OauthRequest,
      who: LoggedIn,
      org: string,
    ) {
      const code = yield* requests.approve(id, who.account.id, org)
      return code === undefined ? undefined : answerUri(redirectUri, { iss: origin(request), state, code })
    })

    const showConsent = Effect.fnUntraced(function* (request: Request) {
      const query = queryOf(request)
      const id = query.get("request") ?? ""
      yield* admitAddress(request)
      const who = yield* visitor(request)
      if (who === undefined) return goTo(request, loginPath(id))
      const asked = id.length > 64 || id.includes("\0") ? undefined : yield* requests.pending(id)
      if (asked === undefined) return refuse(request, expired, 404)
      const orgs = yield* orgsOf(who)
      if (orgs.length === 0) return pageReply(request, noOrgPage(who.account.email), 403)
      const remembered = yield* requests.approved(who.account.id, asked.clientId)
      const [org, ...more] = orgs.filter(({ id }) => remembered.includes(id))
      // Any program on a computer can use an address there: its person is always asked.
      if (org !== undefined && more.length === 0 && placeOf(asked.redirectUri) === "site" && !query.has("again")) {
        const back = yield* approve(request, id, asked, who, org.id)
        return back === undefined ? refuse(request, expired, 404) : goTo(request, back, 302)
      }
      return pageReply(request, consentPage(consentOf(id, asked, who, orgs)))
    })

    const decide = Effect.fnUntraced(function* (request: Request) {
      const { request: id, org, decision } = yield* readForm(ConsentForm, request, origin(request))
      yield* admitAddress(request)
      const who = yield* visitor(request)
      if (who === undefined) return goTo(request, loginPath(id))
      const asked = yield* requests.pending(id)
      if (asked === undefined) return refuse(request, expired, 404)
      const { redirectUri, state } = asked
      if (decision === "deny") {
        if (!(yield* requests.deny(id, who.account.id))) return refuse(request, expired, 404)
        const answer: AuthorizationAnswer = { iss: origin(request), state, error: "access_denied" }
        return pageReply(request, connectedPage(answerUri(redirectUri, answer), false))
      }
      const orgs = yield* orgsOf(who)
      if (!orgs.some(({ id }) => id === org)) {
        const page = consentPage(consentOf(id, asked, who, orgs), "You are not a member of this organisation.")
        return pageReply(request, page, 403)
      }
      const back = yield* approve(request, id, asked, who, org)
      return back === undefined ? refuse(request, expired, 404) : pageReply(request, connectedPage(back, true))
    })

    yield* router.add("GET", "/oauth/authorize", (request) => respondPage(request, authorize(request)))
    yield* router.add("GET", "/oauth/consent", (request) => respondPage(request, showConsent(request)))
    yield* router.add("POST", "/oauth/consent", (request) => respondPage(request, decide(request)))
  }),
)

const expired = "The application's request does not exist, has expired, or was already decided."

/** The page on which a person decides. @param id the request's */
export const consentPath = (id: string): string => `/oauth/consent?request=${encodeURIComponent(id)}`

const loginPath = (id: string): string => `/login?request=${encodeURIComponent(id)}`

const consentOf = (
  id: string,
  { clientId, clientName, redirectUri, server }: OauthRequest,
  { account }: LoggedIn,
  orgs: Consent["orgs"],
): Consent => ({
  request: id,
  clientName,
  publisher: isDocumentId(clientId) ? URL.parse(clientId)?.host : undefined,
  redirectHost: shownHost(redirectUri),
  isLocal: placeOf(redirectUri) !== "site",
  server,
  email: account.email,
  orgs,
})

const queryOf = ({ url }: Request): URLSearchParams =>
  new URLSearchParams(url.includes("?") ? url.slice(url.indexOf("?")) : "")
