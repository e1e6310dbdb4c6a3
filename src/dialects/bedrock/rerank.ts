/**
 * Reranking on Bedrock: Cohere's and Amazon's models share a body; usage is not reported.
 * Source: https://docs.aws.amazon.com/bedrock/latest/userguide/rerank-supported.html
 */
import { Result } from "effect"
import { lacksDocumentLimit, readRanks } from "../vendor/ranks.ts"
import { jsonRequest, type RerankDialect } from "../whole-dialect.ts"
import { modelPath } from "./model-path.ts"

export const bedrockRerank: RerankDialect = {
  maxDocuments: 1000,
  encode: ({ query, documents, topN, maxTokensPerDocument }, model, family) =>
    maxTokensPerDocument !== undefined
      ? Result.fail(lacksDocumentLimit)
      : Result.succeed(
          jsonRequest(modelPath(model, "invoke"), {
            query,
            documents,
            ...(topN !== undefined && { top_n: topN }),
            ...(family.includes("cohere.") && { api_version: 2 }),
          }),
        ),
  decode: (body, asked) => {
    const results = readRanks(body, "results", asked)
    return results && { results, inTokens: undefined, searches: undefined }
  },
}
