/**
 * Embeddings on Bedrock: Titan, Cohere and Nova, each by its own body; the tokens are in a header.
 * Source: https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters.html
 */
import { Result } from "effect"
import { cohereInputTypes, cohereMaxInputs } from "../cohere/embedding.ts"
import { type JsonObject, objectAt, objectsAt, reportedCountAt } from "../parse/json.ts"
import { readVectors } from "../vendor/vectors.ts"
import { type EmbeddingAsked, type EmbeddingDialect, jsonRequest } from "../whole-dialect.ts"
import { modelPath } from "./model-path.ts"

const isCohere = (family: string): boolean => family.includes("cohere.")
const isNova = (family: string): boolean => family.includes("amazon.nova")

export const bedrockEmbedding: EmbeddingDialect = {
  maxInputs: (family) => (isCohere(family) ? cohereMaxInputs : 1),
  encode: (asked, model, family) => {
    const { dimensions, truncate } = asked
    if (isCohere(family)) return Result.succeed(jsonRequest(modelPath(model, "invoke"), cohereBody(asked)))
    if (isNova(family)) return Result.succeed(jsonRequest(modelPath(model, "invoke"), novaBody(asked)))
    if (truncate === true) {
      return Result.fail({ capability: "truncate", message: "this model does not shorten texts" })
    }
    const body = { inputText: asked.input[0] ?? "", ...(dimensions !== undefined && { dimensions }) }
    return Result.succeed(jsonRequest(modelPath(model, "invoke"), body))
  },
  decode: (body, { input }, headers) => {
    const vectors = readVectors(listIn(body))
    const inTokens =
      reportedCountAt(headers, "x-amzn-bedrock-input-token-count") ?? reportedCountAt(body, "inputTextTokenCount")
    return vectors?.length === input.length ? { vectors, inTokens } : undefined
  },
}

/** Titan has one vector; Cohere a list, since v4 by its type; Nova a list of objects. */
const listIn = (body: JsonObject): unknown => {
  const { embedding, embeddings } = body
  if (embedding !== undefined) return [embedding]
  const byType = objectAt(body, "embeddings")
  if (byType !== undefined) return byType["float"]
  const named = objectsAt(body, "embeddings")
  return named.length > 0 ? named.map((one) => one["embedding"]) : embeddings
}

const cohereBody = ({ input, inputType = "document", dimensions, truncate }: EmbeddingAsked): object => ({
  texts: input,
  input_type: cohereInputTypes[inputType],
  truncate: truncate === true ? "END" : "NONE",
  ...(dimensions !== undefined && { output_dimension: dimensions }),
})

const purposes: Readonly<Record<NonNullable<EmbeddingAsked["inputType"]>, string>> = {
  query: "GENERIC_RETRIEVAL",
  document: "GENERIC_INDEX",
  similarity: "CLUSTERING",
  classification: "CLASSIFICATION",
  clustering: "CLUSTERING",
}

const novaBody = ({ input, inputType = "document", dimensions, truncate }: EmbeddingAsked): object => ({
  taskType: "SINGLE_EMBEDDING",
  singleEmbeddingParams: {
    embeddingPurpose: purposes[inputType],
    ...(dimensions !== undefined && { embeddingDimension: dimensions }),
    text: { value: input[0] ?? "", truncationMode: truncate === true ? "END" : "NONE" },
  },
})
