/** Parses a streamed exchange; every event is checked by its schema. */
import { Schema } from "effect"
import { Sse } from "effect/encoding"
import { ExchangeEvent } from "./event.ts"

export type StreamedEvent = typeof ExchangeEvent.Type

const decode = Schema.decodeUnknownSync(ExchangeEvent, { onExcessProperty: "error" })

/** All events of a reply's text, in order; throws for an invalid event. */
export const parseEvents = (text: string): ReadonlyArray<StreamedEvent> => {
  const events: Array<StreamedEvent> = []
  const parser = Sse.makeParser((event) => {
    if (event._tag === "Event") events.push(decode({ id: event.id, event: event.event, data: event.data }))
  })
  parser.feed(text)
  return events
}

export const readEvents = async (response: Response): Promise<ReadonlyArray<StreamedEvent>> =>
  parseEvents(await response.text())
