/**
 * Reads vendors' JSON leniently: vendors add fields and send `null` for "absent", so each field is read on its own and
 * everything else is ignored. Nothing here throws.
 */
import { Predicate } from "effect"
import { isDeeperThan } from "../protocol/depth.ts"

export type JsonObject = { readonly [key: string]: unknown }

const isObject = (value: unknown): value is JsonObject => Predicate.isObject(value) && !Array.isArray(value)

/** Maximum nesting of a reply; recursion over deeper values is not safe. */
const maxDepth = 64
/** A shorter text cannot be nested too deeply and is not checked. */
const harmlessLength = 1024

/** Parses a JSON object; undefined for everything else. */
export const parseObject = (text: string): JsonObject | undefined => {
  try {
    const value: unknown = JSON.parse(text)
    if (!isObject(value)) return undefined
    return text.length > harmlessLength && isDeeperThan(value, maxDepth) ? undefined : value
  } catch {
    return undefined
  }
}

export const objectAt = (value: JsonObject | undefined, key: string): JsonObject | undefined => {
  const field = value?.[key]
  return isObject(field) ? field : undefined
}

export const objectsAt = (value: JsonObject | undefined, key: string): ReadonlyArray<JsonObject> => {
  const field = value?.[key]
  return Array.isArray(field) ? field.filter(isObject) : []
}

export const stringAt = (value: JsonObject | undefined, key: string): string | undefined => {
  const field = value?.[key]
  return typeof field === "string" ? field : undefined
}

export const numberAt = (value: JsonObject | undefined, key: string): number | undefined => {
  const field = value?.[key]
  return typeof field === "number" ? field : undefined
}

/** A token count; anything but a positive integer counts as 0. */
export const countAt = (value: JsonObject | undefined, key: string): number => {
  const count = numberAt(value, key) ?? 0
  return Number.isSafeInteger(count) && count > 0 ? count : 0
}
