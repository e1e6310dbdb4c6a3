/**
 * Completes the derived OpenAPI document: one shared error envelope, an example for each body, and one for each error
 * of each route. Source: OpenAPI 3.1, "Media Type Object".
 */
import { Schema } from "effect"
import { type ErrorCode, errorCodes } from "./error.ts"
import { errorDetails, exampleEvents, examples, numbers, words } from "./examples.ts"
import { isJsonObject, type Json, type JsonObject } from "./json/json-value.ts"

/** Transforms the document that is derived from the API. */
export const completeOpenApi = (document: Record<string, unknown>): Record<string, unknown> => {
  const spec = oneEnvelope(Schema.decodeUnknownSync(Schema.JsonObject)(document))
  const components = isJsonObject(spec["components"]) ? spec["components"] : {}
  const schemas = isJsonObject(components["schemas"]) ? components["schemas"] : {}
  const paths = isJsonObject(spec["paths"]) ? spec["paths"] : {}
  return { ...spec, paths: mapValues(paths, (path) => mapValues(path, (operation) => exemplify(operation, schemas))) }
}

const mapValues = (value: Json, change: (member: Json, key: string) => Json): Json =>
  isJsonObject(value)
    ? Object.fromEntries(Object.entries(value).map(([key, member]) => [key, change(member, key)]))
    : value

const copy = /^#\/components\/schemas\/ErrorEnvelope_\d+$/

/** Replaces the copies of the envelope, one per route, by a reference to one schema. */
const oneEnvelope = (spec: JsonObject): JsonObject => {
  const visit = (value: Json): Json => {
    if (Array.isArray(value)) return value.map(visit)
    if (!isJsonObject(value)) return value
    return Object.fromEntries(
      Object.entries(value)
        .filter(([key]) => !/^ErrorEnvelope_\d+$/.test(key))
        .map(([key, member]) => [
          key,
          key === "$ref" && typeof member === "string" && copy.test(member)
            ? "#/components/schemas/ErrorEnvelope"
            : visit(member),
        ]),
    )
  }
  const visited = visit(spec)
  return isJsonObject(visited) ? visited : spec
}

const exemplify = (operation: Json, schemas: JsonObject): Json => {
  if (!isJsonObject(operation)) return operation
  const { requestBody, responses } = operation
  return {
    ...operation,
    ...(requestBody !== undefined && { requestBody: withExample(requestBody, schemas) }),
    ...(responses !== undefined && {
      responses: withErrorPage(
        mapValues(responses, (response, status) =>
          Number(status) < 400 ? withExample(response, schemas) : withErrors(response),
        ),
      ),
    }),
  }
}

/** Routes that redirect are opened by browsers, which receive errors as a page. */
const withErrorPage = (responses: Json): Json => {
  if (!isJsonObject(responses) || responses["302"] === undefined) return responses
  const content = { "text/html": { schema: { type: "string" } } }
  return { ...responses, default: { description: "For clients that accept text/html, an error is a page", content } }
}

const withExample = (body: Json, schemas: JsonObject): Json =>
  mapMember(body, "content", (content) =>
    mapValues(content, (media, type) => {
      if (!isJsonObject(media) || media["schema"] === undefined) return media
      if (type === "text/event-stream") return eventStream(media["schema"])
      return type === "application/json" ? { ...media, example: exampleOf(media["schema"], "", schemas) } : media
    }),
  )

/**
 * The schema of an event stream is that of one event, with an example of each: client generators use it. OpenAPI 3.1 has no
 * member for the items of a stream (`itemSchema` of 3.2).
 */
const eventStream = (event: Json): Json => ({
  schema: event,
  examples: Object.fromEntries(
    (exampleEvents[nameOf(event)] ?? []).map((value, at) => [`${at + 1}. ${value.event}`, { value: { ...value } }]),
  ),
})

const nameOf = (schema: Json): string =>
  isJsonObject(schema) && typeof schema["$ref"] === "string" ? (schema["$ref"].split("/").at(-1) ?? "") : ""

/** An example for each code in the description. */
const withErrors = (response: Json): Json => {
  const description = isJsonObject(response) ? response["description"] : ""
  const codes = errorCodes.filter((code) => String(description).split(", ").includes(code))
  return mapMember(response, "content", (content) =>
    mapValues(content, (media) => (isJsonObject(media) ? { ...media, examples: errorExamples(codes) } : media)),
  )
}

const errorExamples = (codes: ReadonlyArray<ErrorCode>): JsonObject =>
  Object.fromEntries(
    codes.map((code) => {
      const { message, detail } = errorDetails[code] ?? { message: code.replaceAll("_", " ") }
      const error = { code, message, requestId: words["requestId"] ?? "", ...(detail !== undefined && { detail }) }
      return [code, { value: { error } }]
    }),
  )

const mapMember = (value: Json, key: string, change: (member: Json) => Json): Json => {
  const member = isJsonObject(value) ? value[key] : undefined
  return isJsonObject(value) && member !== undefined ? { ...value, [key]: change(member) } : value
}

/** A value of a schema: by schema name if there is one, otherwise built from its members. */
const exampleOf = (schema: Json, name: string, schemas: JsonObject): Json => {
  if (!isJsonObject(schema)) return {}
  const { $ref, type, anyOf, properties, items } = schema
  if (typeof $ref === "string") {
    const named = $ref.slice($ref.lastIndexOf("/") + 1)
    return examples[named] ?? exampleOf(schemas[named] ?? {}, name, schemas)
  }
  const choices = schema["enum"]
  if (Array.isArray(choices)) return choices[0] ?? null
  if (Array.isArray(anyOf)) return exampleOf(anyOf[0] ?? {}, name, schemas)
  switch (type) {
    case "object":
      return isJsonObject(properties) ? mapValues(properties, (member, key) => exampleOf(member, key, schemas)) : {}
    case "array":
      return items === undefined ? [] : [exampleOf(items, name, schemas)]
    case "string":
      return words[name] ?? "text"
    case "integer":
    case "number":
      return numbers[name] ?? 1
    case "boolean":
      return true
    case "null":
      return null
    default:
      return words[name] ?? {}
  }
}
