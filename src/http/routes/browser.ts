/** Routes of a browser's session: the persons who use it, signing in as an operator, signing out. */
import { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { newRequestId } from "../../calls/calls.ts"
import { WeirConfig } from "../../config.ts"
import { AdminKey } from "../../identity/admin.ts"
import { Bearers } from "../../identity/bearers.ts"
import { Invitations } from "../../identity/invitations.ts"
import { Logins } from "../../identity/logins.ts"
import { OperatorSessions, operatorSessionMs } from "../../identity/operator-sessions.ts"
import { Api } from "../../protocol/api.ts"
import { type BrowserSession, OperatorLogin } from "../../protocol/control/activity.ts"
import { version } from "../../protocol/version.ts"
import type { StoreUnavailable } from "../../store/unavailable.ts"
import { makeAnonymousRoutes, maxLoginBytes } from "../anonymous.ts"
import { operatorCookieOf, sessionOf, withOperator, withoutOperator, withoutSession } from "../browser-cookies.ts"
import { originOf, type Request, readJson } from "../request.ts"
import { type RouteError, respond, respondJson } from "../respond.ts"
import { requireSameOrigin } from "../same-origin.ts"

export const browserRoutes = HttpApiBuilder.group(
  Api,
  "browser",
  Effect.fn(function* (handlers) {
    const { admitAddress } = yield* makeAnonymousRoutes
    const adminKey = yield* AdminKey
    const sessions = yield* OperatorSessions
    const bearers = yield* Bearers
    const logins = yield* Logins
    const invitations = yield* Invitations
    const config = yield* WeirConfig

    /** A session that has ended, or is not valid, is absent. */
    const read = Effect.fnUntraced(function* (request: Request) {
      const origin = originOf(config, request)
      yield* requireSameOrigin(request, origin)
      const operator = yield* ifValid(operatorCookieOf(request, origin), sessions.check)
      const person = yield* ifValid(sessionOf(request, origin), bearers.ofBrowser)
      const open = person === undefined ? [] : yield* invitations.open(person)
      return {
        environment: config.env,
        version,
        ...(operator !== undefined && { operator: { expiresAt: new Date(operator.expiresAtMs).toISOString() } }),
        ...(person?.person !== undefined && {
          person: {
            email: person.person.email ?? "",
            orgs: person.memberships.map(({ org: { org }, role }) => ({ id: org.id, name: org.name, role })),
            ...(open.length > 0 && { invitations: open }),
          },
        }),
      } satisfies BrowserSession
    })

    const begin = Effect.fnUntraced(function* (request: Request, requestId: string) {
      const origin = originOf(config, request)
      yield* requireSameOrigin(request, origin)
      yield* admitAddress(request)
      const { adminKey: given } = yield* readJson(OperatorLogin, request, maxLoginBytes)
      yield* adminKey.check(given)
      const { cookie: sealed, expiresAtMs } = yield* sessions.begin
      const body: BrowserSession = {
        environment: config.env,
        version,
        operator: { expiresAt: new Date(expiresAtMs).toISOString() },
      }
      const headers = { "x-svc-request-id": requestId, "cache-control": "no-store" }
      return withOperator(HttpServerResponse.jsonUnsafe(body, { headers }), sealed, operatorSessionMs, origin)
    })

    const end = Effect.fnUntraced(function* (request: Request, requestId: string) {
      const origin = originOf(config, request)
      yield* requireSameOrigin(request, origin)
      const operator = yield* ifValid(operatorCookieOf(request, origin), sessions.check)
      if (operator !== undefined) yield* sessions.end(operator)
      const person = yield* ifValid(sessionOf(request, origin), (token) => logins.authenticate(token, "browser"))
      if (person !== undefined) yield* logins.endById(person.loginId)
      const headers = { "x-svc-request-id": requestId, "cache-control": "no-store" }
      return withoutSession(withoutOperator(HttpServerResponse.empty({ status: 204, headers }), origin), origin)
    })

    const responding =
      <R>(answer: (request: Request, requestId: string) => Parameters<typeof respond<R>>[1]) =>
      ({ request }: { readonly request: Request }) => {
        const requestId = newRequestId()
        return respond(requestId, answer(request, requestId))
      }

    return handlers
      .handleRaw("browserSession", ({ request }) => respondJson(read(request)))
      .handleRaw("beginOperatorSession", responding(begin))
      .handleRaw("endBrowserSession", responding(end))
  }),
)

/**
 * The owner of a cookie; undefined if there is no cookie, or if it is not valid any more. A store that does not answer is an
 * error.
 */
const ifValid = <A>(
  cookie: string | undefined,
  check: (cookie: string) => Effect.Effect<A, RouteError>,
): Effect.Effect<A | undefined, StoreUnavailable> =>
  cookie === undefined ? Effect.undefined : Effect.catchTag(check(cookie), "ServiceError", () => Effect.undefined)
