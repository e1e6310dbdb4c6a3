/**
 * The reply of a call: one body, or a stream of events that is written to the client's connection as it is made.
 * What a slow client does not take waits here, and is given to the connection in parts, so that progress shows.
 */
import type { EventEncoder } from "../dialects/client-api.ts"
import { isStored, type Marked, type WrittenPart } from "../media/marked.ts"
import { errorBody } from "../protocol/error.ts"
import type { CacheState } from "../protocol/reply-cache.ts"
import { toServiceError } from "../store/unavailable.ts"
import type { CarryingNotes, Connection, ReplyError, StreamPart, WholeReply } from "./connection.ts"

/** How often the progress of a slow client is looked at within the time in which it may make none. */
const looksPerStall = 4

/** What waits for slow clients in the whole process. While it is beyond its limit, no stream may keep more. */
export interface WaitingBytes {
  bytes: number
  readonly limitBytes: number
}

export interface ReplyOptions<Body extends object> {
  readonly connection: Connection<Body>
  readonly waiting: WaitingBytes
  /** Unsent bytes at which the vendor's socket is paused. */
  readonly bufferBytes: number
  /** How long a client may take none of the waiting bytes. */
  readonly stallMs: number
  /** How long a stream may be silent. */
  readonly heartbeatMs: number
  readonly nowMs: () => number
}

/** Bytes of memory that a part takes while it waits. */
const memoryOf = (part: WrittenPart): number => (isStored(part) ? part.heldBytes : Buffer.byteLength(part))

export class ClientReply<Body extends object> {
  /** In the words of the client's API. */
  readonly events: EventEncoder
  readonly #options: ReplyOptions<Body>
  /** Told when there is room again. */
  onRoom: (() => void) | undefined
  /** Told when the client has left before the end of its reply. */
  onGone: (() => void) | undefined
  /** Long parts, for which marks stand in what is written. */
  marked: Marked | undefined
  #cacheState: CacheState | undefined
  #isStreaming = false
  #isGone = false
  #isFlushed = false
  #onFlushed: (() => void) | undefined
  #mustEnd = false
  #hasRoom = true
  #waiting: Array<WrittenPart> = []
  /** The rest of the stored text that is being written. */
  #storedRest: AsyncIterator<Uint8Array> | undefined
  /** Bytes of memory that it takes. */
  #heldBytes = 0
  #waitingBytes = 0
  #wroteAtMs: number
  #progressAtMs = 0
  #takenBytes = 0

