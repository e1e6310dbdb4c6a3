/** One call over `fetch`: as it goes out, what comes back, and when it is made again. */
import { Effect, Option, Random, Schema } from "effect"
import { ErrorEnvelope } from "../protocol/error.ts"
import { InProgress } from "../protocol/exchange.ts"
import { type Credentials, credentialHeaders } from "./credentials.ts"
import { type WeirError, WeirRefused, WeirStillRunning, WeirUnreachable, WeirUnreadable } from "./errors.ts"

export interface RetryOptions {
  /** How often a call that failed is made again; 4 when absent, 0 for never. */
  readonly times?: number
  /** The first pause, in milliseconds, which doubles; 250 when absent. */
  readonly firstMs?: number
  /** The longest pause, also where the gateway asks for one: beyond it the failure is the caller's; 10,000 when absent. */
  readonly longestMs?: number
  /** How long the first call with the same `meta.requestId` is waited for; 600,000 when absent. */
  readonly inProgressMs?: number
}

export interface WeirOptions {
  /** e.g. `https://weir.example.com` */
  readonly baseUrl: string
  readonly credentials: Credentials
  readonly retry?: RetryOptions
  /** Told with every exchange, for the operator's statistics. */
  readonly client?: { readonly name: string; readonly version: string }
  /** What the client can do beyond the baseline, e.g. `platform-audio`. */
  readonly features?: ReadonlyArray<string>
  /** How long a stream may be silent, its heartbeats counted, before it is given up; 60,000 when absent. */
  readonly silenceMs?: number
  /** Another `fetch` than the runtime's. */
  readonly fetch?: typeof fetch
}

export interface Call {
  readonly method: "GET" | "POST" | "DELETE"
  /** Path plus query. */
  readonly target: string
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  /** Whether the same call twice does no more than once: only then is one repeated that got no answer. */
  readonly isIdempotent: boolean
}

/** A reply that is neither a refusal nor "in progress", with its body unread. */
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
                new WeirStillRunning({ message: "The first call is still running", requestId: failure.requestId }),
              )
        }
        const pauseMs = made < times ? pauseBefore(failure, made, call, options.retry) : undefined
        if (pauseMs === undefined) return Effect.fail(failure)
        return Effect.flatMap(Random.nextBetween(0.5, 1), (share) =>
          // Who is asked to wait waits that long at least; others spread.
          Effect.delay(attempt(made + 1), hasWish(failure) ? pauseMs * (1.5 - share / 2) : pauseMs * share),
        )
      })
    return attempt(0)
  })

const hasWish = (failure: WeirError): boolean => failure._tag === "WeirRefused" && failure.retryAfterMs !== undefined

/** Milliseconds until another try makes sense; undefined where it does not. */
const pauseBefore = (
  failure: WeirError,
  made: number,
  { isIdempotent }: Call,
  { firstMs = 250, longestMs = 10_000 }: RetryOptions = {},
): number | undefined => {
  const backoffMs = Math.min(longestMs, firstMs * 2 ** made)
  if (failure._tag === "WeirUnreachable") return isIdempotent ? backoffMs : undefined
  if (failure._tag !== "WeirRefused" || failure.advice !== "retry") return undefined
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
    if (response.status === 202) return yield* Effect.flatMap(readBody(response, InProgress), running)
    if (response.ok || response.status === 304) return response
    return yield* Effect.flatMap(readBody(response, ErrorEnvelope), ({ error }) =>
      Effect.fail(refused(response, error)),
    )
  })

const unreachable = (cause: unknown): WeirUnreachable =>
  new WeirUnreachable({ message: "The gateway could not be reached", brokeOff: false, cause })

const running = ({ requestId, retryAfterMs }: InProgress) =>
  Effect.fail<Running>({ _tag: "InProgress", requestId, retryAfterMs })

const refused = (response: Response, error: ErrorEnvelope["error"]): WeirRefused => {
  const seconds = response.headers.get("retry-after")
  return new WeirRefused({
    ...error,
    status: response.status,
    retryAfterMs: seconds === null || !/^\d+$/.test(seconds) ? undefined : Number(seconds) * 1000,
  })
}

/** A body as its schema has it; members that this client does not know are let pass. */
export const readBody = <S extends Schema.ConstraintDecoder<unknown>>(
  response: Response,
  schema: S,
): Effect.Effect<S["Type"], WeirUnreachable | WeirUnreadable> =>
  Effect.tryPromise({
    try: () => response.text(),
    catch: (cause) => new WeirUnreachable({ message: "The reply broke off", brokeOff: true, cause }),
  }).pipe(
    Effect.flatMap((text) => {
      const decoded = Schema.decodeUnknownOption(Schema.fromJsonString(schema))(text)
      if (Option.isSome(decoded)) return Effect.succeed(decoded.value)
      const message = `What answered with status ${response.status} does not speak twp/1`
      return Effect.fail(new WeirUnreadable({ message, status: response.status }))
    }),
  )
