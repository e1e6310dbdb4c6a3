/** Kept responses as operators see them: whose they are and how large, without their content. */
import { Schema } from "effect"
import { ownerFields } from "./owner.ts"

export const KeptResponseState = Schema.Literals([
  "queued",
  "in_progress",
  "completed",
  "incomplete",
  "failed",
  "cancelled",
])

/** A kept response or a conversation without its content, which no operator can read. */
export const KeptResponseEntry = Schema.Struct({
  id: Schema.String,
  kind: Schema.Literals(["response", "conversation"]),
  createdAt: Schema.String,
  /** Absent for a conversation. */
  model: Schema.optionalKey(Schema.String),
  /** Absent for a conversation. */
  state: Schema.optionalKey(KeptResponseState),
  /** Whether it runs without its client. */
  background: Schema.Boolean,
  ...ownerFields,
  /** The response that it continues. */
  previous: Schema.optionalKey(Schema.String),
  /** The size of its sealed content; of a conversation with its items. */
  bytes: Schema.Int,
  eraseAt: Schema.String,
}).annotate({ identifier: "KeptResponseEntry" })
export type KeptResponseEntry = typeof KeptResponseEntry.Type

export const KeptResponseList = Schema.Struct({
  data: Schema.Array(KeptResponseEntry),
  /** Null on the last page. */
  nextCursor: Schema.NullOr(Schema.String),
}).annotate({ identifier: "KeptResponseList" })
export type KeptResponseList = typeof KeptResponseList.Type

/** The numbers of responses and conversations that were erased. */
export const ErasedResponses = Schema.Struct({ erased: Schema.Int, conversations: Schema.Int }).annotate({
  identifier: "ErasedResponses",
})
export type ErasedResponses = typeof ErasedResponses.Type
