/** Routes of logging in at an identity provider. */
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { newRequestId } from "../../calls/calls.ts"
import { WeirConfig } from "../../config.ts"
import { Logins } from "../../identity/logins.ts"
import { flowTtlMs, type LoginCode, SsoLogin } from "../../identity/sso-login.ts"
import { Api } from "../../protocol/api.ts"
import { SsoCode, SsoLinkConfirm, SsoStart } from "../../protocol/control/sso.ts"
import { decodeJson } from "../../protocol/json/json-body.ts"
import { makeAnonymousRoutes, maxLoginBytes, tokenReply } from "../anonymous.ts"
import { flowOf, withFlow, withoutFlow, withSession } from "../browser-cookies.ts"
import { consentPath } from "../oauth/person-routes.ts"
import { failureReply, goTo, wantsPage } from "../page.ts"
import type { Bound } from "../pages/login.ts"
import { originOf, type Request, readJson } from "../request.ts"
import { envelope, respond } from "../respond.ts"

export const ssoRoutes = HttpApiBuilder.group(
  Api,
  "sso",
  Effect.fn(function* (handlers) {
    const { respondAnonymous, admitAddress } = yield* makeAnonymousRoutes
    const sso = yield* SsoLogin
    const logins = yield* Logins
    const config = yield* WeirConfig
    const callback = (request: Request) => `${originOf(config, request)}/v1/auth/sso/callback`

    const queryOf = (request: Request) =>
      URL.parse(request.url, originOf(config, request))?.searchParams ?? new URLSearchParams()

    const start = Effect.fnUntraced(function* (request: Request) {
      yield* admitAddress(request)
      const {
        org,
        returnTo,
        state,
        device,
        request: oauthRequest,
      } = yield* decodeStart(Object.fromEntries(queryOf(request)))
      const onward = { returnTo, clientState: state, userCode: device, oauthRequest }
      const { url, browserSecret } = yield* sso.start(org, callback(request), onward)
      const flowState = url.searchParams.get("state") ?? ""
      return withFlow(goTo(request, url.href, 302), flowState, browserSecret, flowTtlMs, originOf(config, request))
    })

    const answer = Effect.fnUntraced(function* (request: Request) {
      yield* admitAddress(request)
      const origin = originOf(config, request)
      const url = new URL(`${callback(request)}?${queryOf(request)}`)
      const state = url.searchParams.get("state") ?? ""
      const answered = yield* sso.answer(url, flowOf(request, state, origin))
      if (answered._tag === "Unconfirmed") {
        return withoutFlow(goTo(request, `/auth/sso/link?linkToken=${answered.linkToken}`, 302), state, origin)
      }
      const { login } = answered
      const elsewhere = backEndUrl(login)
      if (elsewhere !== undefined) return withoutFlow(goTo(request, elsewhere, 302), state, origin)
      const token = yield* logins.browserToken(yield* sso.exchange(login.code))
      return withoutFlow(withSession(goTo(request, ownPage(login), 302), token, origin), state, origin)
    })

    const confirm = Effect.fnUntraced(function* (request: Request) {
      const { linkToken, code } = yield* readJson(SsoLinkConfirm, request, maxLoginBytes)
      const login = yield* sso.confirm(linkToken, code)
      return { code: login.code } satisfies SsoCode
    })

    const exchange = Effect.fnUntraced(function* (request: Request) {
      const { code } = yield* readJson(SsoCode, request, maxLoginBytes)
      return tokenReply(yield* sso.exchange(code))
    })

    const failureFormat = (request: Request) => (wantsPage(request) ? failureReply(request) : envelope)
    return handlers
      .handleRaw("ssoStart", ({ request }) => respond(newRequestId(), start(request), failureFormat(request)))
      .handleRaw("ssoCallback", ({ request }) => respond(newRequestId(), answer(request), failureFormat(request)))
      .handleRaw("ssoLinkConfirm", ({ request }) => respondAnonymous(request, confirm(request)))
      .handleRaw("ssoExchange", ({ request }) => respondAnonymous(request, exchange(request)))
  }),
)

const decodeStart = (query: unknown) => Effect.fromResult(decodeJson(SsoStart, query))

/** The address to which a login that a back end started returns, with the code to exchange. */
export const backEndUrl = ({ code, onward: { returnTo, clientState } }: LoginCode): string | undefined => {
  if (returnTo === undefined) return undefined
  const url = new URL(returnTo)
  url.searchParams.set("code", code)
  if (clientState !== undefined) url.searchParams.set("state", clientState)
  return url.href
}

/** The address to which a login that our own pages started returns. */
export const ownPage = ({ onward: { userCode, oauthRequest } }: Pick<LoginCode, "onward">): string =>
  pageAfter({ device: userCode, request: oauthRequest })

/** The page on which a login goes on: the decision about a client or a device, if it has one. */
export const pageAfter = ({ device, request }: Bound): string => {
  if (request !== undefined) return consentPath(request)
  return device === undefined ? "/login" : activatePath(device)
}

/** @param userCode empty if the person has not entered it yet */
const activatePath = (userCode: string): string =>
  userCode === "" ? "/activate" : `/activate?code=${encodeURIComponent(userCode)}`
