/**
 * The simulated vendor, on loopback: answers chat completions and SearXNG searches by repeating what it
 * was asked, and calls a tool that it is asked for by name.
 */
import type { Effect, Schema, Scope } from "effect"
import { type JsonObject, objectAt, objectsAt, stringAt } from "../dialects/json.ts"
import {
  type ScriptedVendor,
  startScriptedVendor,
  type VendorCall,
  type VendorScript,
} from "../testing/scripted-vendor.ts"
import { answering, openaiFrame } from "../testing/vendor-replies.ts"

const pauseMs = 40

const answer: VendorScript = (call) => {
  if (call.path.startsWith("/search?")) return find(call)
  const tool = askedTool(call.body)
  return tool === undefined ? echo(call) : callTool(call, tool)
}

const find: VendorScript = (call) => {
  const query = new URLSearchParams(call.path.slice(call.path.indexOf("?"))).get("q") ?? ""
  const results = Array.from({ length: 10 }, (_, at) => ({
    title: `${query}, result ${at + 1}`,
    url: `https://example.com/search/${at + 1}?${new URLSearchParams({ q: query })}`,
    content: `A page that says something about ${query}.`,
  }))
  call.head(200, { "content-type": "application/json" })
  call.end(JSON.stringify({ results }))
}

const echo: VendorScript = (call) => {
  const question = lastText(call.body["messages"] ?? null)
  const words = `You said: ${question}`.split(/(?<=\s)/)
  return answering(
    { words, inTokens: Math.ceil(JSON.stringify(call.body).length / 4), outTokens: words.length },
    pauseMs,
  )(call)
}

interface OfferedTool {
  readonly name: string
  readonly schema: JsonObject
}

/** The tool that the last message names, or that the request demands. */
const askedTool = (body: VendorCall["body"]): OfferedTool | undefined => {
  const tools = objectsAt(body, "tools").map((tool) => {
    const fn = objectAt(tool, "function")
    return { name: stringAt(fn, "name") ?? "", schema: objectAt(fn, "parameters") ?? {} }
  })
  const last = objectsAt(body, "messages").at(-1)
  if (stringAt(last, "role") !== "user" || body["tool_choice"] === "none") return undefined
  const demanded = stringAt(objectAt(objectAt(body, "tool_choice"), "function"), "name")
  const words = lastText(body["messages"] ?? null).split(/[^\w-]+/)
  const named = tools.find(({ name }) => name === demanded || words.includes(name))
  return named ?? (body["tool_choice"] === "required" ? tools[0] : undefined)
}

/** Calls a tool with an example of each argument that its schema requires. */
const callTool = (call: VendorCall, { name, schema }: OfferedTool): void => {
  const made = {
    id: `call_${name}`,
    type: "function",
    function: { name, arguments: JSON.stringify(exampleOf(schema)) },
  }
  const usage = { prompt_tokens: Math.ceil(JSON.stringify(call.body).length / 4), completion_tokens: 20 }
  const choice = { index: 0, finish_reason: "tool_calls" }
  if (!call.streaming) {
    call.head(200, { "content-type": "application/json" })
    const message = { role: "assistant", content: null, tool_calls: [made] }
    call.end(JSON.stringify({ object: "chat.completion", choices: [{ ...choice, message }], usage }))
    return
  }
  call.head()
  const delta = { role: "assistant", tool_calls: [{ index: 0, ...made }] }
  call.end(
    openaiFrame({ choices: [{ index: 0, delta, finish_reason: null }] }) +
      openaiFrame({ choices: [{ ...choice, delta: {} }], usage }) +
      openaiFrame("[DONE]"),
  )
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

function lastText(messages: Schema.Json): string {
  const last = Array.isArray(messages) ? messages.at(-1) : undefined
  const content: unknown = last?.content
  if (typeof content === "string") return content
  const texts = objectsAt({ content }, "content").flatMap((part) => stringAt(part, "text") ?? [])
  return texts.length === 0 ? "something I cannot read" : texts.join("\n")
}

export const startSimulatedVendor: Effect.Effect<ScriptedVendor, never, Scope.Scope> = startScriptedVendor(answer)
