/**
 * The link between an exchange and its client. The exchange runs in its own fiber: when the client disconnects, the
 * link tells the exchange, which then does what billing and the vendor require.
 */
import { Deferred, Effect } from "effect"
import { errorBody, type ServiceError } from "../protocol/error.ts"
import { type StoreUnavailable, toServiceError } from "../store/unavailable.ts"
import { ByteQueue } from "./byte-queue.ts"
import { EventWriter, heartbeat } from "./event-writer.ts"

export type Reply =
  | {
      readonly _tag: "Json"
      readonly status: number
      readonly headers: Readonly<Record<string, string>>
      readonly body: string
    }
  /** The events of a stream, as bytes. */
  | { readonly _tag: "Stream"; readonly events: ByteQueue }

export type ReplyError = ServiceError | StoreUnavailable

export interface LinkOptions {
  readonly bufferBytes: number
  readonly nowMs: () => number
  /** Closes the connection of a client that accepts no bytes. */
  readonly cut: () => void
}

export class ClientLink {
  readonly queue: ByteQueue
  readonly events = new EventWriter()
  readonly cut: () => void
  readonly nowMs: () => number
  readonly #reply = Deferred.makeUnsafe<Reply, ReplyError>()
  readonly #gone = Deferred.makeUnsafe<void>()
  #streaming = false
  #wroteAtMs: number

  constructor(options: LinkOptions) {
    this.queue = new ByteQueue({ limitBytes: options.bufferBytes, nowMs: options.nowMs })
    this.cut = options.cut
    this.nowMs = options.nowMs
    this.#wroteAtMs = options.nowMs()
  }

  /** The client's side: the reply. */
  readonly reply: Effect.Effect<Reply, ReplyError> = Deferred.await(this.#reply)

  /** Completes when the client has disconnected. */
  readonly gone: Effect.Effect<void> = Deferred.await(this.#gone)

  /** Whether the reply is committed to a stream: errors are then events. */
  get isStreaming(): boolean {
    return this.#streaming
  }

  get wroteAtMs(): number {
    return this.#wroteAtMs
  }

  /** The client's side: it has disconnected, or has received everything. */
  leave(): void {
    this.queue.discard()
    Deferred.doneUnsafe(this.#gone, Effect.void)
  }

  answer(reply: Reply): void {
    Deferred.doneUnsafe(this.#reply, Effect.succeed(reply))
  }

  /** Ends a failed exchange: an error reply, or `t.err` if the stream has started. */
  refuse(error: ReplyError, requestId: string): void {
    if (!this.#streaming) {
      Deferred.doneUnsafe(this.#reply, Effect.fail(error))
      return
    }
    this.write(this.events.error(errorBody(toServiceError(error), requestId)))
    this.queue.end()
  }

  /** Writes events; commits the reply to a stream if that has not happened yet. */
  write(events: string): void {
    this.#send(Buffer.from(events))
  }

  /** Writes a heartbeat comment, unless bytes are waiting. */
  beat(): void {
    if (this.queue.unsentBytes === 0) this.#send(heartbeat)
    this.#wroteAtMs = this.nowMs()
  }

  #send(bytes: Uint8Array): void {
    this.queue.offer(bytes)
    this.#wroteAtMs = this.nowMs()
    if (this.#streaming) return
    this.#streaming = true
    this.answer({ _tag: "Stream", events: this.queue })
  }
}
