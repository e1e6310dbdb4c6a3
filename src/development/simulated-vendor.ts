/**
 * The simulated vendor, on loopback: answers chat completions and SearXNG searches by repeating what it was asked,
 * embeds, ranks and moderates texts by their words, speaks in realtime sessions, calls a tool that it is asked for by name, and lists its models.
 */
import type { Effect, Scope } from "effect"
import { type JsonObject, objectAt, objectsAt, parseObject, stringAt } from "../dialects/json.ts"
import {
  type ScriptedVendor,
  startScriptedVendor,
  type VendorCall,
  type VendorScript,
} from "../testing/scripted-vendor.ts"
import { answering, openaiFrame } from "../testing/vendor-replies.ts"
import { answerWhole } from "./simulated-kinds.ts"
import { answerMedia } from "./simulated-media.ts"
import { answerWithParameters, refusedField, refuseField, showsParameters } from "./simulated-parameters.ts"
import { speakRealtime } from "./simulated-realtime.ts"

const pauseMs = 40

const answer: VendorScript = (call) => {
  if (call.path === "/v1/models") return list(call)
  if (call.path.startsWith("/search?")) return find(call)
  const whole = answerWhole(call)
  if (whole !== undefined) return json(call, whole)
  const media = answerMedia(call)
  if (media !== undefined) return "json" in media ? json(call, media.json) : sound(call, media)
  const refused = refusedField(call)
  if (refused !== undefined) return refuseField(call, refused)
  const tool = askedTool(call.body)
  return tool === undefined ? echo(call) : callTool(call, tool)
}

const sound = (call: VendorCall, { type, bytes }: { readonly type: string; readonly bytes: Buffer }): void => {
  call.head(200, { "content-type": type })
  void call.write(bytes).then(() => call.end())
}

const json = (call: VendorCall, body: object): void => {
  call.head(200, { "content-type": "application/json" })
  call.end(JSON.stringify(body))
}

const list: VendorScript = (call) => json(call, { data: [{ id: "simulated-1" }, { id: "simulated-2" }] })

const find: VendorScript = (call) => {
  const query = new URLSearchParams(call.path.slice(call.path.indexOf("?"))).get("q") ?? ""
  const results = Array.from({ length: 10 }, (_, at) => ({
    title: `${query}, result ${at + 1}`,
    url: `https://example.com/search/${at + 1}?${new URLSearchParams({ q: query })}`,
    content: `A page that says something about ${query}.`,
  }))
  json(call, { results })
}

const echo: VendorScript = (call) => {
  const words = `You said: ${lastTurn(call.body).text}`.split(/(?<=\s)/)
  const inTokens = Math.ceil(JSON.stringify(call.body).length / 4)
  if (showsParameters(call)) return answerWithParameters(call, words, inTokens, pauseMs)
  return answering({ words, inTokens, outTokens: words.length }, pauseMs)(call)
}

interface AskedTool {
  readonly name: string
  readonly args: object
}

/**
 * The tool that the last turn names, with the JSON object after its name, as in `weather {"city": "Oslo"}`, or the
 * tool that the request demands. Arguments that are not told are examples by the tool's schema.
 */
const askedTool = (body: VendorCall["body"]): AskedTool | undefined => {
  const { text, hasResults } = lastTurn(body)
  if (hasResults || body["tool_choice"] === "none") return undefined
  const words = text.split(/[^\w-]+/)
  const tools = objectsAt(body, "tools").map((tool) => {
    const fn = objectAt(tool, "function")
    const name = stringAt(fn, "name") ?? ""
    return { name, told: argumentsAfter(text, name), schema: objectAt(fn, "parameters") ?? {} }
  })
  const demanded = stringAt(objectAt(objectAt(body, "tool_choice"), "function"), "name")
  const named =
    tools.find(({ name }) => name === demanded) ??
    tools.find(({ told }) => told !== undefined) ??
    tools.find(({ name }) => words.includes(name)) ??
    (body["tool_choice"] === "required" ? tools[0] : undefined)
  return named && { name: named.name, args: named.told ?? exampleOf(named.schema) }
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

const callTool = (call: VendorCall, { name, args }: AskedTool): void => {
  const made = { id: `call_${name}`, type: "function", function: { name, arguments: JSON.stringify(args) } }
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

/** What was said since the model spoke last; instructions are not repeated. */
const lastTurn = (body: VendorCall["body"]): Turn => {
  const messages = objectsAt(body, "messages")
  const turn = messages.slice(messages.findLastIndex((message) => stringAt(message, "role") === "assistant") + 1)
  const said = turn.filter((message) => !instructing.has(stringAt(message, "role") ?? ""))
  const texts = said.flatMap(textsOf)
  return {
    text: texts.length === 0 ? "something I cannot read" : texts.join("\n"),
    hasResults: said.some((message) => stringAt(message, "role") === "tool"),
  }
}

interface Turn {
  readonly text: string
  /** Whether tools have answered in it. */
  readonly hasResults: boolean
}

const instructing = new Set(["system", "developer"])

const textsOf = (message: JsonObject): ReadonlyArray<string> => {
  const { content } = message
  if (typeof content === "string") return [content]
  return objectsAt(message, "content").flatMap((part) => stringAt(part, "text") ?? [])
}

/** @param wantedPort its port, if nobody has it */
export const startSimulatedVendor = (wantedPort?: number): Effect.Effect<ScriptedVendor, never, Scope.Scope> =>
  startScriptedVendor(answer, speakRealtime, wantedPort)
