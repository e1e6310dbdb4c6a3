/**
 * Pictures, speech and transcription towards clients of OpenAI's API.
 * Source: https://platform.openai.com/docs/api-reference/images, https://platform.openai.com/docs/api-reference/audio
 */

import type { Result } from "effect"
import type { ImageResponse } from "../../protocol/image.ts"
import type { TranscriptionResponse } from "../../protocol/transcription.ts"
import { entryOf } from "../../protocol/words.ts"
import type { EventEncoder } from "../client-api.ts"
import {
  all,
  carried,
  FieldReader,
  type FieldRefusal,
  type FieldTable,
  neutral,
  present,
  refused,
  withoutEffect,
} from "../fields.ts"
import type { JsonObject } from "../json.ts"
import type { ErrorWords } from "../whole-client.ts"
import { ImageEvents, SpeechEvents, TranscriptEvents } from "./media-events.ts"
import { imageUsage, transcriptUsage } from "./media-usage.ts"
import { openaiErrors } from "./whole-client.ts"

/** A request in the words of twp/1, and how its reply is written. */
export interface MediaAsked<Body> {
  /** Without its files; to be checked by the schema of twp/1. */
  readonly request: JsonObject
  readonly model: string
  /** An object, or text with its type. */
  readonly reply: (response: Body) => object | PlainText
  /** Of a stream of events; absent if the API's own stream is of bytes. */
  readonly events?: () => EventEncoder
}

export class PlainText {
  readonly text: string
  readonly contentType: string

  constructor(text: string, contentType: string) {
    this.text = text
    this.contentType = contentType
  }
}

export interface MediaClient<Body> {
  readonly name: string
  readonly errors: ErrorWords
  readonly fields: FieldTable
  readonly fieldNames: ReadonlyArray<readonly [ours: string, theirs: string]>
  /** How fields of a form are read. */
  readonly types: { readonly numbers?: ReadonlyArray<string>; readonly flags?: ReadonlyArray<string> }
  /** Parts with files, by the name that twp/1 has for them. */
  readonly files: Readonly<Record<string, string>>
  readonly decode: (fields: JsonObject) => Result.Result<MediaAsked<Body>, FieldRefusal>
}

const labels = withoutEffect("it labels a request for its vendor")

const imageFields: FieldTable = {
  ...all(carried, "model", "prompt", "n", "size", "quality", "background", "output_format", "stream", "partial_images"),
  ...all(labels, "user"),
  ...all(
    withoutEffect("the vendor's own default is used"),
    "moderation",
    "output_compression",
    "style",
    "input_fidelity",
  ),
  ...all(neutral("b64_json"), "response_format"),
}

const imageClient = (name: string, kind: "generation" | "edit"): MediaClient<ImageResponse> => ({
  name,
  errors: openaiErrors,
  fields: imageFields,
  fieldNames: [
    ["format", "output_format"],
    ["images", "image"],
  ],
  types: { numbers: ["n", "partial_images", "output_compression"], flags: ["stream"] },
  files: kind === "edit" ? { image: "images", "image[]": "images", mask: "mask" } : {},
  decode: (body) => {
    const reader = new FieldReader()
    reader.check(imageFields, body, "")
    const model = reader.string(body["model"], "model")
    const createdS = Math.floor(Date.now() / 1000)
    return reader.result({
      model,
      request: present({
        prompt: body["prompt"],
        n: body["n"],
        size: body["size"],
        quality: body["quality"],
        background: body["background"],
        format: body["output_format"],
        stream: body["stream"],
      }),
      reply: ({ images, usage }) => ({
        created: createdS,
        data: images.map(({ data }) => ({ b64_json: data })),
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
      model,
      request: present({
        input: body["input"],
        voice: typeof voice === "object" && voice !== null && "id" in voice ? voice.id : voice,
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

const transcriptionFields: FieldTable = {
  ...all(carried, "model", "language", "prompt", "response_format", "temperature", "stream", "timestamp_granularities"),
  ...all(withoutEffect("the vendor's own default is used"), "chunking_strategy"),
  ...all(refused("the reply has no such part"), "include", "known_speaker_names", "known_speaker_references"),
}

const transcriptFormats: Readonly<Record<string, string>> = { verbose_json: "verbose" }

const transcriptionClient = (name: string, translate: boolean): MediaClient<TranscriptionResponse> => ({
  name,
  errors: openaiErrors,
  fields: transcriptionFields,
  fieldNames: [
    ["format", "response_format"],
    ["timestamps", "timestamp_granularities"],
  ],
  types: { numbers: ["temperature"], flags: ["stream"] },
  files: { file: "file" },
  decode: (body) => {
    const reader = new FieldReader()
    reader.check(transcriptionFields, body, "")
    const model = reader.string(body["model"], "model")
    const { response_format: format = "json", timestamp_granularities: asked } = body
    const times = Array.isArray(asked) ? asked : asked === undefined ? [] : [asked]
    return reader.result({
      model,
      request: present({
        language: body["language"],
        prompt: body["prompt"],
        temperature: body["temperature"],
        stream: body["stream"],
        translate: translate ? true : undefined,
        format: typeof format === "string" ? (entryOf(transcriptFormats, format) ?? format) : format,
        timestamps: times.includes("word") ? "word" : times[0],
      }),
      reply: (response) => transcriptReply(response, format, translate),
      events: () => new TranscriptEvents(),
    })
  },
})

export const openaiTranscriptions = transcriptionClient("OpenAI transcriptions", false)
export const openaiTranslations = transcriptionClient("OpenAI translations", true)

const textTypes: Readonly<Record<string, string>> = {
  text: "text/plain; charset=utf-8",
  srt: "application/x-subrip; charset=utf-8",
  vtt: "text/vtt; charset=utf-8",
}

/** The reply as text, where a format is text; undefined for JSON. */
export const plainTranscript = (format: unknown, text: string): PlainText | undefined => {
  const type = typeof format === "string" ? entryOf(textTypes, format) : undefined
  return type === undefined ? undefined : new PlainText(format === "text" ? `${text}\n` : text, type)
}

const transcriptReply = (
  { text, language, duration, segments, words, usage }: TranscriptionResponse,
  format: unknown,
  translate: boolean,
): object | PlainText =>
  plainTranscript(format, text) ?? {
    ...(format === "verbose_json" && {
      task: translate ? "translate" : "transcribe",
      language: language ?? "",
      duration,
    }),
    text,
    ...(segments !== undefined && { segments: segments.map((segment, id) => ({ id, ...segment })) }),
    ...(words !== undefined && { words }),
    usage: transcriptUsage(usage),
  }
