/** Places in the JSON of a reply: `$.id`, `$.data[*].id`. Pure. */

import { isObject } from "../dialects/parse/json.ts"
import type { JsonPath } from "../protocol/json/json-edit.ts"

/** The steps to a place: the name of a member, or `*` for every element of a list. */
export type ReplyPlace = ReadonlyArray<{ readonly member: string } | "*">

/** @param text of the form that the catalogue's schema checks */
export const readPlace = (text: string): ReplyPlace =>
  [...text.matchAll(/\.([\w-]+)|\[\*\]/g)].map(([, member]) => (member === undefined ? "*" : { member }))

/** Whether a place is in the elements of a list. */
export const isInList = (place: ReplyPlace): boolean => place.includes("*")

export interface Found {
  readonly value: unknown
  readonly path: JsonPath
}

/** The most values that are read at one place; one more is found if there are more. */
export const mostValues = 10_000

/** The values at a place, in their order. */
export const valuesAt = (json: unknown, place: ReplyPlace): ReadonlyArray<Found> => {
  let found: ReadonlyArray<Found> = [{ value: json, path: [] }]
  for (const step of place) {
    found = found.flatMap((at) => below(at, step)).slice(0, mostValues + 1)
  }
  return found
}

const below = ({ value, path }: Found, step: ReplyPlace[number]): ReadonlyArray<Found> => {
  if (step === "*") {
    return Array.isArray(value) ? value.map((each: unknown, at) => ({ value: each, path: [...path, at] })) : []
  }
  const { member } = step
  return isObject(value) && Object.hasOwn(value, member) ? [{ value: value[member], path: [...path, member] }] : []
}
