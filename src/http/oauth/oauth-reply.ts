/** Replies of the authorization server that clients read: JSON, not cacheable, with the errors of OAuth 2.1 section 3.2.4. */
import { Data, Effect, Result } from "effect"
import { HttpServerResponse } from "effect/http"
import { newRequestId } from "../../calls/calls.ts"
import type { ServiceError } from "../../protocol/error.ts"
import { decodeText } from "../../protocol/json/json-body.ts"
import { isStorable } from "../../protocol/values/text.ts"
import { toServiceError } from "../../store/unavailable.ts"
import { logCause } from "../../telemetry/logs.ts"
import { maxLoginBytes } from "../anonymous.ts"
import { type Request, readContent } from "../request.ts"
import { errorHead, failureOf, type RouteError } from "../respond.ts"

type Reply = HttpServerResponse.HttpServerResponse

export type OauthErrorCode =
  | "invalid_client"
  | "invalid_client_metadata"
  | "invalid_grant"
  | "invalid_redirect_uri"
  | "invalid_request"
  | "invalid_target"
  | "unsupported_grant_type"

export class OauthError extends Data.TaggedError("OauthError")<{
  readonly error: OauthErrorCode
  readonly description: string
  /** Whether the client has used the `Authorization` header, and learns that it was wrong. */
  readonly isBasic?: boolean
}> {}

export const oauthError = (error: OauthErrorCode, description: string): OauthError =>
  new OauthError({ error, description })

const noStore = { "cache-control": "no-store", pragma: "no-cache" }

/** Answers a client with JSON, or with a body of no bytes. */
export const respondClient = <A, R>(
  answer: Effect.Effect<A, OauthError | RouteError, R>,
  status = 200,
): Effect.Effect<Reply, never, R> => {
  const requestId = newRequestId()
  const headers = { ...noStore, "x-svc-request-id": requestId }
  const reply = (body: A) =>
    body === undefined
      ? HttpServerResponse.empty({ status, headers })
      : HttpServerResponse.jsonUnsafe(body, { status, headers })
  return Effect.map(answer, reply).pipe(
    Effect.catchTag("OauthError", ({ error, description, isBasic }) =>
      Effect.succeed(
        HttpServerResponse.jsonUnsafe(
          { error, error_description: description },
          {
            status: error === "invalid_client" ? 401 : 400,
            headers: { ...headers, ...(isBasic === true && { "www-authenticate": 'Basic realm="weir"' }) },
          },
        ),
      ),
    ),
    Effect.catchCause((cause) => failed(requestId, toServiceError(failureOf(cause)))),
  )
}

const failed = (requestId: string, error: ServiceError): Effect.Effect<Reply> => {
  const { status, headers } = errorHead(error, requestId)
  const name =
    status === 429 || status === 503 ? "temporarily_unavailable" : status < 500 ? "invalid_request" : "server_error"
  return Effect.as(
    logCause(error, requestId),
    HttpServerResponse.jsonUnsafe(
      { error: name, error_description: error.message },
      { status, headers: { ...noStore, ...headers } },
    ),
  )
}

export type Parameters = ReadonlyMap<string, string>

const maxParameter = 4096

/**
 * The parameters of a request, each of which may be sent once (OAuth 2.1 section 3.1). An empty one is like an absent one.
 * @returns the name of the parameter that is wrong
 */
export const parametersOf = (query: URLSearchParams): Result.Result<Parameters, string> => {
  const found = new Map<string, string>()
  for (const [name, value] of query) {
    if (found.has(name) || value.length > maxParameter || !isStorable(value)) return Result.fail(name.slice(0, 64))
    found.set(name, value)
  }
  for (const [name, value] of found) if (value === "") found.delete(name)
  return Result.succeed(found)
}

/** The form that a client has sent. */
export const readParameters = Effect.fnUntraced(function* (request: Request) {
  const type = request.headers["content-type"] ?? ""
  if (!/^application\/x-www-form-urlencoded *(;|$)/i.test(type))
    return yield* oauthError("invalid_request", "The body must be application/x-www-form-urlencoded")
  const text = yield* Effect.fromResult(decodeText(yield* readContent(request, maxLoginBytes)))
  return yield* Effect.mapError(Effect.fromResult(parametersOf(new URLSearchParams(text))), (name) =>
    oauthError("invalid_request", `The parameter ${JSON.stringify(name)} is repeated or not valid`),
  )
})
