/** Effect's streams from the client's async iterables. */
import { Effect, Option, Schema, Stream } from "effect"
import { type EventName, eventData } from "../../protocol/event.ts"
import { type WeirError, WeirUnreadable } from "../errors.ts"
import type { StreamedEvent } from "../exchange-stream.ts"
import type { CallOptions } from "../options.ts"
import { textOfEvent } from "../reply.ts"
import { fromCall } from "./promises.ts"

/** Items one by one; leaving the stream aborts what makes them. */
export const fromItems = <A>(
  items: (options: CallOptions) => AsyncIterator<A, unknown, undefined>,
): Stream.Stream<A, WeirError> =>
  Stream.unwrap(
    Effect.map(
      Effect.acquireRelease(
        Effect.sync(() => new AbortController()),
        (controller) => Effect.sync(() => controller.abort()),
      ),
      ({ signal }) =>
        Stream.unfold(items({ signal }), (iterator) =>
          Effect.map(
            fromCall(() => iterator.next()),
            ({ done, value }) => (done === true ? undefined : ([value, iterator] as const)),
          ),
        ),
    ),
  )

const checked = <Name extends EventName>(event: Name) =>
  Schema.Struct({ id: Schema.String, event: Schema.Literal(event), data: eventData[event] })

const decode = Schema.decodeUnknownOption(
  Schema.Union([checked("t.open"), checked("t.delta"), checked("t.usage"), checked("t.warn"), checked("t.close")]),
)

/** The events of an exchange, each checked by its schema. */
export const fromEvents = (
  subject: string,
  events: (options: CallOptions) => AsyncIterator<StreamedEvent, unknown, undefined>,
): Stream.Stream<StreamedEvent, WeirError> =>
  Stream.mapEffect(fromItems(events), (event) => {
    const read = decode(event)
    if (Option.isSome(read)) return Effect.succeed<StreamedEvent>(read.value)
    return Effect.fail(new WeirUnreadable({ message: "An event does not match its schema", subject, status: 200 }))
  })

/** The text deltas of a stream; of its first reply, if several were asked for. */
export const textOf = <E>(events: Stream.Stream<StreamedEvent, E>): Stream.Stream<string, E> =>
  Stream.flatMap(events, (event) => {
    const text = textOfEvent(event)
    return text === undefined ? Stream.empty : Stream.succeed(text)
  })
