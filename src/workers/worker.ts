/** A worker's side: it tells that it is ready, and gets everybody's metrics where it is asked for them. */
import cluster from "node:cluster"
import { Duration, Effect, Option } from "effect"
import { PrometheusMetrics } from "effect/observability"
import { type FromWorker, readToWorker } from "./messages.ts"

/** Whether this process is one of several on one port. */
export const isWorker = cluster.isWorker

const tell = (message: FromWorker): void => {
  // A supervisor that is gone needs nothing any more.
  if (process.connected) process.send?.(message)
}

export const tellReady = (ready: Extract<FromWorker, { _tag: "Ready" }>["ready"]): void =>
  tell({ _tag: "Ready", ready })

const waiting = new Map<number, (text: string) => void>()
let lastId = 0

/** Answers the supervisor, as long as the scope is open. */
export const answerSupervisor = Effect.gen(function* () {
  const context = yield* Effect.context<never>()
  const listen = (message: unknown) => {
    const asked = Option.getOrUndefined(readToWorker(message))
    if (asked === undefined) return
    if (asked._tag === "MetricsMerged") return waiting.get(asked.id)?.(asked.text)
    const text = Effect.runSyncWith(context)(PrometheusMetrics.format())
    tell({ _tag: "MetricsTold", id: asked.id, text })
  }
  yield* Effect.acquireRelease(
    Effect.sync(() => process.on("message", listen)),
    () => Effect.sync(() => process.off("message", listen)),
  )
})

/** What one worker may take to answer; then the others' sum has to do. */
export const metricsPatience = Duration.millis(500)

/** The metrics of all workers; of this one alone where the supervisor does not answer. */
export const metricsOfAll: Effect.Effect<string> = Effect.suspend(() => {
  if (!isWorker) return PrometheusMetrics.format()
  const id = ++lastId
  return Effect.callback<string>((resume) => {
    waiting.set(id, (text) => resume(Effect.succeed(text)))
    tell({ _tag: "MetricsWanted", id })
  }).pipe(
    Effect.timeoutOrElse({ duration: Duration.times(metricsPatience, 3), orElse: () => PrometheusMetrics.format() }),
    Effect.ensuring(Effect.sync(() => waiting.delete(id))),
  )
})
