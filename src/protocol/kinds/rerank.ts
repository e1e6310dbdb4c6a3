/** Reranking: documents in the order in which they answer a query. */
import { Schema } from "effect"
import { RequestCache } from "../control/reply-cache.ts"
import { ClientRequestId, ExchangeMeta } from "../exchange.ts"
import { ModelHandle } from "../model-handle.ts"
import { Usage } from "../usage.ts"

/** Documents of one call. */
export const maxRerankDocuments = 1000

export const RerankRequest = Schema.Struct({
  model: ModelHandle,
  query: Schema.NonEmptyString,
  documents: Schema.Array(Schema.NonEmptyString).check(Schema.isMinLength(1), Schema.isMaxLength(maxRerankDocuments)),
  /** The number of results; all if absent. */
  topN: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: maxRerankDocuments }))),
  /** The tokens of a document that are read; the model's own limit if absent. */
  maxTokensPerDocument: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 1_000_000 }))),
  meta: Schema.optionalKey(ExchangeMeta),
  cache: Schema.optionalKey(RequestCache),
}).annotate({ identifier: "RerankRequest" })
export type RerankRequest = typeof RerankRequest.Type

export const RerankResult = Schema.Struct({
  /** The index of the document in the request. */
  index: Schema.Int,
  /** The score that the model gives; scores of two models are not comparable. */
  score: Schema.Finite,
})
export type RerankResult = typeof RerankResult.Type

export const RerankResponse = Schema.Struct({
  requestId: Schema.String,
  clientRequestId: Schema.optionalKey(ClientRequestId),
  model: Schema.String,
  /** Best first. */
  results: Schema.Array(RerankResult),
  usage: Usage,
}).annotate({ identifier: "RerankResponse" })
export type RerankResponse = typeof RerankResponse.Type
