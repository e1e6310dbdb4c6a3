/** Plan concurrency over time. */
import { Schema } from "effect"

/** The plan of an organisation, and its limits. A limit that is absent does not exist. */
export const PlanLimits = Schema.Struct({
  /** Absent if the organisation has no plan. */
  plan: Schema.optionalKey(Schema.String),
  /** Sessions at once. */
  concurrency: Schema.optionalKey(Schema.Int),
  perMinute: Schema.optionalKey(Schema.Int),
  dailyTokens: Schema.optionalKey(Schema.Int),
  /** The files that clients of the organisation keep here, and their bytes together. */
  maxFiles: Schema.optionalKey(Schema.Int),
  maxFilesBytes: Schema.optionalKey(Schema.Int),
  /** For plans of the test tier: end users of the present month (UTC+8). */
  endUsers: Schema.optionalKey(Schema.Struct({ month: Schema.String, used: Schema.Int, limit: Schema.Int })),
}).annotate({ identifier: "PlanLimits" })
export type PlanLimits = typeof PlanLimits.Type

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
