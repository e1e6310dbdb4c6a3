/** The parameters and the body of an operation as the arguments of a tool. */
import { isObject, type JsonObject, objectAt, stringAt } from "../../dialects/parse/json.ts"
import { argumentNameOf, isArgumentName } from "./names.ts"
import type { FieldStyle, OperationBody, OperationParameter, ParameterPlace, ParameterStyle } from "./operation.ts"
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
const isStyle = (value: unknown): value is ParameterStyle => styles.has(value)

/** The parameters of an operation and of its path; the operation's replace those with the same name and place. */
export const parametersOf = (
  document: JsonObject,
  pathItem: JsonObject,
  operation: JsonObject,
  reader: SchemaReader,
  collected: Arguments,
): ReadonlyArray<OperationParameter> | Unsupported => {
  const found = new Map<string, JsonObject>()
  for (const each of [...listAt(pathItem, "parameters"), ...listAt(operation, "parameters")]) {
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

const listAt = (value: JsonObject, name: string): ReadonlyArray<unknown> => {
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

const explodeOf = (explode: unknown, style: ParameterStyle): boolean =>
  typeof explode === "boolean" ? explode : style === "form" || style === "deepObject"

/** The body of an operation; undefined if it has none. */
export const bodyOf = (
  document: JsonObject,
  operation: JsonObject,
  reader: SchemaReader,
  collected: Arguments,
): OperationBody | Unsupported | undefined => {
  const body = followed(document, operation["requestBody"])
  const content = objectAt(body, "content")
  if (body === undefined || content === undefined) return undefined
  const isRequired = body["required"] === true
  const [contentType, form, media] = chosenContent(content) ?? []
  if (contentType === undefined || form === undefined || media === undefined) {
    const types = Object.keys(content).join(", ").slice(0, 200)
    return types === "" ? undefined : { problem: `its body has no form that is supported: ${types}` }
  }
  const found = { contentType, form, isRequired, styles: stylesOf(media) }
  const merged = form === "text" ? undefined : propertiesOf(document, media["schema"])
  if (merged !== undefined && canMerge(merged, collected)) {
    const own: Array<string> = []
    const asObject = reader.read({ type: "object", properties: merged.properties, required: merged.required })
    for (const [name, schema] of Object.entries(objectAt(objectOf(asObject), "properties") ?? {})) {
      collected.properties.set(name, isObject(schema) ? schema : true)
      own.push(name)
    }
    if (isRequired) collected.required.push(...merged.required.filter((name) => own.includes(name)))
    return { ...found, argument: undefined, properties: own }
  }
  const argument = argumentNameOf("body", "content", new Set(collected.properties.keys()))
  const schema = form === "text" ? { type: "string" } : objectOf(reader.read(media["schema"] ?? {}))
  const description = stringAt(body, "description")
  collected.properties.set(argument, {
    ...(description !== undefined && { description: description.slice(0, 2000) }),
    ...schema,
  })
  if (isRequired) collected.required.push(argument)
  return { ...found, argument, properties: [] }
}

const objectOf = (schema: JsonObject | boolean): JsonObject => (typeof schema === "boolean" ? {} : schema)

/** The body's content type that is sent: JSON if it has one, or else a form, or else text. */
const chosenContent = (
  content: JsonObject,
): readonly [contentType: string, form: OperationBody["form"], media: JsonObject] | undefined => {
  const types = Object.entries(content).flatMap(([type, media]) => (isObject(media) ? [[type, media] as const] : []))
  for (const [pattern, form, replacement] of contentForms) {
    const found = types.find(([type]) => pattern.test(type))
    if (found !== undefined) return [found[0].includes("*") ? replacement : found[0], form, found[1]]
  }
  return undefined
}

const contentForms = [
  [/^application\/(?:[\w.-]+\+)?json\s*(?:;|$)/i, "json", "application/json"],
  [/^(?:\*|application)\/\*$/i, "json", "application/json"],
  [/^application\/x-www-form-urlencoded\s*(?:;|$)/i, "urlencoded", "application/x-www-form-urlencoded"],
  [/^text\//i, "text", "text/plain"],
] as const

const stylesOf = (media: JsonObject): Readonly<Record<string, FieldStyle>> =>
  Object.fromEntries(
    Object.entries(objectAt(media, "encoding") ?? {}).flatMap(([name, encoding]) => {
      if (!isObject(encoding) || !isStyle(encoding["style"])) return []
      const { style, explode } = encoding
      return [[name, { style, explode: explodeOf(explode, style) }]]
    }),
  )

interface ObjectSchema {
  readonly properties: Readonly<Record<string, unknown>>
  readonly required: ReadonlyArray<string>
}

/** Schemas of `allOf` are looked into this deep. */
const maxAllOf = 8

/** The properties of an object's schema, those of its `allOf` too; undefined if the object is more than its properties. */
const propertiesOf = (document: JsonObject, schema: unknown, depth = 0): ObjectSchema | undefined => {
  const found = followed(document, schema)
  if (found === undefined || depth > maxAllOf) return undefined
  if (more.some((name) => name in found && found[name] !== false) || found["nullable"] === true) return undefined
  if (found["type"] !== undefined && found["type"] !== "object") return undefined
  const own = objectAt(found, "properties")
  const required = listAt(found, "required").filter((name) => typeof name === "string")
  const parts: Array<ObjectSchema> = [{ properties: own ?? {}, required }]
  for (const each of listAt(found, "allOf")) {
    const part = propertiesOf(document, each, depth + 1)
    if (part === undefined) return undefined
    parts.push(part)
  }
  const names = parts.flatMap(({ properties }) => Object.keys(properties))
  // Two schemas of one property both count: they stay where they are.
  if (names.length === 0 || new Set(names).size < names.length) return undefined
  return {
    properties: Object.fromEntries(parts.flatMap(({ properties }) => Object.entries(properties))),
    required: [...new Set(parts.flatMap((part) => part.required))],
  }
}

/** Keywords that say more of an object than its properties do. */
const more = [
  "additionalProperties",
  "patternProperties",
  "oneOf",
  "anyOf",
  "not",
  "if",
  "discriminator",
  "minProperties",
]

const canMerge = ({ properties }: ObjectSchema, { properties: taken }: Arguments): boolean =>
  Object.keys(properties).every((name) => isArgumentName(name) && !taken.has(name))
