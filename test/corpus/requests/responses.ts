/** Reads a request of `openai-responses`. */

import type { VendorRequest } from "../../../src/dialects/chat-dialect.ts"
import { reasoningSignature } from "../../../src/dialects/openai-responses/vendor-request.ts"
import type { JsonObject } from "../../../src/dialects/parse/json.ts"
import type { Block, Message } from "../../../src/protocol/block.ts"
import type { ReasoningLevel, ToolChoice } from "../../../src/protocol/exchange.ts"
import { Beyond, json, list, maybe, media, mergeTurns, noCache, only, parseInput, text, unsaid } from "./reading.ts"

const fields = ["model", "input", "instructions", "tools", "tool_choice", "reasoning", "include", "store"]
const said = ["stream", "max_output_tokens", "temperature", "top_p", "prompt_cache_key"]
const defaults = { text: { format: { type: "text" } }, truncation: "disabled", background: false }

export const readResponses = (body: JsonObject): VendorRequest => {
  only(body, [...fields, ...said], defaults)
  const include = Array.isArray(body["include"]) ? body["include"] : []
  for (const wish of include) if (wish !== "reasoning.encrypted_content") throw new Beyond(`include ${wish}`)
  const instructions = maybe(body["instructions"], text)
  const input =
    typeof body["input"] === "string"
      ? [{ role: "user", blocks: [{ t: "text", v: body["input"] }] } as const]
      : list(body["input"]).flatMap(readItem)
  return {
    ...unsaid,
    model: text(body["model"]),
    thread: mergeTurns([
      ...(instructions === undefined ? [] : [{ role: "system", blocks: [{ t: "text", v: instructions }] } as const]),
      ...input,
    ]),
    tools: list(body["tools"]).map(readTool),
    toolChoice: maybe(body["tool_choice"], readToolChoice),
    maxTokens: Number(body["max_output_tokens"] ?? unsaid.maxTokens),
    temperature: maybe(body["temperature"], Number),
    topP: maybe(body["top_p"], Number),
    reasoning: maybe(body["reasoning"], readReasoning),
    canReason: include.length > 0,
    cache: { ...noCache, key: maybe(body["prompt_cache_key"], text) },
    stream: body["stream"] === true,
  }
}

const levels: Readonly<Record<string, ReasoningLevel>> = {
  none: "off",
  minimal: "minimal",
  low: "low",
  medium: "medium",
  high: "high",
  xhigh: "max",
}

const readReasoning = (reasoning: unknown): ReasoningLevel | undefined => {
  // A summary is always requested with reasoning; its length does not matter.
  only(json(reasoning), ["effort", "summary"], { context: "auto", generate_summary: "auto" })
  return maybe(json(reasoning)["effort"], (effort) => levels[text(effort)])
}

const readTool = (tool: JsonObject) => {
  if (tool["type"] !== "function") throw new Beyond(`tool ${tool["type"]}`)
  only(tool, ["type", "name", "description", "parameters", "strict"])
  const description = maybe(tool["description"], text)
  return {
    name: text(tool["name"]),
    ...(description !== undefined && { description }),
    inputSchema: JSON.parse(JSON.stringify(tool["parameters"] ?? {})),
  }
}

const readToolChoice = (choice: unknown): ToolChoice => {
  if (choice === "auto" || choice === "none" || choice === "required") return choice
  if (json(choice)["type"] !== "function") throw new Beyond("tool choice")
  return { name: text(json(choice)["name"]) }
}

const roles: Readonly<Record<string, Message["role"]>> = {
  system: "system",
  developer: "system",
  user: "user",
  assistant: "assistant",
}

function readItem(item: JsonObject): ReadonlyArray<{ role: Message["role"]; blocks: ReadonlyArray<Block> }> {
  switch (item["type"] ?? "message") {
    case "message": {
      only(item, ["type", "role", "content", "id", "status"])
      const role = roles[text(item["role"])]
      if (role === undefined) throw new Beyond("role")
      const { content } = item
      return [{ role, blocks: typeof content === "string" ? [{ t: "text", v: content }] : list(content).map(readPart) }]
    }
    case "function_call": {
      only(item, ["type", "call_id", "name", "arguments", "id", "status"])
      const input = parseInput(text(item["arguments"]))
      const call = { t: "tool_call", id: text(item["call_id"]), name: text(item["name"]), input } as const
      return [{ role: "assistant", blocks: [call] }]
    }
    case "function_call_output": {
      only(item, ["type", "call_id", "output", "id", "status"])
      if (typeof item["output"] !== "string") throw new Beyond("media in a tool result")
      return [{ role: "tool", blocks: [{ t: "tool_result", id: text(item["call_id"]), v: item["output"] }] }]
    }
    case "reasoning": {
      only(item, ["type", "id", "summary", "encrypted_content", "status"])
      const signature = reasoningSignature(text(item["id"]), maybe(item["encrypted_content"], text))
      if (signature === undefined) throw new Beyond("reasoning without its seal")
      const v = list(item["summary"])
        .map((part) => text(part["text"]))
        .join("\n\n")
      return [{ role: "assistant", blocks: [{ t: "reasoning", v, signature }] }]
    }
    default:
      throw new Beyond(`item ${item["type"]}`)
  }
}

function readPart(part: JsonObject): Block {
  switch (part["type"]) {
    case "input_text":
    case "output_text":
      only(part, ["type", "text", "annotations"])
      return { t: "text", v: text(part["text"]) }
    case "input_image":
      only(part, ["type", "image_url", "detail"])
      return { t: "image", ...media(text(part["image_url"])) }
    case "input_file": {
      only(part, ["type", "filename", "file_data", "file_url"])
      const name = maybe(part["filename"], text)
      return {
        t: "file",
        ...(name !== undefined && { name }),
        ...media(text(part["file_data"] ?? part["file_url"]), "application/pdf"),
      }
    }
    default:
      throw new Beyond(`part ${part["type"]}`)
  }
}
