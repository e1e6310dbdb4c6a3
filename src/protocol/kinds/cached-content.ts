/** Content that a vendor keeps for later requests, for a time. */
import { Schema } from "effect"
import { ExchangeMeta } from "../exchange.ts"
import { ModelHandle } from "../model-handle.ts"

const optional = Schema.optionalKey

/** The longest time for which content is kept, in seconds: its cost is held until then. */
export const longestTtlS = 7 * 86_400

export const CachedContentRequest = Schema.Struct({
  model: ModelHandle,
  /** The beginning of a prompt, in the form of the vendor's API. */
  content: Schema.JsonObject,
  ttlSeconds: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: longestTtlS })),
  displayName: optional(Schema.String.check(Schema.isMaxLength(128))),
  meta: optional(ExchangeMeta),
})
export type CachedContentRequest = typeof CachedContentRequest.Type

export const CachedContent = Schema.Struct({
  id: Schema.String,
  model: Schema.String,
  displayName: optional(Schema.String),
  tokens: Schema.Int,
  createdAt: Schema.String,
  expiresAt: Schema.String,
})
export type CachedContent = typeof CachedContent.Type
