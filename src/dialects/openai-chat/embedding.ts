/** Embeddings in OpenAI's format, which many vendors share. Source: https://platform.openai.com/docs/api-reference/embeddings */
import { Result } from "effect"
import { objectAt, reportedCountAt } from "../parse/json.ts"
import { inOrder, readVectors } from "../vendor/vectors.ts"
import { type EmbeddingDialect, jsonRequest } from "../whole-dialect.ts"
import type { EmbeddingProfile } from "./kind-profiles.ts"

/** A model that is older than the parameter: https://platform.openai.com/docs/api-reference/embeddings/create */
const hasOneLength = "text-embedding-ada-002"

export const makeEmbedding = ({
  maxInputs = 2048,
  dimensions: lengthField = "dimensions",
  purposes,
  truncates,
  knowsBase64,
}: EmbeddingProfile = {}): EmbeddingDialect => ({
  maxInputs: () => maxInputs,
  encode: ({ input, inputType = "document", dimensions, truncate, encoding }, model, family) => {
    if (dimensions !== undefined && family === hasOneLength) {
      return Result.fail({ capability: "dimensions", message: "vectors of this model have one length" })
    }
    return Result.succeed(
      jsonRequest("/embeddings", {
        model,
        input,
        ...(purposes !== undefined && { input_type: purposes[inputType] }),
        ...(truncates === true && { truncate: truncate === true ? "END" : "NONE" }),
        ...(dimensions !== undefined && { [lengthField]: dimensions }),
        // Numbers are the default of vendors.
        ...(encoding === "base64" && knowsBase64 === true && { encoding_format: "base64" }),
      }),
    )
  },
  decode: (body, { input }) => {
    const items = inOrder(body, "data", input.length)
    const vectors = items && readVectors(items.map(({ embedding }) => embedding))
    const usage = objectAt(body, "usage")
    const inTokens = reportedCountAt(usage, "prompt_tokens") ?? reportedCountAt(usage, "total_tokens")
    return vectors && { vectors, inTokens }
  },
})
