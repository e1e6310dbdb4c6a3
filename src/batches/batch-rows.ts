/** Rows of batches, of their parts and of their results; what clients say of their batches is sealed. */
import { Option, Schema } from "effect"
import { BudgetUnit } from "../protocol/catalogue/budget.ts"
import type { Sealer } from "../store/seal.ts"
import { type Batch, BatchFacts, BatchOutcome, batchApis } from "./batch.ts"

/** A part of a batch that a node has taken. */
export interface Chunk {
  readonly orgId: string
  readonly batchId: string
  readonly chunk: number
  /** The number of its first request. */
  readonly first: number
  readonly lines: number
  /** Its place in the file of the requests, and its length. */
  readonly place: number
  readonly bytes: number
  /** The number of times that a vendor failed for one of its requests. */
  readonly failures: number
}

/** The answer to a request. */
export interface SealedResult {
  readonly line: number
  readonly state: "succeeded" | "errored"
  readonly content: Uint8Array
  /** The time when it came, in microseconds. */
  readonly micros: string
}

const Big = Schema.Union([Schema.Int, Schema.BigInt, Schema.NumberFromString])

const Chunks = Schema.Array(
  Schema.Struct({
    org_id: Schema.String,
    batch_id: Schema.String,
    chunk: Schema.Int,
    first_line: Schema.Int,
    lines: Schema.Int,
    place: Big,
    bytes: Schema.Int,
    failures: Schema.Int,
  }),
)
export const readChunks = Schema.decodeUnknownSync(Chunks)

export const chunkOf = (row: (typeof Chunks.Type)[number]): Chunk => ({
  orgId: row.org_id,
  batchId: row.batch_id,
  chunk: row.chunk,
  first: row.first_line,
  lines: row.lines,
  place: Number(row.place),
  bytes: row.bytes,
  failures: row.failures,
})

export const readResults = Schema.decodeUnknownSync(
  Schema.Array(
    Schema.Struct({
      line: Schema.Int,
      state: Schema.Literals(["succeeded", "errored"]),
      content: Schema.Uint8Array,
      micros: Schema.String,
    }),
  ),
)

const Row = Schema.Struct({
  org_id: Schema.String,
  id: Schema.String,
  app_id: Schema.String,
  person_id: Schema.String,
  end_user_id: Schema.String,
  key_id: Schema.String,
  api: Schema.Literals(batchApis),
  state: Schema.Literals(["failed", "in_progress", "finalizing", "completed", "expired", "cancelled"]),
  lines: Schema.Int,
  now_succeeded: Schema.optionalKey(Schema.Int),
  now_errored: Schema.optionalKey(Schema.Int),
  now_in: Schema.optionalKey(Big),
  now_cached: Schema.optionalKey(Big),
  now_out: Schema.optionalKey(Big),
  now_reasoning: Schema.optionalKey(Big),
  cancelled: Schema.Int,
  expired: Schema.Int,
  day: Schema.String,
  budgets: Schema.Array(Schema.Struct({ counter: Schema.String, unit: BudgetUnit })),
  created_at: Schema.Date,
  ends_at: Schema.Date,
  cancelled_at: Schema.NullOr(Schema.Date),
  finalizing_at: Schema.NullOr(Schema.Date),
  ended_at: Schema.NullOr(Schema.Date),
  facts: Schema.Uint8Array,
  outcome: Schema.NullOr(Schema.Uint8Array),
})
const readRow = Schema.decodeUnknownSync(Row)

const FactsJson = Schema.fromJsonString(BatchFacts)
const OutcomeJson = Schema.fromJsonString(BatchOutcome)
const encodeFacts = Schema.encodeSync(FactsJson)
const encodeOutcome = Schema.encodeSync(OutcomeJson)
const decodeFacts = Schema.decodeUnknownOption(FactsJson)
const decodeOutcome = Schema.decodeUnknownOption(OutcomeJson)

const factsContext = (orgId: string, id: string) => `batch facts ${orgId} ${id}`
const outcomeContext = (orgId: string, id: string) => `batch outcome ${orgId} ${id}`

export const makeBatchOf = (sealer: Sealer) => {
  const opened = (sealed: Uint8Array, context: string) => sealer.openBytes(sealed, context)?.toString("utf8")
  return {
    sealFacts: (orgId: string, id: string, facts: BatchFacts) =>
      sealer.sealBytes(Buffer.from(encodeFacts(facts)), factsContext(orgId, id)),
    sealOutcome: (orgId: string, id: string, outcome: BatchOutcome) =>
      sealer.sealBytes(Buffer.from(encodeOutcome(outcome)), outcomeContext(orgId, id)),
    /** None if it was sealed with another key. */
    batchOf: (unread: unknown): ReadonlyArray<Batch> => {
      const row = readRow(unread)
      const { org_id: orgId, id } = row
      const facts = Option.getOrUndefined(decodeFacts(opened(row.facts, factsContext(orgId, id))))
      if (facts === undefined) return []
      const outcome = row.outcome === null ? undefined : opened(row.outcome, outcomeContext(orgId, id))
      return [
        {
          orgId,
          id,
          owner: { app: row.app_id, person: row.person_id, endUser: row.end_user_id },
          keyId: row.key_id,
          api: row.api,
          state: row.state,
          lines: row.lines,
          counts: {
            succeeded: row.now_succeeded ?? 0,
            errored: row.now_errored ?? 0,
            cancelled: row.cancelled,
            expired: row.expired,
          },
          tokens: {
            input: Number(row.now_in ?? 0),
            cached: Number(row.now_cached ?? 0),
            output: Number(row.now_out ?? 0),
            reasoning: Number(row.now_reasoning ?? 0),
          },
          money: {
            id,
            day: row.day,
            budgets: row.budgets,
            pricedAtMs: facts.pricedAtMs ?? row.created_at.getTime(),
          },
          createdAt: row.created_at,
          endsAt: row.ends_at,
          cancelledAt: row.cancelled_at ?? undefined,
          finalizingAt: row.finalizing_at ?? undefined,
          endedAt: row.ended_at ?? undefined,
          facts,
          outcome: outcome === undefined ? undefined : Option.getOrUndefined(decodeOutcome(outcome)),
        },
      ]
    },
  }
}
