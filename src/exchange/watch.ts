/**
 * The clocks of one conversation in one fiber: the total and the idle tier, a client that takes nothing, and the sign of
 * life that a silent stream needs. A sign of life costs the writing of a number; nothing is armed anew for it.
 */
import { Clock, Effect } from "effect"

export interface Watched<E> {
  /** Since when, in milliseconds; read whenever the clocks are looked at. */
  readonly sinceMs: () => number
  readonly limitMs: number
  /** What comes of it when the limit has passed: an error that ends the conversation, or nothing. */
  readonly late: () => E | undefined
}

export class Watch<E> {
  readonly #clocks = new Set<Watched<E>>()
  readonly #shortestMs: number

  /** @param shortestMs the shortest limit that will ever be watched: nothing that is added later ends within it */
  constructor(shortestMs: number) {
    this.#shortestMs = shortestMs
  }

  add(clock: Watched<E>): void {
    this.#clocks.add(clock)
  }

  /** Watches while an effect runs. */
  during<A, E2, R>(clock: Watched<E>, effect: Effect.Effect<A, E2, R>): Effect.Effect<A, E2, R> {
    return Effect.suspend(() => {
      this.#clocks.add(clock)
      return Effect.ensuring(
        effect,
        Effect.sync(() => this.#clocks.delete(clock)),
      )
    })
  }

  /** Fails with the error of the first clock that has one. */
  readonly run: Effect.Effect<never, E> = Effect.flatMap(Clock.Clock, (clock) => {
    const look: Effect.Effect<never, E> = Effect.suspend(() => {
      let sleepMs = this.#shortestMs
      for (const watched of this.#clocks) {
        if (watched.sinceMs() + watched.limitMs <= clock.currentTimeMillisUnsafe()) {
          const error = watched.late()
          if (error !== undefined) return Effect.fail(error)
        }
        sleepMs = Math.min(sleepMs, watched.sinceMs() + watched.limitMs - clock.currentTimeMillisUnsafe())
      }
      return Effect.flatMap(Effect.sleep(Math.max(1, sleepMs)), () => look)
    })
    return look
  })
}
