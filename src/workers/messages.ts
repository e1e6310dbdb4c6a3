/** Messages between the supervisor and its workers. They share nothing else but the stores. */
import { Schema } from "effect"

/** The worker accepts requests. */
const Ready = Schema.Struct({ _tag: Schema.Literal("Ready"), ready: Schema.Record(Schema.String, Schema.Json) })
/** The worker was asked for the metrics of all workers. */
const MetricsWanted = Schema.Struct({ _tag: Schema.Literal("MetricsWanted"), id: Schema.Int })
/** The supervisor asks for a worker's own metrics. */
const MetricsAsked = Schema.Struct({ _tag: Schema.Literal("MetricsAsked"), id: Schema.Int })
const MetricsTold = Schema.Struct({ _tag: Schema.Literal("MetricsTold"), id: Schema.Int, text: Schema.String })
/** The merged metrics, for the worker that asked. */
const MetricsMerged = Schema.Struct({ _tag: Schema.Literal("MetricsMerged"), id: Schema.Int, text: Schema.String })

export const FromWorker = Schema.Union([Ready, MetricsWanted, MetricsTold])
export type FromWorker = typeof FromWorker.Type
export const ToWorker = Schema.Union([MetricsAsked, MetricsMerged])
export type ToWorker = typeof ToWorker.Type

export const readFromWorker = Schema.decodeUnknownOption(FromWorker)
export const readToWorker = Schema.decodeUnknownOption(ToWorker)
