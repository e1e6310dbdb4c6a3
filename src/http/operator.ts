/** Answering operators: with JSON for who has the admin key, with `admin_key_invalid` for anybody else. */
import { Effect } from "effect"
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import { newRequestId } from "../exchange/exchange.ts"
import { AdminKey } from "../identity/admin.ts"
import { type RouteError, respond } from "./respond.ts"

export type Request = HttpServerRequest.HttpServerRequest

/** The most that an operator's request may bring. */
export const maxBodyBytes = 16 * 1024 * 1024

export const makeForOperator = Effect.map(AdminKey, (adminKey) => {
  const forOperator = <A, R>(request: Request, answer: Effect.Effect<A, RouteError, R>) => {
    const requestId = newRequestId()
    const headers = { "x-svc-request-id": requestId }
    const checked = Effect.andThen(adminKey.check(request.headers["x-svc-admin-key"]), answer)
    return respond(
      requestId,
      Effect.map(checked, (body) => HttpServerResponse.jsonUnsafe(body, { headers })),
    )
  }
  return forOperator
})
