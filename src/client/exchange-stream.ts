/** The events of a streamed exchange; exactly one of `t.close` and `t.err` ends a stream. */
import type { ErrorBody } from "../protocol/error.ts"
import { errorStatus } from "../protocol/error-codes.ts"
import type { EventName, ExchangeEvent, eventData } from "../protocol/event.ts"
import { foreign, WeirRefused, WeirUnreachable, WeirUnreadable } from "./errors.ts"
import { longestTimerMs } from "./pause.ts"
import { hasShape, parseJson, type Shape } from "./shape.ts"
import { makeSseParser } from "./sse.ts"

/** The time that the end of the connection may take after the last event, so that the connection can be reused. */
const endMs = 1000

/** The events that a stream emits: all except `t.err`, which fails it. */
export type StreamedEvent = Exclude<ExchangeEvent, { readonly event: "t.err" }>

const shapes: { readonly [Name in EventName]: Shape<(typeof eventData)[Name]["Type"]> } = {
  "t.open": { requestId: "string", model: "string", protocol: "string" },
  "t.delta": { i: "number", t: "string" },
  "t.usage": { inTokens: "number", outTokens: "number" },
  "t.warn": { code: "string", message: "string" },
  "t.close": { stop: "string", usage: "object" },
  "t.err": { code: "string", message: "string", requestId: "string" },
}

export const isEventName = (name: unknown): name is EventName => typeof name === "string" && Object.hasOwn(shapes, name)

/** Whether a value is an event of a stream, with the members that each one has. */
export const isEvent = (value: { readonly event?: unknown; readonly data?: unknown }): value is ExchangeEvent =>
  isEventName(value.event) && hasShape<object>(shapes[value.event])(value.data)

/** The refusal that an event of the type `t.err` carries; its code may be newer than this client. */
export const refusalOf = (data: ErrorBody, subject: string): WeirRefused => {
  const retryAfterMs = data.detail?.["retryAfterMs"]
  return new WeirRefused({
    ...data,
    status: Object.hasOwn(errorStatus, data.code) ? errorStatus[data.code] : 500,
    subject,
    ...(typeof retryAfterMs === "number" && { retryAfterMs }),
  })
}

/** The event of a stream, unless it is the one that fails it. */
export const streamed = (event: ExchangeEvent, subject: string): StreamedEvent => {
  if (event.event !== "t.err") return event
  throw refusalOf(event.data, subject)
}

export interface StreamOptions {
  /** The time for which the stream may be silent, heartbeat comments included. */
  readonly silenceMs: number
  /** The model or route that errors name. */
  readonly subject: string
  readonly signal: AbortSignal | undefined
}

/** Reads as the events are taken, so that a slow reader slows the stream. Leaving the loop ends it. */
export async function* eventsOf(
  response: Response,
  { silenceMs, subject, signal }: StreamOptions,
): AsyncGenerator<StreamedEvent, void, undefined> {
  const brokenOff = (message: string, cause?: unknown) =>
    new WeirUnreachable({ message, subject, brokeOff: true, cause })
  const unreadable = () =>
    new WeirUnreadable({ message: "An event does not match its schema", subject, status: response.status })
  const reader = response.body?.getReader()
  if (reader === undefined) throw brokenOff("The reply has no body")
  const parse = makeSseParser()
  const decoder = new TextDecoder()
  let isClosed = false
  if (isDocument(response)) {
    reader.cancel().catch(() => {})
    throw foreign(response.status, subject)
  }
  try {
    for (;;) {
      const { done, value } = await within(isClosed ? endMs : silenceMs, reader.read(), () =>
        brokenOff(`Nothing came for ${silenceMs} ms`),
      ).catch((cause: unknown) => {
        if (isClosed) return ended
        signal?.throwIfAborted()
        throw cause instanceof WeirUnreachable ? cause : brokenOff("The stream broke off", cause)
      })
      if (done || isClosed) break
      const sent = parse(decoder.decode(value, { stream: true }))
      if (sent === undefined) throw unreadable()
      for (const { id, event, data } of sent) {
        signal?.throwIfAborted()
        if (isClosed) break
        if (!isEventName(event)) continue
        const read = { id, event, data: parseJson(data) }
        if (!isEvent(read)) throw unreadable()
        isClosed ||= read.event === "t.close"
        yield streamed(read, subject)
      }
    }
  } finally {
    reader.cancel().catch(() => {})
  }
  if (isClosed) return
  signal?.throwIfAborted()
  throw brokenOff("The stream ended without its last event")
}

const ended = { done: true, value: undefined } as const

/** A page or a whole reply cannot be a stream: something else than the gateway has answered. */
const isDocument = ({ headers }: Response): boolean =>
  /^(text\/html|application\/json)\b/i.test(headers.get("content-type") ?? "")

const within = <A>(ms: number, promise: Promise<A>, late: () => Error): Promise<A> =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(late()), Math.min(ms, longestTimerMs))
    promise.then(resolve, reject).finally(() => clearTimeout(timer))
  })
