/**
 * The byte queue between an exchange and its client. Bytes given to the socket count as unsent until the writer asks
 * for more, so that the limit covers everything that waits for a slow client.
 */
import { Cause, Effect, type Pull } from "effect"

/** Maximum bytes given to the socket at once, so that progress is visible. */
const takeBytes = 64 * 1024

export interface ByteQueueOptions {
  /** Unsent bytes at which the producer must wait. */
  readonly limitBytes: number
  readonly nowMs: () => number
}

export class ByteQueue {
  readonly #options: ByteQueueOptions
  #chunks: Array<Uint8Array> = []
  #waitingBytes = 0
  #takenBytes = 0
  #ended = false
  #discarding = false
  #progressAtMs: number
  #wakeWriter: (() => void) | undefined
  #wakeProducer: (() => void) | undefined

  constructor(options: ByteQueueOptions) {
    this.#options = options
    this.#progressAtMs = options.nowMs()
  }

  get unsentBytes(): number {
    return this.#waitingBytes + this.#takenBytes
  }

  get isFull(): boolean {
    return this.unsentBytes >= this.#options.limitBytes
  }

  /** Since when the client has accepted none of the waiting bytes; now if none wait. */
  get stalledSinceMs(): number {
    return this.unsentBytes === 0 ? this.#options.nowMs() : this.#progressAtMs
  }

  offer(chunk: Uint8Array): void {
    if (this.#discarding || this.#ended || chunk.length === 0) return
    if (this.unsentBytes === 0) this.#progressAtMs = this.#options.nowMs()
    this.#chunks.push(chunk)
    this.#waitingBytes += chunk.length
    this.#wakeWriter?.()
  }

  /** Ends the queue: nothing more will be offered. */
  end(): void {
    this.#ended = true
    this.#wakeWriter?.()
    this.#wakeProducer?.()
  }

  /** The client is gone: drops what waits and what will be offered. */
  discard(): void {
    this.#discarding = true
    this.#chunks = []
    this.#waitingBytes = 0
    this.#takenBytes = 0
    this.#wakeProducer?.()
  }

  /** Waits until there is room. */
  readonly room: Effect.Effect<void> = this.#untilProducer(() => !this.isFull)

  /** Waits until everything was sent. */
  readonly drained: Effect.Effect<void> = this.#untilProducer(() => this.unsentBytes === 0)

  /** The writer's side: the next bytes. Calling it again confirms that the previous bytes were sent. */
  readonly take: Pull.Pull<readonly [Uint8Array, ...Array<Uint8Array>]> = Effect.callback((resume) => {
    this.#takenBytes = 0
    this.#progressAtMs = this.#options.nowMs()
    this.#wakeProducer?.()
    const look = () => {
      const lot = this.#takeLot()
      if (lot === undefined && !this.#ended) return
      this.#wakeWriter = undefined
      resume(lot === undefined ? Cause.done() : Effect.succeed(lot))
    }
    this.#wakeWriter = look
    look()
    return Effect.sync(() => {
      this.#wakeWriter = undefined
    })
  })

  #takeLot(): readonly [Uint8Array, ...Array<Uint8Array>] | undefined {
    const first = this.#chunks.shift()
    if (first === undefined) return undefined
    const lot: [Uint8Array, ...Array<Uint8Array>] = [first]
    let bytes = first.length
    for (let next = this.#chunks[0]; next !== undefined && bytes + next.length <= takeBytes; next = this.#chunks[0]) {
      lot.push(next)
      bytes += next.length
      this.#chunks.shift()
    }
    this.#waitingBytes -= bytes
    this.#takenBytes = bytes
    return lot
  }

  #untilProducer(reached: () => boolean): Effect.Effect<void> {
    return Effect.callback((resume) => {
      const look = () => {
        if (!reached()) return
        this.#wakeProducer = undefined
        resume(Effect.void)
      }
      this.#wakeProducer = look
      look()
      return Effect.sync(() => {
        this.#wakeProducer = undefined
      })
    })
  }
}
