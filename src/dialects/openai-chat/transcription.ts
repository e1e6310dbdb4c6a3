/** Transcription in OpenAI's words, which many vendors share. Source: https://platform.openai.com/docs/api-reference/audio */

import { Result } from "effect"
import type { Chunking } from "../../protocol/transcription.ts"
import { type FormPart, formRequest } from "../form-body.ts"

import { stringAt } from "../json.ts"
import type { TranscriptionAsked, TranscriptionDialect } from "../media.ts"
import type { EncodeRefusal } from "../wire.ts"
import { eventFault } from "./faults.ts"
import type { TranscriptionProfile } from "./kind-profiles.ts"
import { encodeMistralTranscription } from "./mistral-transcription.ts"
import { readSegment, readTranscript } from "./transcript.ts"

export const makeTranscription = ({ form, streams }: TranscriptionProfile = {}): TranscriptionDialect => ({
  encode:
    form === "mistral"
      ? encodeMistralTranscription
      : (asked, model, name) => {
          const family = { ...familyOf(name), ...(streams === true && { streams: true }) }
          const refusal = refusalOf(asked, family)
          return refusal === undefined ? Result.succeed(requestOf(asked, model, family)) : Result.fail(refusal)
        },
  decode: readTranscript,
  event: (event) => {
    switch (stringAt(event, "type")) {
      case "transcript.text.delta":
        return { text: stringAt(event, "delta") ?? "" }
      case "transcription.text.delta":
        return { text: stringAt(event, "text") ?? "" }
      case "transcript.text.segment":
      case "transcription.segment": {
        const segment = readSegment(event)
        return segment && { segment }
      }
      case "transcript.text.done":
      case "transcription.done":
        return { whole: { ...readTranscript(event), text: stringAt(event, "text") ?? "" } }
      default:
        return event["error"] === undefined ? undefined : { fault: eventFault(event) }
    }
  },
})

/** The parts of a reply that a family of models can tell: only needed ones are asked for, because servers know different forms. */
interface Family {
  readonly tellsTimes: boolean
  readonly tellsSpeakers: boolean
  readonly translates: boolean
  readonly streams: boolean
  /** Whether a long recording is refused unless it is said how it is cut. */
  readonly needsChunking?: true
  /** Whether the form with times is asked for where only that tells how long a recording is. */
  readonly tellsSeconds: boolean
}

const other: Family = {
  tellsTimes: true,
  tellsSpeakers: true,
  translates: true,
  streams: false,
  tellsSeconds: false,
}

const families: ReadonlyArray<readonly [name: RegExp, family: Family]> = [
  [/^gpt-.*diarize/, { ...other, tellsTimes: false, translates: false, streams: true, needsChunking: true }],
  [/^gpt-/, { ...other, tellsTimes: false, tellsSpeakers: false, translates: false, streams: true }],
  [/whisper/, { ...other, tellsSpeakers: false, tellsSeconds: true }],
]

const familyOf = (name: string): Family => families.find(([known]) => known.test(name))?.[1] ?? other

const refusalOf = ({ times, translate, diarize }: TranscriptionAsked, family: Family): EncodeRefusal | undefined => {
  if (times.length > 0 && !family.tellsTimes) return { capability: "timestamps", message: "this model tells no times" }
  if (diarize && !family.tellsSpeakers) return { capability: "format", message: "this model tells no speakers" }
  return translate && !family.translates
    ? { capability: "translate", message: "this model does not translate" }
    : undefined
}

const requestOf = (asked: TranscriptionAsked, model: string, family: Family) => {
  const { file, language, prompt, temperature, translate, times, stream, diarize, speakers = [], logprobs } = asked
  const isVerbose = times.length > 0 || (asked.needsSeconds && family.tellsSeconds)
  // Some servers fail without one.
  const told = isVerbose && times.length === 0 ? (["segment"] as const) : times
  const parts: ReadonlyArray<FormPart> = [
    ["model", model],
    ["response_format", diarize ? "diarized_json" : isVerbose ? "verbose_json" : "json"],
    ["language", translate ? undefined : language],
    ["prompt", prompt],
    ["temperature", temperature],
    ...(translate ? [] : told).map((time): FormPart => ["timestamp_granularities[]", time]),
    ...chunkingParts(asked.chunking ?? (family.needsChunking && "auto")),
    ...speakers.flatMap(
      ({ name, reference }): ReadonlyArray<FormPart> => [
        ["known_speaker_names[]", name],
        ["known_speaker_references[]", reference],
      ],
    ),
    ["include[]", logprobs === true ? "logprobs" : undefined],
    ["stream", stream && family.streams ? "true" : undefined],
    ["file", file],
  ]
  return formRequest(translate ? "/audio/translations" : "/audio/transcriptions", parts)
}

/** Objects in a form are named member by member. */
const chunkingParts = (chunking: Chunking | undefined): ReadonlyArray<FormPart> => {
  if (chunking === undefined || chunking === "auto") return [["chunking_strategy", chunking]]
  const { threshold, prefixPaddingMs, silenceDurationMs } = chunking
  return [
    ["chunking_strategy[type]", "server_vad"],
    ["chunking_strategy[threshold]", threshold],
    ["chunking_strategy[prefix_padding_ms]", prefixPaddingMs],
    ["chunking_strategy[silence_duration_ms]", silenceDurationMs],
  ]
}
