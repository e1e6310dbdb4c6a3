/** Requests of runtime routes: the caller is identified, then the body is read once. */
import { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import { newRequestId } from "../calls/calls.ts"
import { WeirConfig } from "../config.ts"
import type { Caller } from "../identity/caller.ts"
import type { ServiceError } from "../protocol/error.ts"
import { currentSpan, Tracing } from "../telemetry/tracing.ts"
import { type Check, makeAuthenticate, type SentRequest } from "./authenticate.ts"
import { decodeContent } from "./content-encoding.ts"
import { grown, type Room } from "./large/room.ts"
import { type Request, readBody } from "./request.ts"
import { type RouteError, respond } from "./respond.ts"

export type BodyError = ServiceError<"payload_too_large" | "bad_request" | "rate_limited">

/** The part of a request that runtime routes use, from the hot routes' socket or from the router. */
export interface RuntimeRequest extends SentRequest {
  /** The raw bytes, which signatures cover. */
  readonly body: (maxBytes: number, room?: Room) => Effect.Effect<Uint8Array, BodyError>
  /** Room that was taken for its body before; see `large/room.ts`. */
  readonly room?: Room | undefined
}

/** A request whose body may be too large for memory. */
export interface UploadRequest extends RuntimeRequest {
  /** The body while it arrives; instead of {@link RuntimeRequest.body}. */
  readonly chunks: () => AsyncIterable<Uint8Array>
}

/** A request that came through the router. */
export const fromRouter = (request: Request): RuntimeRequest => ({
  source: request.source,
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
  /** The body without its content encoding. */
  readonly body: Uint8Array
  readonly request: RuntimeRequest
}

type TakeRoom<R> = Effect.Effect<Room | undefined, ServiceError<"rate_limited">, R>

const noRoomNeeded = Effect.undefined

type Answer<C extends Caller, R> = (
  call: Authenticated<C>,
) => Effect.Effect<HttpServerResponse.HttpServerResponse, RouteError, R>

export const makeForCaller = Effect.gen(function* () {
  const { bodyMaxBytes } = yield* WeirConfig
  const { authenticate, anyCaller, application, hasCredential, again } = yield* makeAuthenticate
  const tracing = yield* Tracing

  /**
   * Identifies the caller and reads the body, in this order. If the request should have no body, it is read only for a
   * signature.
   */
  const identify = <C extends Caller, R>(
    check: Check<C>,
    request: RuntimeRequest,
    requestId: string,
    maxBytes: number,
    takeRoom: TakeRoom<R>,
  ): Effect.Effect<Authenticated<C>, RouteError, R> => {
    const read = Effect.flatMap(takeRoom, (room) =>
      Effect.map(readsBody(request) ? request.body(maxBytes, room) : noBody, (sent) => ({
        content: { sent, room },
        signed: sent,
      })),
    )
    return Effect.flatMap(
      authenticate(check, request, () => read),
      ({ caller, content: { sent, room } }) =>
        Effect.map(
          Effect.flatMap(decodeContent(request.headers["content-encoding"], sent, maxBytes), (body) =>
            grown(room, body),
          ),
          (body) => ({ requestId, caller, body, request }),
        ),
    )
  }

  /**
   * The same for a body that is read in another way.
   * @param read reads it; the signature of its caller, if there is one, is verified afterwards
   * @returns its content, with its SHA-256
   */
  const identifyUpload = <A extends { readonly sha256: string }, E, R>(
    request: UploadRequest,
    read: (caller: Caller) => Effect.Effect<A, E, R>,
  ): Effect.Effect<{ readonly caller: Caller; readonly content: A }, RouteError | E, R> =>
    authenticate(anyCaller, request, (caller) => Effect.map(read(caller), (content) => ({ content, signed: content })))

  /** @param statusOf returns the status of a reply that the effect writes itself */
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
    <C extends Caller>(check: Check<C>) =>
    <R>(request: RuntimeRequest, answer: Answer<C, R>) => {
      const requestId = newRequestId()
      const answered = Effect.map(
        Effect.flatMap(identify(check, request, requestId, maxPlainBytes, noRoomNeeded), answer),
        HttpServerResponse.setHeader("x-svc-request-id", requestId),
      )
      const recorded = Effect.tap(respond(requestId, answered), ({ status }) => recordStatus(status))
      return traced(request, requestId)(recorded)
    }
  return {
    forCaller: answerAs(anyCaller),
    forApplication: answerAs(application),
    /** @param takeRoom takes room for the body, once the caller is known */
    identify: <R = never>(
      request: RuntimeRequest,
      requestId: string,
      maxBytes = bodyMaxBytes,
      takeRoom: TakeRoom<R> = noRoomNeeded,
    ) => identify(anyCaller, request, requestId, maxBytes, takeRoom),
    identifyUpload,
    hasCredential,
    again,
    traced,
  }
})

/** Maximum body of a route that is no call; a report of 200 events is far smaller. */
const maxPlainBytes = 1024 * 1024

const noBody = Effect.succeed(new Uint8Array(0))

const readsBody = ({ method, headers }: RuntimeRequest): boolean =>
  method === "POST" || method === "PUT" || method === "PATCH" || headers["x-svc-sign"] !== undefined

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
