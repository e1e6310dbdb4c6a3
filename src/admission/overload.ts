/**
 * Shedding load before it is felt: beyond what a process can do, some callers are turned away at the door, so that the
 * others are served as fast as ever. What is watched is how late the event loop comes to its work, how long calls wait
 * before they go to their vendors, and how much is open. Source: CoDel (RFC 8289) for the least wait; additive increase
 * and multiplicative decrease (RFC 5681) for how many may wait.
 */
import { Context, Effect, Layer } from "effect"
import { WeirConfig } from "../config.ts"
import { type ServiceError, serviceError } from "../protocol/error.ts"
import { recordShed } from "../telemetry/metrics.ts"

/** An exchange until its money is held; whichever of the two comes first ends the wait. */
export interface Waiting {
  /** Its money is held: it goes to its vendor. */
  readonly held: () => void
  /** It is over, held or not. */
  readonly over: () => void
}

export class Overload extends Context.Service<
  Overload,
  {
    /** Lets a call in, or turns it away. @param open exchanges that this process has open */
    readonly check: (open: number) => Effect.Effect<void, ServiceError<"rate_limited">>
    /** Counts an exchange that begins, and waits. */
    readonly enter: () => Waiting
  }
>()("weir/admission/Overload") {
  static readonly layer = Layer.effect(
    Overload,
    Effect.gen(function* () {
      const { shedLagMs, shedWaitMs, maxOpenExchanges } = yield* WeirConfig
      const services = yield* Effect.context<never>()
      let share = 0
      let pressures: ReadonlyArray<number> = []
      let waits = noWaits(performance.now())
      let waitPressure = 0
      let waiting = 0
      let mostWaiting = maxOpenExchanges
      let dueAt = performance.now() + lookEveryMs
      // The loop itself is measured: by Node's own clock and timer, whatever clock the rest goes by.
      const look = () => {
        const now = performance.now()
        if (now - waits.sinceMs >= waitWindowMs) {
          const tells = waits.seen >= callsThatTell
          waitPressure = tells ? waits.leastMs / shedWaitMs : 0
          if (tells) {
            const pressure = waits.sumMs / waits.seen / shedWaitMs
            mostWaiting = Math.min(maxOpenExchanges, nextMost(mostWaiting, pressure, waits.peak))
          }
          waits = noWaits(now)
        }
        pressures = [...pressures.slice(1 - looksInARow), Math.max((now - dueAt) / shedLagMs, waitPressure)]
        share = nextShare(share, pressures.length < looksInARow ? 0 : Math.min(...pressures))
        dueAt = now + lookEveryMs
      }
      yield* Effect.acquireRelease(
        Effect.sync(() => setInterval(look, lookEveryMs).unref()),
        (timer) => Effect.sync(() => clearInterval(timer)),
      )
      const turnAway = (cause: "busy" | "open") => {
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
        enter: () => {
          const enteredAt = performance.now()
          let isWaiting = true
          waiting++
          waits.peak = Math.max(waits.peak, waiting)
          const over = () => {
            if (isWaiting) waiting--
            isWaiting = false
          }
          return {
            held: () => {
              const waitedMs = performance.now() - enteredAt
              waits.seen++
              waits.sumMs += waitedMs
              waits.leastMs = Math.min(waits.leastMs, waitedMs)
              over()
            },
            over,
          }
        },
        check: (open) => {
          if (open >= maxOpenExchanges) return turnAway("open")
          if (waiting >= mostWaiting) return turnAway("busy")
          return share > 0 && Math.random() < share ? turnAway("busy") : Effect.void
        },
      })
    }),
  )
}

const lookEveryMs = 20

/** Money is held in batches: a window is longer than one. Of a few slow calls nothing is concluded. */
const waitWindowMs = 200
const callsThatTell = 16

const noWaits = (sinceMs: number) => ({ sinceMs, seen: 0, sumMs: 0, peak: 0, leastMs: Number.POSITIVE_INFINITY })

/** However slow all is, so many may wait. */
const leastMost = 16

/**
 * How many calls may wait for their money from now on: a fifth fewer than did while they wait for too long, a tenth more
 * than may now while they do not. Pure.
 * @param pressure how many times what is allowed calls waited, on the average
 * @param peak how many waited at the most
 */
export const nextMost = (most: number, pressure: number, peak: number): number =>
  pressure > 1 ? Math.max(leastMost, Math.floor(Math.min(most, peak) * 0.8)) : most + Math.ceil(most / 10)

/** A collection of garbage, or the start of a process, makes one look late; too much to do makes all of them late. */
const looksInARow = 4

/** Whoever turns everybody away never learns that there is room again. */
const maxShare = 0.98
const slowestFall = 0.002
/** Below this there is room; between it and 1 all stays as it is, so that the share settles instead of swinging. */
const roomBelow = 0.5

/**
 * The share to turn away from now on: it rises while there is too much pressure, the faster the more, and falls slowly
 * once there is room. Pure.
 * @param pressure how many times what is allowed the loop is late, or the luckiest call waits
 */
export const nextShare = (share: number, pressure: number): number => {
  if (pressure > 1) return Math.min(maxShare, share + 0.02 * Math.min(5, pressure))
  if (pressure > roomBelow) return share
  return share < slowestFall ? 0 : share - Math.max(slowestFall, share * 0.01)
}
