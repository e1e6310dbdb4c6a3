/** Transcripts as vendors with OpenAI's API write them. */
import type { HeardToken, Segment, Word } from "../../protocol/kinds/transcription.ts"
import type { ReportedUsage, Transcribed } from "../media-dialect.ts"
import { type JsonObject, numberAt, objectAt, objectsAt, reportedCountAt, stringAt } from "../parse/json.ts"

export const readTranscript = (body: JsonObject): Transcribed | undefined => {
  const text = stringAt(body, "text")
  if (text === undefined) return undefined
  const usage = objectAt(body, "usage")
  const segments = objectsAt(body, "segments").flatMap((segment) => readSegment(segment) ?? [])
  const words = objectsAt(body, "words").flatMap(wordOf)
  const logprobs = objectsAt(body, "logprobs").flatMap(tokenOf)
  return {
    text,
    language: stringAt(body, "language"),
    seconds: numberAt(body, "duration") ?? numberAt(usage, "seconds") ?? numberAt(usage, "prompt_audio_seconds"),
    ...(segments.length > 0 && { segments }),
    ...(words.length > 0 && { words }),
    ...(logprobs.length > 0 && { logprobs }),
    usage: usageOf(usage),
  }
}

/**
 * Figures of segments by their names in twp/1 and at the vendor. Source:
 * https://platform.openai.com/docs/api-reference/audio/verbose-json-object
 */
export const segmentFigures = [
  ["seek", "seek"],
  ["temperature", "temperature"],
  ["avgLogprob", "avg_logprob"],
  ["compressionRatio", "compression_ratio"],
  ["noSpeechProb", "no_speech_prob"],
] as const

export const readSegment = (segment: JsonObject): Segment | undefined => {
  const [text, start, end] = [stringAt(segment, "text"), numberAt(segment, "start"), numberAt(segment, "end")]
  if (text === undefined || start === undefined || end === undefined) return undefined
  const speaker = stringAt(segment, "speaker") ?? stringAt(segment, "speaker_id")
  const tokens = segment["tokens"]
  return {
    text: text.trim(),
    start,
    end,
    ...(speaker !== undefined && { speaker }),
    ...(isIntegers(tokens) && { tokens }),
    ...Object.fromEntries(
      segmentFigures.flatMap(([ours, theirs]) => {
        const figure = numberAt(segment, theirs)
        return figure === undefined ? [] : [[ours, figure]]
      }),
    ),
  }
}

const wordOf = (span: JsonObject): ReadonlyArray<Word> => {
  const [word, start, end] = [stringAt(span, "word"), numberAt(span, "start"), numberAt(span, "end")]
  return word === undefined || start === undefined || end === undefined ? [] : [{ word, start, end }]
}

const tokenOf = (json: JsonObject): ReadonlyArray<HeardToken> => {
  const [token, logprob, bytes] = [stringAt(json, "token"), numberAt(json, "logprob"), json["bytes"]]
  if (token === undefined || logprob === undefined) return []
  return [{ token, logprob, ...(isIntegers(bytes) && { bytes }) }]
}

const isIntegers = (value: unknown): value is ReadonlyArray<number> =>
  Array.isArray(value) && value.every((each) => Number.isSafeInteger(each))

const usageOf = (usage: JsonObject | undefined): ReportedUsage | undefined =>
  stringAt(usage, "type") === "duration" || usage === undefined
    ? undefined
    : {
        inTokens: reportedCountAt(usage, "input_tokens") ?? reportedCountAt(usage, "prompt_tokens"),
        outTokens: reportedCountAt(usage, "output_tokens") ?? reportedCountAt(usage, "completion_tokens"),
        audioIn: reportedCountAt(objectAt(usage, "input_token_details"), "audio_tokens"),
      }
