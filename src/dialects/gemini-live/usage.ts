/** Usage of one response of a session with Google's Live API. Pure. Source: https://ai.google.dev/api/live#usagemetadata */
import { countAt, type JsonObject, objectsAt, reportedCountAt, stringAt } from "../parse/json.ts"
import { realtimeCounts } from "../realtime-counts.ts"
import type { ResponseUsage } from "../realtime-dialect.ts"

/** The names of the output in both APIs. */
const ofGemini = { count: "responseTokenCount", details: "responseTokensDetails" }
const ofVertex = { count: "candidatesTokenCount", details: "candidatesTokensDetails" }

/** @returns undefined if it states no counts */
export const usageOfMetadata = (usage: JsonObject): ResponseUsage | undefined => {
  const prompt = reportedCountAt(usage, "promptTokenCount")
  const response = reportedCountAt(usage, ofGemini.count) ?? reportedCountAt(usage, ofVertex.count)
  const thoughts = countAt(usage, "thoughtsTokenCount")
  if (prompt === undefined && response === undefined && thoughts === 0) return undefined
  // Input of Google's own tools counts as input, thoughts count as output.
  const inTokens = (prompt ?? 0) + countAt(usage, "toolUsePromptTokenCount")
  const outTokens = (response ?? 0) + thoughts
  const sum = (details: string, ...modalities: ReadonlyArray<string>) =>
    objectsAt(usage, details)
      .filter((detail) => modalities.includes(stringAt(detail, "modality") ?? ""))
      .reduce((total, detail) => total + countAt(detail, "tokenCount"), 0)
  const input = (...modalities: ReadonlyArray<string>) =>
    sum("promptTokensDetails", ...modalities) + sum("toolUsePromptTokensDetails", ...modalities)
  return {
    counts: realtimeCounts({
      input: inTokens,
      output: outTokens,
      cached: countAt(usage, "cachedContentTokenCount"),
      cachedAudio: sum("cacheTokensDetails", "AUDIO"),
      cachedImages: sum("cacheTokensDetails", ...pictures),
      audioIn: input("AUDIO"),
      imagesIn: input(...pictures),
      audioOut: sum(ofGemini.details, "AUDIO") + sum(ofVertex.details, "AUDIO"),
      thoughts,
    }),
    billedSeconds: 0,
  }
}

/** Frames of a video are pictures. */
const pictures = ["IMAGE", "VIDEO"]

/** Clients of the two APIs read the same counts by different names. */
export type UsageNames = "gemini" | "vertex"

/** Usage with the names of a client's API; undefined if it has them. */
export const renamedUsage = (usage: JsonObject, names: UsageNames): JsonObject | undefined => {
  const [own, other] = names === "gemini" ? [ofGemini, ofVertex] : [ofVertex, ofGemini]
  if (!(other.count in usage) && !(other.details in usage)) return undefined
  const { [other.count]: count, [other.details]: details, ...rest } = usage
  return {
    ...rest,
    ...(count !== undefined && { [own.count]: count }),
    ...(details !== undefined && { [own.details]: details }),
  }
}
