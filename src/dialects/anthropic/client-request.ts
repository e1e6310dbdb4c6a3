/** Anthropic's messages as clients send them. Source: https://docs.anthropic.com/en/api/messages */
import type { Result } from "effect"
import type { Cacheable } from "../../protocol/block.ts"
import type { Effort } from "../../protocol/exchange.ts"
import { entryOf } from "../../protocol/words.ts"
import type { ClientRequest, RequestPlace } from "../client-api.ts"
import {
  HostedTools,
  imageMimeOf,
  markOf,
  nonEmptyText,
  plainBase64,
  stopsOf,
  strictly,
  textBlock,
} from "../client-parts.ts"
import {
  all,
  carried,
  FieldReader,
  type FieldRefusal,
  type FieldTable,
  isAbsent,
  neutral,
  own,
  present,
  presentIfAny,
  refused,
  withoutEffect,
} from "../fields.ts"
import { isObject, type JsonObject, objectsAt, stringAt } from "../json.ts"
import { endUsersAt, ownRequest } from "../own-request.ts"
import { resultOf } from "../results.ts"
import { signatureFor } from "../signature.ts"
import { isAnthropicOwn, sealedBlock } from "../vendor-blocks.ts"
import { clientToolOf } from "../vendor-tools.ts"
import { isForeignCitation } from "./citations.ts"

export const messagesFields: FieldTable = {
  ...all(
    carried,
    "model",
    "messages",
    "system",
    "max_tokens",
    "stream",
    "temperature",
    "top_p",
    "stop_sequences",
    "tools",
    "tool_choice",
    "thinking",
    "output_config",
    "output_format",
    "top_k",
  ),
  metadata: withoutEffect("it labels a request for its vendor"),
  context_management: withoutEffect("the client's thread is what counts"),
  cache_control: withoutEffect("the end of the thread is a cache breakpoint already"),
  mcp_servers: withoutEffect("tools that a vendor would host are left out, and told in x-svc-warning"),
  betas: withoutEffect("it switches features of its vendor"),
  anthropic_version: withoutEffect("the target says which version of the API it speaks"),
  anthropic_beta: refused("send the header anthropic-beta"),
  diagnostics: withoutEffect("it asks for its vendor's own diagnosis"),
  service_tier: neutral("auto", "standard_only"),
  inference_geo: neutral("global"),
  speed: neutral("standard"),
  container: withoutEffect("tools that a vendor would host are left out, and told in x-svc-warning"),
  fallbacks: refused("targets of a model are the catalogue's"),
  fallback_credit_token: refused("targets of a model are the catalogue's"),
  user_profile_id: refused("profiles of a vendor are not used"),
  workspace_id: refused("workspaces of a vendor are not used"),
  billing_policy: refused("the gateway bills its organisations"),
  compaction: refused("summarise the thread with a message"),
  thread: refused("nothing is stored: send all messages"),
}

const textFields: FieldTable = {
  ...all(carried, "type", "text", "cache_control"),
  citations: withoutEffect("it repeats what the reply said"),
}
const blockFields: Readonly<Record<string, FieldTable>> = {
  text: textFields,
  image: all(carried, "type", "source", "cache_control"),
  document: {
    ...all(carried, "type", "source", "title", "cache_control"),
    context: own(),
    citations: own({ enabled: false }),
  },
  thinking: all(carried, "type", "thinking", "signature"),
  redacted_thinking: all(carried, "type", "data"),
  tool_use: {
    ...all(carried, "type", "id", "name", "input"),
    ...all(withoutEffect("calls mark no cache"), "cache_control"),
    caller: own({ type: "direct" }),
    toolset_id: own(),
  },
  tool_addition: all(carried, "type", "tool", "cache_control"),
  tool_result: {
    ...all(carried, "type", "tool_use_id", "content", "is_error", "cache_control"),
    toolset_id: own(),
  },
}
const toolFields: FieldTable = {
  ...all(carried, "type", "name", "description", "input_schema"),
  ...all(withoutEffect("it tunes its vendor's own handling of a tool"), "cache_control", "input_examples"),
  strict: carried,
  ...all(withoutEffect("all tools are given at once"), "defer_loading", "eager_input_streaming"),
  allowed_callers: own(["direct"]),
}

