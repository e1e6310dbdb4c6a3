/** Text from speech. */
import { Schema } from "effect"
import { FileBlock } from "../block.ts"
import { ClientRequestId, ExchangeMeta } from "../exchange.ts"
import { ModelHandle } from "../model-handle.ts"
import { Usage } from "../usage.ts"

const optional = Schema.optionalKey

/** `json` has the text; `verbose` segments or words too; `diarized` segments with their speakers; the others are text by themselves. */
export const TranscriptFormat = Schema.Literals(["json", "verbose", "diarized", "text", "srt", "vtt"])
export type TranscriptFormat = typeof TranscriptFormat.Type

export const Timed = Schema.Literals(["word", "segment"])
export type Timed = typeof Timed.Type

/** The detection of pauses: the recording is cut where nobody speaks. */
const SpeechDetection = Schema.Struct({
  /** The loudness of speech, from 0 to 1. */
  threshold: optional(Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 }))),
  /** The length of sound before speech that belongs to a piece. */
  prefixPaddingMs: optional(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 60_000 }))),
  /** The length of silence that ends a piece. */
  silenceDurationMs: optional(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 60_000 }))),
})
export type Chunking = "auto" | typeof SpeechDetection.Type

/** Seconds of a voice, as a data URL. */
const KnownSpeaker = Schema.Struct({
  name: Schema.NonEmptyString.check(Schema.isMaxLength(128)),
  reference: Schema.String.check(
    Schema.isPattern(/^data:audio\/[\w.+-]+;base64,[A-Za-z0-9+/=]+$/, { expected: "sound as data:audio/…;base64,…" }),
    Schema.isMaxLength(4 * 1024 * 1024),
  ),
})
export type KnownSpeaker = typeof KnownSpeaker.Type

const fields = {
  model: ModelHandle,
  /** BCP 47, such as `de`, `eng` or `zh-Hans-CN`, or a word of the vendor's, such as `multi`. */
  language: optional(
    Schema.String.check(
      Schema.isPattern(/^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8}){0,3}$/, { expected: "a language tag such as en or de-CH" }),
    ),
  ),
  /** Words that help the model. */
  prompt: optional(Schema.String.check(Schema.isMaxLength(16_384))),
  /** `json` if absent. */
  format: optional(TranscriptFormat),
  /** The units with times in `verbose`; `segment` if absent. */
  timestamps: optional(Schema.Union([Timed, Schema.Array(Timed).check(Schema.isMinLength(1), Schema.isMaxLength(2))])),
  /** The vendor's way to cut a long recording; its own choice if absent. */
  chunking: optional(Schema.Union([Schema.Literal("auto"), SpeechDetection])),
  /** Voices that are known to `diarized`. */
  speakers: optional(Schema.Array(KnownSpeaker).check(Schema.isMinLength(1), Schema.isMaxLength(4))),
  /** Whether `json` has the probability of each token. */
  logprobs: optional(Schema.Boolean),
  /** Whether the text is in English, for speech in any language. */
  translate: optional(Schema.Boolean),
  temperature: optional(Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 }))),
  stream: optional(Schema.Boolean),
  meta: optional(ExchangeMeta),
}

/** The fields beside the sound. */
export const TranscriptionFields = Schema.Struct(fields)
export type TranscriptionFields = typeof TranscriptionFields.Type

/** The request in JSON; a form has the same fields, and the sound is its part `file`. */
export const TranscriptionRequest = Schema.Struct({ ...fields, file: FileBlock }).annotate({
  identifier: "TranscriptionRequest",
})
export type TranscriptionRequest = typeof TranscriptionRequest.Type

/** Seconds from the beginning. */
const Seconds = Schema.Finite

export const Word = Schema.Struct({ word: Schema.String, start: Seconds, end: Seconds })
export type Word = typeof Word.Type

export const Segment = Schema.Struct({
  text: Schema.String,
  start: Seconds,
  end: Seconds,
  /** The speaker, as the vendor names people. */
  speaker: optional(Schema.String),
  /** Whisper's figures, which show whether text was invented. */
  seek: optional(Schema.Finite),
  tokens: optional(Schema.Array(Schema.Int)),
  temperature: optional(Schema.Finite),
  avgLogprob: optional(Schema.Finite),
  compressionRatio: optional(Schema.Finite),
  noSpeechProb: optional(Schema.Finite),
})
export type Segment = typeof Segment.Type

/** A token of a transcript. */
const HeardToken = Schema.Struct({
  token: Schema.String,
  logprob: Schema.Finite,
  bytes: optional(Schema.Array(Schema.Int)),
})
export type HeardToken = typeof HeardToken.Type

export const TranscriptionResponse = Schema.Struct({
  requestId: Schema.String,
  clientRequestId: optional(ClientRequestId),
  model: Schema.String,
  text: Schema.String,
  language: optional(Schema.String),
  /** The length of the sound; absent if it is not known. */
  duration: optional(Seconds),
  segments: optional(Schema.Array(Segment)),
  words: optional(Schema.Array(Word)),
  logprobs: optional(Schema.Array(HeardToken)),
  usage: Usage,
}).annotate({ identifier: "TranscriptionResponse" })
export type TranscriptionResponse = typeof TranscriptionResponse.Type
