/** Replies: every reply has a request id, and every failure is the error envelope. */
import { Cause, Effect, Option } from "effect"
import { HttpServerResponse } from "effect/http"
import { newRequestId } from "../calls/calls.ts"
import { errorBody, errorStatus, type ServiceError, serviceError } from "../protocol/error.ts"
import { type StoreUnavailable, toServiceError } from "../store/unavailable.ts"
import { logCause } from "../telemetry/logs.ts"

export type RouteError = ServiceError | StoreUnavailable

/** Answers with the handler's reply, or with the reply to its failure; the envelope by default. */
export const respond = <R>(
  requestId: string,
  handler: Effect.Effect<HttpServerResponse.HttpServerResponse, RouteError, R>,
  failureReply: typeof envelope = envelope,
): Effect.Effect<HttpServerResponse.HttpServerResponse, never, R> =>
  Effect.catchCause(handler, (cause) => {
    // A client that disconnected gets no reply.
    if (Cause.hasInterruptsOnly(cause)) return Effect.failCause(Cause.interrupt())
    return failureReply(requestId, failureOf(cause))
  })

/** The message of a cause, for the reply. */
export const failureOf = (cause: Cause.Cause<RouteError>): RouteError =>
  Option.getOrElse(Cause.findErrorOption(cause), () =>
    serviceError("internal_error", "The service could not complete the request", { cause }),
  )

/** Answers with JSON, or with 204 if there is no body. Not cacheable. */
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

/** The error reply. The cause is logged with the request id and never sent. */
export const envelope = (
  requestId: string,
  failure: RouteError,
): Effect.Effect<HttpServerResponse.HttpServerResponse> => {
  const error = toServiceError(failure)
  return Effect.as(logCause(error, requestId), errorResponse(error, requestId))
}

/** The envelope of an error. */
export const errorResponse = (error: ServiceError, requestId: string): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.jsonUnsafe({ error: errorBody(error, requestId) }, errorHead(error, requestId))

export const routeNotFound = serviceError("not_found", "The route does not exist")

/** Status and headers of an error reply. */
export const errorHead = ({ code, retry, retryAfterMs }: ServiceError, requestId: string) => ({
  status: errorStatus[code],
  headers: {
    "x-svc-request-id": requestId,
    ...(retryAfterMs !== undefined && { "retry-after": String(Math.ceil(retryAfterMs / 1000)) }),
    // SDKs read this header: with the code alone they would retry a vendor's refusal.
    ...(retry === "never" && { "x-should-retry": "false" }),
  },
})
