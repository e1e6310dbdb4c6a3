/** The time that calls leave of this process: requests of batches begin when its event loop is not busy. */
import { performance } from "node:perf_hooks"
import { Effect } from "effect"
import { EventLoopBudget } from "../event-loop-budget.ts"

/** The share of its time in which the loop may work when a request of a batch begins. */
const busyShare = 0.5
const lookMs = 20
/** The longest wait: a node that is always busy goes on with its batches, slowly. */
const longestMs = 2000

export const makeSpareTime = () => {
  let since = performance.eventLoopUtilization()
  let lookedAtMs = performance.now()
  let share = 0
  // One begins in a turn: together, they would hold up the calls that arrive.
  const turn = new EventLoopBudget(1)
  const isBusy = (): boolean => {
    const nowMs = performance.now()
    if (nowMs - lookedAtMs >= lookMs) {
      const now = performance.eventLoopUtilization()
      share = performance.eventLoopUtilization(now, since).utilization
      since = now
      lookedAtMs = nowMs
    }
    return share > busyShare
  }
  /** Waits for such a time. */
  return Effect.gen(function* () {
    for (let waitedMs = 0; isBusy() && waitedMs < longestMs; ) {
      const pauseMs = lookMs * (1 + Math.random())
      yield* Effect.sleep(pauseMs)
      waitedMs += pauseMs
    }
    const later = turn.take(1)
    if (later !== undefined) yield* Effect.promise(() => later)
  })
}
