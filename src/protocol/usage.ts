/** Usage of one exchange: counts and cost. */
import { Schema } from "effect"

/** A DECIMAL string: no exponent, at most ten fraction digits; never a binary float. */
export const Decimal = Schema.String.check(
  Schema.isPattern(/^-?\d{1,20}(\.\d{1,10})?$/, { expected: "an amount such as 12.50" }),
).annotate({
  identifier: "Decimal",
  description: "An exact decimal number as a string, at most ten fraction digits",
})

export const Currency = Schema.String.check(Schema.isPattern(/^[A-Z]{3}$/, { expected: "a currency such as USD" }))

const Count = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))

/** The reason why usage is the gateway's own conservative estimate; absent if the vendor reported it. */
export const EstimatedReason = Schema.Literals([
  "upstream_usage_missing",
  "upstream_usage_implausible",
  "upstream_disconnected",
  "client_disconnected",
  "upstream_timeout",
  "stream_backpressure",
  "content_blocked",
  "gateway_lost",
])
export type EstimatedReason = typeof EstimatedReason.Type

/**
 * `inTokens` are full-price input tokens, without cache reads and writes. `dims` holds non-zero buckets only; keys
 * with the prefix `obs_` are observations and never billed.
 */
export const Usage = Schema.Struct({
  inTokens: Count,
  outTokens: Count,
  cacheReadTokens: Count,
  cacheWriteTokens: Count,
  cost: Decimal,
  balance: Decimal,
  currency: Currency,
  estimatedReason: Schema.optionalKey(EstimatedReason),
  dims: Schema.optionalKey(Schema.Record(Schema.String, Count)),
  cacheNetSaving: Decimal,
}).annotate({ identifier: "Usage" })
export type Usage = typeof Usage.Type
