/** Text from speech. Source: calls "twp/1 shapes", transcriptions. */
import { Schema } from "effect"
import { FileBlock } from "./block.ts"
import { ClientRequestId, ExchangeMeta } from "./exchange.ts"
import { ModelHandle } from "./model-handle.ts"
import { Usage } from "./usage.ts"

const optional = Schema.optionalKey

/** `json` has the text; `verbose` has segments or words too; the others are text by themselves. */
export const TranscriptFormat = Schema.Literals(["json", "verbose", "text", "srt", "vtt"])
export type TranscriptFormat = typeof TranscriptFormat.Type

const fields = {
  model: ModelHandle,
  /** ISO 639, such as `de` or `eng`. */
  language: optional(Schema.String.check(Schema.isPattern(/^[a-z]{2,3}(-[A-Za-z0-9]{2,8})?$/))),
  /** Words that help the model. */
  prompt: optional(Schema.String.check(Schema.isMaxLength(16_384))),
  /** `json` if absent. */
  format: optional(TranscriptFormat),
  /** What `verbose` tells the times of; `segment` if absent. */
  timestamps: optional(Schema.Literals(["word", "segment"])),
  /** Whether the text is in English, whatever was spoken. */
  translate: optional(Schema.Boolean),
  temperature: optional(Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 }))),
  stream: optional(Schema.Boolean),
  meta: optional(ExchangeMeta),
}

/** The fields beside the sound. */
export const TranscriptionFields = Schema.Struct(fields)
export type TranscriptionFields = typeof TranscriptionFields.Type

/** In JSON; a form has the same fields, and the sound is its part `file`. */
export const TranscriptionRequest = Schema.Struct({ ...fields, file: FileBlock }).annotate({
  identifier: "TranscriptionRequest",
})
export type TranscriptionRequest = typeof TranscriptionRequest.Type

/** Seconds from the beginning. */
const Seconds = Schema.Finite

export const Word = Schema.Struct({ word: Schema.String, start: Seconds, end: Seconds })
export type Word = typeof Word.Type

export const Segment = Schema.Struct({ text: Schema.String, start: Seconds, end: Seconds })
export type Segment = typeof Segment.Type

export const TranscriptionResponse = Schema.Struct({
  requestId: Schema.String,
  clientRequestId: optional(ClientRequestId),
  model: Schema.String,
  text: Schema.String,
  language: optional(Schema.String),
  /** Of the sound; absent if it is not known. */
  duration: optional(Seconds),
  segments: optional(Schema.Array(Segment)),
  words: optional(Schema.Array(Word)),
  usage: Usage,
}).annotate({ identifier: "TranscriptionResponse" })
export type TranscriptionResponse = typeof TranscriptionResponse.Type
