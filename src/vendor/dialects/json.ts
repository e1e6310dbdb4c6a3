/**
 * Reading vendors' JSON: they add fields at will and send `null` for "absent", so that a field is read for what it is
 * and everything else is passed over. Nothing here throws.
 */
import { Predicate } from "effect"
import { isDeeperThan } from "../../protocol/depth.ts"

export type JsonObject = { readonly [key: string]: unknown }

const isObject = (value: unknown): value is JsonObject => Predicate.isObject(value) && !Array.isArray(value)

/** No vendor nests deeper; what recurses over a reply must not be led to the end of its stack. */
const maxDepth = 64
/** A text shorter than this cannot nest deep enough to hurt, and is not looked through. */
const harmlessLength = 1024

/** The object that a text is; undefined for everything else. */
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

/** A token count; what is no positive integer counts as 0. */
export const countAt = (value: JsonObject | undefined, key: string): number => {
  const count = numberAt(value, key) ?? 0
  return Number.isSafeInteger(count) && count > 0 ? count : 0
}
