/** The length of a value's JSON, counted no further than it matters. */
import { isObject } from "../../dialects/parse/json.ts"

/** Values are looked into this deep. */
const deepest = 64

/** @returns about the length, or more than `most` if it is longer, or too deep */
export const jsonLength = (value: unknown, most: number, depth = 0): number => {
  if (typeof value === "string") return value.length + 2
  if (depth > deepest) return most + 1
  let length = 2
  if (Array.isArray(value)) {
    for (const each of value) {
      length += jsonLength(each, most - length, depth + 1) + 1
      if (length > most) return length
    }
  } else if (isObject(value)) {
    for (const name in value) {
      length += name.length + 4 + jsonLength(value[name], most - length, depth + 1)
      if (length > most) return length
    }
  } else return 4
  return length
}
