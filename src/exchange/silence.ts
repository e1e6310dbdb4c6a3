/** Waits for a period of silence with one timer per limit. */
import { Clock, Effect } from "effect"

/**
 * Returns once `sinceMs()` is `limitMs` in the past. Activity only writes a number and does not reset a timer; the idle
 * tier, the heartbeat and the stall limit use this.
 */
export const silence = (sinceMs: () => number, limitMs: number): Effect.Effect<void> =>
  Effect.flatMap(Clock.Clock, (clock) => {
    const wait: Effect.Effect<void> = Effect.suspend(() => {
      const leftMs = sinceMs() + limitMs - clock.currentTimeMillisUnsafe()
      return leftMs <= 0 ? Effect.void : Effect.flatMap(Effect.sleep(leftMs), () => wait)
    })
    return wait
  })
