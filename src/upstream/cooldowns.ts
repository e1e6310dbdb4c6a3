/** Cooldowns by target: if a target has several, the longest counts. */
import type { TargetFault } from "../dialects/vendor/faults.ts"

/**
 * `vendor`: the vendor asked to wait. `breaker`: calls failed. `busy`: the vendor refused a call for now, and did not say for
 * how long. `refused`: the vendor refused the target, because it lacks something.
 */
export const cooldownCauses = ["vendor", "breaker", "busy", "refused"] as const
export type CooldownCause = (typeof cooldownCauses)[number]

export interface Cooldown {
  readonly cause: CooldownCause
  /** Milliseconds since the epoch, by this node's clock. */
  readonly untilMs: number
  /** The thing that a refused target lacks. */
  readonly reason?: TargetFault | undefined
  /** Refusals in a row, of a target that was refused or is busy. */
  readonly count?: number | undefined
}

/** Whether no vendor asked for the cooldown, so that its target is called if no other is left: one 429 may have been the last. */
export const isGuess = ({ cause, count }: Cooldown): boolean => cause === "breaker" || (cause === "busy" && count === 1)

export class Cooldowns {
  readonly #byTarget = new Map<string, Cooldown>()

  get size(): number {
    return this.#byTarget.size
  }

  /** The cooldown of a target, which may be over. */
  get(target: string): Cooldown | undefined {
    return this.#byTarget.get(target)
  }

  /** @returns whether it is longer than the one that is known */
  add(target: string, cooldown: Cooldown): boolean {
    const isLonger = cooldown.untilMs > (this.#byTarget.get(target)?.untilMs ?? 0)
    if (isLonger) this.#byTarget.set(target, cooldown)
    return isLonger
  }

  /** Removes cooldowns that are over. */
  forget(nowMs: number): void {
    for (const [target, { untilMs }] of this.#byTarget) if (untilMs <= nowMs) this.#byTarget.delete(target)
  }
}
