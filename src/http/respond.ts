/** The edge's last word: every reply has a request id, and every failure is the error envelope. */
import { Cause, Effect, Option } from "effect"
import { HttpServerResponse } from "effect/http"
import { newRequestId } from "../exchange/exchange.ts"
import { errorBody, errorStatus, type ServiceError, serviceError } from "../protocol/error.ts"
import { type StoreUnavailable, toServiceError } from "../store/unavailable.ts"
import { withRequestId } from "../telemetry/logs.ts"

export type RouteError = ServiceError | StoreUnavailable

/** Answers with what a handler gives, or with what tells of its failure: the envelope, where nothing else is given. */
export const respond = <R>(
  requestId: string,
  handler: Effect.Effect<HttpServerResponse.HttpServerResponse, RouteError, R>,
  tell: typeof envelope = envelope,
): Effect.Effect<HttpServerResponse.HttpServerResponse, never, R> =>
  Effect.catchCause(handler, (cause) => {
    const failure = Cause.findErrorOption(cause)
    if (Option.isSome(failure)) return tell(requestId, failure.value)
    // A client that hung up is told nothing.
    if (Cause.hasInterruptsOnly(cause)) return Effect.failCause(Cause.interrupt())
    return tell(requestId, serviceError("internal_error", "The service could not complete the request", { cause }))
  })

/** Answers with JSON, or with nothing where there is nothing to say; for its asker alone, and never kept on the way. */
export const respondJson = <A, R>(
  answer: Effect.Effect<A, RouteError, R>,
  status?: number,
): Effect.Effect<HttpServerResponse.HttpServerResponse, never, R> => {
  const requestId = newRequestId()
  const headers = { "x-svc-request-id": requestId, "cache-control": "no-store" }
  const reply = (body: A) =>
    body === undefined
      ? HttpServerResponse.empty({ status: status ?? 204, headers })
      : HttpServerResponse.jsonUnsafe(body, { status: status ?? 200, headers })
  return respond(requestId, Effect.map(answer, reply))
}

/** The error reply itself; causes go to the log under the request id, and nowhere else. */
export const envelope = (
  requestId: string,
  failure: RouteError,
): Effect.Effect<HttpServerResponse.HttpServerResponse> => {
  const error = toServiceError(failure)
  const body = { error: errorBody(error, requestId) }
  const response = HttpServerResponse.jsonUnsafe(body, errorHead(error, requestId))
  return Effect.as(logCause(error, requestId), response)
}

/** The status and headers of every reply that tells of a failure. */
export const errorHead = ({ code, retryAfterMs }: ServiceError, requestId: string) => ({
  status: errorStatus[code],
  headers: {
    "x-svc-request-id": requestId,
    ...(retryAfterMs !== undefined && { "retry-after": String(Math.ceil(retryAfterMs / 1000)) }),
  },
})

export const logCause = ({ cause }: ServiceError, requestId: string): Effect.Effect<void> =>
  cause === undefined ? Effect.void : Effect.logError("A request failed", cause).pipe(withRequestId(requestId))
