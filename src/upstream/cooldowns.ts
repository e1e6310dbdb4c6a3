/** Cooldowns by target: of a target's, the longest counts. */

/** `vendor`: the vendor sent Retry-After. `breaker`: calls failed. */
export type CooldownCause = "vendor" | "breaker"

export interface Cooldown {
  readonly cause: CooldownCause
  /** Milliseconds since the epoch. */
  readonly untilMs: number
}

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

  /** Forgets those that are over. */
  forget(nowMs: number): void {
    for (const [target, { untilMs }] of this.#byTarget) if (untilMs <= nowMs) this.#byTarget.delete(target)
  }
}
