/** The last totals in a recording, for every dialect. */
import type { VendorUsage } from "../../src/dialects/chat-dialect.ts"
import { countAt, type JsonObject, objectAt, objectsAt, parseObject } from "../../src/dialects/parse/json.ts"
import { isStream, type Recording } from "../support/recorded/recordings.ts"

export interface Totals {
  readonly input: number
  readonly output: number
  readonly read: number
  readonly write: number
}

export const totalsOf = (usage: VendorUsage | undefined): Totals | undefined =>
  usage && {
    input: usage.inTokens + usage.cacheReadTokens + usage.cacheWriteTokens,
    output: usage.outTokens,
    read: usage.cacheReadTokens,
    write: usage.cacheWriteTokens,
  }

/** The JSON objects of a reply: the body, or the data of each frame. */
export const objectsIn = (recording: Recording): ReadonlyArray<JsonObject> => {
  const { body } = recording.response
  const texts = isStream(recording)
    ? body.split("\n").flatMap((line) => (line.startsWith("data:") ? [line.slice(5)] : []))
    : [body]
  return texts.map(parseObject).filter((object) => object !== undefined)
}

/** The last object at a path. */
const lastAt = (
  recording: Recording,
  ...places: ReadonlyArray<(object: JsonObject) => JsonObject | undefined>
): JsonObject | undefined =>
  objectsIn(recording)
    .flatMap((object) => places.map((place) => place(object)))
    .findLast((found) => found !== undefined)

const chat = (recording: Recording): Totals | undefined => {
  const usage = lastAt(
    recording,
    (object) => objectAt(object, "usage"),
    (object) => objectAt(objectsAt(object, "choices")[0], "usage"),
    (object) => objectAt(objectAt(object, "x_groq"), "usage"),
  )
  if (usage === undefined) return undefined
  const details = objectAt(usage, "prompt_tokens_details")
  const input = countAt(usage, "prompt_tokens")
  const places = [
    countAt(details, "cached_tokens"),
    ...["prompt_cache_hit_tokens", "cached_tokens", "num_cached_tokens"].map((place) => countAt(usage, place)),
  ]
  const read = Math.max(...places)
  return {
    input,
    output: countAt(usage, "total_tokens") - input,
    read,
    // OpenRouter counts tokens that were written and read at once in both.
    write: Math.min(countAt(details, "cache_write_tokens"), input - read),
  }
}

const responses = (recording: Recording): Totals | undefined => {
  const usage = lastAt(
    recording,
    (object) => objectAt(object, "usage"),
    (object) => objectAt(objectAt(object, "response"), "usage"),
  )
  if (usage === undefined || usage["input_tokens"] === undefined) return chat(recording)
  const details = objectAt(usage, "input_tokens_details")
  const input = countAt(usage, "input_tokens")
  return {
    input,
    output: countAt(usage, "total_tokens") - input,
    read: countAt(details, "cached_tokens"),
    write: countAt(details, "cache_write_tokens"),
  }
}

const anthropic = (recording: Recording): Totals | undefined => {
  const reports = objectsIn(recording)
    .map((object) => objectAt(object, "usage") ?? objectAt(objectAt(object, "message"), "usage"))
    .filter((report) => report !== undefined)
  if (reports.length === 0) return undefined
  const last = (key: string) =>
    countAt(
      reports.findLast((report) => report[key] != null),
      key,
    )
  // A compaction is billed, and not among the other counts.
  const compactions = objectsAt(
    reports.findLast((report) => report["iterations"] != null),
    "iterations",
  ).filter((iteration) => iteration["type"] === "compaction")
  const all = (key: string) => compactions.reduce((sum, iteration) => sum + countAt(iteration, key), last(key))
  const read = all("cache_read_input_tokens")
  const write = all("cache_creation_input_tokens")
  return { input: all("input_tokens") + read + write, output: all("output_tokens"), read, write }
}

const gemini = (recording: Recording): Totals | undefined => {
  const usage = objectsIn(recording)
    .map((object) => objectAt(object, "usageMetadata"))
    .findLast((found) => found !== undefined && found["totalTokenCount"] !== undefined)
  if (usage === undefined) return undefined
  const input = countAt(usage, "promptTokenCount") + countAt(usage, "toolUsePromptTokenCount")
  const read = countAt(usage, "cachedContentTokenCount")
  return { input, output: countAt(usage, "totalTokenCount") - input, read, write: 0 }
}

export const stated = { "openai-chat": chat, "openai-responses": responses, anthropic, gemini } as const
