/** The curve of a plan's concurrency. Source: interface.md "Plan usage curve". */
import { Schema } from "effect"

/** A day (UTC+8) with its 24 hourly peaks. */
export const PlanUsage = Schema.Struct({
  /** Days without activity are absent; newest last. */
  days: Schema.Array(
    Schema.Struct({ day: Schema.String, peakConcurrency: Schema.Int, hourlyPeaks: Schema.Array(Schema.Int) }),
  ),
  /** Read live; null for hours to come or without activity. */
  today: Schema.Struct({ day: Schema.String, hourlyPeaks: Schema.Array(Schema.NullOr(Schema.Int)) }),
}).annotate({ identifier: "PlanUsage" })
export type PlanUsage = typeof PlanUsage.Type
