/** The answers of the simulated vendor beside chat: texts that share words have vectors and scores that are near. */
import { createHash } from "node:crypto"
import { type JsonObject, numberAt, stringAt } from "../dialects/parse/json.ts"
import { toBase64 } from "../dialects/vendor/vectors.ts"
import type { VendorCall } from "../testing/scripted-vendor.ts"

const defaultDimensions = 64

/** The answer to a whole call; undefined if the path belongs to none. */
export const answerWhole = ({ path, body }: VendorCall): object | undefined => {
  if (path === "/v1/embeddings") return embed(body)
  if (path === "/v1/rerank") return rerank(body)
  return path === "/v1/moderations" ? moderate(body) : undefined
}

const textsAt = (body: JsonObject, key: string): ReadonlyArray<string> => {
  const field = body[key]
  if (typeof field === "string") return [field]
  return Array.isArray(field) ? field.map((each: unknown) => (typeof each === "string" ? each : "")) : []
}

const wordsOf = (text: string): ReadonlyArray<string> => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []

const usageOf = (texts: ReadonlyArray<string>) => {
  const tokens = texts.reduce((sum, text) => sum + wordsOf(text).length + 1, 0)
  return { prompt_tokens: tokens, total_tokens: tokens }
}

const embed = (body: JsonObject): object => {
  const input = textsAt(body, "input")
  const dimensions = numberAt(body, "dimensions") ?? defaultDimensions
  const isBase64 = stringAt(body, "encoding_format") === "base64"
  const data = input.map((text, index) => {
    const vector = vectorOf(text, dimensions)
    return { object: "embedding", index, embedding: isBase64 ? toBase64(vector) : vector }
  })
  return { object: "list", data, usage: usageOf(input) }
}

/** Each word adds one to a dimension; the length of the vector is one. */
const vectorOf = (text: string, dimensions: number): ReadonlyArray<number> => {
  const vector = Array.from({ length: dimensions }, () => 0)
  for (const word of wordsOf(text)) {
    const place = createHash("sha256").update(word).digest().readUInt32BE() % dimensions
    vector[place] = (vector[place] ?? 0) + 1
  }
  const length = Math.hypot(...vector) || 1
  return vector.map((value) => Math.fround(value / length))
}

const rerank = (body: JsonObject): object => {
  const query = new Set(wordsOf(stringAt(body, "query") ?? ""))
  const documents = textsAt(body, "documents")
  const results = documents.map((document, index) => {
    const words = new Set(wordsOf(document))
    const shared = [...words].filter((word) => query.has(word)).length
    return { index, relevance_score: shared / Math.max(1, query.size) }
  })
  const best = results.sort((a, b) => b.relevance_score - a.relevance_score)
  return { object: "list", results: best.slice(0, numberAt(body, "top_n") ?? best.length), usage: usageOf(documents) }
}

const moderate = (body: JsonObject): object => ({
  results: textsAt(body, "input").map((text) => {
    const violence = wordsOf(text).includes("kill")
    return { flagged: violence, categories: { violence }, category_scores: { violence: violence ? 0.9 : 0.01 } }
  }),
})
