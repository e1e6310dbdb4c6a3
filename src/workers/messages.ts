/** What a gateway's processes say to one another. They share nothing but the stores; this is for people and probes. */
import { Schema } from "effect"

/** A worker accepts requests. */
const Ready = Schema.Struct({ _tag: Schema.Literal("Ready"), ready: Schema.Record(Schema.String, Schema.Json) })
/** A worker was asked for everybody's metrics. */
const MetricsWanted = Schema.Struct({ _tag: Schema.Literal("MetricsWanted"), id: Schema.Int })
/** The supervisor wants a worker's own. */
const MetricsAsked = Schema.Struct({ _tag: Schema.Literal("MetricsAsked"), id: Schema.Int })
const MetricsTold = Schema.Struct({ _tag: Schema.Literal("MetricsTold"), id: Schema.Int, text: Schema.String })
/** Everybody's metrics, for the worker that wanted them. */
const MetricsMerged = Schema.Struct({ _tag: Schema.Literal("MetricsMerged"), id: Schema.Int, text: Schema.String })

export const FromWorker = Schema.Union([Ready, MetricsWanted, MetricsTold])
export type FromWorker = typeof FromWorker.Type
export const ToWorker = Schema.Union([MetricsAsked, MetricsMerged])
export type ToWorker = typeof ToWorker.Type

export const readFromWorker = Schema.decodeUnknownOption(FromWorker)
export const readToWorker = Schema.decodeUnknownOption(ToWorker)
