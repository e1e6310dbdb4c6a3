/** One call over `fetch`: the request, the reply, and when it is retried. */
import { Effect, Option, Random, Schema } from "effect"
import { ErrorEnvelope } from "../protocol/error.ts"
import { InProgress } from "../protocol/exchange.ts"
import { type Credentials, credentialHeaders } from "./credentials.ts"
import { type WeirError, WeirRefused, WeirStillRunning, WeirUnreachable, WeirUnreadable } from "./errors.ts"
import type { MakeSocket } from "./socket-like.ts"

export interface RetryOptions {
  /** Retries of a failed call; 4 if absent, 0 for none. */
  readonly times?: number
  /** The first pause in milliseconds, which doubles; 250 if absent. */
  readonly firstMs?: number
  /** The longest pause, also if the gateway asks for more: then the call fails; 10,000 if absent. */
  readonly longestMs?: number
  /** The time to wait for the first call with the same `meta.requestId`; 600,000 if absent. */
  readonly inProgressMs?: number
}

export interface WeirOptions {
  /** e.g. `https://weir.example.com` */
  readonly baseUrl: string
  readonly credentials: Credentials
  readonly retry?: RetryOptions
  /** Sent with every exchange, for the operator's statistics. */
  readonly client?: { readonly name: string; readonly version: string }
  /** Client features beyond the baseline, e.g. `platform-audio`. */
  readonly features?: ReadonlyArray<string>
  /** The time that a stream may be silent, heartbeat comments included, before it fails; 60,000 if absent. */
  readonly silenceMs?: number
  /** Replaces the runtime's `fetch`. */
  readonly fetch?: typeof fetch
  /** Replaces the runtime's `WebSocket`. */
  readonly webSocket?: MakeSocket
}

export interface Call {
  readonly method: "GET" | "POST" | "DELETE"
  /** Path plus query. */
  readonly target: string
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  /** Whether repeating the call has no further effect: only then is it retried after a lost reply. */
  readonly isIdempotent: boolean
}

/** A reply that is neither an error nor "in progress", with its body unread. */
export const send = (options: WeirOptions, call: Call): Effect.Effect<Response, WeirError> =>
  Effect.suspend(() => {
    const { times = 4, inProgressMs = 600_000 } = options.retry ?? {}
    const endsAt = Date.now() + inProgressMs
    const attempt = (made: number): Effect.Effect<Response, WeirError> =>
      Effect.catch(once(options, call), (failure) => {
        if (failure._tag === "InProgress") {
          return Date.now() + failure.retryAfterMs < endsAt
            ? Effect.delay(
                Effect.suspend(() => attempt(made)),
                failure.retryAfterMs,
              )
            : Effect.fail(
                new WeirStillRunning({
                  message: "The first call with this requestId is still running",
                  requestId: failure.requestId,
                }),
              )
        }
        const pauseMs = made < times ? pauseBefore(failure, made, call, options.retry) : undefined
        if (pauseMs === undefined) return Effect.fail(failure)
        return Effect.flatMap(Random.nextBetween(0.5, 1), (share) =>
          // A requested pause is a minimum; other pauses are randomised.
          Effect.delay(attempt(made + 1), hasWish(failure) ? pauseMs * (1.5 - share / 2) : pauseMs * share),
        )
      })
    return attempt(0)
  })

const hasWish = (failure: WeirError): boolean => failure._tag === "WeirRefused" && failure.retryAfterMs !== undefined

/** Milliseconds until a retry makes sense; undefined if none does. */
const pauseBefore = (
  failure: WeirError,
  made: number,
  { isIdempotent }: Call,
  { firstMs = 250, longestMs = 10_000 }: RetryOptions = {},
): number | undefined => {
  const backoffMs = Math.min(longestMs, firstMs * 2 ** made)
  if (failure._tag === "WeirUnreachable") return isIdempotent ? backoffMs : undefined
  if (failure._tag !== "WeirRefused" || failure.advice !== "retry" || failure.isFinal === true) return undefined
  if (failure.retryAfterMs === undefined) return backoffMs
  return failure.retryAfterMs <= longestMs ? failure.retryAfterMs : undefined
}

interface Running {
  readonly _tag: "InProgress"
  readonly requestId: string
  readonly retryAfterMs: number
}

const encoder = new TextEncoder()

const once = (options: WeirOptions, call: Call): Effect.Effect<Response, WeirError | Running> =>
  Effect.gen(function* () {
    const { method, target, headers = {} } = call
    const body = encoder.encode(call.body === undefined ? "" : JSON.stringify(call.body))
    const shown = yield* Effect.mapError(credentialHeaders(options.credentials, { method, target, body }), unreachable)
    const { fetch = globalThis.fetch } = options
    const response = yield* Effect.tryPromise({
      try: (signal) =>
        fetch(`${options.baseUrl.replace(/\/$/, "")}${target}`, {
          method,
          signal,
          headers: { ...(body.length > 0 && { "content-type": "application/json" }), ...shown, ...headers },
          ...(body.length > 0 && { body }),
          redirect: "manual",
        }),
      catch: unreachable,
    })
    // A job that was accepted names no time for the next request.
    const isRunning = response.status === 202 && response.headers.has("retry-after")
    if (isRunning) return yield* Effect.flatMap(readBody(response, InProgress), running)
    if (response.ok || response.status === 304) return response
    return yield* Effect.flatMap(readBody(response, ErrorEnvelope), ({ error }) =>
      Effect.fail(refused(response, error)),
    )
  })

const unreachable = (cause: unknown): WeirUnreachable =>
  new WeirUnreachable({ message: "The gateway cannot be reached", brokeOff: false, cause })

const running = ({ requestId, retryAfterMs }: InProgress) =>
  Effect.fail<Running>({ _tag: "InProgress", requestId, retryAfterMs })

const refused = (response: Response, error: ErrorEnvelope["error"]): WeirRefused => {
  const seconds = response.headers.get("retry-after")
  return new WeirRefused({
    ...error,
    status: response.status,
    retryAfterMs: seconds === null || !/^\d+$/.test(seconds) ? undefined : Number(seconds) * 1000,
    ...(response.headers.get("x-should-retry") === "false" && { isFinal: true }),
  })
}

/** Decodes a body by its schema; unknown members are ignored. */
export const readBody = <S extends Schema.ConstraintDecoder<unknown>>(
  response: Response,
  schema: S,
): Effect.Effect<S["Type"], WeirUnreachable | WeirUnreadable> =>
  Effect.tryPromise({
    try: () => response.text(),
    catch: (cause) => new WeirUnreachable({ message: "The reply was cut off", brokeOff: true, cause }),
  }).pipe(
    Effect.flatMap((text) => {
      const decoded = Schema.decodeUnknownOption(Schema.fromJsonString(schema))(text)
      if (Option.isSome(decoded)) return Effect.succeed(decoded.value)
      const message = `What answered with status ${response.status} does not speak twp/1`
      return Effect.fail(new WeirUnreadable({ message, status: response.status }))
    }),
  )

/** The bytes of a reply. */
export const readBytes = (response: Response): Effect.Effect<Uint8Array, WeirUnreachable> =>
  Effect.tryPromise({
    try: async () => new Uint8Array(await response.arrayBuffer()),
    catch: (cause) => new WeirUnreachable({ message: "The reply was cut off", brokeOff: true, cause }),
  })
