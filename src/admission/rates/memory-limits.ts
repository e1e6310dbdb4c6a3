/** Rates and calls at a time of a single node, in its memory. */
import type { Clock } from "effect"
import type { ServiceError } from "../../protocol/error.ts"
import {
  type Counted,
  type Limited,
  type RateWindow,
  rateLimited,
  type SlotLimit,
  slotRetryAfterMs,
  type TokensUsed,
} from "../gate.ts"
import { tokensToCorrect } from "./ended.ts"
import { SlidingWindow } from "./sliding-window.ts"

export class MemoryLimits {
  readonly #clock: Clock.Clock
  readonly #windows = new Map<string, SlidingWindow>()
  readonly #calls = new Map<string, number>()

  constructor(clock: Clock.Clock) {
    this.#clock = clock
  }

  /** The refusal of a call; undefined if there is room. @param runs whether it would run, and not be answered from what is known */
  refusal(request: Limited, runs: boolean): ServiceError<"rate_limited"> | undefined {
    if (request.rates.length === 0 && request.slots === undefined) return undefined
    const nowMs = this.#nowMs()
    for (const rate of request.rates) {
      const { limit, amount = 1 } = rate
      const window = this.#windows.get(windowKey(request.owner, rate))
      const used = window?.used(nowMs) ?? 0
      if (used + amount <= limit) continue
      return rateLimited(rate, amount > limit ? undefined : window?.msUntilRoom(amount, limit, nowMs), used)
    }
    for (const slot of runs ? (request.slots ?? none) : none) {
      const used = this.#calls.get(slotKey(request.owner, slot)) ?? 0
      if (used >= slot.limit) return rateLimited({ ...slot, unit: "concurrent" }, slotRetryAfterMs, used)
    }
    return undefined
  }

  count(request: Limited, runs: boolean): Counted | undefined {
    const { owner, rates, slots = none } = request
    if (rates.length === 0 && slots.length === 0) return undefined
    const nowMs = this.#nowMs()
    if (runs) {
      for (const slot of slots) {
        const key = slotKey(owner, slot)
        this.#calls.set(key, (this.#calls.get(key) ?? 0) + 1)
      }
    }
    const counted = rates.map((rate) => {
      const window = this.#windowOf(owner, rate)
      const part = window.add(rate.amount ?? 1, nowMs)
      return { part, room: rate.limit - window.used(nowMs) }
    })
    return { rates: counted, holdsCalls: runs && slots.length > 0 }
  }

  ended({ owner, rates, slots = none }: Limited, counted: Counted, used: TokensUsed): void {
    if (counted.holdsCalls) for (const slot of slots) this.#leave(slotKey(owner, slot))
    for (const { at, amount, part } of tokensToCorrect(rates, counted, used)) {
      const rate = rates[at]
      if (rate === undefined) continue
      const window = this.#windowOf(owner, rate)
      if (amount > 0) window.add(amount, this.#nowMs())
      else window.takeBack(-amount, part, this.#nowMs())
    }
  }

  sweep(): void {
    const nowMs = this.#nowMs()
    for (const [key, window] of this.#windows) if (window.isEmpty(nowMs)) this.#windows.delete(key)
  }

  #leave(key: string): void {
    const left = (this.#calls.get(key) ?? 0) - 1
    if (left > 0) this.#calls.set(key, left)
    else this.#calls.delete(key)
  }

  #windowOf(owner: string, rate: RateWindow): SlidingWindow {
    const key = windowKey(owner, rate)
    const known = this.#windows.get(key)
    if (known !== undefined) return known
    const window = new SlidingWindow(rate.windowMs)
    this.#windows.set(key, window)
    return window
  }

  /** A monotonic clock: no jump of the machine's clock opens a window. */
  #nowMs(): number {
    return Number(this.#clock.currentTimeNanosUnsafe() / 1_000_000n)
  }
}

const none: ReadonlyArray<never> = []

const windowKey = (owner: string, { bucket, windowMs }: RateWindow): string => `${owner} ${bucket} ${windowMs}`
const slotKey = (owner: string, { bucket }: SlotLimit): string => `${owner} ${bucket}`
