/**
 * A call of a client to a process: the server's messages as events of a stream.
 *
 * **Details**: a process has one output for all calls, which is always read. While the listener pauses, messages wait here: the
 * response, and notifications up to a bound; further notifications are dropped.
 */
import { dataOf } from "../../dialects/parse/sse-frames.ts"
import { type ReplyListener, UpstreamBroken, type UpstreamCall, type UpstreamHead } from "../../upstream/client.ts"
import type { SentMessage } from "./messages.ts"
import type { ProcessFailed } from "./options.ts"

const head: UpstreamHead = { status: 200, headers: { "content-type": "text/event-stream" } }
const acceptedHead: UpstreamHead = { status: 202, headers: {} }

/** Notifications that wait for a listener that has paused. */
const maxPausedBytes = 1024 * 1024

interface Held {
  readonly json: string
  readonly isLast: boolean
}

export class ProcessCall implements UpstreamCall {
  readonly sent: SentMessage
  readonly #listener: ReplyListener
  /** Called once, if the caller ends a call that has no response. */
  readonly #left: (call: ProcessCall) => void
  #isOver = false
  #hasHead = false
  #isPaused = false
  #held: Array<Held> = []
  #heldBytes = 0

  constructor(sent: SentMessage, listener: ReplyListener, left: (call: ProcessCall) => void) {
    this.sent = sent
    this.#listener = listener
    this.#left = left
  }

  /** Whether nothing is expected for it any more. */
  get isOver(): boolean {
    return this.#isOver
  }

  connected(): void {
    if (!this.#isOver) this.#listener.connected()
  }

  /** @param isLast whether it is the response */
  message(json: string, isLast: boolean): void {
    if (this.#isOver) return
    if (!this.#isPaused && this.#held.length === 0) {
      this.#emit({ json, isLast })
      return
    }
    if (!isLast && this.#heldBytes + json.length > maxPausedBytes) return
    this.#held.push({ json, isLast })
    this.#heldBytes += json.length
  }

  /** The message was a notification and has been sent. */
  accepted(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#listener.head(acceptedHead)
    this.#listener.ended()
  }

  broken(cause: ProcessFailed): void {
    if (this.#isOver) return
    // A response that waits for its listener is complete.
    if (this.#held.at(-1)?.isLast === true) return
    this.#isOver = true
    this.#held = []
    this.#listener.broken(new UpstreamBroken({ cause }))
  }

  pause(): void {
    this.#isPaused = true
  }

  resume(): void {
    this.#isPaused = false
    while (!this.#isPaused && !this.#isOver) {
      const next = this.#held.shift()
      if (next === undefined) return
      this.#heldBytes -= next.json.length
      this.#emit(next)
    }
  }

  leave(): void {
    this.abort()
  }

  abort(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#held = []
    this.#left(this)
  }

  #emit({ json, isLast }: Held): void {
    if (!this.#hasHead) {
      this.#hasHead = true
      this.#listener.head(head)
      if (this.#isOver) return
    }
    this.#listener.bytes(Buffer.from(`data: ${dataOf(json)}\n\n`))
    if (!isLast || this.#isOver) return
    this.#isOver = true
    this.#listener.ended()
  }
}
