/** Exports: records that leave the gateway in files at another place. */
import { Schema } from "effect"

/** What an export can have: what was charged and for what, movements of money, and what operators and owners did. */
export const ExportRecords = Schema.Literals(["usage", "transfers", "audit"])
export type ExportRecords = typeof ExportRecords.Type

export const ExportFormat = Schema.Literals(["parquet", "jsonl.zst"])
export type ExportFormat = typeof ExportFormat.Type

/** A bucket (S3, Google, Azure) or a folder, and what the names of all files begin with. */
export const ExportTarget = Schema.String.check(
  Schema.isPattern(
    /^(?:(?:s3|gs):\/\/[a-z0-9][a-z0-9._-]{1,221}|az:\/\/[a-z0-9]{3,24}\/[a-z0-9$][a-z0-9-]{1,62}|file:\/\/)(?:\/[A-Za-z0-9_][A-Za-z0-9._=-]{0,127}){0,16}\/?$/,
    { expected: "s3://bucket/prefix, gs://bucket/prefix, az://account/container/prefix or file:///folder" },
  ),
)

/** How far an export has come with its records, in one shard of the books. */
export const ExportProgress = Schema.Struct({
  records: ExportRecords,
  /** `books` where they are on one server. */
  shard: Schema.String,
  /** Every record that was written before is in a file, or was there before the export. */
  exportedUntil: Schema.String,
  lagSeconds: Schema.Finite,
  /** Attempts that failed since the last that did not, and why the last one did. */
  failures: Schema.Int,
  problem: Schema.optionalKey(Schema.String),
}).annotate({ identifier: "ExportProgress" })
export type ExportProgress = typeof ExportProgress.Type

export const ExportEntry = Schema.Struct({
  id: Schema.String,
  to: Schema.String,
  format: ExportFormat,
  progress: Schema.Array(ExportProgress),
}).annotate({ identifier: "ExportEntry" })
export type ExportEntry = typeof ExportEntry.Type

export const ExportList = Schema.Struct({ exports: Schema.Array(ExportEntry) }).annotate({ identifier: "ExportList" })
export type ExportList = typeof ExportList.Type

/** What is written again, or for the first time. */
export const ExportFill = Schema.Struct({
  /** Files of times since the export was started that are written again, each in its place. */
  again: Schema.Int,
  /** Hours before the export was started that are written. */
  hours: Schema.Int,
}).annotate({ identifier: "ExportFill" })
export type ExportFill = typeof ExportFill.Type
