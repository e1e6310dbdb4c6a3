/** A usage record in memory, in the journal and in the books: each is made of the one description. */
import { Schema, Struct } from "effect"
import { Tier } from "../protocol/catalogue/timeouts.ts"
import { columnOf, storedTypeOf, tokenFields, type UsageField, usageFields } from "../protocol/control/usage-record.ts"
import { EstimatedReason } from "../protocol/usage.ts"
import { formatAmount } from "./amount.ts"

const counts = Struct.pick(usageFields, [...tokenFields, "dims"])
const times = ["connectMs", "ttfbMs", "idleMs", "totalMs"] as const
/** Fields that the books add to a call's record. */
const ofBooks = ["at", "ref", "orgId", "keyId", "requestId", "source", "cost", "currency"] as const

/** The usage record of a settled call, as the call knows it. */
export const UsageRecord = Schema.Struct({
  ...Struct.omit(usageFields, [...ofBooks, ...times, ...tokenFields, "dims"]),
  counts: Schema.Struct(counts),
  /** Milliseconds that the timeout tiers took. */
  tierMs: Schema.optional(Schema.Record(Tier, Schema.optionalKey(Schema.Int))),
  estimatedReason: Schema.optional(EstimatedReason),
  cacheNetSaving: Schema.BigIntFromString,
})
export type UsageRecord = typeof UsageRecord.Type

const ownColumns = Struct.keys(Struct.omit(UsageRecord.fields, ["counts", "tierMs", "cacheNetSaving"])).map(
  (field) => [field, columnOf(field)] as const,
)
const countColumns = Struct.keys(counts).map((field) => [field, columnOf(field)] as const)

/** A usage record by the names of its columns. All have the same members in the same order: V8 writes such objects faster. */
export const usageColumns = (record: UsageRecord): Record<string, unknown> => {
  const { counts, tierMs, cacheNetSaving } = record
  const row: Record<string, unknown> = { cache_net_saving: formatAmount(cacheNetSaving) }
  for (const [field, column] of ownColumns) row[column] = record[field]
  for (const [field, column] of countColumns) row[column] = counts[field]
  for (const tier of Tier.literals) row[`${tier}_ms`] = tierMs?.[tier]
  return row
}

/**
 * SQL of a JSON object with fields of a usage record, without those that are null.
 * @param names of fields, by their names in the object @param others members that are no fields: names and SQL
 */
export const usageJson = (
  table: string,
  names: ReadonlyArray<readonly [string, UsageField]>,
  others: Readonly<Record<string, string>> = {},
): string => {
  const members = [...names.map(([name, field]) => [name, selected(table, field)] as const), ...Object.entries(others)]
  return `jsonb_strip_nulls(jsonb_build_object(${members.map(([name, value]) => `'${name}', ${value}`).join(", ")}))`
}

const selected = (table: string, field: UsageField): string => {
  const column = `${table}.${columnOf(field)}`
  switch (storedTypeOf(field)) {
    case "time":
      return `to_json(${column}) #>> '{}'`
    case "decimal":
      return `${column}::text`
    case "json":
      if (field !== "dims") return column
      return `usage_dims(${[field, ...times].map((name) => `${table}.${columnOf(name)}`).join(", ")})`
    default:
      return column
  }
}
