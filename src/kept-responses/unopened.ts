/** Content of clients that was sealed with another key, or whose object is not there: its owner gets a 404, and the operator a metric and a warning. */
import { Clock, Effect } from "effect"
import { recordUnopened } from "../telemetry/metrics.ts"

/** The time between two warnings of a node. */
const warnEveryMs = 60_000

/** @returns a function that returns the content, and reports where there is none */
export const makeReportUnopened = Effect.gen(function* () {
  const context = yield* Effect.context<never>()
  const clock = yield* Clock.Clock
  const fork = Effect.runForkWith(context)
  let warnedAtMs = Number.NEGATIVE_INFINITY

  return <A>(content: A | undefined, id: string): A | undefined => {
    if (content !== undefined) return content
    recordUnopened(context)
    const nowMs = clock.currentTimeMillisUnsafe()
    if (nowMs - warnedAtMs < warnEveryMs) return undefined
    warnedAtMs = nowMs
    fork(
      Effect.logWarning(
        "Kept content cannot be opened: it was sealed with another SVC_MASTER_KEY than this node has, or its object is missing or changed",
        { id },
      ),
    )
    return undefined
  }
})
