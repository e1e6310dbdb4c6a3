/**
 * The events that can end a held call from outside (its client, the total tier, a client that does not read), and its
 * heartbeat.
 */
import { Effect } from "effect"
import type { Watch, Watched } from "../deadlines.ts"
import { serviceError } from "../protocol/error.ts"
import { defaultTimeouts } from "../protocol/timeout-tiers.ts"
import type { HeldCall } from "./held-call.ts"
import { ClientGone } from "./vendor/conversation.ts"
import { tierTimeout } from "./vendor/errors.ts"

/** `closing`: the reply is written, and the client has not taken all of it. */
type Phase = "conversing" | "settling" | "closing"

export class CallWatch<Body extends object> implements Watched {
  readonly #heldCall: HeldCall<Body>
  readonly #watch: Watch
  readonly #totalMs: number
  readonly #beganMs: number
  #phase: Phase = "conversing"
  /** The time after which the call does not wait any longer for a client that has left. */
  #goneMs = Number.POSITIVE_INFINITY

  constructor(heldCall: HeldCall<Body>) {
    const { services, conversation, reply } = heldCall
    this.#heldCall = heldCall
    this.#beganMs = services.nowMs()
    const [first] = conversation.targets
    this.#totalMs = (first === undefined ? defaultTimeouts : conversation.timeoutsOf(first)).total
    const dueMs = Math.min(this.#beganMs + this.#totalMs, this.#beat(this.#beganMs))
    this.#watch = services.deadlines.add(this, dueMs)
    // Named functions, not literals: V8 puts a function literal that is assigned to a property into the old space, and all of the
    // call stays with it.
    const lookBy = (dueMs: number) => services.deadlines.lookBy(this.#watch, dueMs)
    const gone = () => this.#clientGone()
    conversation.lookBy = lookBy
    reply.onGone = gone
    if (reply.isGone) this.#clientGone()
  }

  look(nowMs: number): number {
    const { conversation, reply } = this.#heldCall
    const { signal } = conversation
    if (this.#phase === "settling") return Number.POSITIVE_INFINITY
    const stallMs = reply.stall(nowMs)
    if (this.#phase === "closing") {
      if (stallMs === 0) reply.cut()
      return stallMs
    }
    if (signal.reason !== undefined) return Number.POSITIVE_INFINITY
    if (this.#beganMs + this.#totalMs <= nowMs) signal.end(tierTimeout("total", this.#totalMs))
    else if (stallMs === 0 && isShared(this.#heldCall)) reply.cut()
    else if (stallMs === 0) signal.end(takesNothing())
    else if (this.#goneMs <= nowMs) signal.end(new ClientGone())
    return Math.min(
      this.#beganMs + this.#totalMs,
      this.#goneMs,
      stallMs || Number.POSITIVE_INFINITY,
      this.#beat(nowMs),
      conversation.call?.look(nowMs) ?? Number.POSITIVE_INFINITY,
    )
  }

  /** Ends the watch of the conversation. */
  settling(): void {
    this.#phase = "settling"
  }

  /** Waits until the client has received the last event; one that accepts no bytes is disconnected. */
  readonly closing: Effect.Effect<void> = Effect.callback((resume) => {
    const { reply, conversation } = this.#heldCall
    this.#phase = "closing"
    reply.whenOver(() => resume(Effect.void))
    conversation.lookBy(reply.beginStall())
  })

  /** Writes a heartbeat to a silent stream. */
  #beat(nowMs: number): number {
    const { task, reply } = this.#heldCall
    return task.opening === undefined ? Number.POSITIVE_INFINITY : reply.beat(nowMs)
  }

  end(): void {
    this.#heldCall.services.deadlines.remove(this.#watch)
  }

  /**
   * Ends the conversation at once, unless others wait for its reply, or, if the vendor has reported its stop or the
   * catalogue says `clientGone: drain`, when the usage has not arrived within a time limit.
   */
  #clientGone(): void {
    const { conversation, services, task } = this.#heldCall
    if (this.#phase !== "conversing") return
    if (isShared(this.#heldCall)) {
      this.#heldCall.reply.onRoom?.()
      return
    }
    const drains = task.received.isAnswered || conversation.target?.vendor.clientGone === "drain"
    if (!drains) {
      conversation.signal.end(new ClientGone())
      return
    }
    this.#goneMs = services.nowMs() + services.config.drainGoneMs
    conversation.lookBy(this.#goneMs)
  }
}

/** Whether other calls wait for the reply: then the vendor call runs to its end. */
const isShared = <Body extends object>({ caching }: HeldCall<Body>): boolean =>
  caching?.state === "miss" && caching.flight.isShared

const takesNothing = () => serviceError("stream_backpressure", "The client did not read its stream in time")
