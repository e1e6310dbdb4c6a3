/**
 * Decodes an event stream to vendor events: Effect's SSE parser behind a streaming UTF-8 decoder, with a fast path for
 * frames that repeat the previous one except for their text.
 */
import { Sse } from "effect/encoding"
import { type Decoder, malformed, type VendorEvent } from "./dialect.ts"
import { learnEnvelope, readEnvelope, type TextEnvelope } from "./text-envelope.ts"

/** Maximum size of one frame; the largest that vendors send contain images. */
export const maxFrameBytes = 4 * 1024 * 1024

const frameEnd = "\n\n"

/**
 * A decoder of event streams: keeps incomplete frames, counts frames, and emits `malformed` for unreadable ones.
 * @param readFrame returns the events of one frame's data (multi-line data joined by line feeds)
 * @param close returns the events that are known only at the end of the connection
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

  /** Parses one whole frame, and stores its envelope if it contained only text. */
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
    // A last frame without its closing blank line is decoded too.
    end: () => {
      events = []
      parse(`${text.decode()}\n\n`)
      close(events)
      return events
    },
    frames: () => frameCount,
  }
}
