/** Lists of a reply whose elements have owners. Pure. */
import type { JsonPath } from "../protocol/json/json-edit.ts"
import { mostValues, type ReplyPlace, valuesAt } from "./reply-path.ts"

/** An element of a list, and the values at the places of its ids. */
export interface ListedElement {
  readonly path: JsonPath
  readonly values: ReadonlyArray<unknown>
}

/** @returns the elements of lists with places of ids; undefined if there are too many */
export const listedElements = (
  json: unknown,
  places: ReadonlyArray<ReplyPlace>,
): ReadonlyArray<ListedElement> | undefined => {
  const elements = new Map<string, { readonly path: JsonPath; readonly values: Array<unknown> }>()
  for (const place of places) {
    const inElement = place.lastIndexOf("*") + 1
    const found = valuesAt(json, place.slice(0, inElement))
    if (found.length > mostValues) return undefined
    for (const { value, path } of found) {
      const key = path.join("/")
      const element = elements.get(key) ?? { path, values: [] }
      elements.set(key, element)
      for (const id of valuesAt(value, place.slice(inElement))) element.values.push(id.value)
    }
  }
  return [...elements.values()]
}

/** Whether a reply has elements of a list in which no place of ids is. */
export const hasOtherList = (json: unknown, places: ReadonlyArray<ReplyPlace>): boolean => {
  const listed = new Set<unknown>(
    places.flatMap((place) => valuesAt(json, place.slice(0, place.indexOf("*")))).map(({ value }) => value),
  )
  const open = [json]
  for (let value = open.pop(); value !== undefined; value = open.pop()) {
    if (listed.has(value) && Array.isArray(value)) continue
    if (Array.isArray(value) && value.length > 0) return true
    if (typeof value === "object" && value !== null) open.push(...Object.values(value))
  }
  return false
}
