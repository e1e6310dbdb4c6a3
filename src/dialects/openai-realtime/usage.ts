/** Usage of one response of a realtime session. Pure. Source: OpenAI API reference, "response.done". */
import { type JsonObject, objectAt } from "../parse/json.ts"
import { realtimeCounts } from "../realtime-counts.ts"
import { noTranscript, type ResponseUsage, type TranscriptUsage } from "../realtime-dialect.ts"

/**
 * Reads the usage of `response.done`. xAI leaves the response's usage empty, and states it beside the response.
 *
 * @returns undefined if the event states none
 */
export const usageOfDone = (event: JsonObject): ResponseUsage | undefined => {
  const inside = objectAt(objectAt(event, "response"), "usage")
  const usage = isStated(inside) ? inside : objectAt(event, "usage")
  if (!isStated(usage)) return undefined
  const input = objectAt(usage, "input_token_details")
  const output = objectAt(usage, "output_token_details")
  const cachedOf = objectAt(input, "cached_tokens_details")
  return {
    counts: realtimeCounts({
      input: countAt(usage, "input_tokens"),
      output: countAt(usage, "output_tokens"),
      cached: countAt(input, "cached_tokens"),
      cachedAudio: countAt(cachedOf, "audio_tokens"),
      cachedImages: countAt(cachedOf, "image_tokens"),
      audioIn: countAt(input, "audio_tokens"),
      imagesIn: countAt(input, "image_tokens"),
      audioOut: countAt(output, "audio_tokens"),
    }),
    billedSeconds: Math.ceil(numberAt(usage, "billable_audio_seconds")),
  }
}

/** Zero is a report, an empty object is none. */
const isStated = (usage: JsonObject | undefined): usage is JsonObject =>
  isCount(usage?.["input_tokens"]) && isCount(usage?.["output_tokens"])

/** Reads the usage of `conversation.item.input_audio_transcription.completed`. */
export const usageOfTranscript = (event: JsonObject): TranscriptUsage => {
  const usage = objectAt(event, "usage")
  switch (usage?.["type"]) {
    case "duration":
      return { ...noTranscript, seconds: Math.ceil(numberAt(usage, "seconds")) }
    case "tokens":
      return { seconds: 0, inTokens: countAt(usage, "input_tokens"), outTokens: countAt(usage, "output_tokens") }
    default:
      return noTranscript
  }
}

const isCount = (value: unknown): value is number =>
  typeof value === "number" && Number.isSafeInteger(value) && value >= 0

const countAt = (from: JsonObject | undefined, key: string): number => {
  const value = from?.[key]
  return isCount(value) ? value : 0
}

const numberAt = (from: JsonObject, key: string): number => {
  const value = from[key]
  return typeof value === "number" && value > 0 && value < 1e9 ? value : 0
}
