/** Routes of logging in by one-time code, refreshing and logging out. */
import { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { AccessJwts } from "../../identity/access-jwts.ts"
import type { Principal } from "../../identity/bearers.ts"
import { Invitations } from "../../identity/invitations.ts"
import { Logins } from "../../identity/logins.ts"
import { MailLogin } from "../../identity/mail-login.ts"
import { codeTtlMs } from "../../identity/one-time-codes.ts"
import { Api } from "../../protocol/api.ts"
import { type Me, type OtpAccepted, OtpRequest, OtpVerify, RefreshRequest } from "../../protocol/control/login.ts"
import { makeAnonymousRoutes, maxLoginBytes, tokenReply } from "../anonymous.ts"
import { makeForBearer } from "../bearer.ts"
import { type Request, readJson } from "../request.ts"

export const loginRoutes = HttpApiBuilder.group(
  Api,
  "login",
  Effect.fn(function* (handlers) {
    const { mayAskFor, respondAnonymous } = yield* makeAnonymousRoutes
    const { forPrincipal } = yield* makeForBearer
    const mailLogin = yield* MailLogin
    const logins = yield* Logins
    const jwts = yield* AccessJwts
    const invitations = yield* Invitations

    const requestCode = Effect.fnUntraced(function* (request: Request) {
      const { email } = yield* readJson(OtpRequest, request, maxLoginBytes)
      // The reply is always the same, and does not show whether the address has an account.
      yield* mailLogin.request(email, mayAskFor(request, email))
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

    const me = Effect.fnUntraced(function* (principal: Principal) {
      const { person, memberships } = principal
      const open = yield* invitations.open(principal)
      return {
        ...(person !== undefined && { user: { id: person.id, email: person.email ?? "" } }),
        orgs: memberships.map(({ org: { org }, role, teams }) => ({ id: org.id, name: org.name, role, teams })),
        ...(open.length > 0 && { invitations: open }),
      } satisfies Me
    })

    return handlers
      .handleRaw("otpRequest", ({ request }) => respondAnonymous(request, requestCode(request), 202))
      .handleRaw("otpVerify", ({ request }) => respondAnonymous(request, verifyCode(request)))
      .handleRaw("refresh", ({ request }) => respondAnonymous(request, refresh(request)))
      .handleRaw("logout", ({ request }) => respondAnonymous(request, logout(request)))
      .handleRaw("me", ({ request }) => forPrincipal(request, me))
      .handleRaw("acceptInvitation", ({ request, params }) =>
        forPrincipal(request, (principal) => invitations.answer(principal, params.org, "accept")),
      )
      .handleRaw("declineInvitation", ({ request, params }) =>
        forPrincipal(request, (principal) => invitations.answer(principal, params.org, "decline")),
      )
      .handleRaw("jwks", () =>
        Effect.succeed(HttpServerResponse.jsonUnsafe(jwts.jwks, { headers: { "cache-control": "max-age=300" } })),
      )
  }),
)
