/**
 * Reranking in the form that Jina, vLLM, Together and others share beside OpenAI's API.
 * Source: https://jina.ai/reranker, https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html, https://docs.together.ai/reference/rerank
 */
import { Result } from "effect"
import { objectAt, reportedCountAt } from "../parse/json.ts"
import { lacksDocumentLimit, readRanks } from "../vendor/ranks.ts"
import { jsonRequest, type RerankAsked, type RerankDialect } from "../whole-dialect.ts"
import type { RerankProfile } from "./kind-profiles.ts"

export const makeRerank = ({ path = "/rerank", ranking }: RerankProfile = {}): RerankDialect => ({
  maxDocuments: 1000,
  encode: (asked, model) => {
    if (asked.maxTokensPerDocument !== undefined) return Result.fail(lacksDocumentLimit)
    return Result.succeed(
      ranking === true ? jsonRequest("/ranking", rankingOf(asked, model)) : jsonRequest(path, sharedBody(asked, model)),
    )
  },
  decode: (body, asked) => {
    const key = lists.find((list) => Array.isArray(body[list])) ?? "results"
    const results = readRanks(body, key, asked)
    const usage = objectAt(body, "usage")
    const inTokens = reportedCountAt(usage, "total_tokens") ?? reportedCountAt(usage, "prompt_tokens")
    const searches = reportedCountAt(objectAt(objectAt(body, "meta"), "billed_units"), "search_units")
    return results && { results, inTokens, searches }
  },
})

/**
 * The list of results: `data` at Fireworks (https://docs.fireworks.ai/api-reference/rerank-documents), a list alone at SGLang
 * (https://docs.sglang.ai/supported_models/rerank_models.html).
 */
const lists = ["results", "data", "rankings", "list"]

const sharedBody = ({ query, documents, topN }: RerankAsked, model: string): object => ({
  model,
  query,
  documents,
  ...(topN !== undefined && { top_n: topN }),
  return_documents: false,
})

/** All passages are ranked. */
const rankingOf = ({ query, documents }: RerankAsked, model: string): object => ({
  model,
  query: { text: query },
  passages: documents.map((text) => ({ text })),
  truncate: "END",
})
