/**
 * The usage record of a billed call, described once. Its columns in the books, the journal, statements, the log of exchanges,
 * CSV, exports and the API document are made of this description.
 */
import { Schema } from "effect"
import { Decimal } from "../usage.ts"

/** Matches of one policy in one exchange. */
export const PolicyHit = Schema.Struct({
  policy: Schema.String,
  at: Schema.Literals(["request", "reply"]),
  count: Schema.Int,
  /** `failed` if its engine gave no verdict. */
  did: Schema.Literals(["denied", "masked", "flagged", "shadow", "failed"]),
})
export type PolicyHit = typeof PolicyHit.Type

const OptionalText = Schema.optional(Schema.String)
/** Milliseconds. */
const OptionalTime = Schema.optional(Schema.Int)

/** All fields, in the order of an export's columns: a new one comes at the end, and is optional. */
export const usageFields = {
  /** The time when the call ended. */
  at: Schema.String,
  /** The request id that the service issued. */
  ref: Schema.String,
  orgId: Schema.String,
  /** The application's id; empty if a person called. */
  appId: Schema.String,
  keyId: Schema.String,
  /** The caller's request id; the service's own if the caller sent none. */
  requestId: Schema.String,
  sessionId: OptionalText,
  purpose: Schema.String,
  source: Schema.String,
  model: Schema.String,
  vendor: Schema.String,
  inTokens: Schema.Int,
  outTokens: Schema.Int,
  cacheReadTokens: Schema.Int,
  cacheWriteTokens: Schema.Int,
  dims: Schema.Record(Schema.String, Schema.Int),
  /** The reason why usage is the gateway's own estimate; absent if the vendor reported it. */
  estimatedReason: OptionalText,
  /** The stop reason. */
  stop: Schema.String,
  cost: Decimal,
  cacheNetSaving: Decimal,
  currency: Schema.String,
  connectMs: OptionalTime,
  ttfbMs: OptionalTime,
  idleMs: OptionalTime,
  totalMs: OptionalTime,
  /** The region in which the vendor says that it answered. */
  region: OptionalText,
  /** Names and values by which usage is counted. */
  tags: Schema.optional(Schema.Record(Schema.String, Schema.String)),
  /** Matches of content policies, without their text. */
  policies: Schema.optional(Schema.Array(PolicyHit)),
  /** The batch that the call belongs to. */
  batchId: OptionalText,
} as const

export type UsageField = keyof typeof usageFields

/** Counts that are negative if a record is taken back, beside its amounts. */
export const tokenFields = ["inTokens", "outTokens", "cacheReadTokens", "cacheWriteTokens"] as const

/** The names of fields in the log of exchanges, if they differ. */
export const logNames = {
  ref: "id",
  orgId: "org",
  appId: "app",
  keyId: "key",
  ttfbMs: "firstFrameMs",
  totalMs: "tookMs",
} as const

/** The column of a field in the books: its name in snake case. */
export const columnOf = (field: string): string => field.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

const jsonFields: ReadonlySet<UsageField> = new Set(["dims", "tags", "policies"])

/** The type of a column: decimals have ten places, and JSON is an object of counts or texts, or a list. */
export const storedTypeOf = (field: UsageField): "text" | "integer" | "decimal" | "time" | "json" => {
  const schema = usageFields[field]
  if (field === "at") return "time"
  if (schema === Decimal) return "decimal"
  if (schema === Schema.Int || schema === OptionalTime) return "integer"
  return jsonFields.has(field) ? "json" : "text"
}
