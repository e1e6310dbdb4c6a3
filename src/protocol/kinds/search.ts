/** Web search and its provider directory. */
import { Schema } from "effect"
import { ExchangeMeta } from "../exchange.ts"
import { Currency, Decimal } from "../usage.ts"

/** A query is never logged or stored. */
export const SearchRequest = Schema.Struct({
  /** 1 to 1024 characters, not blank. */
  query: Schema.String.check(
    Schema.makeFilter((text: string) =>
      text.trim() !== "" && [...text].length <= 1024 ? undefined : "1 to 1024 characters, not blank",
    ),
  ),
  max_results: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 20 }))),
  meta: Schema.optionalKey(ExchangeMeta),
}).annotate({ identifier: "SearchRequest" })
export type SearchRequest = typeof SearchRequest.Type

export const SearchResult = Schema.Struct({
  title: Schema.String,
  url: Schema.String,
  /** At most 1000 characters. */
  snippet: Schema.String,
})
export type SearchResult = typeof SearchResult.Type

export const SearchResponse = Schema.Struct({ results: Schema.Array(SearchResult) }).annotate({
  identifier: "SearchResponse",
})
export type SearchResponse = typeof SearchResponse.Type

/** A provider as callers see it: without cost, credential, address, weight and timeout. */
export const SearchDirectoryItem = Schema.Struct({
  id: Schema.String,
  name: Schema.String,
  vendor: Schema.String,
  pricePerCall: Decimal,
  currency: Currency,
  maxResultsCap: Schema.Int,
  isDefault: Schema.Boolean,
})

/** In failover order: by weight, then the most recently changed, then by id. */
export const SearchDirectory = Schema.Struct({
  /** Null if none is assigned or it is inactive: then providers are chosen at random by weight. */
  defaultProviderId: Schema.NullOr(Schema.String),
  data: Schema.Array(SearchDirectoryItem),
}).annotate({ identifier: "SearchDirectory" })
export type SearchDirectory = typeof SearchDirectory.Type
