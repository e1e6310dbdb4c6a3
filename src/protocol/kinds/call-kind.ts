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

/** The APIs of realtime sessions: OpenAI's Realtime API, or Google's Live API. */
export const RealtimeApi = Schema.Literals(["openai", "google"])
export type RealtimeApi = typeof RealtimeApi.Type

export const CallKind = Schema.Literals([...ModelKind.literals, "search"])
export type CallKind = typeof CallKind.Type
