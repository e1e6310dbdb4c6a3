/**
 * The configuration of a client. The baseline has three capability and two model keys; clients that declare `platform-audio`
 * get five, four and the audio media.
 */
import { Schema } from "effect"
import { Capability } from "../catalogue/model.ts"
import { SearchDirectory } from "../kinds/search.ts"
import { EffectiveSettings } from "./settings.ts"

const flag = Schema.Boolean
const handles = Schema.Array(Schema.String)
const optional = Schema.optionalKey

export const BundleModel = Schema.Struct({
  handle: Schema.String,
  mode: Schema.Literals(["platform", "direct"]),
  capabilities: Schema.Array(Capability),
  contextWindow: optional(Schema.Int),
  maxOutput: optional(Schema.Int),
})

export const Bundle = Schema.Struct({
  /** The fingerprint of everything else: SHA-256 of its canonical JSON (RFC 8785), 32 hexadecimal characters. */
  configVersion: Schema.String,
  /** The models for chat; the others are in `platformModels`. */
  models: Schema.Array(BundleModel),
  capabilities: Schema.Struct({
    platform: Schema.Struct({
      webSearch: flag,
      imageGen: flag,
      videoGen: flag,
      speechToText: optional(flag),
      textToSpeech: optional(flag),
    }),
  }),
  platformModels: Schema.Struct({
    image: handles,
    video: handles,
    speechToText: optional(handles),
    textToSpeech: optional(handles),
    embedding: optional(handles),
    rerank: optional(handles),
    moderation: optional(handles),
  }),
  media: optional(Schema.Struct({ asr: Schema.Struct({ enabled: flag }), tts: Schema.Struct({ enabled: flag }) })),
  settings: EffectiveSettings,
  search: SearchDirectory,
}).annotate({ identifier: "Bundle" })
export type Bundle = typeof Bundle.Type
