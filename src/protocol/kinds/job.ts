/** Jobs for operators. */
import { Schema } from "effect"
import { Currency, Decimal } from "../usage.ts"
import { JobState } from "./video.ts"

const optional = Schema.optionalKey

export const JobEntry = Schema.Struct({
  id: Schema.String,
  org: Schema.String,
  kind: Schema.String,
  model: Schema.String,
  /** The vendor and its name of the model. */
  target: Schema.String,
  vendorJob: Schema.String,
  status: JobState,
  progress: Schema.Int,
  /** The vendor's machine code of a failure. */
  error: optional(Schema.String),
  /** The amount of the hold. */
  held: Decimal,
  currency: Currency,
  dims: Schema.Record(Schema.String, Schema.Int),
  /** The number of times that the vendor was asked. */
  polls: Schema.Int,
  createdAt: Schema.String,
  /** The time when it fails if it has not ended. */
  endsAt: Schema.String,
  endedAt: optional(Schema.String),
}).annotate({ identifier: "JobEntry" })
export type JobEntry = typeof JobEntry.Type

export const JobList = Schema.Struct({ jobs: Schema.Array(JobEntry) }).annotate({ identifier: "JobList" })
export type JobList = typeof JobList.Type
