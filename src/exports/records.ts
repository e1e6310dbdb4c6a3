/**
 * The contents of an export's files: the columns of each kind of record, under their names in the database. A new column
 * comes at the end; anything else is a new version, in a folder of its own.
 */
import { Struct } from "effect"
import type { ExportRecords } from "../protocol/control/export.ts"
import { columnOf, storedTypeOf, usageFields } from "../protocol/control/usage-record.ts"

/** Decimals have ten places; times are in UTC, to the microsecond; JSON is text here, and bytes are in base 16. */
export type ColumnType = "text" | "integer" | "decimal" | "time" | "json" | "hex"

export interface Column {
  readonly name: string
  readonly type: ColumnType
}

export interface RecordsSchema {
  readonly version: number
  readonly columns: ReadonlyArray<Column>
}

const of = (type: ColumnType, ...names: ReadonlyArray<string>): ReadonlyArray<Column> =>
  names.map((name) => ({ name, type }))

export const recordsSchemas: { readonly [K in ExportRecords]: RecordsSchema } = {
  usage: {
    version: 1,
    columns: [
      // `usage`, or `correction`: a record that is in another file was taken back, and its amounts are negative here.
      ...of("text", "record"),
      ...of("integer", "exchanges"),
      ...Struct.keys(usageFields).map((field) => ({ name: columnOf(field), type: storedTypeOf(field) })),
    ],
  },
  transfers: {
    version: 1,
    columns: [
      ...of("integer", "id"),
      ...of("time", "at"),
      ...of("text", "org_id", "currency", "debit_account", "credit_account"),
      ...of("decimal", "amount"),
      ...of("text", "kind", "ref"),
    ],
  },
  audit: {
    version: 1,
    columns: [
      ...of("integer", "seq"),
      ...of("time", "at"),
      ...of("text", "action", "org_id", "actor_type", "actor_id"),
      ...of("json", "detail"),
      ...of("hex", "hash"),
    ],
  },
}

/** A value in the form of the database: decimals, times and JSON as text. */
export type Value = string | number | bigint | null
/** Values in the order of the columns. */
export type Row = ReadonlyArray<Value>

/** A time of PostgreSQL (`2026-11-25 09:00:00.123456`, in UTC) as ISO 8601, with as many digits as it has. */
export const isoOf = (text: string): string => `${text.replace(" ", "T")}Z`

/** The time in microseconds since 1970. */
export const microsOf = (text: string): bigint => {
  const [seconds = "", fraction = ""] = text.split(".")
  return BigInt(Date.parse(isoOf(seconds))) * 1000n + BigInt(fraction.padEnd(6, "0"))
}

const scale = 10

/** A decimal as a number of its last place. */
export const unscaled = (decimal: string): bigint => {
  const [whole = "", fraction = ""] = decimal.split(".")
  return BigInt(whole + fraction.padEnd(scale, "0"))
}
