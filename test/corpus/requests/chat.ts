/** Reads a request of `openai-chat`, with the fields of one vendor's profile. */

import type { VendorRequest } from "../../../src/dialects/chat-dialect.ts"
import type { ChatProfile } from "../../../src/dialects/openai-chat/chat-profile.ts"
import type { JsonObject } from "../../../src/dialects/parse/json.ts"
import type { Block, Message } from "../../../src/protocol/block.ts"
import { ReasoningLevel, type ToolChoice } from "../../../src/protocol/exchange.ts"
import { Beyond, joinTexts, json, list, maybe, media, mergeTurns, only, parseInput, text, unsaid } from "./reading.ts"

const fields = ["model", "messages", "tools", "tool_choice", "stop", "temperature", "top_p", "prompt_cache_key"]
const said = ["stream", "max_tokens", "max_completion_tokens", "stream_options"]
const reasoningFields = ["reasoning_effort", "reasoning_format", "reasoning", "thinking", "enable_thinking"]
const defaults = { n: 1, top_p: 1, service_tier: "on_demand", usage: { include: true } }

export const readChat = (body: JsonObject, profile: ChatProfile): VendorRequest => {
  only(body, [...fields, ...said, ...reasoningFields], defaults)
  const topP = body["top_p"] === defaults.top_p ? undefined : maybe(body["top_p"], Number)
  return {
    ...unsaid,
    model: text(body["model"]),
    thread: mergeTurns(
      list(body["messages"]).map((message) => readMessage(message)),
      ["tool"],
    ),
    tools: list(body["tools"]).map(readTool),
    toolChoice: maybe(body["tool_choice"], readToolChoice),
    maxTokens: Number(body["max_tokens"] ?? body["max_completion_tokens"] ?? unsaid.maxTokens),
    temperature: maybe(body["temperature"], Number),
    topP,
    stop: maybe(body["stop"], (stop) => (Array.isArray(stop) ? stop.map(text) : [text(stop)])) ?? [],
    reasoning: readReasoning(body, profile),
    cache: {
      enabled: JSON.stringify(body["messages"]).includes("cache_control"),
      skipWrite: false,
      key: maybe(body["prompt_cache_key"], text),
    },
    stream: body["stream"] === true,
  }
}

/** The reasoning level of these fields. */
function readReasoning(body: JsonObject, profile: ChatProfile) {
  const asked = reasoningFields.filter((field) => body[field] !== undefined)
  if (asked.length === 0) return undefined
  const wanted = JSON.stringify(asked.map((field) => [field, body[field]]))
  const level = ReasoningLevel.literals.find((candidate) => {
    const words = Object.entries(profile.reasoning(candidate, "upstream"))
    return JSON.stringify(asked.map((field) => words.find(([name]) => name === field))) === wanted
  })
  if (level === undefined) throw new Beyond(`${asked.join(" ")} as ${wanted}`)
  return level
}

const readTool = (tool: JsonObject) => {
  only(tool, ["type", "function"])
  if (tool["type"] !== "function" && tool["type"] !== undefined) throw new Beyond(`tool ${tool["type"]}`)
  const fn = json(tool["function"])
  // Strict schemas are not part of twp/1; the schema is the same.
  only(fn, ["name", "description", "parameters", "strict"])
  const description = maybe(fn["description"], text)
  return {
    name: text(fn["name"]),
    ...(description !== undefined && { description }),
    inputSchema: JSON.parse(JSON.stringify(fn["parameters"] ?? {})),
  }
}

const readToolChoice = (choice: unknown): ToolChoice => {
  if (choice === "auto" || choice === "none" || choice === "required") return choice
  if (choice === "any") return "required"
  return { name: text(json(json(choice)["function"])["name"]) }
}

const roles: Readonly<Record<string, Message["role"]>> = {
  system: "system",
  developer: "system",
  user: "user",
  assistant: "assistant",
  tool: "tool",
}

function readMessage(message: JsonObject): { role: Message["role"]; blocks: ReadonlyArray<Block> } {
  only(message, ["role", "content", "tool_calls", "tool_call_id", "reasoning_content", "reasoning_details", "name"], {
    prefix: false,
  })
  const role = roles[text(message["role"])]
  if (role === undefined) throw new Beyond("role")
  if (role === "tool") {
    return { role, blocks: [{ t: "tool_result", id: text(message["tool_call_id"]), v: text(message["content"]) }] }
  }
  const content =
    typeof message["content"] === "string"
      ? [{ t: "text", v: message["content"] } as const]
      : list(message["content"]).map(readPart)
  const reasoning = maybe(message["reasoning_content"], text) || undefined
  const said = role === "user" ? content : joinTexts(content)
  return {
    role,
    blocks: [
      ...(reasoning === undefined ? [] : [{ t: "reasoning", v: reasoning } as const]),
      ...said.filter((block) => role !== "assistant" || block.t !== "text" || block.v !== ""),
      ...list(message["tool_calls"]).map(readCall),
    ],
  }
}

const readCall = (call: JsonObject): Block => {
  only(call, ["id", "type", "function", "index"])
  const fn = json(call["function"])
  return {
    t: "tool_call",
    id: text(call["id"]),
    name: text(fn["name"]),
    input: parseInput(text(fn["arguments"])),
  }
}

function readPart(part: JsonObject): Block {
  switch (part["type"]) {
    case "text": {
      only(part, ["type", "text", "cache_control"])
      const mark = maybe(part["cache_control"], json)
      if (mark?.["ttl"] !== undefined && mark["ttl"] !== "5m") throw new Beyond("cache ttl")
      return { t: "text", v: text(part["text"]), ...(mark !== undefined && { cacheable: true }) }
    }
    case "image_url": {
      only(part, ["type", "image_url"])
      only(json(part["image_url"]), ["url", "detail"])
      return { t: "image", ...media(text(json(part["image_url"])["url"])) }
    }
    case "input_audio": {
      const { data, format } = json(part["input_audio"])
      return { t: "file", mime: `audio/${format === "mp3" ? "mpeg" : format}`, data: text(data) }
    }
    case "file": {
      only(json(part["file"]), ["filename", "file_data"])
      const { filename, file_data } = json(part["file"])
      return { t: "file", name: text(filename), ...media(text(file_data)) }
    }
    case "document_url":
      return { t: "file", ...media(text(part["document_url"]), "application/pdf") }
    default:
      throw new Beyond(`part ${part["type"]}`)
  }
}
