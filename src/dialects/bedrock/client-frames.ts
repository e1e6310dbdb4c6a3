/** Streams of Amazon Bedrock towards clients: events are written as text first, and then put into its frames. */
import { Sse } from "effect/encoding"
import type { Framing } from "../client/client-api.ts"
import { writeFrame } from "./event-stream.ts"

/** An event of a text stream. */
export interface TextEvent {
  readonly type: string
  readonly data: string
}

/** The events of a text. Comments, which bridge silence, are none. */
const eventsIn = (text: string): ReadonlyArray<TextEvent> => {
  const events: Array<TextEvent> = []
  const parser = Sse.makeParser(
    (event) => {
      if (event._tag === "Event") events.push({ type: event.event, data: event.data })
    },
    { maxEventSize: text.length },
  )
  parser.feed(text)
  return events
}

export const inFrames = (frameOf: (event: TextEvent) => Uint8Array): Framing => ({
  contentType: "application/vnd.amazon.eventstream",
  frames: (text) => Buffer.concat(eventsIn(text).map(frameOf)),
})

/** The failure of a stream that has begun. */
export const failureFrame = (message: unknown): Uint8Array =>
  writeFrame("exception", "modelStreamErrorException", JSON.stringify({ message: message ?? "" }))
