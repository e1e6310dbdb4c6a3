/** Content that a vendor keeps for later requests: pure translation. */
import type { Schema } from "effect"
import type { JsonObject } from "./parse/json.ts"
import type { WireRequest } from "./wire.ts"

export interface CacheAsked {
  readonly content: Schema.JsonObject
  readonly ttlSeconds: number
}

export interface KeptContent {
  /** The vendor's name of it. */
  readonly name: string
  /** Its tokens; undefined if the vendor does not report them. */
  readonly tokens: number | undefined
}

export interface CacheDialect {
  readonly encode: (asked: CacheAsked, model: string) => WireRequest
  readonly decode: (body: JsonObject) => KeptContent | undefined
  /** @param name the vendor's own */
  readonly remove: (name: string) => WireRequest
  /** Ends it after a time from now. */
  readonly shorten: (name: string, ttlSeconds: number) => WireRequest
}
