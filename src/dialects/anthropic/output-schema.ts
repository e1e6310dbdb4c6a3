/**
 * Schemas of structured output as Claude takes them: keywords that it refuses become a part of the description, as in
 * Anthropic's own SDKs. Source:
 * https://platform.claude.com/docs/en/build-with-claude/structured-outputs#json-schema-limitations
 */
import type { StructuredOutput } from "../../protocol/exchange.ts"
import { isJsonObject, mapSchemas } from "../vendor/schemas.ts"

type Schema = StructuredOutput["schema"]

const taken = new Set([
  "$defs",
  "definitions",
  "$ref",
  "type",
  "anyOf",
  "allOf",
  "enum",
  "const",
  "description",
  "title",
  "default",
  "properties",
  "required",
  "additionalProperties",
  "items",
])

const formats = new Set(["date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"])

export const claudeSchema = (schema: Schema): Schema => {
  const inside = mapSchemas(schema, claudeSchema)
  const kept: Record<string, Schema[string]> = {}
  const told: Array<string> = []
  for (const [name, value] of Object.entries(inside)) {
    if (name === "$schema") continue
    if (isTaken(name, value)) kept[name] = value
    // The model does not check which of several branches fits.
    else if (name === "oneOf" && inside["anyOf"] === undefined) kept["anyOf"] = value
    else told.push(`${name}: ${JSON.stringify(value)}`)
  }
  if (inside["type"] === "object") {
    kept["additionalProperties"] = false
    if (!isJsonObject(inside["properties"])) kept["properties"] = {}
  }
  if (told.length === 0) return kept
  const described = typeof kept["description"] === "string" ? `${kept["description"]}\n\n` : ""
  return { ...kept, description: `${described}{${told.join(", ")}}` }
}

const isTaken = (name: string, value: Schema[string]): boolean => {
  if (name === "format") return typeof value === "string" && formats.has(value)
  if (name === "minItems") return value === 0 || value === 1
  return taken.has(name)
}