const markFields: FieldTable = {
  ...all(carried, "type", "ttl"),
  scope: withoutEffect("prefixes are kept for one account"),
}
const sourceFields: Readonly<Record<string, FieldTable>> = {
  base64: all(carried, "type", "media_type", "data"),
  text: all(carried, "type", "media_type", "data"),
  url: all(carried, "type", "url"),
  file: all(carried, "type", "file_id"),
}
const thinkingFields: FieldTable = all(carried, "type", "budget_tokens", "display")
const choiceFields = all(carried, "type", "name", "disable_parallel_tool_use")
const formatFields: FieldTable = { ...all(carried, "type", "schema"), name: withoutEffect("a schema describes itself") }

export const decodeMessagesRequest = (
  body: JsonObject,
  { counts }: RequestPlace,
): Result.Result<ClientRequest, FieldRefusal> => {
  const reader = new FieldReader()
  reader.check(messagesFields, body, "")
  const listed = reader.optionalList(body["tools"], "tools")
  const { tools, hosted } = toolsOf(reader, listed, toolsIn(body["messages"]))
  const { omittedTools, search } = hosted
  if (Array.isArray(body["mcp_servers"]) && body["mcp_servers"].length > 0) omittedTools.push("mcp")
  const system = isAbsent(body["system"]) ? [] : textsOf(reader, body["system"], "system")
  const thread = reader.list(body["messages"], "messages").flatMap((message, index) => {
    const path = `messages.${index}`
    return messageOf(reader, reader.object(message, path), path)
  })
  const config = reader.optionalObject(body["output_config"], "output_config")
  reader.check(all(carried, "effort", "format", "task_budget"), config, "output_config")
  const hasTools = tools.length > 0
  const exchange = present({
    model: body["model"],
    thread: system.length === 0 ? thread : [{ role: "system", blocks: system }, ...thread],
    tools: hasTools ? tools : undefined,
    params: presentIfAny({
      maxTokens: body["max_tokens"],
      temperature: body["temperature"],
      topP: body["top_p"],
      stop: stopsOf(body["stop_sequences"]),
      ...choiceOf(reader, hasTools ? body["tool_choice"] : undefined),
      ...reasoningOf(reader, body["thinking"], config["effort"]),
      output: isAbsent(config["format"])
        ? outputOf(reader, body["output_format"], "output_format")
        : outputOf(reader, config["format"], "output_config.format"),
      topK: body["top_k"],
      vendorOptions: presentIfAny({ anthropic: presentIfAny({ taskBudget: config["task_budget"] }) }),
    }),
    stream: body["stream"],
  })
  const model = reader.string(body["model"], "model")
  if (isAbsent(body["max_tokens"]) && !counts) reader.refuse("max_tokens", "is required")
  const own = ownRequest(reader, endUsersAt(body, ["metadata", "user_id"]), { hosted, listed: body["tools"] })
  return reader.carriedResult({ exchange, context: { model, includesUsage: true }, omittedTools, search, own })
}

const efforts: Readonly<Record<string, Effort>> = {
  low: "low",
  medium: "medium",
  high: "high",
  xhigh: "xhigh",
  max: "max",
}

/** What is shown of what a model thought. */
const displays = { summarized: "summary", omitted: "omitted" } as const

/** A model of today thinks by effort; an older client names a budget. Effort counts without thinking too. */
const reasoningOf = (reader: FieldReader, value: unknown, word: unknown): JsonObject => {
  const effort = reader.word(efforts, word, "output_config.effort")
  if (isAbsent(value)) return { effort }
  const thinking = reader.checked(thinkingFields, value, "thinking")
  const reasoningDisplay = reader.word(displays, thinking["display"], "thinking.display")
  switch (thinking["type"]) {
    case "disabled":
      return { reasoning: "off", effort }
    case "adaptive":
      return { reasoning: effort ?? "high", reasoningDisplay }
    case "enabled":
      return { reasoningBudget: thinking["budget_tokens"], effort, reasoningDisplay }
    default:
      reader.lacks("thinking.type", "must be adaptive, enabled or disabled")
      return {}
  }
}

