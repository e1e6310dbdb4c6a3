/**
 * The events of a streamed exchange, each checked by its schema; exactly one of `t.close` and `t.err` ends a stream.
 */
import { Effect, Stream } from "effect"
import { Sse } from "effect/encoding"
import { errorStatus } from "../protocol/error.ts"
import { ExchangeEvent } from "../protocol/event.ts"
import { type WeirError, WeirRefused, WeirUnreachable, WeirUnreadable } from "./errors.ts"

/** The events that a stream emits: all except `t.err`, which fails it. */
export type StreamedEvent = Exclude<typeof ExchangeEvent.Type, { readonly event: "t.err" }>

/** @param silenceMs the time for which the stream may be silent, heartbeat comments included */
export const eventsOf = (response: Response, silenceMs: number): Stream.Stream<StreamedEvent, WeirError> => {
  const { body } = response
  if (body === null) return Stream.fail(brokenOff("The reply has no body"))
  let closed = false
  return Stream.fromReadableStream({
    evaluate: () => body,
    onError: (cause) => brokenOff("The stream broke off", cause),
  }).pipe(
    Stream.timeoutOrElse({
      duration: silenceMs,
      orElse: () => Stream.fail(brokenOff(`Nothing came for ${silenceMs} ms`)),
    }),
    Stream.decodeText(),
    Stream.pipeThroughChannel(Sse.decodeSchema(ExchangeEvent)),
    Stream.mapError((error) => (isOurs(error) ? error : unreadable(response, error))),
    Stream.mapEffect((event) => {
      if (event.event === "t.err")
        return Effect.fail(new WeirRefused({ ...event.data, status: errorStatus[event.data.code] }))
      closed ||= event.event === "t.close"
      return Effect.succeed<StreamedEvent>(event)
    }),
    Stream.concat(
      Stream.suspend(() => (closed ? Stream.empty : Stream.fail(brokenOff("The stream ended without its last event")))),
    ),
  )
}

const brokenOff = (message: string, cause?: unknown) => new WeirUnreachable({ message, brokeOff: true, cause })

const isOurs = (error: unknown): error is WeirUnreachable => error instanceof WeirUnreachable

const unreadable = ({ status }: Response, cause: unknown) =>
  new WeirUnreadable({ message: "An event does not match its schema", status, cause })
