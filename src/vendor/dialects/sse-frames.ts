/**
 * Bytes of an event stream to a vendor's events: Effect's SSE parser behind a streaming UTF-8 decoder, and a way past it
 * for frames that repeat the one before but for their text.
 */
import { Sse } from "effect/encoding"
import { type Decoder, malformed, type VendorEvent } from "./dialect.ts"
import { learnEnvelope, readEnvelope, type TextEnvelope } from "./text-envelope.ts"

/** The largest single frame a vendor may send; images inside a frame are the largest that vendors do send. */
export const maxFrameBytes = 4 * 1024 * 1024

const frameEnd = "\n\n"

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
  const parse = (piece: string): void => {
    if (parser.feed(piece) !== undefined) events.push(malformed)
  }

  let envelope: TextEnvelope | undefined
  let betweenFrames = true

  /** Parses one whole frame, and remembers its envelope where its text was all that it brought. */
  const parseFrame = (frame: string): void => {
    const before = events.length
    parse(frame)
    const isAlone = betweenFrames && events.length === before + 1
    envelope = isAlone ? learnEnvelope(frame, events[before]) : undefined
    betweenFrames = true
  }

  const feed = (piece: string): void => {
    let at = 0
    while (at < piece.length) {
      const repeated = betweenFrames && envelope !== undefined ? readEnvelope(envelope, piece, at) : undefined
      if (repeated !== undefined) {
        frameCount++
        events.push(repeated.event)
        at = repeated.end
        continue
      }
      const end = piece.indexOf(frameEnd, at)
      if (end === -1) {
        parse(at === 0 ? piece : piece.slice(at))
        betweenFrames = false
        return
      }
      parseFrame(piece.slice(at, end + frameEnd.length))
      at = end + frameEnd.length
    }
  }

  return {
    push: (bytes) => {
      events = []
      feed(text.decode(bytes, { stream: true }))
      return events
    },
    // A payload whose closing blank line never came is given too.
    end: () => {
      events = []
      parse(`${text.decode()}\n\n`)
      close(events)
      return events
    },
    frames: () => frameCount,
  }
}
