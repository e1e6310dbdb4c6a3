/** Routes for operators: they require the admin key and answer with JSON. */
import { Effect } from "effect"
import type { HttpServerRequest } from "effect/http"
import { AdminKey } from "../identity/admin.ts"
import { type ServiceError, serviceError } from "../protocol/error.ts"
import type { Actor } from "../store/audit-log.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"
import type { OrgEntry, Tenants } from "../tenants/tenants.ts"
import { type RouteError, respondJson } from "./respond.ts"

export type Request = HttpServerRequest.HttpServerRequest

/** Maximum body of an operator's request. */
export const maxBodyBytes = 16 * 1024 * 1024

export const makeForOperator = Effect.map(AdminKey, (adminKey) => {
  const forOperator = <A, R>(request: Request, answer: Effect.Effect<A, RouteError, R>) =>
    respondJson(Effect.andThen(adminKey.check(request.headers["x-svc-admin-key"]), answer))
  return forOperator
})

/** The actor in audit records of requests with the admin key. */
export const operator: Actor = { type: "service", id: "admin" }

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
