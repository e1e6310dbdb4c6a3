/**
 * Reads one vendor reply, one socket read at a time, with its timeout tiers and size limits, and passes its events to
 * the client as they arrive.
 */
import { type Clock, Data, Effect } from "effect"
import { type Decoder, type Dialect, malformed, type VendorEvent } from "../dialects/dialect.ts"
import type { ServiceError } from "../protocol/error.ts"
import type { Timeouts } from "../protocol/timeout-tiers.ts"
import { UpstreamBroken, type UpstreamCall, type UpstreamHead } from "../upstream/client.ts"
import { retryAfterOf } from "../upstream/retry-after.ts"
import type { ClientLink } from "./client-link.ts"
import { silence } from "./silence.ts"
import type { Tally } from "./tally.ts"
import { type TierTimeout, tierTimeout } from "./tiers.ts"
import type { Watch } from "./watch.ts"

/** The vendor refused. */
export class VendorRejected extends Data.TaggedError("VendorRejected")<{
  readonly status: number
  readonly code: string
  /** How long the vendor asks to wait. */
  readonly retryAfterMs?: number | undefined
}> {}

export type ReadError = TierTimeout | VendorRejected | UpstreamBroken | ServiceError<"bad_request">

export interface ReplyOptions {
  readonly call: UpstreamCall
  readonly dialect: Dialect
  readonly link: ClientLink
  readonly tally: Tally
  /** Whether the client gets deltas as they arrive. */
  readonly streams: boolean
  readonly timeouts: Timeouts
  /** Maximum size of a reply. */
  readonly maxBytes: number
  readonly clock: Clock.Clock
  /** Where the idle tier of a stream is checked. */
  readonly watch: Pick<Watch<TierTimeout>, "during">
}

/** Maximum size of a whole reply, and of an error body. */
const maxBodyBytes = 32 * 1024 * 1024
const maxErrorBytes = 64 * 1024

export class ReplyReader {
  readonly #options: ReplyOptions
  #streamDecoder: Decoder | undefined
  #readAtMs: number
  #bytes = 0
  #clientIsSlow = false
  #atEnd = false
  /** The longest pause between two reads. */
  longestGapMs = 0

  constructor(options: ReplyOptions) {
    this.#options = options
    this.#readAtMs = options.clock.currentTimeMillisUnsafe()
  }

