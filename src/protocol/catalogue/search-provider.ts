/** Providers of web searches. */
import { Schema } from "effect"
import { Currency } from "../usage.ts"
import { NonNegative } from "../values/bounds.ts"
import { Millis } from "../values/duration.ts"
import { network } from "./network.ts"
import { HttpUrl, Id, Int, optional, Positive, SecretRef } from "./values.ts"

export const SearchProvider = Schema.Struct({
  id: Id,
  name: Schema.NonEmptyString,
  vendor: Id,
  baseUrl: HttpUrl,
  credential: optional(SecretRef),
  ...network,
  pricePerCall: NonNegative,
  currency: Currency,
  cost: optional(NonNegative),
  weight: optional(Int),
  maxResultsCap: optional(Positive),
  timeout: optional(Millis),
  active: optional(Schema.Boolean),
})

export type SearchProvider = typeof SearchProvider.Type
