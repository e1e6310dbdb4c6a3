/** Transcription in OpenAI's format, which many vendors share. Source: https://platform.openai.com/docs/api-reference/audio */

import { Result } from "effect"
import type { Chunking } from "../../protocol/kinds/transcription.ts"
import type { TranscriptionAsked, TranscriptionDialect } from "../media-dialect.ts"
import { stringAt } from "../parse/json.ts"
import { type FormPart, formRequest } from "../vendor/form-body.ts"
import type { EncodeRefusal } from "../wire.ts"
import { eventFault } from "./faults.ts"
import type { TranscriptionProfile } from "./kind-profiles.ts"
import { encodeMistralTranscription } from "./mistral-transcription.ts"
import { readSegment, readTranscript } from "./transcript.ts"

export const makeTranscription = (profile: TranscriptionProfile = {}): TranscriptionDialect => ({
  encode:
    profile.form === "mistral"
      ? encodeMistralTranscription
      : (asked, model, name) => {
          const family = familyOf(profile, name)
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

/**
 * The parts of a reply that a family of models can report: only needed ones are asked for, because servers support different
 * forms.
 */
interface Family {
  readonly tellsTimes: boolean
  readonly tellsSpeakers: boolean
  readonly tellsLogprobs: boolean
  readonly takesPrompt: boolean
  readonly translates: boolean
  readonly streams: boolean
  /** Whether a long recording is refused unless the request says how to cut it. */
  readonly needsChunking?: true
  /** Whether the form with times is requested if only that reports the length of a recording. */
  readonly tellsSeconds: boolean
}

const other: Family = {
  tellsTimes: true,
  tellsSpeakers: true,
  tellsLogprobs: true,
  takesPrompt: true,
  translates: true,
  streams: false,
  tellsSeconds: false,
}

/** https://platform.openai.com/docs/api-reference/audio/createTranscription */
const diarizing: Family = {
  ...other,
  tellsTimes: false,
  tellsLogprobs: false,
  takesPrompt: false,
  translates: false,
  streams: true,
  needsChunking: true,
}

const families: ReadonlyArray<readonly [name: RegExp, family: Family]> = [
  [/^gpt-.*diarize/, diarizing],
  [/^gpt-/, { ...other, tellsTimes: false, tellsSpeakers: false, translates: false, streams: true }],
  [/whisper/, { ...other, tellsSpeakers: false, tellsLogprobs: false, tellsSeconds: true }],
]

const familyOf = ({ streams, isUnknown }: TranscriptionProfile, name: string): Family => {
  const family = families.find(([known]) => known.test(name))?.[1] ?? other
  if (isUnknown === true && !name.startsWith("gpt-"))
    return { ...other, streams: true, tellsSeconds: family.tellsSeconds }
  return streams === true ? { ...family, streams: true } : family
}

const refusalOf = (asked: TranscriptionAsked, family: Family): EncodeRefusal | undefined => {
  const { times, translate, diarize, speakers, logprobs, prompt } = asked
  const refuse = (capability: string, message: string): EncodeRefusal => ({ capability, message })
  if (times.length > 0 && !family.tellsTimes) return refuse("timestamps", "this model reports no times")
  if (diarize && !family.tellsSpeakers) return refuse("format", "this model reports no speakers")
  if (speakers !== undefined && !family.tellsSpeakers) return refuse("speakers", "this model reports no speakers")
  if (logprobs === true && !family.tellsLogprobs) return refuse("logprobs", "this model reports no probabilities")
  if (prompt !== undefined && !family.takesPrompt) return refuse("prompt", "this model takes no prompt")
  return translate && !family.translates ? refuse("translate", "this model does not translate") : undefined
}

const requestOf = (asked: TranscriptionAsked, model: string, family: Family) => {
  const { file, language, prompt, temperature, translate, times, stream, diarize, speakers = [], logprobs } = asked
  const isVerbose = !diarize && (times.length > 0 || (asked.needsSeconds && family.tellsSeconds))
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
