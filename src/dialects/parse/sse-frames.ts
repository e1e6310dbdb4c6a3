/**
 * Decodes an event stream to vendor events: Effect's SSE parser behind a streaming UTF-8 decoder, with a fast path for
 * frames that repeat the previous one except for their text.
 */
import { StringDecoder } from "node:string_decoder"
import { Sse } from "effect/encoding"
import type { TextEnvelope } from "../carry/vendor-frame.ts"
import { type Decoder, malformed, type VendorEvent } from "../chat-dialect.ts"
import { learnEnvelope, readEnvelope } from "./text-envelope.ts"

/** Maximum size of one frame; the largest that vendors send contain images. */
export const maxFrameBytes = 4 * 1024 * 1024

const frameEnd = "\n\n"

type ReadFrame = (data: string, events: Array<VendorEvent>) => void

/** The data that are carried instead of those of the frame that was read last. */
type CarriedAs = (data: string) => string

/**
 * A decoder of event streams: keeps incomplete frames, and emits `malformed` for unreadable ones.
 * @param readFrame returns the events of one frame's data (multi-line data joined by line feeds)
 * @param carries whether each frame is emitted too, before its events, except for frames with a fault
 * @param close returns the events that are known only at the end of the connection
 * @param carriedAs the frame itself if absent
 */
export const makeSseDecoder = (
  readFrame: ReadFrame,
  carries = false,
  close: (events: Array<VendorEvent>) => void = noMore,
  carriedAs: CarriedAs = (data) => data,
): Decoder => new SseDecoder(readFrame, carries, close, carriedAs)

export const noMore = () => {}

class SseDecoder implements Decoder {
  readonly #parser: Sse.Parser
  readonly #close: (events: Array<VendorEvent>) => void
  readonly #text = new TextPieces()
  #events: Array<VendorEvent> = []
  #envelope: TextEnvelope | undefined
  #isBetweenFrames = true
  readonly #carries: boolean

  constructor(
    readFrame: ReadFrame,
    carries: boolean,
    close: (events: Array<VendorEvent>) => void,
    carriedAs: CarriedAs,
  ) {
    this.#close = close
    this.#carries = carries
    this.#parser = Sse.makeParser(
      (event) => {
        if (event._tag !== "Event") return
        const before = this.#events.length
        readFrame(event.data, this.#events)
        if (carries) addFrame(this.#events, before, event.event, carriedAs(event.data))
      },
      { maxEventSize: maxFrameBytes },
    )
  }

  push(bytes: Uint8Array): ReadonlyArray<VendorEvent> {
    this.#feed(this.#text.read(bytes))
    return this.#taken()
  }

  /** A last frame without its closing blank line is decoded too. */
  end(): ReadonlyArray<VendorEvent> {
    this.#parse(`${this.#text.end()}\n\n`)
    this.#close(this.#events)
    return this.#taken()
  }

  #feed(piece: string): void {
    let at = 0
    while (at < piece.length) {
      const envelope = this.#isBetweenFrames ? this.#envelope : undefined
      const repeated = envelope === undefined ? undefined : readEnvelope(envelope, piece, at)
      if (repeated !== undefined) {
        if (this.#carries) this.#events.push({ kind: "frame", frame: { json: repeated.event.json ?? "", envelope } })
        this.#events.push(repeated.event)
        at = repeated.end
        continue
      }
      const end = piece.indexOf(frameEnd, at)
      if (end === -1) {
        this.#parse(at === 0 ? piece : piece.slice(at))
        this.#isBetweenFrames = false
        return
      }
      this.#parseFrame(piece.slice(at, end + frameEnd.length))
      at = end + frameEnd.length
    }
  }

  /** Parses one whole frame, and stores its envelope if it contained only text. */
  #parseFrame(frame: string): void {
    const before = this.#events.length
    this.#parse(frame)
    const isAlone = this.#isBetweenFrames && this.#events.length === before + (this.#carries ? 2 : 1)
    this.#envelope = isAlone ? learnEnvelope(frame, this.#events.at(-1)) : undefined
    this.#isBetweenFrames = true
  }

  #parse(piece: string): void {
    if (this.#parser.feed(piece) !== undefined) this.#events.push(malformed)
  }

  #taken(): ReadonlyArray<VendorEvent> {
    const events = this.#events
    this.#events = []
    return events
  }
}

/** Emits a frame before its events, unless it is a fault, because a vendor's error text is not forwarded. */
export const addFrame = (events: Array<VendorEvent>, before: number, event: string, json: string): void => {
  for (let at = before; at < events.length; at++) if (events[at]?.kind === "fault") return
  events.splice(before, 0, { kind: "frame", frame: { name: nameOfEvent(event), json } })
}

/** JSON as the data of an event, which has a field for each line. */
export const dataOf = (json: string): string =>
  json.includes("\n") || json.includes("\r") ? json.split(/\r\n|\r|\n/).join("\ndata: ") : json

/** The name of an event, unless it is the one that all have which name none. */
export const nameOfEvent = (event: string): string | undefined => (event === "message" ? undefined : event)

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

  /** The rest of a character that was cut for good. */
  end(): string {
    return this.#decoder?.end() ?? ""
  }
}
