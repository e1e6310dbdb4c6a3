/** Transcription towards clients of OpenAI's API. Source: https://platform.openai.com/docs/api-reference/audio */

import type { Segment, TranscriptionResponse } from "../../protocol/kinds/transcription.ts"
import { entryOf } from "../../protocol/values/entry.ts"
import { all, carried, FieldReader, type FieldTable, isAbsent, present } from "../client/fields.ts"
import { type JsonObject, parseObject } from "../parse/json.ts"
import { type MediaClient, PlainText } from "./media-client.ts"
import { spokenSegment, TranscriptEvents } from "./media-events.ts"
import { transcriptUsage } from "./media-usage.ts"
import { segmentFigures } from "./transcript.ts"
import { openaiErrors } from "./whole-client.ts"

const transcriptionFields: FieldTable = {
  ...all(carried, "model", "language", "prompt", "response_format", "temperature", "stream", "timestamp_granularities"),
  ...all(carried, "chunking_strategy", "include", "known_speaker_names", "known_speaker_references"),
}

const chunkingFields: FieldTable = all(carried, "type", "threshold", "prefix_padding_ms", "silence_duration_ms")

/** The strategy of a request; a form may have it as text. */
const chunkingIn = (reader: FieldReader, given: unknown): unknown => {
  const strategy = typeof given === "string" && given.startsWith("{") ? parseObject(given) : given
  if (isAbsent(strategy) || typeof strategy === "string") return strategy
  const { type, threshold, ...more } = reader.checked(chunkingFields, strategy, "chunking_strategy")
  if (type !== "server_vad") reader.refuse("chunking_strategy.type", "must be server_vad")
  return present({
    threshold: numberOf(threshold),
    prefixPaddingMs: numberOf(more["prefix_padding_ms"]),
    silenceDurationMs: numberOf(more["silence_duration_ms"]),
  })
}

const numberOf = (value: unknown): unknown =>
  typeof value === "string" && value.trim() !== "" && Number.isFinite(Number(value)) ? Number(value) : value

/** Names and voices of known people, in two lists. */
const speakersIn = (reader: FieldReader, body: JsonObject): ReadonlyArray<object> | undefined => {
  const [names, voices] = ["known_speaker_names", "known_speaker_references"].map(
    (name): ReadonlyArray<unknown> => (isAbsent(body[name]) ? [] : [body[name]].flat()),
  )
  if (names?.length !== voices?.length) reader.refuse("known_speaker_references", "one is needed for each name")
  return names?.length === 0 ? undefined : names?.map((name, at) => ({ name, reference: voices?.[at] }))
}

/** Whether the reply has the probability of each token. */
const includesLogprobs = (reader: FieldReader, body: JsonObject): true | undefined => {
  const parts = isAbsent(body["include"]) ? [] : [body["include"]].flat()
  if (parts.some((part) => part !== "logprobs")) reader.refuse("include", 'must be ["logprobs"]')
  if (parts.length > 0 && body["stream"] === true) reader.refuse("include", "is not supported in a stream")
  return parts.length > 0 ? true : undefined
}

const transcriptFormats: Readonly<Record<string, string>> = { verbose_json: "verbose", diarized_json: "diarized" }

const transcriptionClient = (name: string, translate: boolean): MediaClient<TranscriptionResponse> => ({
  name,
  errors: openaiErrors,
  fields: transcriptionFields,
  fieldNames: [
    ["format", "response_format"],
    ["timestamps", "timestamp_granularities"],
    ["chunking", "chunking_strategy"],
    ["speakers", "known_speaker_references"],
    ["logprobs", "include"],
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
      omitted: reader.omitted,
      model,
      request: present({
        language: body["language"],
        prompt: body["prompt"],
        temperature: body["temperature"],
        stream: body["stream"],
        translate: translate ? true : undefined,
        format: typeof format === "string" ? (entryOf(transcriptFormats, format) ?? format) : format,
        timestamps: times.length === 0 ? undefined : times,
        chunking: chunkingIn(reader, body["chunking_strategy"]),
        speakers: speakersIn(reader, body),
        logprobs: includesLogprobs(reader, body),
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

/** The reply as text, if its format is text; undefined for JSON. */
export const plainTranscript = (format: unknown, text: string): PlainText | undefined => {
  const type = typeof format === "string" ? entryOf(textTypes, format) : undefined
  return type === undefined ? undefined : new PlainText(format === "text" ? `${text}\n` : text, type)
}

const transcriptReply = (
  { text, language, duration, segments, words, logprobs, usage }: TranscriptionResponse,
  format: unknown,
  translate: boolean,
): object | PlainText =>
  plainTranscript(format, text) ?? {
    ...(format === "verbose_json" && { language: language ?? "" }),
    ...((format === "verbose_json" || format === "diarized_json") && {
      task: translate ? "translate" : "transcribe",
      duration,
    }),
    text,
    ...(segments !== undefined && { segments: segments.map(format === "diarized_json" ? spokenSegment : segmentOf) }),
    ...(words !== undefined && { words }),
    ...(logprobs !== undefined && { logprobs }),
    usage: transcriptUsage(usage),
  }

const segmentOf = ({ text, start, end, tokens, ...figures }: Segment, id: number): object => ({
  id,
  start,
  end,
  text,
  ...(tokens !== undefined && { tokens }),
  ...Object.fromEntries(
    segmentFigures.flatMap(([ours, theirs]) => (figures[ours] === undefined ? [] : [[theirs, figures[ours]]])),
  ),
})