const outputOf = (reader: FieldReader, format: unknown, path: string): JsonObject | undefined => {
  if (isAbsent(format)) return undefined
  const { type, schema } = reader.checked(formatFields, format, path)
  if (type !== "json_schema") {
    reader.lacks(`${path}.type`, "must be json_schema")
    return undefined
  }
  return { schema: reader.exactly(schema, `${path}.schema`), strict: true }
}

const choiceOf = (reader: FieldReader, value: unknown): JsonObject => {
  if (isAbsent(value)) return {}
  const choice = reader.checked(choiceFields, value, "tool_choice")
  const { disable_parallel_tool_use: isSingle } = choice
  const words = { auto: "auto", any: "required", none: "none" }
  const toolChoice =
    choice["type"] === "tool" ? { name: choice["name"] } : reader.word(words, choice["type"], "tool_choice.type")
  return { toolChoice, ...(typeof isSingle === "boolean" && { parallelToolCalls: !isSingle }) }
}

const messageOf = (reader: FieldReader, message: JsonObject, path: string): ReadonlyArray<JsonObject> => {
  reader.check(all(carried, "role", "content"), message, path)
  const { role, content } = message
  if (role !== "user" && role !== "assistant" && role !== "system") {
    reader.refuse(`${path}.role`, "must be user or assistant")
  }
  const blocks =
    typeof content === "string"
      ? nonEmptyText(content)
      : reader.list(content, `${path}.content`).flatMap((block, index) => {
          const at = `${path}.content.${index}`
          return blockOf(reader, reader.object(block, at), at)
        })
  return blocks.length === 0 ? [] : [{ role, blocks }]
}

const markIn = (reader: FieldReader, block: JsonObject, path: string): Cacheable =>
  markOf(reader, block, path, markFields)

const blockOf = (reader: FieldReader, block: JsonObject, path: string): ReadonlyArray<JsonObject> => {
  const { type } = block
  if (isAnthropicOwn(type)) return [reader.exactly(sealedBlock("anthropic", block), path)]
  const fields = typeof type === "string" && Object.hasOwn(blockFields, type) ? blockFields[type] : undefined
  if (fields === undefined) {
    reader.lacks(`${path}.type`, `must be one of ${Object.keys(blockFields).join(", ")}`)
    return [sealedBlock("anthropic", block)]
  }
  reader.check(fields, block, path)
  const cacheable = markIn(reader, block, path)
  switch (type) {
    case "text":
      if (objectsAt(block, "citations").some(isForeignCitation)) reader.foreign.push(`${path}.citations`)
      return [textBlock(reader.string(block["text"], `${path}.text`), cacheable)]
    case "image":
      return [{ t: "image", mime: "image/png", ...sourceOf(reader, block["source"], `${path}.source`) }]
    case "document":
      return [
        present({
          t: "file",
          mime: "application/pdf",
          ...sourceOf(reader, block["source"], `${path}.source`),
          name: block["title"],
        }),
      ]
    case "thinking":
      if (signatureFor("anthropic", stringAt(block, "signature") || undefined) === undefined) reader.foreign.push(path)
      // Reasoning of other vendors goes out with an empty signature.
      return [present({ t: "reasoning", v: block["thinking"], signature: block["signature"] || null })]
    case "redacted_thinking":
      return [{ t: "reasoning", v: block["data"], redacted: true }]
    case "tool_addition":
      return []
    case "tool_use":
      return [{ t: "tool_call", id: block["id"], name: block["name"], input: inputIn(reader, block, path) }]
    default:
      return resultIn(reader, block, path, cacheable)
  }
}

const inputIn = (reader: FieldReader, { input }: JsonObject, path: string): unknown =>
  isAbsent(input) ? {} : reader.exactly(input, `${path}.input`)