  /** Reads events up to and including the first frame; all events of a reply that is not streamed. */
  get untilFirstFrame(): Effect.Effect<ReadonlyArray<VendorEvent>, ReadError> {
    return Effect.flatMap(this.#options.call.head, (head) => {
      this.#readAtMs = this.#options.clock.currentTimeMillisUnsafe()
      if (head.status !== 200) return this.#rejection(head)
      // No compression was requested: a compressed reply is refused.
      if (isEncoded(head)) return Effect.fail(new VendorRejected({ status: 502, code: "unexpected_encoding" }))
      return isEventStream(head) ? this.#firstFrame() : this.#wholeBody()
    }).pipe(Effect.filterOrElse((events) => events[0]?.kind !== "fault", rejectedBy))
  }

  /** Reads until the vendor's terminal event, or until the end of the body after its stop. */
  get untilWhole(): Effect.Effect<void, ReadError> {
    const { tally } = this.#options
    if (tally.done) return Effect.void
    if (this.#atEnd) return tally.stop === undefined ? disconnected : Effect.void
    const { idle: limitMs } = this.#options.timeouts
    const late = () => tierTimeout("idle", limitMs)
    return this.#options.watch.during({ sinceMs: this.#idleSinceMs, limitMs, late }, this.#pump())
  }

  /** Counts events and writes them to the client; a fault ends the reply. */
  deliver(events: ReadonlyArray<VendorEvent>): Effect.Effect<void, VendorRejected> {
    const { link, tally, streams } = this.#options
    let text = ""
    let fault: VendorRejected | undefined
    for (const event of events) {
      tally.add(event)
      if (event.kind === "delta" && streams) text += link.events.delta(event.delta, event.json)
      if (event.kind === "fault") {
        fault = new VendorRejected(event.fault)
        break
      }
      // Anything after the terminal event is not part of the reply.
      if (event.kind === "done") break
    }
    if (text !== "") link.write(text)
    return fault === undefined ? Effect.void : Effect.fail(fault)
  }

  #pump(): Effect.Effect<void, ReadError> {
    return Effect.gen({ self: this }, function* () {
      const { link, tally, clock } = this.#options
      while (!tally.done) {
        if (link.queue.isFull) {
          // The idle clock stops while the client is slow.
          this.#clientIsSlow = true
          yield* link.queue.room
          this.#clientIsSlow = false
          this.#readAtMs = clock.currentTimeMillisUnsafe()
        }
        yield* this.deliver(yield* this.#next())
        if (this.#atEnd && !tally.done) return tally.stop === undefined ? yield* disconnected : undefined
      }
    })
  }

  /** Created when first needed: a whole reply does not need it. */
  get #decoder(): Decoder {
    this.#streamDecoder ??= this.#options.dialect.decoder()
    return this.#streamDecoder
  }

  /** The next events; none if the bytes complete no frame. */
  #next(): Effect.Effect<ReadonlyArray<VendorEvent>, UpstreamBroken> {
    return Effect.map(this.#read(), (bytes) => {
      if (this.#bytes > this.#options.maxBytes) return [malformed]
      return bytes === undefined ? this.#decoder.end() : this.#decoder.push(bytes)
    })
  }

  #read(): Effect.Effect<Uint8Array | undefined, UpstreamBroken> {
    return Effect.map(this.#options.call.read, (bytes) => {
      const nowMs = this.#options.clock.currentTimeMillisUnsafe()
      this.longestGapMs = Math.max(this.longestGapMs, nowMs - this.#readAtMs)
      this.#readAtMs = nowMs
      this.#bytes += bytes?.length ?? 0
      this.#atEnd = bytes === undefined
      return bytes
    })
  }

  /** Any byte resets the idle tier: keep-alive comments too, although they are not frames. */
  readonly #idleSinceMs = (): number =>
    this.#clientIsSlow ? this.#options.clock.currentTimeMillisUnsafe() : this.#readAtMs

  #idle(): Effect.Effect<never, TierTimeout> {
    const { idle } = this.#options.timeouts
    return Effect.flatMap(silence(this.#idleSinceMs, idle), () => Effect.fail(tierTimeout("idle", idle)))
  }

  #firstFrame(): Effect.Effect<ReadonlyArray<VendorEvent>, ReadError> {
    return Effect.gen({ self: this }, function* () {
      while (true) {
        const events = yield* this.#next()
        if (this.#decoder.frames() > 0 || events.length > 0) return events
        if (this.#atEnd) return yield* disconnected
      }
    })
  }

  #wholeBody(): Effect.Effect<ReadonlyArray<VendorEvent>, ReadError> {
    return Effect.map(
      Effect.raceFirst(this.#collect(Math.min(maxBodyBytes, this.#options.maxBytes)), this.#idle()),
      (body) => (body === undefined ? [malformed] : this.#options.dialect.decodeBody(body)),
    )
  }

  #rejection({ status, headers }: UpstreamHead): Effect.Effect<never, ReadError> {
    return Effect.flatMap(this.#collect(maxErrorBytes), (body) => {
      const retryAfterMs = retryAfterOf(headers, this.#options.clock.currentTimeMillisUnsafe())
      const fault = this.#options.dialect.decodeError(status, body ?? "")
      return Effect.fail(new VendorRejected({ ...fault, retryAfterMs }))
    })
  }

  /** The remaining body as text; undefined if it exceeds the limit. */
  #collect(limit: number): Effect.Effect<string | undefined, UpstreamBroken> {
    return Effect.gen({ self: this }, function* () {
      const chunks: Array<Uint8Array> = []
      while (this.#bytes <= limit) {
        const chunk = yield* this.#read()
        if (chunk === undefined) return Buffer.concat(chunks).toString("utf8")
        chunks.push(chunk)
      }
      return undefined
    })
  }
}

const isEventStream = ({ headers }: UpstreamHead): boolean =>
  headers["content-type"]?.startsWith("text/event-stream") === true

const isEncoded = ({ headers }: UpstreamHead): boolean => (headers["content-encoding"] ?? "identity") !== "identity"

const disconnected = Effect.fail(new UpstreamBroken({ cause: "the reply ended before it was whole" }))

const rejectedBy = ([first]: ReadonlyArray<VendorEvent>): Effect.Effect<never, VendorRejected> =>
  Effect.fail(new VendorRejected(first?.kind === "fault" ? first.fault : { status: 502, code: "malformed_reply" }))
