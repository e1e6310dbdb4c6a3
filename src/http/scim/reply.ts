/** Replies of SCIM routes: `application/scim+json`, with errors in SCIM's form. RFC 7644 sections 3.1 and 3.12. */
import { Cause, Effect, Option, type Schema } from "effect"
import { HttpServerResponse } from "effect/http"
import { newRequestId } from "../../calls/calls.ts"
import type { ScimFailure } from "../../identity/scim/scim-writes.ts"
import { errorStatus, serviceError } from "../../protocol/error.ts"
import { problemBody, ScimProblem } from "../../protocol/scim/problem.ts"
import { toServiceError } from "../../store/unavailable.ts"
import { logCause } from "../../telemetry/logs.ts"
import { errorHead, type RouteError } from "../respond.ts"

export const jsonReply = (
  body: Schema.JsonObject,
  status = 200,
  headers: Readonly<Record<string, string>> = {},
): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.text(JSON.stringify(body), { status, contentType: "application/scim+json", headers })

/** Answers with a reply, or with that to its failure. */
export const answer = <R>(
  handler: Effect.Effect<HttpServerResponse.HttpServerResponse, ScimFailure, R>,
): Effect.Effect<HttpServerResponse.HttpServerResponse, never, R> => {
  const requestId = newRequestId()
  return handler.pipe(
    Effect.catchCause((cause) => {
      if (Cause.hasInterruptsOnly(cause)) return Effect.failCause(Cause.interrupt())
      const failure = Option.getOrElse(Cause.findErrorOption(cause), () =>
        serviceError("internal_error", "The service could not complete the request", { cause }),
      )
      return failure._tag === "ScimProblem"
        ? Effect.succeed(jsonReply(problemBody(failure), failure.status))
        : failed(failure, requestId)
    }),
    Effect.map(HttpServerResponse.setHeaders({ "x-svc-request-id": requestId, "cache-control": "no-store" })),
  )
}

const failed = (failure: RouteError, requestId: string) => {
  const error = toServiceError(failure)
  const { status, headers } = errorHead(error, requestId)
  const problem = new ScimProblem({
    status: errorStatus[error.code],
    detail: error.message,
    ...(error.code === "bad_request" && { scimType: "invalidSyntax" }),
  })
  const reply = jsonReply(problemBody(problem), status, {
    ...headers,
    ...(status === 401 && { "www-authenticate": "Bearer" }),
  })
  return Effect.as(logCause(error, requestId), reply)
}
