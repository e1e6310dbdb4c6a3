/** The reply of a call: one body, or a stream of events that is written to the client's connection as it is made. */
import type { EventEncoder } from "../../dialects/client/client-api.ts"
import type { RateRoom } from "../../dialects/client/limit-headers.ts"
import type { Marked, WrittenPart } from "../../media/marked.ts"
import type { ReplyReview } from "../../policies/reply/reply-review.ts"
import { ReviewedEvents } from "../../policies/reply/reviewed-events.ts"
import type { CacheState } from "../../protocol/control/reply-cache.ts"
import { errorBody } from "../../protocol/error.ts"
import { toServiceError } from "../../store/unavailable.ts"
import type {
  CarryingNotes,
  Connection,
  ConnectionListener,
  ReplyError,
  StreamPart,
  WholeReply,
} from "../connection.ts"
import { type BufferListener, type BufferOptions, ReplyBuffer } from "./reply-buffer.ts"
import { Stall } from "./stall.ts"

/** The number of times that the progress of a slow client is checked within its stall timeout. */
const looksPerStall = 4

export interface ReplyOptions<Body extends object> extends BufferOptions {
  readonly connection: Connection<Body>
  /** The time in which a client may take none of the waiting bytes. */
  readonly stallMs: number
  /** The time for which a stream may be silent. */
  readonly heartbeatMs: number
}

export class ClientReply<Body extends object> implements ConnectionListener, BufferListener {
  /** The format of the client's API, with the review of its policies around it. */
  events: EventEncoder
  readonly #options: ReplyOptions<Body>
  readonly #buffer: ReplyBuffer
  readonly #stall: Stall
  /** Called when there is room again. */
  onRoom: (() => void) | undefined
  /** Called when the client has left before the end of its reply. */
  onGone: (() => void) | undefined
  /** Long parts, for which the written JSON has placeholders. */
  marked: Marked | undefined
  #cacheState: CacheState | undefined
  #isStreaming = false
  #isGone = false
  #isFlushed = false
  #onFlushed: (() => void) | undefined
  #mustEnd = false
  #wroteAtMs: number

  constructor(options: ReplyOptions<Body>) {
    this.#options = options
    this.events = options.connection.events
    this.#stall = new Stall(options.stallMs)
    this.#buffer = new ReplyBuffer(options, this.#stall, this)
    this.#wroteAtMs = options.nowMs()
    options.connection.listen(this)
  }

  /** Whether the reply is committed to a stream: errors are then events. */
  get isStreaming(): boolean {
    return this.#isStreaming
  }

  /** Undefined where the reply cache is off. */
  get cacheState(): CacheState | undefined {
    return this.#cacheState
  }

  get isGone(): boolean {
    return this.#isGone
  }

  /** Whether the connection takes more now. */
  get hasRoom(): boolean {
    return this.#buffer.hasRoom
  }

  /** Whether nothing more should be read from the vendor. */
  get isFull(): boolean {
    return !this.#isGone && this.#buffer.isFull
  }

  /** Whether its texts are reviewed before they are written. */
  get isReviewed(): boolean {
    return this.events instanceof ReviewedEvents
  }

  /** Whether the written JSON has placeholders. */
  get hasMarks(): boolean {
    return this.marked?.isEmpty === false
  }

