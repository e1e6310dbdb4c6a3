/** A batch: many requests of one client, answered within a time, with their money held from the beginning. */
import { Schema } from "effect"
import type { LineTokens } from "../calls/reply/line-tokens.ts"
import type { BatchMoney } from "../identity/caller.ts"
import type { KeptOwner } from "../kept-responses/kept-response.ts"

/** The APIs in which clients make batches. */
export const batchApis = ["openai", "anthropic", "gemini"] as const
export type BatchApi = (typeof batchApis)[number]

export type BatchState = "failed" | "in_progress" | "finalizing" | "completed" | "expired" | "cancelled"

/** A fault of one request, or of the batch as a whole, for which a batch fails before anything is asked. */
export const Problem = Schema.Struct({
  code: Schema.String,
  message: Schema.String,
  /** From 1; absent if it is not the fault of one line. */
  line: Schema.optionalKey(Schema.Int),
  param: Schema.optionalKey(Schema.String),
})
export type Problem = typeof Problem.Type

/** The words of a client about its batch; sealed in the database. */
export const BatchFacts = Schema.Struct({
  /** The file with its requests, which is the gateway's own; absent if it failed. */
  requests: Schema.optionalKey(Schema.String),
  /** Whether the requests came in a list: then their results are read with the batch, and not from a file. */
  inline: Schema.optionalKey(Schema.Boolean),
  /** The client's file, as the client wrote its id. */
  input: Schema.optionalKey(Schema.String),
  endpoint: Schema.optionalKey(Schema.String),
  /** The only model of its requests. */
  model: Schema.optionalKey(Schema.String),
  name: Schema.optionalKey(Schema.String),
  metadata: Schema.optionalKey(Schema.NullOr(Schema.Record(Schema.String, Schema.String))),
  /** The hash of the request that made it, if that has a request id. */
  hash: Schema.optionalKey(Schema.String),
  /** The header with the tags of its calls. */
  tags: Schema.optionalKey(Schema.String),
  /** The time at which its requests were priced; that of its beginning if absent. */
  pricedAtMs: Schema.optionalKey(Schema.Finite),
  /** The time for which its results are kept, in milliseconds. */
  resultsMs: Schema.Finite,
})
export type BatchFacts = typeof BatchFacts.Type

/** Results of a batch; sealed in the database. Absent files would be empty. */
export const BatchOutcome = Schema.Struct({
  output: Schema.optionalKey(Schema.String),
  errors: Schema.optionalKey(Schema.String),
  /** Whether the results are in the order of the requests. */
  isInOrder: Schema.optionalKey(Schema.Boolean),
  problems: Schema.optionalKey(Schema.Array(Problem)),
})
export type BatchOutcome = typeof BatchOutcome.Type

export interface BatchCounts {
  readonly succeeded: number
  readonly errored: number
  readonly cancelled: number
  readonly expired: number
}

export interface Batch {
  readonly orgId: string
  readonly id: string
  readonly owner: KeptOwner
  readonly keyId: string
  readonly api: BatchApi
  readonly state: BatchState
  /** The number of its requests. */
  readonly lines: number
  readonly counts: BatchCounts
  /** The tokens of its answers so far. */
  readonly tokens: LineTokens
  readonly money: BatchMoney
  readonly createdAt: Date
  /** The end of the time in which it is answered. */
  readonly endsAt: Date
  readonly cancelledAt: Date | undefined
  readonly finalizingAt: Date | undefined
  readonly endedAt: Date | undefined
  readonly facts: BatchFacts
  readonly outcome: BatchOutcome | undefined
}

/** A batch as it is begun. */
export interface NewBatch extends Pick<Batch, "orgId" | "id" | "owner" | "keyId" | "api" | "lines" | "facts"> {
  readonly state: "in_progress" | "failed"
  /** The request id of its client. */
  readonly request: string | undefined
  readonly currency: string
  /** A decimal. */
  readonly held: string
  readonly money: Pick<BatchMoney, "day" | "budgets">
  readonly windowMs: number
  /** The time for which its row is kept. */
  readonly keptMs: number
  readonly outcome: BatchOutcome | undefined
  readonly chunks: ReadonlyArray<NewChunk>
  /** The parts that run at a vendor, instead of chunks. */
  readonly submissions?: ReadonlyArray<NewSubmission> | undefined
}

/** A part of the requests: the number of its first one, and its place in their file. */
export interface NewChunk {
  readonly first: number
  readonly lines: number
  readonly place: number
  readonly bytes: number
}

/** A part of the requests that runs at a vendor: its target, and what its lines share there. */
export interface NewSubmission extends NewChunk {
  readonly vendor: string
  readonly targetModel: string
  /** The key of the target. */
  readonly target: string
  readonly isOwn: boolean
  readonly group: string
}

/** The names by which the caller of a batch is found later. */
export const earlierCaller = ({ owner, keyId }: Pick<Batch, "owner" | "keyId">) => ({
  keyId,
  isApplication: owner.app !== "",
  endUserId: owner.endUser === "" ? undefined : owner.endUser,
})
