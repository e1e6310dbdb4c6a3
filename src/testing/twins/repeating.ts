/** A script for twins: it repeats its input, and calls a tool that it is asked for. */
import { type JsonObject, objectAt, parseObject, stringAt } from "../../dialects/parse/json.ts"
import type { TwinAsked, TwinReply, TwinScript } from "./twin.ts"

export const repeating: TwinScript = (asked) => {
  const call = askedTool(asked)
  if (call !== undefined) return { blocks: [{ t: "call", ...call }] }
  return { blocks: [{ t: "text", pieces: `You said: ${textOf(asked)}`.split(/(?<=\s)/) }] }
}

const textOf = ({ texts }: TwinAsked): string => (texts.length === 0 ? "something I cannot read" : texts.join("\n"))

type Call = Omit<Extract<TwinReply["blocks"][number], { readonly t: "call" }>, "t">

/**
 * The tool that the last turn names, with the JSON object after its name, as in `weather {"city": "Oslo"}`, or the
 * tool that the request demands. Arguments that are not given are examples by the tool's schema. A tool that takes a text gets
 * the object's `input`.
 */
const askedTool = (asked: TwinAsked): Call | undefined => {
  const { choice, calls } = asked
  if (asked.hasResults || choice === "none") return undefined
  const text = textOf(asked)
  const words = text.split(/[^\w-]+/)
  const tools = asked.tools.map((tool) => ({ ...tool, told: argumentsAfter(text, tool.name) }))
  const named =
    tools.find(({ name }) => typeof choice === "object" && name === choice.name) ??
    tools.find(({ told }) => told !== undefined) ??
    tools.find(({ name }) => words.includes(name)) ??
    (choice === "required" ? tools[0] : undefined)
  if (named === undefined) return undefined
  const { name, told, schema, takesText = false } = named
  // No two calls of a thread have the same id.
  const id = calls === 0 ? `call_${name}` : `call_${name}_${calls}`
  if (takesText) return { id, name, args: "{}", text: stringAt(told, "input") ?? "example" }
  return { id, name, args: JSON.stringify(told ?? exampleOf(schema)) }
}

/** A text as a pattern that matches it alone; `RegExp.escape` is not in Node 22. */
const escaped = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|-]/g, "\\$&")

const argumentsAfter = (text: string, name: string): JsonObject | undefined => {
  const at = ` ${text}`.search(new RegExp(`[^\\w-]${escaped(name)}\\s*\\{`))
  if (at === -1) return undefined
  const start = text.indexOf("{", at)
  for (let end = text.indexOf("}", start); end !== -1; end = text.indexOf("}", end + 1)) {
    const args = parseObject(text.slice(start, end + 1))
    if (args !== undefined) return args
  }
  return undefined
}

const exampleOf = (schema: JsonObject): object => {
  const properties = objectAt(schema, "properties")
  const required = Array.isArray(schema["required"]) ? schema["required"].map(String) : []
  return Object.fromEntries(required.map((name) => [name, exampleValue(objectAt(properties, name))]))
}

const exampleValue = (schema: JsonObject | undefined): unknown => {
  const [first] = Array.isArray(schema?.["enum"]) ? schema["enum"] : []
  if (first !== undefined) return first
  switch (stringAt(schema, "type")) {
    case "integer":
    case "number":
      return 1
    case "boolean":
      return true
    case "array":
      return []
    case "object":
      return exampleOf(schema ?? {})
    default:
      return "example"
  }
}
