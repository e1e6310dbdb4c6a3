/**
 * Refusals in a row: a target that was refused cools down at once, for longer each time.
 *
 * **Details**: a refusal during a cooldown is of a call that began before it and does not count, unless the call was made in
 * spite of the cooldown. After the cooldown, a target that was refused because it lacks something is tried with one call; a
 * busy target takes calls again. A call that works resets all refusals.
 */
import type { TargetFault } from "../dialects/vendor/faults.ts"
import { type Cooldown, isGuess } from "./cooldowns.ts"

/** The cooldowns whose length the vendor does not state. */
export type StrikeCause = "busy" | "refused"

/** A refused target needs an operator, a busy one needs a moment. Each cooldown is twice as long as the one before. */
const lengths: Readonly<Record<StrikeCause, { readonly firstMs: number; readonly mostMs: number }>> = {
  busy: { firstMs: 1000, mostMs: 60_000 },
  refused: { firstMs: 30_000, mostMs: 600_000 },
}

/** The time that refusals count after the last cooldown, without another call. */
const rememberedMs = 3_600_000

interface Strike extends Cooldown {
  readonly cause: StrikeCause
  /** Refusals in a row. */
  readonly count: number
  /** Whether the one call runs that tries the target again. */
  isTried: boolean
}

export class Strikes {
  readonly #byTarget = new Map<string, Strike>()

  get size(): number {
    return this.#byTarget.size
  }

  /** The last cooldown of a target, which may be over. */
  get(target: string): Strike | undefined {
    return this.#byTarget.get(target)
  }

  has(target: string): boolean {
    return this.#byTarget.has(target)
  }

  /**
   * Counts a refusal.
   * @param isDespite whether the call was made in spite of a cooldown
   * @returns the cooldown that begins; undefined if an equal or longer one runs
   */
  add(target: string, cause: StrikeCause, nowMs: number, isDespite: boolean, reason?: TargetFault): Strike | undefined {
    const known = this.#byTarget.get(target)
    const isSame = known?.cause === cause
    const isNews = isDespite && known !== undefined && isGuess(known)
    // A refused target stays refused while it is busy too.
    if (known !== undefined && known.untilMs > nowMs && (isSame ? !isNews : known.cause === "refused")) return undefined
    const { firstMs, mostMs } = lengths[cause]
    const count = isSame ? known.count + 1 : 1
    const untilMs = nowMs + Math.min(mostMs, firstMs * 2 ** Math.min(count - 1, 20))
    const strike = { cause, untilMs, count, reason, isTried: false }
    this.#byTarget.set(target, strike)
    return strike
  }

  /** Takes over what another node has counted. */
  learn(target: string, strike: Omit<Strike, "isTried">): void {
    const known = this.#byTarget.get(target)
    if (known === undefined || strike.untilMs > known.untilMs) this.#byTarget.set(target, { ...strike, isTried: false })
  }

  /** Claims the one call that tries a refused target again. @returns false if another has it */
  claim(target: string): boolean {
    const strike = this.#byTarget.get(target)
    if (strike?.cause !== "refused") return true
    if (strike.isTried) return false
    strike.isTried = true
    return true
  }

  /** The call that tried a target gave no information about it. */
  release(target: string): void {
    const strike = this.#byTarget.get(target)
    if (strike !== undefined) strike.isTried = false
  }

  /**
   * A call worked.
   * @returns the refusals until now
   */
  clear(target: string): Strike | undefined {
    const strike = this.#byTarget.get(target)
    this.#byTarget.delete(target)
    return strike
  }

  /** Credentials may have changed: each refused target is tried with the next call. */
  forgive(): void {
    for (const [target, strike] of this.#byTarget) {
      if (strike.cause === "refused") this.#byTarget.set(target, { ...strike, untilMs: 0, count: 0, isTried: false })
    }
  }

  forget(nowMs: number): void {
    for (const [target, { untilMs }] of this.#byTarget) {
      if (untilMs !== 0 && untilMs + rememberedMs <= nowMs) this.#byTarget.delete(target)
    }
  }
}
