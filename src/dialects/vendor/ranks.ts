/** Reads the results of a reranker, whose form vendors share. Pure. */
import type { RerankResult } from "../../protocol/kinds/rerank.ts"
import { type JsonObject, numberAt, objectsAt } from "../parse/json.ts"
import type { RerankAsked } from "../whole-dialect.ts"
import type { EncodeRefusal } from "../wire.ts"
import { isIndex } from "./vectors.ts"

export const lacksDocumentLimit: EncodeRefusal = {
  capability: "maxTokensPerDocument",
  message: "this model has its own limit of a document",
}

const scoreNames = ["relevance_score", "relevanceScore", "score", "logit"]

/** Best first; undefined if a document is ranked twice, is not in the request, has no score, or some are missing. */
export const readRanks = (
  body: JsonObject,
  key: string,
  { documents, topN = documents.length }: RerankAsked,
): ReadonlyArray<RerankResult> | undefined => {
  const items = objectsAt(body, key)
  if (!Array.isArray(body[key]) || items.length < Math.min(topN, documents.length)) return undefined
  const seen = new Set<number>()
  const results: Array<RerankResult> = []
  for (const item of items) {
    const { index } = item
    const [score] = scoreNames.flatMap((name) => numberAt(item, name) ?? [])
    if (!isIndex(index, documents.length) || seen.has(index) || score === undefined) return undefined
    seen.add(index)
    results.push({ index, score })
  }
  return results.sort((a, b) => b.score - a.score).slice(0, topN)
}
