/**
 * Decodes an event stream to vendor events: Effect's SSE parser behind a streaming UTF-8 decoder, with a fast path for
 * frames that repeat the previous one except for their text.
 */
import { StringDecoder } from "node:string_decoder"
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
  const text = new TextPieces()
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

  const taken = (): ReadonlyArray<VendorEvent> => {
    const read = events
    events = []
    return read
  }

  return {
    push: (bytes) => {
      feed(text.read(bytes))
      return taken()
    },
    // A last frame without its closing blank line is decoded too.
    end: () => {
      parse(`${text.end()}\n\n`)
      close(events)
      return taken()
    },
    frames: () => frameCount,
  }
}

const firstOfSeveral = 0x80

/** UTF-8 in pieces. A decoder is made when a character is cut for the first time: most vendors end each write with a line. */
class TextPieces {
  #decoder: StringDecoder | undefined

  read(bytes: Uint8Array): string {
    const isCut = (bytes.at(-1) ?? 0) >= firstOfSeveral
    if (isCut) this.#decoder ??= new StringDecoder("utf8")
    const buffer = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
    return this.#decoder === undefined ? buffer.toString("utf8") : this.#decoder.write(buffer)
  }

  /** What is left of a character that was cut for good. */
  end(): string {
    return this.#decoder?.end() ?? ""
  }
}
