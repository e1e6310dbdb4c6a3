/** Embeddings. */
import { Schema } from "effect"
import { RequestCache } from "../control/reply-cache.ts"
import { ClientRequestId, ExchangeMeta } from "../exchange.ts"
import { ModelHandle } from "../model-handle.ts"
import { Usage } from "../usage.ts"

/** The purpose of the vectors; models that know it make better ones. */
export const EmbeddingPurpose = Schema.Literals(["query", "document", "similarity", "classification", "clustering"])
export type EmbeddingPurpose = typeof EmbeddingPurpose.Type

/** Texts that are embedded in one call. */
export const maxEmbeddingInputs = 2048

export const EmbeddingRequest = Schema.Struct({
  model: ModelHandle,
  input: Schema.Array(Schema.NonEmptyString).check(Schema.isMinLength(1), Schema.isMaxLength(maxEmbeddingInputs)),
  inputType: Schema.optionalKey(EmbeddingPurpose),
  /** The length of each vector; the model's own if absent. */
  dimensions: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 65_536 }))),
  /** The encoding of the vectors: `base64` is of little-endian float32; `float` if absent. */
  encoding: Schema.optionalKey(Schema.Literals(["float", "base64"])),
  /** Whether a text that is too long for the model is cut; otherwise it is refused. */
  truncate: Schema.optionalKey(Schema.Boolean),
  meta: Schema.optionalKey(ExchangeMeta),
  cache: Schema.optionalKey(RequestCache),
}).annotate({ identifier: "EmbeddingRequest" })
export type EmbeddingRequest = typeof EmbeddingRequest.Type

export const EmbeddingResponse = Schema.Struct({
  requestId: Schema.String,
  clientRequestId: Schema.optionalKey(ClientRequestId),
  model: Schema.String,
  /** In the order of the input, each with the same length. */
  vectors: Schema.Array(Schema.Union([Schema.Array(Schema.Finite), Schema.String])),
  dimensions: Schema.Int,
  usage: Usage,
}).annotate({ identifier: "EmbeddingResponse" })
export type EmbeddingResponse = typeof EmbeddingResponse.Type
