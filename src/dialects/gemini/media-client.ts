/**
 * Pictures and speech towards clients of Gemini's API: `generateContent` with a modality, and `predict`.
 * Source: https://ai.google.dev/gemini-api/docs/image-generation, https://ai.google.dev/gemini-api/docs/speech-generation
 */

import type { ErrorBody } from "../../protocol/error.ts"
import type { CloseEvent } from "../../protocol/event.ts"
import type { ImageResponse } from "../../protocol/kinds/image.ts"
import type { Usage } from "../../protocol/usage.ts"
import { ClientEvents, type EventEncoder } from "../client/client-api.ts"
import {
  all,
  carried,
  FieldReader,
  type FieldTable,
  isAbsent,
  neutral,
  present,
  refused,
  withoutEffect,
} from "../client/fields.ts"
import type { MediaClient } from "../openai-chat/media-client.ts"
import { type JsonObject, objectAt, objectsAt, parseObject, stringAt } from "../parse/json.ts"
import { geminiErrors } from "./whole-client.ts"

/** The media that a request of `generateContent` asks for beside text. */
export const mediaAskedOf = (bytes: Uint8Array): "image" | "speech" | undefined => {
  const body = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  // Most requests have no such field, and are not parsed here.
  if (!body.includes('"responseModalities"')) return undefined
  const modalities = objectAt(parseObject(body.toString("utf8")), "generationConfig")?.["responseModalities"]
  if (!Array.isArray(modalities)) return undefined
  if (modalities.includes("IMAGE")) return "image"
  return modalities.includes("AUDIO") ? "speech" : undefined
}

const requestFields: FieldTable = {
  ...all(carried, "contents", "generationConfig"),
  ...all(withoutEffect("the vendor's own default is used"), "safetySettings"),
}
const configFields: FieldTable = {
  ...all(carried, "responseModalities", "imageConfig", "speechConfig", "seed"),
  // The vendor's own defaults change nothing.
  ...all(neutral(1), "temperature"),
  ...all(neutral(0.95), "topP"),
  ...all(neutral(64), "topK"),
}
const imageFields: FieldTable = all(carried, "aspectRatio", "imageSize")
const speechFields: FieldTable = {
  ...all(carried, "voiceConfig"),
  ...all(refused("one voice speaks"), "multiSpeakerVoiceConfig"),
  ...all(refused("a voice speaks the language of its text"), "languageCode"),
}

/** The parts of the only turn. */
const partsOf = (reader: FieldReader, body: JsonObject): ReadonlyArray<JsonObject> => {
  reader.check(requestFields, body, "")
  reader.check(configFields, objectAt(body, "generationConfig") ?? {}, "generationConfig")
  const contents = objectsAt(body, "contents")
  if (contents.length !== 1) reader.refuse("contents", "one turn is needed")
  return contents.flatMap((content) => objectsAt(content, "parts"))
}

const textIn = (parts: ReadonlyArray<JsonObject>): string =>
  parts.flatMap((part) => stringAt(part, "text") ?? []).join("\n")

/** The longest side of a picture whose ratio is asked for. */
const longestSide = 1536

/** A size of a ratio, such as `16:9`. */
const sizeOf = (reader: FieldReader, ratio: unknown, path: string): string | undefined => {
  if (ratio === undefined) return undefined
  const [, width, height] = (typeof ratio === "string" && /^([1-9]\d?):([1-9]\d?)$/.exec(ratio)) || []
  if (width === undefined || height === undefined) {
    reader.refuse(path, "must be a ratio such as 16:9")
    return undefined
  }
  const unit = Math.floor(longestSide / Math.max(Number(width), Number(height)))
  return `${Number(width) * unit}x${Number(height) * unit}`
}

const imageClient = {
  errors: geminiErrors,
  types: {},
  files: {},
  fieldNames: [
    ["prompt", "contents"],
    ["images", "contents"],
  ] as const,
}

export const generateImage = (model: string): MediaClient<ImageResponse> => ({
  ...imageClient,
  name: "Gemini pictures",
  fields: requestFields,
  decode: (body) => {
    const reader = new FieldReader()
    const parts = partsOf(reader, body)
    const images = parts.flatMap((part) => {
      const inline = objectAt(part, "inlineData")
      return inline === undefined ? [] : [{ t: "image", mime: inline["mimeType"], data: inline["data"] }]
    })
    const { imageConfig, seed } = objectAt(body, "generationConfig") ?? {}
    const picture = isAbsent(imageConfig)
      ? {}
      : reader.checked(imageFields, imageConfig, "generationConfig.imageConfig")
    return reader.result({
      omitted: reader.omitted,
      model,
      request: present({
        prompt: textIn(parts),
        images: images.length === 0 ? undefined : images,
        size: sizeOf(reader, picture["aspectRatio"], "generationConfig.imageConfig.aspectRatio"),
        resolution: picture["imageSize"],
        seed,
      }),
      reply: ({ images, usage }) =>
        generated(
          model,
          images.map(({ mime, data }) => ({ inlineData: { mimeType: mime, data } })),
          usage,
        ),
    })
  },
})

const predictFields: FieldTable = all(carried, "instances", "parameters")
const withPictures = refused("send pictures to generateContent, with the modality IMAGE")
const instanceFields: FieldTable = {
  ...all(carried, "prompt"),
  ...all(withPictures, "image", "mask", "personImage", "productImages", "referenceImages", "scribble"),
}
const parameterFields: FieldTable = {
  ...all(carried, "sampleCount", "aspectRatio", "outputOptions", "sampleImageSize", "seed"),
  ...all(withoutEffect("replies are pictures alone"), "includeRaiReason", "includeSafetyAttributes"),
  ...all(neutral("allow_adult"), "personGeneration"),
  ...all(neutral("block_medium_and_above"), "safetySetting"),
  ...all(neutral("auto"), "language"),
  ...all(neutral(true), "enhancePrompt", "addWatermark"),
  ...all(withPictures, "editConfig", "editMode", "mode", "upscaleConfig"),
}

