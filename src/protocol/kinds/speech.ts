/** Speech from text. */
import { Schema } from "effect"
import { ExchangeMeta } from "../exchange.ts"
import { ModelHandle } from "../model-handle.ts"

const optional = Schema.optionalKey

export const SpeechFormat = Schema.Literals(["mp3", "opus", "aac", "flac", "wav", "pcm"])
export type SpeechFormat = typeof SpeechFormat.Type

/** The maximum number of characters of one call; a model may take fewer. */
export const maxSpeechCharacters = 40_000

/** The vendor's name of a voice: any text, as vendors have it, but for control characters. */
const VoiceName = Schema.String.check(
  Schema.isPattern(/^[^\p{Cc}\p{Cs}]{1,256}$/u, { expected: "the name of a voice, such as alloy" }),
)

/** A voice by its name, or a custom voice by its id, if the vendor distinguishes them. */
const Voice = Schema.Union([VoiceName, Schema.Struct({ id: VoiceName })])
export type Voice = typeof Voice.Type

/** The name of a voice, for vendors that know one kind of them. */
export const voiceName = (voice: Voice): string => (typeof voice === "string" ? voice : voice.id)

export const SpeechRequest = Schema.Struct({
  model: ModelHandle,
  input: Schema.NonEmptyString.check(Schema.isMaxLength(maxSpeechCharacters)),
  voice: Voice,
  /** `mp3` if absent. */
  format: optional(SpeechFormat),
  speed: optional(Schema.Finite.check(Schema.isBetween({ minimum: 0.25, maximum: 4 }))),
  /** The manner of speaking; not every model follows it. */
  instructions: optional(Schema.NonEmptyString.check(Schema.isMaxLength(4096))),
  /** Whether the sound comes as events `t.delta {i, t: "audio", data}`; otherwise as bytes. */
  stream: optional(Schema.Boolean),
  meta: optional(ExchangeMeta),
}).annotate({ identifier: "SpeechRequest" })
export type SpeechRequest = typeof SpeechRequest.Type

/** MIME types of the formats; `pcm` is 24 kHz, 16 bit, little-endian, one channel. */
export const speechMime: Readonly<Record<SpeechFormat, string>> = {
  mp3: "audio/mpeg",
  opus: "audio/ogg",
  aac: "audio/aac",
  flac: "audio/flac",
  wav: "audio/wav",
  pcm: "audio/pcm",
}
