/**
 * Reranking in the form that Jina, vLLM, Together and others share beside OpenAI's API.
 * Source: https://jina.ai/reranker, https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html, https://docs.together.ai/reference/rerank
 */
import { Result } from "effect"
import { objectAt, reportedCountAt } from "../json.ts"
import { readRanks } from "../ranks.ts"
import { jsonRequest, type RerankDialect } from "../whole.ts"

export const sharedRerank: RerankDialect = {
  maxDocuments: 1000,
  encode: ({ query, documents, topN }, model) =>
    Result.succeed(
      jsonRequest("/rerank", {
        model,
        query,
        documents,
        ...(topN !== undefined && { top_n: topN }),
        return_documents: false,
      }),
    ),
  decode: (body, asked) => {
    const results = readRanks(body, "results", asked)
    const usage = objectAt(body, "usage")
    const inTokens = reportedCountAt(usage, "total_tokens") ?? reportedCountAt(usage, "prompt_tokens")
    const searches = reportedCountAt(objectAt(objectAt(body, "meta"), "billed_units"), "search_units")
    return results && { results, inTokens, searches }
  },
}
