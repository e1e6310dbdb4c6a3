/** Plan concurrency over time. Source: interface.md "Plan usage curve". */
import { Schema } from "effect"

/** A day (UTC+8) with 24 hourly peaks. */
export const PlanUsage = Schema.Struct({
  /** Oldest first; days without activity are absent. */
  days: Schema.Array(
    Schema.Struct({ day: Schema.String, peakConcurrency: Schema.Int, hourlyPeaks: Schema.Array(Schema.Int) }),
  ),
  /** Read live; null for future hours and hours without activity. */
  today: Schema.Struct({ day: Schema.String, hourlyPeaks: Schema.Array(Schema.NullOr(Schema.Int)) }),
}).annotate({ identifier: "PlanUsage" })
export type PlanUsage = typeof PlanUsage.Type
