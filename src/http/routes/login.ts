/** Logging in and out, by one-time code so far; what tokens say of whom. Source: decisions "Control routes". */
import { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { newRequestId } from "../../exchange/exchange.ts"
import { AccessJwts, accessTokenTtlS } from "../../identity/access-jwts.ts"
import type { Principal } from "../../identity/bearers.ts"
import { Logins, type LoginTokens } from "../../identity/logins.ts"
import { MailLogin } from "../../identity/mail-login.ts"
import { codeTtlMs } from "../../identity/one-time-codes.ts"
import { Api } from "../../protocol/api.ts"
import {
  type Me,
  type OtpAccepted,
  OtpRequest,
  OtpVerify,
  RefreshRequest,
  type TokenReply,
} from "../../protocol/login.ts"
import { makeForBearer } from "../bearer.ts"
import type { Request } from "../operator.ts"
import { readJson } from "../request.ts"
import { type RouteError, respond } from "../respond.ts"
import { makeStrictTier } from "../strict-tier.ts"

/** Nobody logs in with more than this. */
const maxLoginBytes = 16 * 1024

export const loginRoutes = HttpApiBuilder.group(
  Api,
  "login",
  Effect.fn(function* (handlers) {
    const admitAddress = yield* makeStrictTier
    const { forPrincipal } = yield* makeForBearer
    const mailLogin = yield* MailLogin
    const logins = yield* Logins
    const jwts = yield* AccessJwts

    /** Answers anybody, as often as the strict tier lets its address ask. */
    const forAnybody = <A, R>(request: Request, answer: Effect.Effect<A, RouteError, R>, status = 200) => {
      const requestId = newRequestId()
      const headers = { "x-svc-request-id": requestId, "cache-control": "no-store" }
      const reply = (body: A) =>
        body === undefined
          ? HttpServerResponse.empty({ status, headers })
          : HttpServerResponse.jsonUnsafe(body, { status, headers })
      return respond(requestId, Effect.map(Effect.andThen(admitAddress(request), answer), reply))
    }

    const requestCode = Effect.fnUntraced(function* (request: Request) {
      const { email } = yield* readJson(OtpRequest, request, maxLoginBytes)
      yield* mailLogin.request(email)
      return { status: "accepted", expiresIn: codeTtlMs / 1000 } satisfies OtpAccepted
    })

    const verifyCode = Effect.fnUntraced(function* (request: Request) {
      const { email, code } = yield* readJson(OtpVerify, request, maxLoginBytes)
      return tokenReply(yield* mailLogin.verify(email, code))
    })

    const refresh = Effect.fnUntraced(function* (request: Request) {
      const { refreshToken } = yield* readJson(RefreshRequest, request, maxLoginBytes)
      return tokenReply(yield* logins.refresh(refreshToken))
    })

    const logout = Effect.fnUntraced(function* (request: Request) {
      const { refreshToken } = yield* readJson(RefreshRequest, request, maxLoginBytes)
      yield* logins.end(refreshToken)
    })

    return handlers
      .handleRaw("otpRequest", ({ request }) => forAnybody(request, requestCode(request), 202))
      .handleRaw("otpVerify", ({ request }) => forAnybody(request, verifyCode(request)))
      .handleRaw("refresh", ({ request }) => forAnybody(request, refresh(request)))
      .handleRaw("logout", ({ request }) => forAnybody(request, logout(request), 204))
      .handleRaw("me", ({ request }) => forPrincipal(request, (principal) => Effect.succeed(meOf(principal))))
      .handleRaw("jwks", () =>
        Effect.succeed(HttpServerResponse.jsonUnsafe(jwts.jwks, { headers: { "cache-control": "max-age=300" } })),
      )
  }),
)

const tokenReply = ({ accessToken, refreshToken, account }: LoginTokens): TokenReply => ({
  accessToken,
  tokenType: "Bearer",
  expiresIn: accessTokenTtlS,
  refreshToken,
  user: { id: account.id, email: account.email },
})

const meOf = ({ person, memberships }: Principal): Me => ({
  ...(person !== undefined && { user: { id: person.id, email: person.email ?? "" } }),
  orgs: memberships.map(({ org: { org }, role, teams }) => ({ id: org.id, name: org.name, role, teams })),
})