  constructor(options: ReplyOptions<Body>) {
    this.#options = options
    this.events = options.connection.events
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

  /** Whether the connection takes more at once. */
  get hasRoom(): boolean {
    return this.#hasRoom
  }

  /** Whether nothing more should be read from the vendor. */
  get isFull(): boolean {
    const { bufferBytes, waiting } = this.#options
    return (
      !this.#hasRoom && !this.#isGone && (waiting.bytes >= waiting.limitBytes || this.#unsentBytes() >= bufferBytes)
    )
  }

  /** Whether marks stand in what is written. */
  get hasMarks(): boolean {
    return this.marked?.isEmpty === false
  }

  send(reply: WholeReply<Body>): void {
    this.#isFlushed = !this.hasMarks
    if (!this.#isGone) this.#options.connection.send(this.hasMarks ? { ...reply, marked: this.marked } : reply)
  }

  /** The connection's side: the head of a reply with marks is sent. */
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

  /** Writes events, or keeps them until the client takes more. */
  write(events: StreamPart): void {
    if (typeof events !== "string" || this.marked === undefined) this.#push(events)
    else for (const part of this.marked.partsOf(events)) this.#push(part)
  }

  #push(events: WrittenPart): void {
    if (this.#isGone || this.#mustEnd) return
    const nowMs = this.#options.nowMs()
    // On a connection that it shares, bytes of others may wait already.
    if (!this.#isStreaming || this.#unsentBytes() === 0) this.#progressAtMs = nowMs
    this.#wroteAtMs = nowMs
    this.#isStreaming = true
    if (this.#hasRoom) this.#give(events)
    else {
      this.#waiting.push(events)
      this.#countWaiting(memoryOf(events))
    }
  }

  /** Ends a stream after what waits. */
  end(): void {
    if (this.#mustEnd) return
    this.#mustEnd = true
    if (!this.#isGone && this.#isEmpty) this.#options.connection.end(() => this.#flushed())
  }

  /** Tells when the reply has left the process, or nobody waits for it any more. Whole replies are not waited for. */
  whenOver(over: () => void): void {
    if (this.#isGone || this.#isFlushed || !this.#isStreaming) over()
    else this.#onFlushed = over
  }

  /** The connection's side: it has taken everything. */
  room(): void {
    this.#hasRoom = true
    this.#progressAtMs = this.#options.nowMs()
    // A stream whose end was asked for while nothing waited has ended.
    if (!this.#mustEnd || !this.#isEmpty) this.#goOn()
  }

  #goOn(): void {
    if (this.#storedRest !== undefined) {
      this.#writeStored(this.#storedRest)
      return
    }
    while (this.#hasRoom && this.#waiting.length > 0) {
      const events = this.#waiting.shift() ?? ""
      this.#countWaiting(-memoryOf(events))
      this.#give(events)
    }
    if (this.#mustEnd && this.#isEmpty) this.#options.connection.end(() => this.#flushed())
    else if (!this.isFull) this.onRoom?.()
  }

  /** The connection's side: it is closed. */
  gone(): void {
    if (this.#isGone || this.#isFlushed) return
    this.#isGone = true
    this.#waiting = []
    this.#countWaiting(-this.#waitingBytes)
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

  notice(text: string): void {
    this.#options.connection.notice?.(text)
  }

  cut(): void {
    this.#options.connection.cut()
  }

  /** Writes a heartbeat if the stream is silent, also before its first event. @returns when to look again */
  beat(nowMs: number): number {
    const { heartbeatMs } = this.#options
    if (this.#mustEnd || this.events.heartbeat === "") return Number.POSITIVE_INFINITY
    if (this.#wroteAtMs + heartbeatMs <= nowMs) {
      this.#wroteAtMs = nowMs
      if (!this.#isGone && this.#unsentBytes() === 0) {
        this.#progressAtMs = nowMs
        this.#isStreaming = true
        this.#give(this.events.heartbeat)
      }
    }
    return this.#wroteAtMs + heartbeatMs
  }

  /** Counts from now on how long the client takes nothing. @returns when to look */
  beginStall(): number {
    this.#progressAtMs = this.#options.nowMs()
    return this.stall(this.#progressAtMs)
  }

  /** When to look again whether the client is stalled; 0 if it is. */
  stall(nowMs: number): number {
    const { stallMs, connection } = this.#options
    if (!this.#isStreaming || this.#isGone || this.#isFlushed) return Number.POSITIVE_INFINITY
    const taken = connection.takenBytes()
    if (this.#unsentBytes() === 0 || taken !== this.#takenBytes) this.#progressAtMs = nowMs
    this.#takenBytes = taken
    const dueMs = this.#progressAtMs + stallMs
    return dueMs <= nowMs ? 0 : Math.min(dueMs, nowMs + stallMs / looksPerStall)
  }

  #hold(bytes: number): void {
    this.#heldBytes += bytes
    this.#countWaiting(bytes)
  }

  #countWaiting(bytes: number): void {
    this.#waitingBytes += bytes
    this.#options.waiting.bytes += bytes
  }

  #give(events: WrittenPart): void {
    if (isStored(events)) {
      this.#hold(events.heldBytes)
      this.#writeStored(events.chunks())
    } else this.#giveNow(events)
  }

  #giveNow(events: StreamPart): void {
    const { connection } = this.#options
    this.#hasRoom = connection.write(events)
    if (!this.#hasRoom) this.#takenBytes = connection.takenBytes()
  }

  /** Writes the next chunk of a stored text; the one after it when there is room, and then what waits. */
  #writeStored(chunks: AsyncIterator<Uint8Array>): void {
    this.#storedRest = chunks
    this.#hasRoom = false
    chunks.next().then(
      ({ done, value }) => {
        if (this.#isGone) return
        if (done === true) {
          this.#storedRest = undefined
          this.#hold(-this.#heldBytes)
          this.#hasRoom = true
          this.#progressAtMs = this.#options.nowMs()
          this.#goOn()
        } else {
          this.#hold(-Math.min(value.length, this.#heldBytes))
          this.#giveNow(value)
          if (this.#hasRoom) this.#writeStored(chunks)
        }
      },
      () => this.cut(),
    )
  }

  get #isEmpty(): boolean {
    return this.#waiting.length === 0 && this.#storedRest === undefined
  }

  #unsentBytes(): number {
    return this.#waitingBytes + this.#options.connection.unsentBytes()
  }

  #flushed(): void {
    this.#isFlushed = true
    this.#onFlushed?.()
  }
}