const resultIn = (
  reader: FieldReader,
  block: JsonObject,
  path: string,
  cacheable: Cacheable,
): ReadonlyArray<JsonObject> => {
  const { content } = block
  const parts = typeof content === "string" ? [] : reader.optionalList(content, `${path}.content`)
  const said: Array<JsonObject> = typeof content === "string" ? [textBlock(content)] : []
  for (const [index, value] of parts.entries()) {
    const at = `${path}.content.${index}`
    const part = reader.object(value, at)
    if (part["type"] === "text") said.push(textBlock(reader.string(part["text"], `${at}.text`)))
    else if (part["type"] === "image" || part["type"] === "document") said.push(...blockOf(reader, part, at))
    // All tools are given at once: a reference says which of them was found.
    else if (part["type"] === "tool_reference") {
      said.push(textBlock(reader.string(part["tool_name"], `${at}.tool_name`)))
    } else {
      reader.lacks(`${at}.type`, "must be text, image, document or tool_reference")
      said.push(textBlock(JSON.stringify(part)))
    }
  }
  const result = {
    t: "tool_result",
    id: block["tool_use_id"],
    ...resultOf(said),
    ...(block["is_error"] === true && { isError: true }),
    ...(cacheable !== false && { cacheable }),
  }
  return [result]
}

const sourceOf = (reader: FieldReader, value: unknown, path: string): JsonObject => {
  const source = reader.object(value, path)
  const fields = entryOf(sourceFields, stringAt(source, "type"))
  if (fields !== undefined) reader.check(fields, source, path)
  switch (source["type"]) {
    case "base64":
      return { mime: source["media_type"], data: plainBase64(source["data"]) }
    case "url": {
      const url = reader.string(source["url"], `${path}.url`)
      return { mime: /\.pdf(?:[?#]|$)/i.test(url) ? "application/pdf" : imageMimeOf(url), url }
    }
    case "text":
      return { mime: "text/plain", data: Buffer.from(reader.string(source["data"], `${path}.data`)).toString("base64") }
    case "file":
      return { kept: { dialect: "anthropic", id: source["file_id"] } }
    default:
      reader.lacks(`${path}.type`, "must be base64, url, text or file")
      return { mime: "text/plain", data: Buffer.from(JSON.stringify(source)).toString("base64") }
  }
}

const textsOf = (reader: FieldReader, value: unknown, path: string): ReadonlyArray<JsonObject> => {
  if (typeof value === "string") return nonEmptyText(value)
  return reader.list(value, path).map((item, index) => {
    const block = reader.object(item, `${path}.${index}`)
    reader.check(textFields, block, `${path}.${index}`)
    return textBlock(reader.string(block["text"], `${path}.${index}.text`), markIn(reader, block, `${path}.${index}`))
  })
}

/** Tools that a thread defines on its way: all tools are given at once. */
const toolsIn = (messages: unknown): ReadonlyArray<FoundTool> => {
  if (!Array.isArray(messages)) return []
  return messages.flatMap((message: unknown, at) => {
    const content = isObject(message) ? message["content"] : undefined
    if (!Array.isArray(content)) return []
    return content.flatMap((block: unknown, index) => {
      const { type, tool } = isObject(block) ? block : {}
      if (type !== "tool_addition" || !isObject(tool) || tool["type"] !== "tool_definition") return []
      return [{ tool: tool["definition"], place: `messages.${at}.content.${index}.tool.definition` }]
    })
  })
}

/** A tool, and where it stands in the body. */
interface FoundTool {
  readonly tool: unknown
  readonly place: string
}

/** @param found in the thread */
const toolsOf = (reader: FieldReader, listed: ReadonlyArray<unknown>, found: ReadonlyArray<FoundTool>) => {
  const tools: Array<JsonObject> = []
  const hosted = new HostedTools()
  const own = listed.map((tool, index) => ({ tool, place: `tools.${index}` }))
  for (const [index, item] of [...own, ...found].entries()) {
    const path = `tools.${index}`
    const tool = reader.object(item.tool, path)
    const { type, name, description, input_schema: schema } = tool
    if (!isAbsent(type) && type !== "custom") {
      const own = clientToolOf("anthropic", type, tool)
      if (own !== undefined) {
        tools.push(own)
        continue
      }
      const at = index < listed.length ? ["tools", index] : undefined
      hosted.add(reader.string(type, `${path}.type`), tool, at)
      continue
    }
    reader.check(toolFields, tool, path)
    const inputSchema = reader.exactly(schema, `${item.place}.input_schema`)
    tools.push(present({ name, description, inputSchema, ...strictly(tool["strict"]) }))
  }
  return { tools, hosted }
}
