/** Usage of a period by time and by one dimension, from records that are folded by the hour. */
import { Schema } from "effect"
import { Currency, Decimal } from "../usage.ts"
import type { TagScope } from "../values/tags.ts"

const Count = Schema.Int
const Sums = Schema.Record(Currency, Decimal)

/** The usage of exchanges. Counts are of billed exchanges; money is by currency. */
const figures = {
  exchanges: Count,
  /** Exchanges among them that broke off, and exchanges among them whose usage was estimated. */
  interrupted: Count,
  estimated: Count,
  inTokens: Count,
  outTokens: Count,
  cacheReadTokens: Count,
  cacheWriteTokens: Count,
  cost: Sums,
  cacheNetSaving: Sums,
}

/** Units beside tokens, by name: pictures, seconds, characters, searches. */
const units = Schema.Record(Schema.String, Schema.Finite)

/** Times to the first frame, in milliseconds, interpolated within their buckets; null without observations. */
export const FirstFrame = Schema.Struct({
  p50: Schema.NullOr(Schema.Finite),
  p95: Schema.NullOr(Schema.Finite),
  p99: Schema.NullOr(Schema.Finite),
})
export type FirstFrame = typeof FirstFrame.Type

export const UsageFigures = Schema.Struct(figures)
export type UsageFigures = typeof UsageFigures.Type

export const SummaryDimension = Schema.Literals(["org", "app", "key", "model", "vendor", "purpose", "stop"])
export type SummaryDimension = typeof SummaryDimension.Type

/** A dimension of groups: one of a record, or a tag such as `tag:feature`. */
export type SummaryGroup = SummaryDimension | TagScope

/** The length of a point: minutes up to six hours, hours up to eight days, days above. */
export const SummaryStep = Schema.Literals(["minute", "hour", "day"])
export type SummaryStep = typeof SummaryStep.Type

export const UsageSummary = Schema.Struct({
  from: Schema.String,
  to: Schema.String,
  step: SummaryStep,
  totals: Schema.Struct({ ...figures, units }),
  firstFrame: FirstFrame,
  /** One point for each step, also if nothing happened. */
  points: Schema.Array(
    Schema.Struct({
      at: Schema.String,
      ...figures,
      /** The number of calls that failed, billed or not. */
      failed: Count,
      firstFrame: FirstFrame,
    }),
  ),
  /** Groups by the dimension that was asked for, the most used first, at most 100. */
  groups: Schema.Array(Schema.Struct({ group: Schema.String, ...figures, units })),
  /** Numbers of calls that failed, by error code, the most frequent first. */
  failures: Schema.Array(Schema.Struct({ code: Schema.String, count: Count })),
}).annotate({ identifier: "UsageSummary" })
export type UsageSummary = typeof UsageSummary.Type
