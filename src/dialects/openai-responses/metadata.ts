/** The metadata of responses and conversations. Source: https://platform.openai.com/docs/api-reference/responses/create */
import type { FieldRefusal } from "../client/fields.ts"
import { isObject } from "../parse/json.ts"

const mostPairs = 16
const mostNameLength = 64
const mostTextLength = 512

/** The reason why a value is no metadata; undefined if it is. */
export const metadataRefusal = (value: unknown): FieldRefusal | undefined => {
  if (!isObject(value)) return { path: "metadata", message: "must be an object of strings" }
  const pairs = Object.entries(value)
  if (pairs.length > mostPairs) {
    return { path: "metadata", message: `has ${pairs.length} pairs, more than ${mostPairs}` }
  }
  return pairs.flatMap(pairRefusal)[0]
}

const pairRefusal = ([name, text]: readonly [string, unknown]): ReadonlyArray<FieldRefusal> => {
  const path = `metadata.${name.slice(0, mostNameLength)}`
  if (name.length > mostNameLength) return [{ path, message: `has a name of more than ${mostNameLength} characters` }]
  if (typeof text !== "string") return [{ path, message: "must be a string" }]
  return text.length > mostTextLength ? [{ path, message: `has more than ${mostTextLength} characters` }] : []
}
