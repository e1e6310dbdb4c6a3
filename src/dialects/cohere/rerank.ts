/** Reranking in Cohere's format, billed by search units. Source: https://docs.cohere.com/reference/rerank */
import { Result } from "effect"
import { objectAt, reportedCountAt } from "../parse/json.ts"
import { readRanks } from "../vendor/ranks.ts"
import { jsonRequest, type RerankDialect } from "../whole-dialect.ts"

export const cohereRerank: RerankDialect = {
  maxDocuments: 1000,
  encode: ({ query, documents, topN, maxTokensPerDocument }, model) =>
    Result.succeed(
      jsonRequest("/v2/rerank", {
        model,
        query,
        documents,
        ...(topN !== undefined && { top_n: topN }),
        ...(maxTokensPerDocument !== undefined && { max_tokens_per_doc: maxTokensPerDocument }),
      }),
    ),
  decode: (body, asked) => {
    const results = readRanks(body, "results", asked)
    const billed = objectAt(objectAt(body, "meta"), "billed_units")
    return (
      results && {
        results,
        inTokens: reportedCountAt(billed, "input_tokens"),
        searches: reportedCountAt(billed, "search_units"),
      }
    )
  },
}
