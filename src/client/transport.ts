/** One call over `fetch`: the request, the reply, and its retries. */
import type { ErrorEnvelope } from "../protocol/error.ts"
import type { InProgress } from "../protocol/exchange.ts"
import { credentialHeaders } from "./credentials.ts"
import {
  foreign,
  isWeirError,
  reasonOf,
  type WeirError,
  WeirMisused,
  WeirRefused,
  WeirStillRunning,
  WeirUnreachable,
  type WeirUnreadable,
} from "./errors.ts"
import { type CallOptions, rootOf, type WeirOptions } from "./options.ts"
import { abortable, pause } from "./pause.ts"
import { makeRetries } from "./retries.ts"
import { hasShape, isRecord, parseJson } from "./shape.ts"

export interface Call {
  readonly method: "GET" | "POST" | "DELETE"
  /** Path plus query. */
  readonly target: string
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  /** Whether repeating the call has no further effect: only then is it retried after a lost reply. */
  readonly isIdempotent: boolean
}

/** The subject of an error's message: `model main`, or the route of a call without a model. */
export const subjectOf = ({ method, target, body }: Call): string =>
  isRecord(body) && typeof body["model"] === "string" ? `model ${body["model"]}` : `${method} ${target}`

/** A reply that is neither an error nor "in progress", with its body unread. */
export const send = async (options: WeirOptions, call: Call, { signal }: CallOptions = {}): Promise<Response> => {
  const { inProgressMs = 600_000 } = options.retry ?? {}
  const endsAt = Date.now() + inProgressMs
  const pauseAfter = makeRetries(options.retry, call.isIdempotent)
  for (;;) {
    signal?.throwIfAborted()
    const outcome = await once(options, call, signal)
    if (outcome instanceof Response) return outcome
    signal?.throwIfAborted()
    const pauseMs = isWeirError(outcome) ? pauseAfter(outcome) : Math.max(outcome.retryAfterMs, shortestPauseMs)
    if (pauseMs === undefined) throw outcome
    if (!isWeirError(outcome) && Date.now() + pauseMs >= endsAt)
      throw new WeirStillRunning({ subject: subjectOf(call), requestId: outcome.requestId })
    await pause(pauseMs, signal)
  }
}

/** The least time between two requests for the reply of a running call. */
const shortestPauseMs = 50

const encoder = new TextEncoder()

const isInProgress = hasShape<InProgress>({ requestId: "string", retryAfterMs: "number" })
const isEnvelope = hasShape<ErrorEnvelope>({ error: "object" })
const isErrorBody = hasShape<ErrorEnvelope["error"]>({ code: "string", message: "string", requestId: "string" })

/** The `error` of an envelope. */
export const errorOf = (body: unknown): ErrorEnvelope["error"] | undefined =>
  isEnvelope(body) && isErrorBody(body.error) ? body.error : undefined

/** The reply that says that the first call of a request id is running. */
export const runningOf = (body: unknown): InProgress | undefined => (isInProgress(body) ? body : undefined)

const once = async (
  options: WeirOptions,
  call: Call,
  signal: AbortSignal | undefined,
): Promise<Response | InProgress | WeirError> => {
  const response = await request(options, call, signal)
  // A job that was accepted names no time for the next request.
  const isRunning = !isWeirError(response) && response.status === 202 && response.headers.has("retry-after")
  if (isWeirError(response) || ((response.ok || response.status === 304) && !isRunning)) return response
  try {
    const body = await readJson(response, call)
    const error = isRunning ? undefined : errorOf(body)
    if (error !== undefined) return heldOf(response, error, call) ?? refused(response, error, call)
    return (isRunning ? runningOf(body) : undefined) ?? unreadable(response, call)
  } catch (error) {
    if (isWeirError(error)) return error
    throw error
  }
}

const request = async (
  options: WeirOptions,
  call: Call,
  signal: AbortSignal | undefined,
): Promise<Response | WeirUnreachable | WeirMisused> => {
  const { method, target, headers = {} } = call
  const { fetch = globalThis.fetch, baseUrl, credentials } = options
  const body = encoder.encode(call.body === undefined ? "" : JSON.stringify(call.body))
  try {
    const shown = await abortable(credentialHeaders(credentials, { method, target, body }), signal)
    if (!areHeaders(shown)) return new WeirMisused("credentials_invalid", unsendable)
    return await fetch(`${rootOf(baseUrl)}${target}`, {
      method,
      ...(signal !== undefined && { signal }),
      headers: { ...(body.length > 0 && { "content-type": "application/json" }), ...shown, ...headers },
      ...(body.length > 0 && { body }),
      redirect: "manual",
    })
  } catch (cause) {
    const message = `The gateway at ${baseUrl} cannot be reached${reasonOf(cause)}`
    return new WeirUnreachable({ message, subject: subjectOf(call), brokeOff: false, cause })
  }
}

const unsendable = "The credentials have a character that no HTTP header can have, such as a line's end"

/** Whether headers can be sent. The error that says why not has their values, which are secret. */
const areHeaders = (headers: Readonly<Record<string, string>>): boolean => {
  try {
    return new Headers(headers) instanceof Headers
  } catch {
    return false
  }
}

/** The first call runs, or the node that ran it has died and its lease has not ended: both end by themselves. */
const heldOf = (response: Response, { code }: ErrorEnvelope["error"], { body }: Call): InProgress | undefined => {
  const retryAfterMs = retryAfterMsOf(response)
  if (code !== "idempotency_conflict" || retryAfterMs === undefined) return undefined
  const meta = isRecord(body) ? body["meta"] : undefined
  const requestId = isRecord(meta) ? String(meta["requestId"]) : ""
  return { status: "in_progress", requestId, retryAfterMs }
}

const retryAfterMsOf = (response: Response): number | undefined => {
  const seconds = response.headers.get("retry-after")
  return seconds === null || !/^\d+$/.test(seconds) ? undefined : Number(seconds) * 1000
}

const refused = (response: Response, error: ErrorEnvelope["error"], call: Call): WeirRefused =>
  new WeirRefused({
    ...error,
    status: response.status,
    subject: subjectOf(call),
    retryAfterMs: retryAfterMsOf(response),
    ...(response.headers.get("x-should-retry") === "false" && { isFinal: true }),
  })

const readJson = async (response: Response, call: Call): Promise<unknown> => parseJson(await cut(response.text(), call))

/** The body of a reply, which must have its shape. */
export const readBody = async <A>(
  response: Response,
  call: Call,
  isReply: (body: unknown) => body is A,
  { signal }: CallOptions = {},
): Promise<A> => {
  const body = await readJson(response, call).catch((error: unknown) => {
    signal?.throwIfAborted()
    throw error
  })
  if (!isReply(body)) throw unreadable(response, call)
  return body
}

/** The bytes of a reply. */
export const readBytes = async (response: Response, call: Call): Promise<Uint8Array> =>
  new Uint8Array(await cut(response.arrayBuffer(), call))

const cut = <A>(read: Promise<A>, call: Call): Promise<A> =>
  read.catch((cause: unknown) => {
    throw new WeirUnreachable({ message: "The reply was cut off", subject: subjectOf(call), brokeOff: true, cause })
  })

const unreadable = ({ status }: Response, call: Call): WeirUnreadable => foreign(status, subjectOf(call))
