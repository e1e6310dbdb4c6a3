/**
 * Fields of Google's messages. Its JSON takes a name in two forms, `clientContent` and `client_content`: Google's SDKs send
 * both. Source: https://protobuf.dev/programming-guides/json
 */
import { isObject, type JsonObject } from "../parse/json.ts"

const otherForm = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/** The form in which an object has a field; undefined if it has none. */
export const formIn = (object: JsonObject, name: string): string | undefined => {
  if (object[name] !== undefined && object[name] !== null) return name
  const other = otherForm(name)
  return object[other] === undefined || object[other] === null ? undefined : other
}

/** The value of a field, in the form that the object has. */
export const fieldAt = (object: JsonObject | undefined, name: string): unknown => {
  const form = object && formIn(object, name)
  return form === undefined ? undefined : object?.[form]
}

export const messageAt = (object: JsonObject | undefined, name: string): JsonObject | undefined => {
  const value = fieldAt(object, name)
  return isObject(value) ? value : undefined
}

export const messagesAt = (object: JsonObject | undefined, name: string): ReadonlyArray<JsonObject> => {
  const value = fieldAt(object, name)
  return Array.isArray(value) ? value.filter(isObject) : []
}

export const textAt = (object: JsonObject | undefined, name: string): string | undefined => {
  const value = fieldAt(object, name)
  return typeof value === "string" ? value : undefined
}

/**
 * The name of a field that an object has in both forms, at any depth, which readers read differently. Members of arguments,
 * results and schemas have names of the client's own.
 */
export const twiceIn = (value: unknown): string | undefined => {
  if (Array.isArray(value)) return firstOf(value)
  if (!isObject(value)) return undefined
  for (const name of Object.keys(value)) {
    const other = otherForm(name)
    if (other !== name && Object.hasOwn(value, other)) return name
  }
  return firstOf(Object.entries(value).flatMap(([name, each]) => (ownNames.has(name) ? [] : [each])))
}

const firstOf = (values: ReadonlyArray<unknown>): string | undefined => {
  for (const value of values) {
    const found = twiceIn(value)
    if (found !== undefined) return found
  }
  return undefined
}

const ownNames: ReadonlySet<string> = new Set([
  "args",
  "response",
  "properties",
  "parametersJsonSchema",
  "parameters_json_schema",
  "responseJsonSchema",
  "response_json_schema",
  "labels",
])
