/**
 * Authentication of runtime routes: reads the body once, because signatures cover its bytes, then identifies the
 * caller.
 */
import { Effect, type Option } from "effect"
import { HttpServerResponse } from "effect/http"
import { newRequestId } from "../calls/calls.ts"
import { WeirConfig } from "../config.ts"
import type { Caller } from "../identity/caller.ts"
import { type CallerRequest, Callers } from "../identity/callers.ts"
import type { ServiceError } from "../protocol/error.ts"
import { currentSpan, Tracing } from "../telemetry/tracing.ts"
import { decodeContent } from "./content-encoding.ts"
import { makeCallerAddress, type Request, readBody } from "./request.ts"
import { type RouteError, respond } from "./respond.ts"

/** The part of a request that runtime routes use, from the hot routes' socket or from the router. */
export interface RuntimeRequest {
  /** In lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly method: string
  /** Path plus query, as sent. */
  readonly url: string
  readonly remoteAddress: Option.Option<string>
  /** The raw bytes, which signatures cover. */
  readonly body: (maxBytes: number) => Effect.Effect<Uint8Array, ServiceError<"payload_too_large" | "bad_request">>
}

/** A request whose body may be too large for memory. */
export interface UploadRequest extends RuntimeRequest {
  /** The body as it comes; instead of {@link RuntimeRequest.body}. */
  readonly chunks: () => AsyncIterable<Uint8Array>
}

/** A request that came through the router. */
export const fromRouter = (request: Request): RuntimeRequest => ({
  headers: request.headers,
  method: request.method,
  url: request.url,
  remoteAddress: request.remoteAddress,
  body: (maxBytes) => readBody(request, maxBytes),
})

/** An authenticated request. */
export interface Authenticated<C extends Caller = Caller> {
  readonly requestId: string
  readonly caller: C
  /** Without its content encoding. */
  readonly body: Uint8Array
  readonly request: RuntimeRequest
}

type Answer<C extends Caller, R> = (
  call: Authenticated<C>,
) => Effect.Effect<HttpServerResponse.HttpServerResponse, RouteError, R>

export const makeForCaller = Effect.gen(function* () {
  const config = yield* WeirConfig
  const callers = yield* Callers
  const tracing = yield* Tracing
  const callerAddress = makeCallerAddress(config.trustedProxies)

  /** Reads the body and identifies the caller. */
  const identify = <C extends Caller>(
    authenticate: (request: CallerRequest) => Effect.Effect<C, RouteError>,
    request: RuntimeRequest,
    requestId: string,
  ): Effect.Effect<Authenticated<C>, RouteError> =>
    Effect.flatMap(request.body(config.bodyMaxBytes), (sent) => {
      const { headers, method, url: target } = request
      const sentAs = { headers, address: () => callerAddress(request), method, target, body: sent }
      return Effect.flatMap(authenticate(sentAs), (caller) =>
        Effect.map(decodeContent(headers["content-encoding"], sent, config.bodyMaxBytes), (body) => ({
          requestId,
          caller,
          body,
          request,
        })),
      )
    })

  /**
   * Identifies the caller before the body is read, so that nobody else fills the disk; a signature, which covers the
   * body, is verified once that has been read.
   * @param read reads the body. @returns what it says, with its SHA-256
   */
  const identifyUpload = <A extends { readonly sha256: string }, E, R>(
    request: UploadRequest,
    read: Effect.Effect<A, E, R>,
  ): Effect.Effect<{ readonly caller: Caller; readonly content: A }, RouteError | E, R> => {
    const { headers, method, url: target } = request
    const sentAs = { headers, address: () => callerAddress(request), method, target }
    return Effect.flatMap(callers.authenticate({ ...sentAs, body: "unread" }), (unverified) =>
      Effect.flatMap(read, (content) => {
        const verified =
          headers["x-svc-sign"] === undefined
            ? Effect.succeed(unverified)
            : callers.authenticate({ ...sentAs, body: content })
        return Effect.map(verified, (caller) => ({ caller, content }))
      }),
    )
  }

  /** @param statusOf of a reply that the effect writes by itself */
  const traced = (request: RuntimeRequest, requestId: string, statusOf?: () => number) =>
    tracing.trace(() => ({
      name: `${request.method} ${routeOf(request.url)}`,
      headers: request.headers,
      attributes: {
        "http.request.method": request.method,
        "http.route": routeOf(request.url),
        "weir.request_id": requestId,
      },
      atEnd: statusOf && (() => ({ [statusCode]: statusOf() })),
    }))

  const answerAs =
    <C extends Caller>(authenticate: (request: CallerRequest) => Effect.Effect<C, RouteError>) =>
    <R>(request: RuntimeRequest, answer: Answer<C, R>) => {
      const requestId = newRequestId()
      const answered = Effect.map(
        Effect.flatMap(identify(authenticate, request, requestId), answer),
        HttpServerResponse.setHeader("x-svc-request-id", requestId),
      )
      const recorded = Effect.tap(respond(requestId, answered), ({ status }) => recordStatus(status))
      return traced(request, requestId)(recorded)
    }
  return {
    forCaller: answerAs(callers.authenticate),
    forApplication: answerAs(callers.application),
    identify: (request: RuntimeRequest, requestId: string) => identify(callers.authenticate, request, requestId),
    identifyUpload,
    traced,
  }
})

/** The route of a path, without ids. */
const routeOf = (url: string): string => {
  const path = url.split("?", 1)[0] ?? ""
  if (path.startsWith("/t1/sessions/")) return "/t1/sessions/{id}"
  if (path.startsWith("/t1/videos/")) return path.endsWith("/content") ? "/t1/videos/{id}/content" : "/t1/videos/{id}"
  return path
}

const statusCode = "http.response.status_code"

export const recordStatus = (status: number): Effect.Effect<void> =>
  Effect.map(currentSpan, (span) => {
    if (span?._tag === "Span") span.attribute(statusCode, status)
  })
