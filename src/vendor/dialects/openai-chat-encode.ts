/** The request side of the dialect `openai-chat`. */
import { Result } from "effect"
import type { Block, FileBlock, ImageBlock, Message, ToolCallBlock, ToolResultBlock } from "../../protocol/block.ts"
import type { ReasoningLevel, ToolChoice } from "../../protocol/exchange.ts"
import type { EncodeRefusal, VendorRequest } from "./dialect.ts"

export const encodeChat = (request: VendorRequest): Result.Result<object, EncodeRefusal> => {
  const refusal = findRefusal(request.thread)
  if (refusal !== undefined) return Result.fail(refusal)
  return Result.succeed({
    model: request.model,
    messages: request.thread.flatMap(encodeMessage),
    max_completion_tokens: request.maxTokens,
    ...(request.temperature !== undefined && { temperature: request.temperature }),
    ...(request.topP !== undefined && { top_p: request.topP }),
    ...(request.stop.length > 0 && { stop: request.stop }),
    ...(request.reasoning !== undefined && { reasoning_effort: reasoningEffort[request.reasoning] }),
    ...(request.tools.length > 0 && {
      tools: request.tools.map(({ name, description, inputSchema }) => ({
        type: "function",
        function: { name, ...(description !== undefined && { description }), parameters: inputSchema },
      })),
      ...(request.toolChoice !== undefined && { tool_choice: encodeToolChoice(request.toolChoice) }),
    }),
    ...(request.cache.key !== undefined && { prompt_cache_key: request.cache.key }),
    ...(request.stream && { stream: true, stream_options: { include_usage: true } }),
  })
}

const reasoningEffort: Readonly<Record<ReasoningLevel, string>> = {
  off: "none",
  minimal: "minimal",
  low: "low",
  medium: "medium",
  high: "high",
  max: "xhigh",
}

const encodeToolChoice = (choice: ToolChoice): unknown =>
  typeof choice === "string" ? choice : { type: "function", function: { name: choice.name } }

/** Chat completions take files as data only. */
const findRefusal = (thread: ReadonlyArray<Message>): EncodeRefusal | undefined =>
  thread.some(({ blocks }) => blocks.some((block) => block.t === "file" && block.url !== undefined))
    ? { capability: "file_url", message: "this model takes files as data, not by URL" }
    : undefined

function encodeMessage(message: Message): ReadonlyArray<object> {
  switch (message.role) {
    case "system":
      return [{ role: "system", content: joinText(message.blocks) }]
    case "assistant":
      return [encodeAssistant(message.blocks)]
    case "tool":
      return message.blocks.map(encodeToolResult)
    case "user": {
      const results = message.blocks.filter((block) => block.t === "tool_result").map(encodeToolResult)
      const parts = message.blocks.filter((block) => block.t !== "tool_result")
      if (parts.length === 0) return results
      const [only] = parts
      const content = parts.length === 1 && only?.t === "text" ? only.v : parts.map(encodePart)
      return [...results, { role: "user", content }]
    }
  }
}

/** Reasoning stays behind: this dialect has no place to give it back. */
function encodeAssistant(blocks: ReadonlyArray<Block>): object {
  const text = joinText(blocks)
  const calls = blocks.filter((block): block is ToolCallBlock => block.t === "tool_call")
  return {
    role: "assistant",
    content: text === "" && calls.length > 0 ? null : text,
    ...(calls.length > 0 && {
      tool_calls: calls.map(({ id, name, input }) => ({
        id,
        type: "function",
        function: { name, arguments: JSON.stringify(input) },
      })),
    }),
  }
}

const joinText = (blocks: ReadonlyArray<Block>): string =>
  blocks.map((block) => (block.t === "text" ? block.v : "")).join("")

const encodeToolResult = ({ id, v }: ToolResultBlock): object => ({ role: "tool", tool_call_id: id, content: v })

function encodePart(part: Exclude<Block, ToolResultBlock>): object {
  switch (part.t) {
    case "image":
      return { type: "image_url", image_url: { url: sourceUrl(part) } }
    case "file":
      return part.mime.startsWith("audio/")
        ? { type: "input_audio", input_audio: { data: part.data, format: audioFormat(part.mime) } }
        : { type: "file", file: { filename: part.name ?? "file", file_data: sourceUrl(part) } }
    default:
      return { type: "text", text: part.t === "text" ? part.v : "" }
  }
}

const sourceUrl = ({ mime, data, url }: ImageBlock | FileBlock): string => url ?? `data:${mime};base64,${data}`

const audioFormat = (mime: string): string => (mime === "audio/mpeg" ? "mp3" : mime.slice("audio/".length))
