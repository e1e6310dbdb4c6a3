/** Providers of web searches. */
import { Schema } from "effect"
import { Currency } from "../usage.ts"
import { NonNegative } from "../values/bounds.ts"
import { Millis } from "../values/duration.ts"
import { network } from "./network.ts"
import { HttpUrl, Id, Int, Positive, SecretRef } from "./values.ts"

export const SearchProvider = Schema.Struct({
  id: Id,
  name: Schema.NonEmptyString,
  vendor: Id,
  baseUrl: HttpUrl,
  credential: Schema.optionalKey(SecretRef),
  ...network,
  pricePerCall: NonNegative,
  currency: Currency,
  cost: Schema.optionalKey(NonNegative),
  weight: Schema.optionalKey(Int),
  maxResultsCap: Schema.optionalKey(Positive),
  timeout: Schema.optionalKey(Millis),
  active: Schema.optionalKey(Schema.Boolean),
})

export type SearchProvider = typeof SearchProvider.Type
