/**
 * Values of parameters as text, in the styles of OpenAPI.
 * @see https://spec.openapis.org/oas/v3.1.1.html#style-values
 */
import { isObject, type JsonObject } from "../../dialects/parse/json.ts"
import type { FieldStyle, OperationParameter } from "./operation.ts"

/** An argument; undefined if there is none of its own. */
export const own = (args: JsonObject, name: string): unknown => (Object.hasOwn(args, name) ? args[name] : undefined)

/** Encodes all but unreserved characters; lone surrogates too. */
export const encoded = (text: string): string =>
  encodeURIComponent(text.toWellFormed()).replace(
    /[!'()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  )

/** Keeps reserved characters, except for those that divide a query. */
const encodedReserved = (text: string): string =>
  encodeURIComponent(text.toWellFormed()).replace(/%(3A|2F|3F|40|24|2C|3B|5B|5D)/gi, (code) => decodeURIComponent(code))

/** A value within another one: text, or JSON. */
export const textOf = (value: unknown): string => (typeof value === "string" ? value : (JSON.stringify(value) ?? ""))

const membersOf = (value: JsonObject): ReadonlyArray<readonly [name: string, value: unknown]> =>
  Object.entries(value).filter(([, member]) => member !== null && member !== undefined)

/** The text of a parameter in a path. */
export const pathValueOf = ({ name, style, explode }: OperationParameter, value: unknown): string => {
  const own = encoded(name)
  if (!Array.isArray(value) && !isObject(value)) {
    const text = encoded(textOf(value))
    return style === "matrix" ? `;${own}=${text}` : style === "label" ? `.${text}` : text
  }
  const separator = style === "label" ? (explode ? "." : ",") : style === "matrix" && explode ? ";" : ","
  const parts = isObject(value)
    ? membersOf(value).map(([member, each]) => `${encoded(member)}${explode ? "=" : ","}${encoded(textOf(each))}`)
    : value.map((each: unknown) => `${style === "matrix" && explode ? `${own}=` : ""}${encoded(textOf(each))}`)
  const text = parts.join(separator)
  if (style === "label") return `.${text}`
  if (style === "matrix") return explode ? `;${text}` : `;${own}=${text}`
  return text
}

/** The text of a header. */
export const headerValueOf = ({ explode }: OperationParameter, value: unknown): string => {
  if (Array.isArray(value)) return value.map(textOf).join(",")
  if (!isObject(value)) return textOf(value)
  return membersOf(value)
    .map(([name, each]) => `${name}${explode ? "=" : ","}${textOf(each)}`)
    .join(",")
}

/** The pairs of a parameter in a query, or of a field in a form: `name=value`, encoded. */
export const pairsOf = (
  name: string,
  { style, explode }: FieldStyle,
  value: unknown,
  allowsReserved = false,
): ReadonlyArray<string> => {
  const write = allowsReserved ? encodedReserved : encoded
  const pair = (key: string, each: unknown): string => `${key}=${write(textOf(each))}`
  const own = encoded(name)
  if (value === null || value === undefined) return []
  if (style === "deepObject" && (isObject(value) || Array.isArray(value))) return deepPairs(own, value, pair)
  if (Array.isArray(value)) {
    if (value.length === 0) return []
    if (explode) return value.map((each: unknown) => pair(own, each))
    return [`${own}=${value.map((each: unknown) => write(textOf(each))).join(separatorOf(style))}`]
  }
  if (!isObject(value)) return [pair(own, value)]
  if (explode) return membersOf(value).flatMap(([key, each]) => pairsOf(key, { style: "form", explode }, each))
  const parts = membersOf(value).flatMap(([key, each]) => [encoded(key), write(textOf(each))])
  return [`${own}=${parts.join(separatorOf(style))}`]
}

const separatorOf = (style: FieldStyle["style"]): string =>
  style === "spaceDelimited" ? "%20" : style === "pipeDelimited" ? "%7C" : ","

/** Objects in objects are not read deeper: they are written as JSON. */
const maxDeep = 8

/** `filter[a][b]=1` and `filter[list][]=1`, as most servers read them; the specification has no lists and no depth. */
const deepPairs = (
  prefix: string,
  value: JsonObject | ReadonlyArray<unknown>,
  pair: (key: string, value: unknown) => string,
  depth = 0,
): ReadonlyArray<string> => {
  const members: ReadonlyArray<readonly [key: string, value: unknown]> = isObject(value)
    ? membersOf(value)
    : value.map((each) => ["", each] as const)
  return members.flatMap(([key, each]) => {
    const name = `${prefix}%5B${encoded(key)}%5D`
    const isDeeper = depth < maxDeep && (isObject(each) || Array.isArray(each))
    return isDeeper ? deepPairs(name, each, pair, depth + 1) : [pair(name, each)]
  })
}
