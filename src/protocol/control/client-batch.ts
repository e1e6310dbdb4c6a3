/** Batches of clients as operators see them: whose they are, how far they are and what they hold, without their requests. */
import { Schema } from "effect"
import { Decimal } from "../usage.ts"
import { ownerFields } from "./owner.ts"

export const ClientBatchEntry = Schema.Struct({
  id: Schema.String,
  createdAt: Schema.String,
  /** The API in which its client made it. */
  api: Schema.Literals(["openai", "anthropic", "gemini"]),
  /** `cancelling` until the calls that run have ended. */
  state: Schema.Literals(["failed", "in_progress", "finalizing", "cancelling", "completed", "expired", "cancelled"]),
  requests: Schema.Int,
  succeeded: Schema.Int,
  errored: Schema.Int,
  cancelled: Schema.Int,
  expired: Schema.Int,
  ...ownerFields,
  /** The amount that was held at the beginning, and what its requests have cost so far. */
  held: Decimal,
  cost: Decimal,
  currency: Schema.String,
  /** The end of the time in which it is answered. */
  endsAt: Schema.String,
  endedAt: Schema.optionalKey(Schema.String),
}).annotate({ identifier: "ClientBatchEntry" })
export type ClientBatchEntry = typeof ClientBatchEntry.Type

export const ClientBatchList = Schema.Struct({
  data: Schema.Array(ClientBatchEntry),
  /** Null on the last page. */
  nextCursor: Schema.NullOr(Schema.String),
}).annotate({ identifier: "ClientBatchList" })
export type ClientBatchList = typeof ClientBatchList.Type
