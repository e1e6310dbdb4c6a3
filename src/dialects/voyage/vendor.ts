/**
 * The dialect `voyage`: embeddings and reranking.
 * Source: https://docs.voyageai.com/reference/embeddings-api, https://docs.voyageai.com/reference/reranker-api
 */
import { Result } from "effect"
import type { Dialect } from "../dialect.ts"
import { objectAt, parseObject, reportedCountAt } from "../parse/json.ts"
import { type FaultTable, faultBy } from "../vendor/faults.ts"
import { lacksDocumentLimit, readRanks } from "../vendor/ranks.ts"
import { inOrder, readVectors } from "../vendor/vectors.ts"
import { jsonRequest } from "../whole-dialect.ts"

/** Errors have a text alone; statuses say it all. Source: https://docs.voyageai.com/docs/error-codes */
const faults: FaultTable = { codes: {} }

export const voyage: Dialect = {
  authorize: (credential) => ({ authorization: `Bearer ${credential}` }),
  decodeError: (status, body) =>
    faultBy(faults, { status, codes: [parseObject(body) === undefined ? undefined : `status_${status}`] }),
  embedding: {
    maxInputs: () => 1000,
    encode: ({ input, inputType, dimensions, truncate, encoding }, model) =>
      Result.succeed(
        jsonRequest("/embeddings", {
          model,
          input,
          // It knows two purposes; without one, a vector fits any.
          ...((inputType === "query" || inputType === "document") && { input_type: inputType }),
          truncation: truncate === true,
          ...(dimensions !== undefined && { output_dimension: dimensions }),
          ...(encoding === "base64" && { encoding_format: "base64" }),
        }),
      ),
    decode: (body, { input }) => {
      const items = inOrder(body, "data", input.length)
      const vectors = items && readVectors(items.map(({ embedding }) => embedding))
      return vectors && { vectors, inTokens: reportedCountAt(objectAt(body, "usage"), "total_tokens") }
    },
  },
  rerank: {
    maxDocuments: 1000,
    encode: ({ query, documents, topN, maxTokensPerDocument }, model) =>
      maxTokensPerDocument === undefined
        ? Result.succeed(
            jsonRequest("/rerank", { model, query, documents, ...(topN !== undefined && { top_k: topN }) }),
          )
        : Result.fail(lacksDocumentLimit),
    decode: (body, asked) => {
      const results = readRanks(body, "data", asked)
      const inTokens = reportedCountAt(objectAt(body, "usage"), "total_tokens")
      return results && { results, inTokens, searches: undefined }
    },
  },
}
