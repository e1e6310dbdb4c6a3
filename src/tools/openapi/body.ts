/** The body of an operation as arguments of a tool. */
import { isObject, type JsonObject, objectAt, stringAt } from "../../dialects/parse/json.ts"
import { argumentNameOf, isArgumentName } from "./names.ts"
import type { FieldStyle, OperationBody } from "./operation.ts"
import { type Arguments, explodeOf, isStyle, listAt, type Unsupported } from "./parameters.ts"
import { followed } from "./references.ts"
import type { SchemaReader } from "./schemas.ts"

/** A type that a header may have. */
const headerText = /^[\t\x20-\x7e]+$/

const octets = "application/octet-stream"

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
  const merged = form === "text" || form === "binary" ? undefined : propertiesOf(document, media["schema"])
  if (merged !== undefined && canMerge(merged, collected)) {
    const own: Array<string> = []
    const files = form === "multipart" ? filesIn(document, merged) : {}
    const properties = { ...merged.properties, ...fileSchemas(merged, files) }
    const asObject = reader.read({ type: "object", properties, required: merged.required })
    for (const [name, schema] of Object.entries(objectAt(objectOf(asObject), "properties") ?? {})) {
      collected.properties.set(name, isObject(schema) ? schema : true)
      own.push(name)
    }
    if (isRequired) collected.required.push(...merged.required.filter((name) => own.includes(name)))
    return { ...found, argument: undefined, properties: own, files }
  }
  const argument = argumentNameOf("body", "content", new Set(collected.properties.keys()))
  const schema = argumentSchemas[form] ?? objectOf(reader.read(media["schema"] ?? {}))
  const description = stringAt(body, "description")
  collected.properties.set(argument, {
    ...(description !== undefined && { description: description.slice(0, 2000) }),
    ...schema,
  })
  if (isRequired) collected.required.push(argument)
  return { ...found, argument, properties: [], files: {} }
}

/** Schemas of bodies that are no JSON. */
const argumentSchemas: Readonly<Partial<Record<OperationBody["form"], JsonObject>>> = {
  text: { type: "string" },
  binary: { type: "string", contentEncoding: "base64" },
}

/** The fields of a form that are files, or lists of them, with their media types. */
const filesIn = (document: JsonObject, { properties }: ObjectSchema): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(properties).flatMap(([name, schema]) => {
      const own = followed(document, schema)
      const file = own?.["type"] === "array" ? followed(document, own["items"]) : own
      const mediaType = stringAt(file, "contentMediaType")
      if (file?.["format"] === "binary") return [[name, mediaType ?? octets]]
      return mediaType !== undefined && file?.["contentEncoding"] === undefined ? [[name, mediaType]] : []
    }),
  )

/** A tool's input has files as base64. */
const fileSchemas = ({ properties }: ObjectSchema, files: Readonly<Record<string, string>>): JsonObject =>
  Object.fromEntries(
    Object.keys(files).map((name) => {
      const schema = properties[name]
      const { description, type } = isObject(schema) ? schema : {}
      const file = { type: "string", contentEncoding: "base64" }
      return [
        name,
        { ...(type === "array" ? { type, items: file } : file), ...(description !== undefined && { description }) },
      ]
    }),
  )

const objectOf = (schema: JsonObject | boolean): JsonObject => (typeof schema === "boolean" ? {} : schema)

/** The body's content type that is sent: JSON if it has one, or else a form, or else text. */
const chosenContent = (
  content: JsonObject,
): readonly [contentType: string, form: OperationBody["form"], media: JsonObject] | undefined => {
  const types = Object.entries(content).flatMap(([type, media]) =>
    isObject(media) && headerText.test(type) ? [[type, media] as const] : [],
  )
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
  [/^multipart\/form-data\s*(?:;|$)/i, "multipart", "multipart/form-data"],
  [/^text\//i, "text", "text/plain"],
  [/^(?:image|audio|video|font|model)\//i, "binary", octets],
  [/^application\/(?:octet-stream|pdf|zip|gzip|x-tar|x-binary|vnd\.|msword)/i, "binary", octets],
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

/** A larger object is one argument. */
const mostProperties = 500

/** Schemas of `allOf` are looked into this deep. */
const maxAllOf = 8

/** The properties of an object's schema, those of its `allOf` too; undefined if the object is more than its properties. */
const propertiesOf = (document: JsonObject, schema: unknown, depth = 0): ObjectSchema | undefined => {
  const found = followed(document, schema)
  if (found === undefined || depth > maxAllOf) return undefined
  if (more.some((name) => name in found && found[name] !== false) || found["nullable"] === true) return undefined
  if (found["type"] !== undefined && found["type"] !== "object") return undefined
  const own = objectAt(found, "properties")
  if (own !== undefined && Object.keys(own).length > mostProperties) return undefined
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
