/** Embeddings in Gemini's format. Source: https://ai.google.dev/api/embeddings */
import { Result } from "effect"
import { objectAt, objectsAt, reportedCountAt } from "../parse/json.ts"
import { readVectors } from "../vendor/vectors.ts"
import { type EmbeddingAsked, type EmbeddingDialect, jsonRequest } from "../whole-dialect.ts"

export const geminiTaskTypes: Readonly<Record<NonNullable<EmbeddingAsked["inputType"]>, string>> = {
  query: "RETRIEVAL_QUERY",
  document: "RETRIEVAL_DOCUMENT",
  similarity: "SEMANTIC_SIMILARITY",
  classification: "CLASSIFICATION",
  clustering: "CLUSTERING",
}

/** Models that read the task from the text and have no parameter for it. */
export const isSecondGeneration = (family: string): boolean => family.startsWith("gemini-embedding-2")

export const geminiEmbedding: EmbeddingDialect = {
  maxInputs: () => 100,
  encode: ({ input, inputType, dimensions }, model, family) =>
    Result.succeed(
      jsonRequest(`/v1beta/models/${encodeURIComponent(model)}:batchEmbedContents`, {
        requests: input.map((text) => ({
          model: `models/${model}`,
          content: { parts: [{ text }] },
          ...(inputType !== undefined && !isSecondGeneration(family) && { taskType: geminiTaskTypes[inputType] }),
          ...(dimensions !== undefined && { outputDimensionality: dimensions }),
        })),
      }),
    ),
  decode: (body, { input }) => {
    const items = objectsAt(body, "embeddings")
    const vectors = items.length === input.length ? readVectors(items.map(({ values }) => values)) : undefined
    const inTokens = reportedCountAt(objectAt(body, "usageMetadata"), "promptTokenCount")
    return vectors && { vectors, inTokens }
  },
}
