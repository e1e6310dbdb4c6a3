/** Messages between the supervisor and its workers. They share nothing else but the stores. */
import { Schema } from "effect"

/** The worker accepts requests. */
const Ready = Schema.Struct({ _tag: Schema.Literal("Ready"), ready: Schema.Record(Schema.String, Schema.Json) })
/** The worker was asked for the metrics of all workers. */
const MetricsRequested = Schema.Struct({ _tag: Schema.Literal("MetricsRequested"), id: Schema.Int })
/** The supervisor asks for a worker's own metrics. */
const WorkerMetricsRequested = Schema.Struct({ _tag: Schema.Literal("WorkerMetricsRequested"), id: Schema.Int })
const WorkerMetrics = Schema.Struct({ _tag: Schema.Literal("WorkerMetrics"), id: Schema.Int, text: Schema.String })
/** The merged metrics, for the worker that asked. */
const MetricsMerged = Schema.Struct({ _tag: Schema.Literal("MetricsMerged"), id: Schema.Int, text: Schema.String })

export const FromWorker = Schema.Union([Ready, MetricsRequested, WorkerMetrics])
export type FromWorker = typeof FromWorker.Type
export const ToWorker = Schema.Union([WorkerMetricsRequested, MetricsMerged])
export type ToWorker = typeof ToWorker.Type

export const readFromWorker = Schema.decodeUnknownOption(FromWorker)
export const readToWorker = Schema.decodeUnknownOption(ToWorker)
