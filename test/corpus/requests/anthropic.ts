/** Reads a request of `anthropic`. */

import type { VendorRequest } from "../../../src/dialects/chat-dialect.ts"
import type { JsonObject } from "../../../src/dialects/parse/json.ts"
import type { Block, Message } from "../../../src/protocol/block.ts"
import type { ToolChoice } from "../../../src/protocol/exchange.ts"
import { Beyond, json, list, maybe, mergeTurns, noCache, only, text, unsaid } from "./reading.ts"

const fields = ["model", "messages", "system", "max_tokens", "tools", "tool_choice", "stop_sequences"]
const said = ["stream", "temperature", "top_p", "thinking", "output_config", "cache_control"]

export const readMessages = (body: JsonObject): VendorRequest => {
  only(body, [...fields, ...said])
  if (body["thinking"] === undefined && body["output_config"] !== undefined) throw new Beyond("output_config")
  const { system } = body
  const systemBlocks = typeof system === "string" ? [{ t: "text", v: system } as const] : list(system).map(readBlock)
  // Anthropic's automatic mark at the tail.
  if (body["cache_control"] !== undefined) throw new Beyond("automatic caching")
  return {
    ...unsaid,
    model: text(body["model"]),
    thread: mergeTurns([
      ...(systemBlocks.length === 0 ? [] : [{ role: "system", blocks: systemBlocks } as const]),
      ...list(body["messages"]).map(readMessage),
    ]),
    tools: list(body["tools"]).map(readTool),
    toolChoice: maybe(body["tool_choice"], readToolChoice),
    maxTokens: Number(body["max_tokens"]),
    temperature: maybe(body["temperature"], Number),
    topP: maybe(body["top_p"], Number),
    stop: Array.isArray(body["stop_sequences"]) ? body["stop_sequences"].map(text) : [],
    reasoning: maybe(body["thinking"], (thinking) => readThinking(json(thinking), maybe(body["output_config"], json))),
    // Blocks state their marks; the tail is marked unless forbidden.
    cache: { ...noCache, enabled: JSON.stringify(body).includes("cache_control"), skipWrite: true },
    stream: body["stream"] === true,
  }
}

const budgets: Readonly<Record<number, "minimal" | "low" | "medium" | "high" | "max">> = {
  1024: "minimal",
  2048: "low",
  8192: "medium",
  16384: "high",
  32768: "max",
}

const efforts = ["low", "medium", "high", "max"] as const

const readThinking = (thinking: JsonObject, output: JsonObject | undefined) => {
  if (thinking["type"] === "disabled") return undefined
  if (thinking["type"] === "adaptive") {
    only(thinking, ["type"], { display: "summarized" })
    only(output ?? {}, ["effort"])
    const effort = efforts.find((known) => known === output?.["effort"])
    if (effort === undefined) throw new Beyond(`effort ${output?.["effort"]}`)
    return effort
  }
  only(thinking, ["type", "budget_tokens"])
  const level = budgets[Number(thinking["budget_tokens"])]
  if (level === undefined) throw new Beyond("a thinking budget of its own")
  return level
}

const readTool = (tool: JsonObject) => {
  if (tool["type"] !== undefined && tool["type"] !== "custom") throw new Beyond(`tool ${tool["type"]}`)
  only(tool, ["type", "name", "description", "input_schema"])
  return {
    name: text(tool["name"]),
    description: maybe(tool["description"], text) ?? "",
    inputSchema: JSON.parse(JSON.stringify(tool["input_schema"])),
  }
}

const readToolChoice = (choice: unknown): ToolChoice => {
  only(json(choice), ["type", "name"], { disable_parallel_tool_use: false })
  const { type, name } = json(choice)
  if (type === "tool") return { name: text(name) }
  if (type === "any") return "required"
  if (type === "auto" || type === "none") return type
  throw new Beyond("tool choice")
}

const readMessage = (message: JsonObject): { role: Message["role"]; blocks: ReadonlyArray<Block> } => {
  only(message, ["role", "content"])
  const { role, content } = message
  if (role !== "user" && role !== "assistant") throw new Beyond(`role ${role}`)
  return { role, blocks: typeof content === "string" ? [{ t: "text", v: content }] : list(content).map(readBlock) }
}

function readBlock(block: JsonObject): Block {
  const mark = maybe(block["cache_control"], json)
  if (mark?.["ttl"] === "1h") throw new Beyond("cache ttl")
  const cacheable = mark === undefined ? {} : { cacheable: true }
  switch (block["type"]) {
    case "text":
      only(block, ["type", "text", "cache_control"])
      return { t: "text", v: text(block["text"]), ...cacheable }
    case "thinking":
      only(block, ["type", "thinking", "signature"])
      return { t: "reasoning", v: text(block["thinking"]), signature: text(block["signature"]) }
    case "redacted_thinking":
      return { t: "reasoning", v: text(block["data"]), redacted: true }
    case "tool_use":
      only(block, ["type", "id", "name", "input"])
      return {
        t: "tool_call",
        id: text(block["id"]),
        name: text(block["name"]),
        input: JSON.parse(JSON.stringify(block["input"])),
      }
    case "tool_result":
      only(block, ["type", "tool_use_id", "content", "is_error", "cache_control"])
      return {
        t: "tool_result",
        id: text(block["tool_use_id"]),
        v: resultText(block["content"]),
        ...(block["is_error"] === true && { isError: true }),
        ...cacheable,
      }
    case "image":
      only(block, ["type", "source"])
      return { t: "image", ...readSource(json(block["source"])) }
    case "document": {
      only(block, ["type", "source", "title"])
      const name = maybe(block["title"], text)
      return { t: "file", ...(name !== undefined && { name }), ...readSource(json(block["source"])) }
    }
    default:
      throw new Beyond(`block ${block["type"]}`)
  }
}

const resultText = (content: unknown): string => {
  if (typeof content === "string") return content
  const parts = list(content)
  if (parts.some((part) => part["type"] !== "text")) throw new Beyond("media in a tool result")
  return parts.map((part) => text(part["text"])).join("")
}

const readSource = (source: JsonObject) => {
  switch (source["type"]) {
    case "base64":
      return { mime: text(source["media_type"]), data: text(source["data"]) }
    case "url":
      return { mime: "application/pdf", url: text(source["url"]) }
    case "text":
      return { mime: "text/plain", data: Buffer.from(text(source["data"])).toString("base64") }
    default:
      throw new Beyond(`source ${source["type"]}`)
  }
}
