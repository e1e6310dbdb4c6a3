/** Exports: records that are written as files to storage outside the gateway. */
import { Schema } from "effect"

/** The kinds of records of an export: charges, movements of money, and actions of operators and owners. */
export const ExportRecords = Schema.Literals(["usage", "transfers", "audit"])
export type ExportRecords = typeof ExportRecords.Type

export const ExportFormat = Schema.Literals(["parquet", "jsonl.zst"])
export type ExportFormat = typeof ExportFormat.Type

/** A bucket (S3, Google, Azure) or a folder, and the prefix of all file names. */
export const ExportTarget = Schema.String.check(
  Schema.isPattern(
    /^(?:(?:s3|gs):\/\/[a-z0-9][a-z0-9._-]{1,221}|az:\/\/[a-z0-9]{3,24}\/[a-z0-9$][a-z0-9-]{1,62}|file:\/\/)(?:\/[A-Za-z0-9_][A-Za-z0-9._=-]{0,127}){0,16}\/?$/,
    { expected: "s3://bucket/prefix, gs://bucket/prefix, az://account/container/prefix or file:///folder" },
  ),
)

/** The progress of an export with its records, in one shard of the books. */
export const ExportProgress = Schema.Struct({
  records: ExportRecords,
  /** The name of the shard; `books` if the books are on one server. */
  shard: Schema.String,
  /** The time before which every record is in a file, or is older than the export. */
  exportedUntil: Schema.String,
  lagSeconds: Schema.Finite,
  /** The number of attempts that failed since the last success, and the reason of the last failure. */
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

/** The files that are written again or for the first time. */
export const ExportFill = Schema.Struct({
  /** The number of files of times since the export was started that are written again, each replacing the former one. */
  again: Schema.Int,
  /** The number of hours before the export was started that are written. */
  hours: Schema.Int,
}).annotate({ identifier: "ExportFill" })
export type ExportFill = typeof ExportFill.Type
