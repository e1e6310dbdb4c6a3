/** Routes for operators: they require the admin key, or a session in a browser, and answer with JSON. */
import { Effect } from "effect"
import type { HttpServerResponse } from "effect/http"
import { newRequestId } from "../calls/calls.ts"
import type { CatalogueRefused } from "../catalogue/refusal.ts"
import { WeirConfig } from "../config.ts"
import { AdminKey } from "../identity/admin.ts"
import { OperatorSessions } from "../identity/operator-sessions.ts"
import { type ServiceError, serviceError } from "../protocol/error.ts"
import type { Actor } from "../store/audit-log.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"
import type { OrgEntry, Tenants } from "../tenants/tenants.ts"
import { operatorCookieOf } from "./browser-cookies.ts"
import { originOf, type Request } from "./request.ts"
import { type RouteError, respond, respondJson } from "./respond.ts"
import { checkCredential } from "./same-origin.ts"

/** Maximum body of a request to the control plane. */
export const maxBodyBytes = 2 * 1024 * 1024
/** The same where a catalogue is sent, or many parts of one. */
export const maxCatalogueBytes = 16 * 1024 * 1024

/** Requires an operator: the admin key in its header, or the cookie of a session, which only our own pages may use. */
export const makeOperatorCheck = Effect.gen(function* () {
  const adminKey = yield* AdminKey
  const sessions = yield* OperatorSessions
  const config = yield* WeirConfig
  return (request: Request): Effect.Effect<void, RouteError> => {
    const origin = originOf(config, request)
    const known = checkCredential<unknown, RouteError>(request, origin, operatorCookieOf(request, origin), {
      header: request.headers["x-svc-admin-key"],
      ofHeader: adminKey.check,
      ofCookie: sessions.check,
    })
    return Effect.asVoid(known)
  }
})

/** Answers operators with a reply of any kind. */
export const makeReplyToOperator = Effect.map(
  makeOperatorCheck,
  (check) =>
    <R>(request: Request, reply: Effect.Effect<HttpServerResponse.HttpServerResponse, RouteError, R>) =>
      respond(newRequestId(), Effect.andThen(check(request), reply)),
)

/** Answers operators with JSON. */
export const makeForOperator = Effect.map(
  makeOperatorCheck,
  (check) =>
    <A, R>(request: Request, answer: Effect.Effect<A, RouteError, R>) =>
      respondJson(Effect.andThen(check(request), answer)),
)

/** The actor in audit records of requests with the admin key. */
export const operator: Actor = { type: "service", id: "admin" }

/** Fails with the errors of a catalogue, by their lines. */
export const refuseCatalogue = ({ issues }: CatalogueRefused): Effect.Effect<never, ServiceError<"bad_request">> =>
  Effect.fail(
    serviceError("bad_request", "The catalogue has errors; nothing was applied", {
      detail: { issues: issues.slice(0, 16).map(({ path, line, message }) => ({ path, line, message })) },
    }),
  )

/** The organisation that a request names. */
export const knownOrg = (
  tenants: Tenants["Service"],
  id: string,
): Effect.Effect<OrgEntry, ServiceError<"not_found"> | StoreUnavailable> =>
  Effect.flatMap(tenants.org(id), (entry) =>
    entry === undefined
      ? Effect.fail(serviceError("not_found", "The organisation does not exist"))
      : Effect.succeed(entry),
  )
