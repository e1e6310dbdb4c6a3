/**
 * Shedding load before it is felt: beyond what a process can do, some callers are turned away at the door, so that the
 * others are served as fast as ever. What is watched is how late the event loop comes to its work, and how much is open.
 */
import { Context, Effect, Layer } from "effect"
import { WeirConfig } from "../config.ts"
import { type ServiceError, serviceError } from "../protocol/error.ts"
import { recordShed } from "../telemetry.ts"

export class Overload extends Context.Service<
  Overload,
  {
    /** Lets a call in, or turns it away. @param open exchanges that this process has open */
    readonly check: (open: number) => Effect.Effect<void, ServiceError<"rate_limited">>
    /** How late the event loop was lately, in milliseconds. */
    readonly lagMs: () => number
  }
>()("weir/admission/Overload") {
  static readonly layer = Layer.effect(
    Overload,
    Effect.gen(function* () {
      const { shedLagMs, maxOpenExchanges } = yield* WeirConfig
      const services = yield* Effect.context<never>()
      let share = 0
      let lags: ReadonlyArray<number> = []
      let dueAt = performance.now() + lookEveryMs
      // The loop itself is measured: by Node's own clock and timer, whatever clock the rest goes by.
      const look = () => {
        const now = performance.now()
        lags = [...lags.slice(1 - looksInARow), Math.max(0, now - dueAt)]
        share = nextShare(share, lagOf(lags), shedLagMs)
        dueAt = now + lookEveryMs
      }
      yield* Effect.acquireRelease(
        Effect.sync(() => setInterval(look, lookEveryMs).unref()),
        (timer) => Effect.sync(() => clearInterval(timer)),
      )
      const turnAway = (cause: "lag" | "open") => {
        recordShed(services, cause)
        return Effect.fail(
          serviceError("rate_limited", "The gateway has as much to do as it can", {
            detail: { scope: "gateway" },
            // Not all at the same time again.
            retryAfterMs: 1000 + Math.random() * 2000,
          }),
        )
      }
      return Overload.of({
        lagMs: () => lagOf(lags),
        check: (open) => {
          if (open >= maxOpenExchanges) return turnAway("open")
          return share > 0 && Math.random() < share ? turnAway("lag") : Effect.void
        },
      })
    }),
  )
}

const lookEveryMs = 20

/** A collection of garbage, or the start of a process, makes one look late; too much to do makes all of them late. */
const looksInARow = 4

const lagOf = (lags: ReadonlyArray<number>): number => (lags.length < looksInARow ? 0 : Math.min(...lags))

/** Whoever turns everybody away never learns that there is room again. */
const maxShare = 0.98
const slowestFall = 0.005

/** The share to turn away from now on: it rises fast while the loop is late, by how late it is, and falls slowly. Pure. */
export const nextShare = (share: number, lagMs: number, targetMs: number): number => {
  if (lagMs > targetMs) return Math.min(maxShare, share + 0.04 * Math.min(5, lagMs / targetMs))
  return share < slowestFall ? 0 : share - Math.max(slowestFall, share * 0.02)
}
