/** Local references of an OpenAPI document. */
import { isObject, type JsonObject } from "../../dialects/parse/json.ts"

/** References that refer to references are followed this far. */
const maxHops = 16

/** Follows a value's `$ref`; undefined if it leads to no object of the document, or in a circle. */
export const followed = (document: JsonObject, value: unknown): JsonObject | undefined => {
  let at: unknown = value
  for (let hop = 0; hop <= maxHops && isObject(at); hop++) {
    const { $ref } = at
    if (typeof $ref !== "string") return at
    at = valueAt(document, $ref)
  }
  return undefined
}

/**
 * The value at a reference such as `#/components/schemas/Pet`; undefined for other documents, and if there is none.
 * @see https://www.rfc-editor.org/rfc/rfc6901 section 6
 */
export const valueAt = (document: JsonObject, reference: string): unknown => {
  if (reference === "#") return document
  if (!reference.startsWith("#/")) return undefined
  let at: unknown = document
  for (const token of reference.slice(2).split("/")) {
    const name = decoded(token).replaceAll("~1", "/").replaceAll("~0", "~")
    if (Array.isArray(at)) at = at[Number(name)]
    else if (isObject(at) && Object.hasOwn(at, name)) at = at[name]
    else return undefined
  }
  return at
}

const decoded = (token: string): string => {
  try {
    return decodeURIComponent(token)
  } catch {
    return token
  }
}
