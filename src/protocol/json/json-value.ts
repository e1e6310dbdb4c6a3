/** Values of JSON, such as a JSON Schema, read member by member. */
import type { Schema } from "effect"

export type Json = Schema.Json
export type JsonObject = { readonly [key: string]: Json }

export const isJsonObject = (value: Json | undefined): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** A list; empty for every other value. */
export const listOf = (value: Json | undefined): ReadonlyArray<Json> => (Array.isArray(value) ? value : [])
