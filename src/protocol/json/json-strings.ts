/** The strings and numbers of a JSON value, with others in their places. Pure. */
import type { Schema } from "effect"
import type { JsonPath } from "./json-edit.ts"

export const isJsonObject = (value: Schema.Json): value is Schema.JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** @param map of each string, but not of names of members @param at the path of the object */
export const mapStrings = (
  value: Schema.JsonObject,
  map: (text: string, path: JsonPath) => string,
  at: JsonPath = [],
): Schema.JsonObject =>
  Object.fromEntries(Object.entries(value).map(([name, each]) => [name, mapped(each, map, [...at, name])]))

const mapped = (value: Schema.Json, map: (text: string, path: JsonPath) => string, path: JsonPath): Schema.Json => {
  if (typeof value === "string") return map(value, path)
  if (Array.isArray(value)) return value.map((each, at) => mapped(each, map, [...path, at]))
  return isJsonObject(value) ? mapStrings(value, map, path) : value
}

/** The same for numbers too: one whose text is mapped to another becomes that text. */
export const mapTexts = (value: Schema.JsonObject, map: (text: string) => string): Schema.JsonObject =>
  Object.fromEntries(Object.entries(value).map(([name, each]) => [name, mappedText(each, map)]))

const mappedText = (value: Schema.Json, map: (text: string) => string): Schema.Json => {
  if (typeof value === "string") return map(value)
  if (typeof value === "number") {
    const text = map(String(value))
    return text === String(value) ? value : text
  }
  if (Array.isArray(value)) return value.map((each) => mappedText(each, map))
  return isJsonObject(value) ? mapTexts(value, map) : value
}
