/** A part of a batch that runs at a vendor's own API of batches, and its row. */
import { Schema } from "effect"
import type { Submission as SentSubmission, VendorBatch } from "../../dialects/batch-dialect.ts"
import type { Chunk } from "../batch-rows.ts"

export interface Submission extends Omit<Chunk, "chunk" | "failures"> {
  readonly submission: number
  readonly vendor: string
  readonly targetModel: string
  /** The key of the target. */
  readonly target: string
  readonly isOwn: boolean
  readonly group: string
  /** `sending`: the vendor may have made a batch of it. */
  readonly state: "waiting" | "sending" | "running"
  readonly vendorBatch: VendorBatch | undefined
  readonly sentLines: number
  readonly sentAt: Date | undefined
  /** Whether its vendor was asked to cancel it. */
  readonly isCancelled: boolean
  readonly polls: number
  readonly reads: number
  /** Whether its batch was cancelled, or its window has ended, by the clock of the database. */
  readonly isOver: boolean
  /** Whether {@link endingMs} were over too. */
  readonly isGivenUp: boolean
  /** Whether a look that fails is the last one: {@link failingMs} were over too. */
  readonly isLastTry: boolean
  /** Whether it was sent so long ago that its vendor would list it. */
  readonly isLongSent: boolean
}

/** The time that a vendor may take to end its batch after the end of the gateway's. Until then its money stays held. */
export const endingMs = 15 * 60_000
/** The time for which a look that fails is tried again after the end of the gateway's batch. */
export const failingMs = 75 * 60_000
/** The time after which a batch that its vendor does not list was not made. */
export const listedMs = 2 * 60_000

const Big = Schema.Union([Schema.Int, Schema.BigInt, Schema.NumberFromString])

const Row = Schema.Struct({
  org_id: Schema.String,
  batch_id: Schema.String,
  submission: Schema.Int,
  first_line: Schema.Int,
  lines: Schema.Int,
  place: Big,
  bytes: Big,
  vendor: Schema.String,
  target_model: Schema.String,
  target: Schema.String,
  is_own: Schema.Boolean,
  line_group: Schema.String,
  state: Schema.Literals(["waiting", "sending", "running"]),
  vendor_batch: Schema.NullOr(Schema.String),
  input_file: Schema.NullOr(Schema.String),
  sent_lines: Schema.Int,
  sent_at: Schema.NullOr(Schema.Date),
  cancelled_at: Schema.NullOr(Schema.Date),
  polls: Schema.Int,
  reads: Schema.Int,
  is_over: Schema.Boolean,
  is_given_up: Schema.Boolean,
  is_last_try: Schema.Boolean,
  is_long_sent: Schema.Boolean,
})
export const readSubmissions = Schema.decodeUnknownSync(Schema.Array(Row))

export const submissionOf = (row: typeof Row.Type): Submission => ({
  orgId: row.org_id,
  batchId: row.batch_id,
  submission: row.submission,
  first: row.first_line,
  lines: row.lines,
  place: Number(row.place),
  bytes: Number(row.bytes),
  vendor: row.vendor,
  targetModel: row.target_model,
  target: row.target,
  isOwn: row.is_own,
  group: row.line_group,
  state: row.state,
  vendorBatch: row.vendor_batch === null ? undefined : { id: row.vendor_batch, inputFile: row.input_file ?? undefined },
  sentLines: row.sent_lines,
  sentAt: row.sent_at ?? undefined,
  isCancelled: row.cancelled_at !== null,
  polls: row.polls,
  reads: row.reads,
  isOver: row.is_over,
  isGivenUp: row.is_given_up,
  isLastTry: row.is_last_try,
  isLongSent: row.is_long_sent,
})

/** The submission as its vendor's dialect knows it. */
export const sentAs = ({ batchId, submission, group }: Submission, lines: number): SentSubmission => ({
  id: `${batchId}-${submission}`,
  group,
  lines,
})

/** The name of a line at a vendor. It has the batch too, so that results prove whose they are. */
export const lineName = (batchId: string, line: number): string => `${batchId}-${line}`

/** The number of the line with a name; undefined if it is none of the submission's. */
export const lineOfName = ({ batchId, first, lines }: Submission, name: string): number | undefined => {
  const line = Number(name.startsWith(`${batchId}-`) ? name.slice(batchId.length + 1) : undefined)
  return Number.isInteger(line) && line >= first && line < first + lines && name === lineName(batchId, line)
    ? line
    : undefined
}

/** The names in the log. */
export const namesOf = ({ orgId, batchId, submission, vendor, vendorBatch }: Submission) => ({
  org: orgId,
  batch: batchId,
  submission,
  vendor,
  vendorBatch: vendorBatch?.id,
})
