/** The worker's side: announces readiness, and collects the metrics of all workers. */
import cluster from "node:cluster"
import { Duration, Effect, Option } from "effect"
import { PrometheusMetrics } from "effect/observability"
import { type FromWorker, readToWorker } from "./messages.ts"

/** Whether this process is a worker. */
export const isWorker = cluster.isWorker

const send = (message: FromWorker): void => {
  // The supervisor may have ended.
  if (process.connected) process.send?.(message)
}

export const sendReady = (ready: Extract<FromWorker, { _tag: "Ready" }>["ready"]): void =>
  send({ _tag: "Ready", ready })

const waiting = new Map<number, (text: string) => void>()
let lastId = 0

/** Answers the supervisor until the scope closes. */
export const answerSupervisor = Effect.gen(function* () {
  const context = yield* Effect.context<never>()
  const listen = (message: unknown) => {
    const request = Option.getOrUndefined(readToWorker(message))
    if (request === undefined) return
    if (request._tag === "MetricsMerged") return waiting.get(request.id)?.(request.text)
    const text = Effect.runSyncWith(context)(PrometheusMetrics.format())
    send({ _tag: "WorkerMetrics", id: request.id, text })
  }
  yield* Effect.acquireRelease(
    Effect.sync(() => process.on("message", listen)),
    () => Effect.sync(() => process.off("message", listen)),
  )
})

/** The time to wait for a worker's metrics. */
export const metricsPatience = Duration.millis(500)

/** The metrics of all workers; of this one if the supervisor does not answer. */
export const metricsOfAll: Effect.Effect<string> = Effect.suspend(() => {
  if (!isWorker) return PrometheusMetrics.format()
  const id = ++lastId
  return Effect.callback<string>((resume) => {
    waiting.set(id, (text) => resume(Effect.succeed(text)))
    send({ _tag: "MetricsRequested", id })
  }).pipe(
    Effect.timeoutOrElse({ duration: Duration.times(metricsPatience, 3), orElse: () => PrometheusMetrics.format() }),
    Effect.ensuring(Effect.sync(() => waiting.delete(id))),
  )
})
