/** Bytes of an event stream to a vendor's events: Effect's SSE parser behind a streaming UTF-8 decoder. */
import { Sse } from "effect/encoding"
import { type Decoder, malformed, type VendorEvent } from "./dialect.ts"

/** The largest single frame a vendor may send; images inside a frame are the largest that vendors do send. */
export const maxFrameBytes = 4 * 1024 * 1024

/**
 * A decoder of event streams: keeps what is split, counts frames, and turns what cannot be read into `malformed`.
 * @param readFrame gives the events of one frame's data (multi-line data joined by line feeds)
 * @param close gives what only the end of the connection tells
 */
export const makeSseDecoder = (
  readFrame: (data: string, events: Array<VendorEvent>) => void,
  close: (events: Array<VendorEvent>) => void = () => {},
): Decoder => {
  const text = new TextDecoder("utf-8")
  let frameCount = 0
  let events: Array<VendorEvent> = []
  const parser = Sse.makeParser(
    (event) => {
      if (event._tag !== "Event") return
      frameCount++
      readFrame(event.data, events)
    },
    { maxEventSize: maxFrameBytes },
  )
  const feed = (piece: string): ReadonlyArray<VendorEvent> => {
    events = []
    if (parser.feed(piece) !== undefined) events.push(malformed)
    return events
  }
  return {
    push: (bytes) => feed(text.decode(bytes, { stream: true })),
    // A payload whose closing blank line never came is given too.
    end: () => {
      feed(`${text.decode()}\n\n`)
      close(events)
      return events
    },
    frames: () => frameCount,
  }
}
