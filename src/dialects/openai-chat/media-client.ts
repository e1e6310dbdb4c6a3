/**
 * Pictures and speech towards clients of OpenAI's API.
 * Source: https://platform.openai.com/docs/api-reference/images, https://platform.openai.com/docs/api-reference/audio
 */

import type { Result } from "effect"
import type { ImageResponse } from "../../protocol/kinds/image.ts"
import type { EventEncoder } from "../client/client-api.ts"
import {
  all,
  carried,
  FieldReader,
  type FieldRefusal,
  type FieldTable,
  isAbsent,
  neutral,
  present,
  refused,
  withoutEffect,
} from "../client/fields.ts"
import type { ErrorWords } from "../client/whole-client.ts"
import type { JsonObject } from "../parse/json.ts"
import { imageBlockOf } from "../vendor/pictures.ts"
import { ImageEvents, SpeechEvents } from "./media-events.ts"
import { imageUsage } from "./media-usage.ts"
import { openaiErrors } from "./whole-client.ts"

/** A request in twp/1, and the way to write its reply. */
export interface MediaAsked<Body> {
  /** The fields without files; to be checked by the schema of twp/1. */
  readonly request: JsonObject
  readonly model: string
  /** An object, or text with its type. */
  readonly reply: (response: Body) => object | PlainText
  /** Fields that are left out, because they change no answer. */
  readonly omitted: ReadonlyArray<string>
  /** The encoder of a stream of events; absent if the API's own stream is of bytes. */
  readonly events?: () => EventEncoder
}

export class PlainText {
  readonly text: string
  readonly contentType: string
  readonly status: number

  constructor(text: string, contentType: string, status = 200) {
    this.text = text
    this.contentType = contentType
    this.status = status
  }
}

export interface MediaClient<Body> {
  readonly name: string
  readonly errors: ErrorWords
  readonly fields: FieldTable
  readonly fieldNames: ReadonlyArray<readonly [ours: string, theirs: string]>
  /** The types of a form's fields. */
  readonly types: { readonly numbers?: ReadonlyArray<string>; readonly flags?: ReadonlyArray<string> }
  /** Parts with files, by their name in twp/1. */
  readonly files: Readonly<Record<string, string>>
  /** A field that is optional in twp/1, and that this route requires. */
  readonly requires?: string
  readonly decode: (fields: JsonObject) => Result.Result<MediaAsked<Body>, FieldRefusal>
}

const labels = withoutEffect("it labels a request for its vendor")

const imageFields: FieldTable = {
  ...all(carried, "model", "prompt", "n", "size", "quality", "background", "output_format", "stream", "partial_images"),
  ...all(carried, "moderation", "output_compression", "style", "input_fidelity", "seed", "resolution"),
  ...all(labels, "user", "safety_identifier"),
  ...all(neutral("b64_json"), "response_format"),
}

/** In JSON: addresses beside the prompt, as Seedream has them. */
const generationFields: FieldTable = { ...imageFields, ...all(carried, "image") }
const editFields: FieldTable = { ...imageFields, ...all(carried, "images", "image", "mask") }
const addressFields: FieldTable = {
  ...all(carried, "image_url", "url", "type"),
  ...all(refused("files that a vendor keeps are not read: send the data"), "file_id"),
}

/** A picture in JSON: a data URL, or an object with one. */
export const pictureIn = (reader: FieldReader, picture: unknown, path: string): JsonObject => {
  const { image_url, url } =
    typeof picture === "string" ? { image_url: picture } : reader.checked(addressFields, picture, path)
  const block = imageBlockOf(image_url ?? url)
  if (block["data"] === undefined) reader.refuse(path, "an address is not read: send a data URL")
  return block
}

const picturesIn = (reader: FieldReader, { images, image }: JsonObject): ReadonlyArray<JsonObject> | undefined => {
  const [path, given] = isAbsent(images) ? ["image", image] : ["images", images]
  if (isAbsent(given)) return undefined
  const list: ReadonlyArray<unknown> = [given].flat()
  return list.map((each, at) => pictureIn(reader, each, `${path}.${at}`))
}

const imageClient = (name: string, kind: "generation" | "edit"): MediaClient<ImageResponse> => ({
  name,
  errors: openaiErrors,
  fields: kind === "edit" ? editFields : generationFields,
  fieldNames: [
    ["format", "output_format"],
    ["images", "image"],
    ["compression", "output_compression"],
    ["fidelity", "input_fidelity"],
    ["partialImages", "partial_images"],
  ],
  types: { numbers: ["n", "partial_images", "output_compression", "seed"], flags: ["stream"] },
  ...(kind === "edit" && { requires: "images" }),
  files: kind === "edit" ? { image: "images", mask: "mask" } : {},
  decode: (body) => {
    const reader = new FieldReader()
    reader.check(kind === "edit" ? editFields : generationFields, body, "")
    const model = reader.string(body["model"], "model")
    const createdS = Math.floor(Date.now() / 1000)
    return reader.result({
      omitted: reader.omitted,
      model,
      request: present({
        prompt: body["prompt"],
        n: body["n"],
        size: body["size"],
        quality: body["quality"],
        background: body["background"],
        format: body["output_format"],
        resolution: body["resolution"],
        compression: body["output_compression"],
        fidelity: body["input_fidelity"],
        moderation: body["moderation"],
        style: body["style"],
        seed: body["seed"],
        partialImages: body["partial_images"],
        stream: body["stream"],
        images: picturesIn(reader, body),
        mask: isAbsent(body["mask"]) ? undefined : pictureIn(reader, body["mask"], "mask"),
      }),
      reply: ({ images, made, usage }) => ({
        created: createdS,
        data: images.map(({ data, revisedPrompt }) => ({
          b64_json: data,
          ...(revisedPrompt !== undefined && { revised_prompt: revisedPrompt }),
        })),
        ...made,
        ...(images[0] !== undefined && { output_format: images[0].mime.replace("image/", "") }),
        usage: imageUsage(usage),
      }),
      events: () => new ImageEvents(kind, createdS),
    })
  },
})

export const openaiGenerations = imageClient("OpenAI images", "generation")
export const openaiEdits = imageClient("OpenAI image edits", "edit")

const speechFields: FieldTable = {
  ...all(carried, "model", "input", "voice", "response_format", "speed", "instructions", "stream_format"),
}

/** Its reply is a stream always: of bytes, or of events. */
export const openaiSpeechClient: MediaClient<object> = {
  name: "OpenAI speech",
  errors: openaiErrors,
  fields: speechFields,
  fieldNames: [
    ["format", "response_format"],
    ["stream", "stream_format"],
  ],
  types: {},
  files: {},
  decode: (body) => {
    const reader = new FieldReader()
    reader.check(speechFields, body, "")
    const model = reader.string(body["model"], "model")
    const { voice, stream_format: stream = "audio" } = body
    if (stream !== "audio" && stream !== "sse") reader.refuse("stream_format", "must be audio or sse")
    return reader.result({
      omitted: reader.omitted,
      model,
      request: present({
        input: body["input"],
        voice,
        format: body["response_format"],
        speed: body["speed"],
        instructions: body["instructions"],
        stream: stream === "sse" ? true : undefined,
      }),
      reply: (response) => response,
      ...(stream === "sse" && { events: () => new SpeechEvents() }),
    })
  },
}
