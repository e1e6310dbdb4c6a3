/** Waiting for silence: one timer a limit, and nothing at all for each sign of life in between. */
import { Clock, Effect } from "effect"

/**
 * Returns once `sinceMs()` lies `limitMs` in the past. Reading a number is all that a sign of life costs, which is why
 * the idle tier, the heartbeat and the stall watch are all made of this.
 */
export const silence = (sinceMs: () => number, limitMs: number): Effect.Effect<void> =>
  Effect.flatMap(Clock.Clock, (clock) => {
    const wait: Effect.Effect<void> = Effect.suspend(() => {
      const leftMs = sinceMs() + limitMs - clock.currentTimeMillisUnsafe()
      return leftMs <= 0 ? Effect.void : Effect.flatMap(Effect.sleep(leftMs), () => wait)
    })
    return wait
  })
