/** The events that end a session from outside its jobs: its tiers, silence of both sides, and a client that does not read. */
import { Stall } from "../../calls/reply/stall.ts"
import { tierTimeout } from "../../calls/vendor/errors.ts"
import type { CallTarget } from "../../catalogue/snapshot.ts"
import type { Watch, Watched } from "../../deadlines.ts"
import { closing } from "../../protocol/closing-code.ts"
import { serviceError } from "../../protocol/error.ts"
import type { Timeouts } from "../../protocol/timeout-tiers.ts"
import { recordTier, recordTierTimeout } from "../../telemetry/metrics.ts"
import type { Mailbox } from "./mailbox.ts"
import type { SessionOptions } from "./session-options.ts"
import type { ClientConnection } from "./sockets.ts"

const lookEveryMs = 5000
const renewEveryMs = 60_000
/** The time after which nothing more comes of a response that has ended. */
const quietMs = 2000

/** The time before its end at which a session whose time is over reports it, as Google does. */
const leavingMs = 60_000

export interface DeadlineListener {
  /** The vendor has sent nothing for some seconds. */
  readonly quiet: () => void
  /** The session ends in a while, because its time is over. */
  readonly leaving: (leftMs: number) => void
}

export class SessionDeadlines implements Watched {
  readonly #options: SessionOptions
  readonly #target: CallTarget
  readonly #client: ClientConnection
  readonly #mailbox: Mailbox
  readonly #timeouts: Timeouts
  #watch: Watch | undefined
  readonly beganMs: number
  #lastEventMs: number
  #renewedMs: number
  #lastVendorMs: number
  #hasVendorEvent = false
  #listener: DeadlineListener | undefined
  #isLeaving = false
  readonly #stall: Stall

  constructor(options: SessionOptions, target: CallTarget, client: ClientConnection, mailbox: Mailbox) {
    const { timeoutsOf, catalogue, nowMs } = options.services
    this.#options = options
    this.#target = target
    this.#client = client
    this.#mailbox = mailbox
    this.#timeouts = timeoutsOf(catalogue.current(), target, options.plan.entry)
    this.beganMs = nowMs()
    this.#lastEventMs = this.beganMs
    this.#lastVendorMs = this.beganMs
    this.#renewedMs = this.beganMs
    this.#stall = new Stall(options.services.config.streamStallMs)
    this.#stall.begin(this.beganMs)
  }

  /** The session runs. */
  begin(listener: DeadlineListener): void {
    this.#listener = listener
    this.#watch = this.#options.services.deadlines.add(this, this.look(this.beganMs))
  }

  /** The client has sent an event. */
  heardClient(): void {
    this.#lastEventMs = this.#options.services.nowMs()
  }

  /** The vendor has sent an event. */
  heardVendor(): void {
    const { context, nowMs } = this.#options.services
    this.#lastEventMs = nowMs()
    this.#lastVendorMs = this.#lastEventMs
    if (this.#hasVendorEvent) return
    this.#hasVendorEvent = true
    recordTier(context, "ttfb", this.#target, this.#lastEventMs - this.beganMs)
  }

  look(nowMs: number): number {
    const { idleMs, renew } = this.#options
    const { ttfb, total } = this.#timeouts
    const mailbox = this.#mailbox
    if (mailbox.ending !== undefined) return Number.POSITIVE_INFINITY
    const firstDueMs = this.#hasVendorEvent ? Number.POSITIVE_INFINITY : this.beganMs + ttfb
    const idleDueMs = this.#lastEventMs + idleMs
    const totalDueMs = this.beganMs + total
    const stallDueMs = this.#stall.dueMs(nowMs, this.#client.unsentBytes(), this.#client.takenBytes())
    const leavesMs = this.#isLeaving ? Number.POSITIVE_INFINITY : totalDueMs - Math.min(leavingMs, total / 2)
    if (leavesMs <= nowMs) {
      this.#isLeaving = true
      this.#listener?.leaving(totalDueMs - nowMs)
    }
    if (firstDueMs <= nowMs) this.#late("ttfb", ttfb)
    else if (idleDueMs <= nowMs) this.#late("idle", idleMs)
    else if (totalDueMs <= nowMs) this.#late("total", total)
    else if (stallDueMs <= nowMs)
      mailbox.end({ reason: "stream_backpressure", code: closing.policy, error: takesNothing() })
    if (this.#lastVendorMs + quietMs <= nowMs) this.#listener?.quiet()
    if (this.#renewedMs + renewEveryMs <= nowMs) {
      this.#renewedMs = nowMs
      mailbox.add(renew)
    }
    return Math.min(
      firstDueMs,
      idleDueMs,
      totalDueMs,
      leavesMs <= nowMs ? Number.POSITIVE_INFINITY : leavesMs,
      stallDueMs,
      nowMs + lookEveryMs,
    )
  }

  /** The session has ended. */
  end(): void {
    if (this.#watch !== undefined) this.#options.services.deadlines.remove(this.#watch)
  }

  #late(tier: "ttfb" | "idle" | "total", timeoutMs: number): void {
    recordTierTimeout(this.#options.services.context, tier, this.#target)
    this.#mailbox.end({ reason: "upstream_timeout", code: closing.normal, error: tierTimeout(tier, timeoutMs) })
  }
}

const takesNothing = () => serviceError("stream_backpressure", "The client did not read its events in time")