export const predictImages = (model: string): MediaClient<ImageResponse> => ({
  ...imageClient,
  name: "Gemini predictions",
  fields: predictFields,
  fieldNames: [["prompt", "instances.0.prompt"]],
  decode: (body) => {
    const reader = new FieldReader()
    reader.check(predictFields, body, "")
    const parameters = objectAt(body, "parameters") ?? {}
    reader.check(parameterFields, parameters, "parameters")
    const instances = objectsAt(body, "instances")
    if (instances.length !== 1) reader.refuse("instances", "one is needed")
    reader.check(instanceFields, instances[0] ?? {}, "instances.0")
    return reader.result({
      omitted: reader.omitted,
      model,
      request: present({
        prompt: instances[0]?.["prompt"],
        n: parameters["sampleCount"],
        size: sizeOf(reader, parameters["aspectRatio"], "parameters.aspectRatio"),
        resolution: parameters["sampleImageSize"],
        seed: parameters["seed"],
        format: formatOf(stringAt(objectAt(parameters, "outputOptions"), "mimeType")),
      }),
      reply: ({ images }) => ({
        predictions: images.map(({ mime, data }) => ({ mimeType: mime, bytesBase64Encoded: data })),
      }),
    })
  },
})

const formatOf = (mime: string | undefined): string | undefined => mime?.replace("image/", "")

export const generateSpeech = (model: string, isStream: boolean): MediaClient<object> => ({
  name: "Gemini speech",
  errors: geminiErrors,
  types: {},
  files: {},
  fields: requestFields,
  fieldNames: [
    ["input", "contents"],
    ["voice", "generationConfig.speechConfig"],
  ],
  decode: (body) => {
    const reader = new FieldReader()
    const parts = partsOf(reader, body)
    const config = objectAt(objectAt(body, "generationConfig"), "speechConfig")
    reader.check(speechFields, config ?? {}, "generationConfig.speechConfig")
    const voice = objectAt(objectAt(config, "voiceConfig"), "prebuiltVoiceConfig")?.["voiceName"]
    return reader.result({
      omitted: reader.omitted,
      model,
      // The API has samples without a WAV head.
      request: present({ input: textIn(parts), voice, format: "pcm", stream: true }),
      reply: (response) => response,
      events: () => new SpokenEvents(model, isStream),
    })
  },
})

const generated = (model: string, parts: ReadonlyArray<object>, usage: Usage | undefined) => ({
  candidates: [{ content: { role: "model", parts }, index: 0, ...(usage !== undefined && { finishReason: "STOP" }) }],
  ...(usage !== undefined && {
    usageMetadata: {
      promptTokenCount: usage.inTokens,
      candidatesTokenCount: usage.outTokens,
      totalTokenCount: usage.inTokens + usage.outTokens,
    },
  }),
  modelVersion: model,
})

const samplesMime = "audio/L16;codec=pcm;rate=24000"

/** A placeholder for the sound; it comes before the model's name, which is text of the caller. */
const placeOfSound = "sound"

/** Sound as events, or within one object, which is written while the sound arrives: the API's own reply is not bytes. */
class SpokenEvents extends ClientEvents implements EventEncoder {
  readonly contentType: string
  override readonly heartbeat: string
  readonly #model: string
  readonly #isStream: boolean
  #hasBegun = false
  /** Bytes that do not fill a group of base64 yet. */
  #rest: Uint8Array = new Uint8Array()

  constructor(model: string, isStream: boolean) {
    super()
    this.#model = model
    this.#isStream = isStream
    this.contentType = isStream ? "text/event-stream" : "application/json"
    this.heartbeat = isStream ? ": hb\n\n" : ""
  }

  open(): string {
    return ""
  }

  delta(): string {
    return ""
  }

  sound(bytes: Uint8Array): string {
    if (this.#isStream) return this.#event(this.#reply(Buffer.from(bytes).toString("base64"), undefined))
    const all = Buffer.concat([this.#rest, bytes])
    const whole = all.length - (all.length % 3)
    this.#rest = all.subarray(whole)
    const [begin = ""] = this.#hasBegun ? [] : this.#aroundSound(undefined)
    this.#hasBegun = true
    return begin + all.toString("base64", 0, whole)
  }

  close({ usage }: typeof CloseEvent.Type): string {
    if (this.#isStream) return this.#event(this.#reply("", usage))
    if (!this.#hasBegun) return JSON.stringify(this.#reply("", usage))
    const [, end = ""] = this.#aroundSound(usage)
    return Buffer.from(this.#rest).toString("base64") + end
  }

  /** A reply that is one object has no form for an error after its head. */
  error(error: ErrorBody): string {
    return this.#isStream ? this.#event(geminiErrors.error(error, 500)) : ""
  }

  /** The one object before and after its sound. */
  #aroundSound(usage: Usage | undefined): ReadonlyArray<string> {
    const text = JSON.stringify(this.#reply(placeOfSound, usage))
    const at = text.indexOf(placeOfSound)
    return [text.slice(0, at), text.slice(at + placeOfSound.length)]
  }

  /** @param data in base64 */
  #reply(data: string, usage: Usage | undefined): object {
    const parts = data === "" ? [] : [{ inlineData: { mimeType: samplesMime, data } }]
    return generated(this.#model, parts, usage)
  }

  #event(reply: object): string {
    return `data: ${JSON.stringify(reply)}\n\n`
  }
}
