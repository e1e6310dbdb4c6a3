/** The parameters of an operation as the arguments of a tool. */
import { isObject, type JsonObject, objectAt, stringAt } from "../../dialects/parse/json.ts"
import { argumentNameOf } from "./names.ts"
import type { OperationParameter, ParameterPlace, ParameterStyle } from "./operation.ts"
import { followed } from "./references.ts"
import type { SchemaReader } from "./schemas.ts"

/** Arguments with their schemas, while they are collected. */
export interface Arguments {
  readonly properties: Map<string, JsonObject | boolean>
  readonly required: Array<string>
}

/** An operation that cannot be called, with the reason. */
export interface Unsupported {
  readonly problem: string
}

export const isUnsupported = (value: object | undefined): value is Unsupported =>
  value !== undefined && "problem" in value

/** Headers that the gateway writes itself, or that are not a parameter's by the specification. */
const ownHeaders =
  /^(accept|accept-encoding|authorization|connection|content-.*|cookie|expect|host|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|forwarded|x-forwarded-.*)$/i

const headerName = /^[!#$%&'*+\-.^_`|~\w]+$/

const places: ReadonlySet<unknown> = new Set(["path", "query", "header"])
const isPlace = (value: unknown): value is ParameterPlace => places.has(value)

const styles: ReadonlySet<unknown> = new Set([
  "simple",
  "label",
  "matrix",
  "form",
  "spaceDelimited",
  "pipeDelimited",
  "deepObject",
])
export const isStyle = (value: unknown): value is ParameterStyle => styles.has(value)

const mostParameters = 500

/** The parameters of an operation and of its path; the operation's replace those with the same name and place. */
export const parametersOf = (
  document: JsonObject,
  pathItem: JsonObject,
  operation: JsonObject,
  reader: SchemaReader,
  collected: Arguments,
): ReadonlyArray<OperationParameter> | Unsupported => {
  const found = new Map<string, JsonObject>()
  const given = [...listAt(pathItem, "parameters"), ...listAt(operation, "parameters")]
  if (given.length > mostParameters) return { problem: "it has too many parameters" }
  for (const each of given) {
    const parameter = followed(document, each)
    if (parameter === undefined) return { problem: "a parameter's reference leads nowhere" }
    found.set(`${parameter["in"]} ${parameter["name"]}`, parameter)
  }
  const parameters: Array<OperationParameter> = []
  for (const parameter of found.values()) {
    const read = parameterOf(document, parameter, reader, collected)
    if (isUnsupported(read)) return read
    if (read !== undefined) parameters.push(read)
  }
  return parameters
}

export const listAt = (value: JsonObject, name: string): ReadonlyArray<unknown> => {
  const list = value[name]
  return Array.isArray(list) ? list : []
}

/** @returns undefined for a parameter that is left out */
const parameterOf = (
  document: JsonObject,
  parameter: JsonObject,
  reader: SchemaReader,
  collected: Arguments,
): OperationParameter | Unsupported | undefined => {
  const { in: place, name, required } = parameter
  if (typeof name !== "string" || name === "") return { problem: "a parameter has no name" }
  const isLeftOut = place === "header" && ownHeaders.test(name)
  if (!isPlace(place) || isLeftOut || (place === "header" && !headerName.test(name))) {
    const isNeeded = required === true && !isLeftOut
    return isNeeded ? { problem: `the parameter ${name} is in a place that is not supported: ${place}` } : undefined
  }
  const isRequired = place === "path" || required === true
  const media = Object.values(objectAt(parameter, "content") ?? {}).find(isObject)
  const schema = media?.["schema"] ?? parameter["schema"] ?? {}
  const value = followed(document, schema)?.["default"]
  const argument = argumentNameOf(name, place, new Set(collected.properties.keys()))
  const read = reader.read(schema)
  const description = stringAt(parameter, "description")
  collected.properties.set(
    argument,
    description === undefined || typeof read === "boolean"
      ? read
      : { ...read, description: description.slice(0, 2000) },
  )
  if (isRequired && value === undefined) collected.required.push(argument)
  const style = isStyle(parameter["style"]) ? parameter["style"] : place === "query" ? "form" : "simple"
  return {
    argument,
    name,
    place,
    style,
    explode: explodeOf(parameter["explode"], style),
    isRequired,
    isJson: media !== undefined,
    allowsReserved: parameter["allowReserved"] === true,
    default: value,
  }
}

export const explodeOf = (explode: unknown, style: ParameterStyle): boolean =>
  typeof explode === "boolean" ? explode : style === "form" || style === "deepObject"
