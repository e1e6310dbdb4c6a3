/** The kinds of calls. */
import { Schema } from "effect"

/** The kinds of calls that are calls of a model. */
export const ModelKind = Schema.Literals([
  "chat",
  "embedding",
  "rerank",
  "moderation",
  "image",
  "speech",
  "transcription",
  "video",
  "realtime",
])
export type ModelKind = typeof ModelKind.Type

export const CallKind = Schema.Literals([...ModelKind.literals, "search"])
export type CallKind = typeof CallKind.Type
