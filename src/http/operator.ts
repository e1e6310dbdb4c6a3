/** Answering operators: with JSON for who has the admin key, with `admin_key_invalid` for anybody else. */
import { Effect } from "effect"
import type { HttpServerRequest } from "effect/http"
import { AdminKey } from "../identity/admin.ts"
import { type RouteError, respondJson } from "./respond.ts"

export type Request = HttpServerRequest.HttpServerRequest

/** The most that an operator's request may bring. */
export const maxBodyBytes = 16 * 1024 * 1024

export const makeForOperator = Effect.map(AdminKey, (adminKey) => {
  const forOperator = <A, R>(request: Request, answer: Effect.Effect<A, RouteError, R>) =>
    respondJson(Effect.andThen(adminKey.check(request.headers["x-svc-admin-key"]), answer))
  return forOperator
})
