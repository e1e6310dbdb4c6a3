/** Providers of web searches. */
import { Schema } from "effect"
import { Currency } from "../usage.ts"
import { NonNegative } from "../values/bounds.ts"
import { Millis } from "../values/duration.ts"
import { network } from "./network.ts"
import { HttpUrl, Id, Int, Positive, SecretRef } from "./values.ts"

export const SearchProvider = Schema.Struct({
  id: Id,
  /** The name that callers see. */
  name: Schema.NonEmptyString,
  /** The vendor's API: `brave`, `tavily`, `serper`, `exa`, `searxng` or `bocha`. */
  vendor: Id,
  /** The address of the API. */
  baseUrl: HttpUrl,
  credential: Schema.optionalKey(SecretRef),
  ...network,
  /** The price of an answered search. */
  pricePerCall: NonNegative,
  /** The currency of the price. */
  currency: Currency,
  /** The vendor's own price, for operators only. */
  cost: Schema.optionalKey(NonNegative),
  /** The order of failover, the highest first; a share where applications choose none. */
  weight: Schema.optionalKey(Int),
  /** The maximum number of results. */
  maxResultsCap: Schema.optionalKey(Positive),
  /** The timeout of a search. */
  timeout: Schema.optionalKey(Millis),
  /** Whether it is used; true if absent. */
  active: Schema.optionalKey(Schema.Boolean),
})

export type SearchProvider = typeof SearchProvider.Type
