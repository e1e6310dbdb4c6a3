/** JSON Schemas as vendors take them. A schema that a vendor takes as it is, is not copied. */
import type { Tool } from "../protocol/exchange.ts"
import type { VendorRequest } from "./dialect.ts"
import { isObject, type JsonObject, objectAt, objectsAt } from "./json.ts"

type Schema = Tool["inputSchema"]

/** Changes the schemas of tools. */
export const withToolSchemas =
  (change: (schema: Schema) => Schema) =>
  (request: VendorRequest): VendorRequest => {
    const tools = request.tools.map((tool) => {
      const inputSchema = change(tool.inputSchema)
      return inputSchema === tool.inputSchema ? tool : { ...tool, inputSchema }
    })
    return tools.every((tool, at) => tool === request.tools[at]) ? request : { ...request, tools }
  }

/** A schema for any object: so JSON mode is said. */
export const isAnyObject = (schema: Schema): boolean =>
  schema["type"] === "object" &&
  Object.entries(schema).every(
    ([name, value]) => name === "type" || (name === "additionalProperties" && value === true),
  )

/** The schema of a tool's input, which is an object. */
export const ofObject = (schema: Schema): Schema =>
  schema["type"] === "object" ? schema : { ...schema, type: "object" }

/** Objects have properties, and lists have items, at every depth. */
export const withProperties = (schema: Schema): Schema => {
  const inside = mapSchemas(schema, withProperties)
  const types = Array.isArray(schema["type"]) ? schema["type"] : [schema["type"]]
  return {
    ...inside,
    ...(types.includes("object") && !isObject(schema["properties"]) && { properties: {} }),
    ...(types.includes("array") &&
      schema["items"] === undefined &&
      schema["prefixItems"] === undefined && { items: {} }),
  }
}

const branches = ["anyOf", "oneOf", "allOf"] as const

/**
 * A schema without choices on top: the properties of all branches together. Of those, only what `allOf` and the schema itself
 * require is required.
 */
export const withoutTopBranches = (schema: Schema): Schema => {
  if (!branches.some((name) => name in schema)) return schema
  const { anyOf, oneOf, allOf, ...rest } = schema
  const every = objectsAt({ allOf }, "allOf")
  const some = [...objectsAt({ anyOf }, "anyOf"), ...objectsAt({ oneOf }, "oneOf")]
  const properties = Object.assign({}, ...[...some, ...every, schema].map((each) => objectAt(each, "properties") ?? {}))
  const required = [...new Set([schema, ...every].flatMap(requiredIn))]
  return jsonOf({ ...rest, properties, ...(required.length > 0 && { required }) })
}

const requiredIn = ({ required }: JsonObject): ReadonlyArray<unknown> => (Array.isArray(required) ? required : [])

/** The same schema with other schemas inside. */
export const mapSchemas = (schema: Schema, change: (inner: Schema) => Schema): Schema => {
  const mapped: Record<string, Schema[string]> = { ...schema }
  for (const name of ["properties", "$defs", "definitions", "patternProperties"]) {
    const members = schema[name]
    if (isJsonObject(members)) {
      mapped[name] = Object.fromEntries(
        Object.entries(members).map(([key, inner]) => [key, isJsonObject(inner) ? change(inner) : inner]),
      )
    }
  }
  for (const name of [...branches, "prefixItems"]) {
    const list = schema[name]
    if (Array.isArray(list)) mapped[name] = list.map((inner) => (isJsonObject(inner) ? change(inner) : inner))
  }
  for (const name of ["items", "additionalProperties", "not"]) {
    const inner = schema[name]
    if (isJsonObject(inner)) mapped[name] = change(inner)
  }
  return mapped
}

export const isJsonObject = (value: Schema[string] | undefined): value is Schema => isObject(value)

/** JSON again, of what was put together from JSON. */
const jsonOf = (schema: JsonObject): Schema => JSON.parse(JSON.stringify(schema))
