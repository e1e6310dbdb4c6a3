/** JSON Schemas as OpenAI takes them. Source: https://platform.openai.com/docs/guides/structured-outputs#supported-schemas */
import { isObject, type JsonObject, objectAt, objectsAt } from "../../../dialects/parse/json.ts"
import { listed } from "../rules.ts"

/** The fault of a schema of a function's parameters. */
export const parametersFault = (schema: JsonObject): string | undefined => {
  if (schema["type"] !== "object") {
    return `schema must be a JSON Schema of 'type: "object"', got 'type: "${String(schema["type"] ?? "None")}"'.`
  }
  return ["oneOf", "anyOf", "allOf", "enum", "not"].some((name) => name in schema)
    ? "schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level."
    : incomplete(schema, [])
}

/** The first object without properties, or list without items. */
const incomplete = (schema: JsonObject, context: ReadonlyArray<string>): string | undefined => {
  const types = [schema["type"]].flat()
  if (types.includes("object") && !isObject(schema["properties"]))
    return at(context, "object schema missing properties.")
  if (types.includes("array") && schema["items"] === undefined && schema["prefixItems"] === undefined) {
    return at(context, "array schema missing items.")
  }
  return inner(schema, context, incomplete)
}

/** The fault of a schema that is followed strictly. */
export const strictFault = (schema: JsonObject, context: ReadonlyArray<string> = []): string | undefined => {
  if (schema["type"] === "object") {
    if (schema["additionalProperties"] !== false) {
      return at(context, "'additionalProperties' is required to be supplied and to be false.")
    }
    const required: unknown = schema["required"]
    const names = Array.isArray(required) ? required : []
    const missing = Object.keys(objectAt(schema, "properties") ?? {}).find((name) => !names.includes(name))
    if (missing !== undefined) {
      return at(
        context,
        `'required' is required to be supplied and to be an array including every key in properties. Missing '${missing}'.`,
      )
    }
  }
  return inner(schema, context, strictFault)
}

const at = (context: ReadonlyArray<string>, message: string): string =>
  `In context=(${context.map((name) => `'${name}'`).join(", ")}), ${message}`

type Look = (schema: JsonObject, context: ReadonlyArray<string>) => string | undefined

const inner = (schema: JsonObject, context: ReadonlyArray<string>, look: Look): string | undefined => {
  for (const group of ["properties", "$defs", "definitions"]) {
    const members = objectAt(schema, group)
    for (const name of Object.keys(members ?? {})) {
      const found = listed(objectAt(members, name)).map((each) => look(each, [...context, group, name]))[0]
      if (found !== undefined) return found
    }
  }
  const others = [
    ...listed(objectAt(schema, "items")),
    ...["anyOf", "oneOf", "allOf"].flatMap((name) => objectsAt(schema, name)),
  ]
  for (const each of others) {
    const found = look(each, [...context, "items"])
    if (found !== undefined) return found
  }
  return undefined
}
