/**
 * Reads a model's reply, streamed or whole: the bytes of one read of the vendor's socket are decoded, counted and
 * written to the client in the same turn of the event loop.
 */
import { wholeBody } from "../../calls/vendor/whole-body.ts"
import type { Delivered, Reader } from "../../calls/vendor/work.ts"
import { type ChatDialect, type Decoder, malformed, type VendorEvent } from "../../dialects/chat-dialect.ts"
import type { EventEncoder } from "../../dialects/client/client-api.ts"
import type { VendorFault } from "../../dialects/vendor/faults.ts"
import { CitedBlocks } from "./cited-blocks.ts"
import { TextCalls } from "./text-calls.ts"
import type { UsageMeter } from "./usage-meter.ts"

/** The client of a stream. */
export interface ChatClient {
  readonly events: Pick<EventEncoder, "delta" | "frame">
  readonly write: (events: string) => void
}

export interface ReaderOptions {
  /** Absent if the reply is kept whole. */
  readonly client?: ChatClient | undefined
  /**
   * Called when a reply begins.
   * @returns the first events of a stream
   */
  readonly opening: () => string
  /** Called with each part that is taken. */
  readonly tap?: ((events: ReadonlyArray<VendorEvent>) => void) | undefined
  readonly maxReplyBytes: number
  /** A stream ends when its text and its tools' arguments are longer. */
  readonly maxOutputBytes: number
  /** The number of replies that were asked for; further replies of a vendor are left out. */
  readonly replies: number
  /** Functions that replace the client's tools of texts. */
  readonly functionsOfTexts?: ReadonlyArray<string> | undefined
  /** Whether the client gets what the vendor sends. */
  readonly carries?: boolean | undefined
}

/** Takes a part of a reply: counts it, and writes it to the client. */
export const takeEvents = (
  meter: UsageMeter,
  { client, opening }: Pick<ReaderOptions, "client" | "opening">,
  events: ReadonlyArray<VendorEvent>,
  isFirst: boolean,
): VendorFault | undefined => {
  const isCarried = isFirst && events.some(({ kind }) => kind === "frame")
  let text = isFirst && !isCarried ? opening() : ""
  let fault: VendorFault | undefined
  let at = -1
  for (const event of events) {
    at++
    meter.add(event)
    if (event.kind === "frame") text += client?.events.frame?.(event.frame, events, at) ?? ""
    if (event.kind === "delta" && client !== undefined) text += client.events.delta(event.delta, event.json)
    if (event.kind === "fault") fault = event.fault
    // Anything after the terminal event is not part of the reply.
    if (event.kind === "fault" || event.kind === "done") break
  }
  if (text !== "") client?.write(text)
  return fault
}

const replyOf = (event: VendorEvent): number =>
  (event.kind === "delta" ? event.delta.reply : event.kind === "stop" ? event.reply : 0) ?? 0

/** The vendor goes on beyond its limit. */
const outputTooLong: VendorFault = { status: 502, code: "output_too_long", blame: "moment" }

const noEvents: ReadonlyArray<VendorEvent> = []

/**
 * Whether a client could use an event: counts, tiers and regions have no content, and vendors send them first before they
 * fail.
 */
const isUsable = ({ kind }: VendorEvent): boolean =>
  kind !== "usage" && kind !== "tier" && kind !== "region" && kind !== "frame"

/** The last event of each kind, and the first frames. */
const lastOfEach = (events: ReadonlyArray<VendorEvent>): ReadonlyArray<VendorEvent> => {
  const frames = events.filter(({ kind }) => kind === "frame").slice(0, mostEarlyFrames)
  const others = new Map(events.filter(({ kind }) => kind !== "frame").map((event) => [event.kind, event]))
  return [...frames, ...others.values()]
}

/** Vendors begin with one or two frames, and keep connections open with others that have no content. */
const mostEarlyFrames = 16

export class ChatReader implements Reader {
  readonly #dialect: ChatDialect
  readonly #decoder: Decoder | undefined
  readonly #meter: UsageMeter
  readonly #options: ReaderOptions
  readonly #texts: TextCalls | undefined
  readonly #cited = new CitedBlocks()
  #events = noEvents
  /** Whether something has come that a client could use. */
  #isBegun = false
  #bytes = 0
  /** The body of a reply that is not streamed. */
  readonly #chunks: Array<Uint8Array> = []

  constructor(dialect: ChatDialect, isStreamed: boolean, meter: UsageMeter, options: ReaderOptions) {
    this.#dialect = dialect
    this.#decoder = isStreamed ? dialect.decoder(options.carries) : undefined
    const { functionsOfTexts = [] } = options
    this.#texts = functionsOfTexts.length === 0 ? undefined : new TextCalls(functionsOfTexts)
    this.#meter = meter
    this.#options = options
  }

  get isStreamed(): boolean {
    return this.#decoder !== undefined
  }

  read(bytes: Uint8Array): boolean {
    if (this.#decoder === undefined) {
      this.#chunks.push(bytes)
      return false
    }
    this.#bytes += bytes.length
    return this.#take(this.#bytes > this.#options.maxReplyBytes ? [malformed] : this.#decoder.push(bytes))
  }

  readEnd(): boolean {
    if (this.#decoder === undefined) {
      const json = wholeBody(this.#chunks.splice(0)).toString("utf8")
      const events = this.#translated(this.#dialect.decodeBody(json))
      const isFault = events.some(({ kind }) => kind === "fault")
      this.#events =
        this.#options.carries === true && !isFault ? [{ kind: "frame", frame: { json } }, ...events] : events
      return true
    }
    return this.#take(this.#decoder.end())
  }

  get fault(): VendorFault | undefined {
    const first = this.#events.find(isUsable)
    return first?.kind === "fault" ? first.fault : undefined
  }

  /** A reply is complete with the vendor's terminal event, or at the end of its body after a stop. */
  deliver(isFirst: boolean, isEnd: boolean): Delivered {
    const { replies, tap } = this.#options
    const events = this.#events.some((event) => replyOf(event) >= replies)
      ? this.#events.filter((event) => replyOf(event) < replies)
      : this.#events
    this.#events = noEvents
    const fault = takeEvents(this.#meter, this.#options, events, isFirst)
    tap?.(events)
    if (fault !== undefined) return fault
    if (this.#isTooLong) return outputTooLong
    return this.#meter.done || (isEnd && this.#meter.stop !== undefined) ? "whole" : "more"
  }

  /** Output is counted only if the bytes of the stream can contain that much. */
  get #isTooLong(): boolean {
    const { maxOutputBytes } = this.#options
    return this.#bytes > maxOutputBytes && this.#meter.outputBytes > maxOutputBytes
  }

  #translated(events: ReadonlyArray<VendorEvent>): ReadonlyArray<VendorEvent> {
    return this.#cited.limited(this.#texts?.translated(events) ?? events)
  }

  /** Keeps events that come before the reply begins until then: the last of each kind. */
  #take(read: ReadonlyArray<VendorEvent>): boolean {
    const events = this.#translated(read)
    if (this.#isBegun) {
      this.#events = events
      return events.length > 0
    }
    const all = this.#events.length === 0 ? events : [...this.#events, ...events]
    this.#isBegun = all.some(isUsable)
    this.#events = this.#isBegun ? all : lastOfEach(all)
    return this.#isBegun
  }
}