  send(reply: WholeReply<Body>): void {
    this.#isFlushed = !this.hasMarks
    if (!this.#isGone) this.#options.connection.send(this.hasMarks ? { ...reply, marked: this.marked } : reply)
  }

  /** Called by the connection: the head of a reply with placeholders is sent. */
  parts(parts: ReadonlyArray<WrittenPart>): void {
    for (const part of parts) this.#push(part)
    this.end()
  }

  /** Ends a failed call: an error reply, or `t.err` if the stream has started. */
  refuse(error: ReplyError, requestId: string): void {
    if (this.#isStreaming) {
      const told = this.events.error(errorBody(toServiceError(error), requestId))
      if (told === "") this.cut()
      else {
        this.write(told)
        this.end()
      }
      return
    }
    this.#isFlushed = true
    if (!this.#isGone) this.#options.connection.refuse(error)
  }

  /**
   * Reviews everything that is written from now on.
   * @returns the function that writes the events that wait at the end of a stream
   */
  review(review: ReplyReview): () => Promise<void> {
    const reviewed = new ReviewedEvents(this.events, review)
    this.events = reviewed
    const more = () => {
      const text = reviewed.more()
      if (text !== "") this.write(text)
    }
    review.onAnswer = more
    return async () => {
      const rest = reviewed.rest()
      if (rest !== "") this.write(rest)
      const late = await reviewed.answered()
      if (late !== "") this.write(late)
    }
  }

  /** Writes events, or keeps them until the client takes more. */
  write(events: StreamPart): void {
    if (typeof events !== "string" || this.marked === undefined) this.#push(events)
    else for (const part of this.marked.partsOf(events)) this.#push(part)
  }

  #push(events: WrittenPart): void {
    if (this.#isGone || this.#mustEnd || this.#isFlushed) return
    const nowMs = this.#options.nowMs()
    // On a connection that it shares, bytes of other replies may wait already.
    if (!this.#isStreaming || this.#buffer.unsentBytes() === 0) this.#stall.begin(nowMs)
    this.#wroteAtMs = nowMs
    this.#isStreaming = true
    this.#buffer.add(events)
  }

  /** Ends a stream after what waits. */
  end(): void {
    if (this.#mustEnd) return
    this.#mustEnd = true
    if (!this.#isGone && this.#buffer.isEmpty) this.#options.connection.end(() => this.#flushed())
  }

  /** Waits until the reply has left the process, or the client is gone. Whole replies are not waited for. */
  whenOver(over: () => void): void {
    if (this.#isGone || this.#isFlushed || !this.#isStreaming) over()
    else this.#onFlushed = over
  }

  /** Called by the connection: it has taken everything. */
  room(): void {
    this.#buffer.room()
    // A stream that was ended while nothing waited has ended.
    if (!this.#mustEnd || !this.#buffer.isEmpty) this.#buffer.goOn()
  }

  /** Called by the buffer: it has given as much as there was room for. */
  wentOn(): void {
    if (this.#mustEnd && this.#buffer.isEmpty) this.#options.connection.end(() => this.#flushed())
    else if (!this.isFull) this.onRoom?.()
  }

  /** Called by the connection: it is closed. */
  gone(): void {
    if (this.#isGone || this.#isFlushed) return
    this.#isGone = true
    this.#buffer.drop()
    this.onGone?.()
    this.#onFlushed?.()
  }

  cached(state: CacheState): void {
    this.#cacheState = state
    this.#options.connection.cached?.(state)
  }

  omittingTools(types: ReadonlyArray<string>): void {
    this.#options.connection.omittingTools?.(types)
  }

  omitting(types: ReadonlyArray<string>): void {
    this.#options.connection.omitting?.(types)
  }

  clamping(names: ReadonlyArray<string>): void {
    this.#options.connection.clamping?.(names)
  }

  carrying(notes: CarryingNotes | undefined): void {
    this.#options.connection.carrying?.(notes)
  }

  rates(rooms: ReadonlyArray<RateRoom>): void {
    this.#options.connection.rates?.(rooms)
  }

  notice(text: string): void {
    this.#options.connection.notice?.(text)
  }

  cut(): void {
    this.#options.connection.cut()
  }

  /**
   * Writes a heartbeat if the stream is silent, also before its first event.
   * @returns the time of the next check
   */
  beat(nowMs: number): number {
    const { heartbeatMs } = this.#options
    if (this.#mustEnd || this.events.heartbeat === "") return Number.POSITIVE_INFINITY
    if (this.#wroteAtMs + heartbeatMs <= nowMs) {
      this.#wroteAtMs = nowMs
      if (!this.#isGone && this.#buffer.unsentBytes() === 0) {
        this.#stall.begin(nowMs)
        this.#isStreaming = true
        this.#buffer.add(this.events.heartbeat)
      }
    }
    return this.#wroteAtMs + heartbeatMs
  }

  /**
   * Measures from now on how long the client takes nothing.
   * @returns the time of the next check
   */
  beginStall(): number {
    const nowMs = this.#options.nowMs()
    this.#stall.begin(nowMs)
    return this.stall(nowMs)
  }

  /** The time of the next check whether the client is stalled; 0 if it is. */
  stall(nowMs: number): number {
    const { stallMs, connection } = this.#options
    if (!this.#isStreaming || this.#isGone || this.#isFlushed) return Number.POSITIVE_INFINITY
    const dueMs = this.#stall.dueMs(nowMs, this.#buffer.unsentBytes(), connection.takenBytes())
    return dueMs <= nowMs ? 0 : Math.min(dueMs, nowMs + stallMs / looksPerStall)
  }

  #flushed(): void {
    this.#isFlushed = true
    this.#onFlushed?.()
  }
}
