/** Embeddings in Cohere's format. Source: https://docs.cohere.com/reference/embed */
import { Result } from "effect"
import { objectAt, reportedCountAt } from "../parse/json.ts"
import { readVectors } from "../vendor/vectors.ts"
import { type EmbeddingAsked, type EmbeddingDialect, jsonRequest } from "../whole-dialect.ts"

/** The purpose of the vectors, which the API requires; it has no value for similarity, for which clusters are the nearest. */
export const cohereInputTypes: Readonly<Record<NonNullable<EmbeddingAsked["inputType"]>, string>> = {
  query: "search_query",
  document: "search_document",
  similarity: "clustering",
  classification: "classification",
  clustering: "clustering",
}

export const cohereMaxInputs = 96

export const cohereEmbedding: EmbeddingDialect = {
  maxInputs: () => cohereMaxInputs,
  encode: ({ input, inputType = "document", dimensions, truncate }, model) =>
    Result.succeed(
      jsonRequest("/v2/embed", {
        model,
        texts: input,
        input_type: cohereInputTypes[inputType],
        embedding_types: ["float"],
        truncate: truncate === true ? "END" : "NONE",
        ...(dimensions !== undefined && { output_dimension: dimensions }),
      }),
    ),
  decode: (body, { input }) => {
    const vectors = readVectors(objectAt(body, "embeddings")?.["float"])
    const inTokens = reportedCountAt(objectAt(objectAt(body, "meta"), "billed_units"), "input_tokens")
    return vectors?.length === input.length ? { vectors, inTokens } : undefined
  },
}
