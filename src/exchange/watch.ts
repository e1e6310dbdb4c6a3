/**
 * The deadlines of one conversation in one fiber: total and idle tier, a stalled client, and the heartbeat of a silent
 * stream. Activity only writes a number; no timer is reset.
 */
import { Clock, Effect } from "effect"

export interface Watched<E> {
  /** The start of the period, in milliseconds; read whenever the deadlines are checked. */
  readonly sinceMs: () => number
  readonly limitMs: number
  /** Called when the limit has passed; returns an error that ends the conversation, or undefined. */
  readonly late: () => E | undefined
}

export class Watch<E> {
  readonly #clocks = new Set<Watched<E>>()
  readonly #shortestMs: number

  /** @param shortestMs the shortest limit that will be watched: nothing added later ends earlier */
  constructor(shortestMs: number) {
    this.#shortestMs = shortestMs
  }

  add(clock: Watched<E>): void {
    this.#clocks.add(clock)
  }

  /** Watches a deadline while an effect runs. */
  during<A, E2, R>(clock: Watched<E>, effect: Effect.Effect<A, E2, R>): Effect.Effect<A, E2, R> {
    return Effect.suspend(() => {
      this.#clocks.add(clock)
      return Effect.ensuring(
        effect,
        Effect.sync(() => this.#clocks.delete(clock)),
      )
    })
  }

  /** Fails with the error of the first deadline that returns one. */
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
