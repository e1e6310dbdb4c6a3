/** Streams of Amazon Bedrock towards clients: events are written as text first, and then put into its frames. */
import type { Framing } from "../client/client-api.ts"
import { writeFrame } from "./event-stream.ts"

/** An event of a text stream. */
export interface TextEvent {
  readonly type: string
  readonly data: string
}

/** The events of a text. Comments, which bridge silence, are none. */
const eventsIn = (text: string): ReadonlyArray<TextEvent> =>
  text.split(/\r?\n\r?\n/).flatMap((event) => {
    const lines = event.split(/\r?\n/)
    const valuesOf = (name: string) =>
      lines.flatMap((line) => (line.startsWith(`${name}:`) ? [line.slice(name.length + 1).trimStart()] : []))
    const data = valuesOf("data")
    return data.length === 0 ? [] : [{ type: valuesOf("event")[0] ?? "", data: data.join("\n") }]
  })

export const inFrames = (frameOf: (event: TextEvent) => Uint8Array): Framing => ({
  contentType: "application/vnd.amazon.eventstream",
  frames: (text) => Buffer.concat(eventsIn(text).map(frameOf)),
})

/** The failure of a stream that has begun. */
export const failureFrame = (message: unknown): Uint8Array =>
  writeFrame("exception", "modelStreamErrorException", JSON.stringify({ message: message ?? "" }))
