/**
 * Gemini on Vertex AI: the same bodies at the address of a project, and embeddings by `:predict`.
 * Source: https://cloud.google.com/vertex-ai/generative-ai/docs/reference/rest
 */
import { Result } from "effect"
import type { GoogleAccess } from "../../protocol/catalogue/vendor.ts"
import type { Dialect } from "../dialect.ts"
import { vertexLive } from "../gemini-live/vendor.ts"
import { objectAt, objectsAt, reportedCountAt } from "../parse/json.ts"
import { readVectors } from "../vendor/vectors.ts"
import { type EmbeddingAsked, type EmbeddingDialect, jsonRequest } from "../whole-dialect.ts"
import type { VendorAccess } from "../wire.ts"
import { carryGenerate } from "./carry.ts"
import { geminiTaskTypes, isSecondGeneration } from "./embedding.ts"
import { geminiImage } from "./image.ts"
import { geminiSpeech } from "./speech.ts"
import { gemini, geminiWire } from "./vendor.ts"

/** The models of a publisher in a project. */
export const publisherPath = ({ project, location }: Place, publisher: "google" | "anthropic"): string =>
  `/projects/${project}/locations/${location}/publishers/${publisher}/models`

export type Place = Pick<GoogleAccess, "project" | "location">

/** Tokens of an identity, or one that the catalogue has. */
export const vertexAuthorize: VendorAccess["authorize"] = (credential) => ({ authorization: `Bearer ${credential}` })

export const vertexGemini = (place: Place): Dialect => {
  const models = `/v1beta1${publisherPath(place, "google")}/`
  const moved = movedTo(models)
  return {
    authorize: vertexAuthorize,
    decodeError: gemini.decodeError,
    chat: {
      ...gemini,
      authorize: vertexAuthorize,
      encode: (request) => Result.map(gemini.encode(request), moved),
      carry: carryGenerate((request, body) => moved(geminiWire(request, body))),
    },
    embedding: vertexEmbedding(models),
    image: { ...geminiImage, encode: (...asked) => Result.map(geminiImage.encode(...asked), moved) },
    speech: { ...geminiSpeech, encode: (...asked) => Result.map(geminiSpeech.encode(...asked), moved) },
    realtime: vertexLive(place),
  }
}

/** The same request, for the models of a project. */
const movedTo =
  (models: string) =>
  <Wire extends { readonly path: string }>(wire: Wire): Wire => ({
    ...wire,
    path: wire.path.replace("/v1beta/models/", models),
  })

/** https://cloud.google.com/vertex-ai/generative-ai/docs/model-reference/text-embeddings-api */
const vertexEmbedding = (models: string): EmbeddingDialect => ({
  // Gemini's models take one text at once, the older ones 250.
  maxInputs: (family) => (family.startsWith("gemini-") ? 1 : 250),
  encode: (asked, model, family) => {
    const { input, inputType, dimensions, truncate } = asked
    const at = `${models}${encodeURIComponent(model)}`
    if (isSecondGeneration(family)) return Result.succeed(jsonRequest(`${at}:embedContent`, contentOf(asked)))
    return Result.succeed(
      jsonRequest(`${at}:predict`, {
        instances: input.map((content) => ({
          content,
          ...(inputType !== undefined && { task_type: geminiTaskTypes[inputType] }),
        })),
        parameters: {
          autoTruncate: truncate === true,
          ...(dimensions !== undefined && { outputDimensionality: dimensions }),
        },
      }),
    )
  },
  decode: (body, { input }) => {
    const content = objectAt(body, "embedding")
    const embedded =
      content === undefined ? objectsAt(body, "predictions").map((one) => objectAt(one, "embeddings")) : [content]
    const vectors = embedded.length === input.length ? readVectors(embedded.map((one) => one?.["values"])) : undefined
    const inTokens =
      content === undefined
        ? sumOf(embedded.map((one) => reportedCountAt(objectAt(one, "statistics"), "token_count")))
        : reportedCountAt(objectAt(body, "usageMetadata"), "promptTokenCount")
    return vectors && { vectors, inTokens }
  },
})

/** https://cloud.google.com/vertex-ai/generative-ai/docs/embeddings/get-multimodal-embeddings: one text, and no task. */
const contentOf = ({ input: [text = ""], dimensions, truncate }: EmbeddingAsked): object => ({
  content: { parts: [{ text }] },
  autoTruncate: truncate === true,
  ...(dimensions !== undefined && { outputDimensionality: dimensions }),
})

/** The sum; undefined if one of the counts is. */
const sumOf = (counts: ReadonlyArray<number | undefined>): number | undefined =>
  counts.reduce((sum, count) => (sum === undefined || count === undefined ? undefined : sum + count), 0)
