/** Chat in Cohere's format: the request. Source: https://docs.cohere.com/reference/chat */
import { Result } from "effect"
import { type Block, everyBlock, type Message, sourceUrl, type ToolResultBlock } from "../../protocol/block.ts"
import type { VendorRequest } from "../chat-dialect.ts"
import { detailOf } from "../openai-chat/vendor-request.ts"
import { inputText, outputSchemaOf, schemaOf } from "../parse/exact-json.ts"
import { type ExtraWords, encodeExtras, lacks, sameAs } from "../vendor/extras.ts"
import { isKeptElsewhere, keptElsewhere } from "../vendor/kept-files.ts"
import { meetAll } from "../vendor/requirements.ts"
import { resultText } from "../vendor/results.ts"
import { isAnyObject, withJsonAsked, withJsonSaid } from "../vendor/schemas.ts"
import { shownText } from "../vendor/vendor-blocks.ts"
import type { EncodeRefusal } from "../wire.ts"
import { cohereRequirements } from "./requirements.ts"

export const encodeChat = (request: VendorRequest): Result.Result<object, EncodeRefusal> =>
  Result.flatMap(
    meetAll(cohereRequirements, request.tools.length > 0 ? withJsonAsked(request) : withJsonSaid(request)),
    writeChat,
  )

const writeChat = (request: VendorRequest): Result.Result<object, EncodeRefusal> => {
  const { thread, tools, toolChoice, reasoning, reasoningBudget, output } = request
  const refusal = findRefusal(request)
  if (refusal !== undefined) return Result.fail(refusal)
  const extras = encodeExtras(request.extras, words)
  if (Result.isFailure(extras)) return Result.fail(extras.failure)
  const named = typeof toolChoice === "object" ? toolChoice.name : undefined
  // Cohere cannot choose one tool: so it is the only one that is offered.
  const offered = named === undefined ? tools : tools.filter(({ name }) => name === named)
  return Result.succeed({
    model: request.model,
    messages: thread.flatMap((message) => encodeMessage(message, request.canReason)),
    max_tokens: request.maxTokens,
    stream: request.stream,
    ...(request.temperature !== undefined && { temperature: request.temperature }),
    ...(request.topP !== undefined && { p: request.topP }),
    ...(request.stop.length > 0 && { stop_sequences: request.stop }),
    ...extras.success,
    ...(reasoning !== undefined && { thinking: thinkingOf(reasoning, reasoningBudget) }),
    // If there are tools, the instruction is the only way to ask for JSON.
    ...(request.anyJson === true && tools.length === 0 && { response_format: { type: "json_object" } }),
    ...(output !== undefined && {
      response_format: {
        type: "json_object",
        ...(!isAnyObject(output.schema) && { json_schema: outputSchemaOf(output) }),
      },
    }),
    ...(offered.length > 0 && {
      tools: offered.map((tool) => ({
        type: "function",
        function: {
          name: tool.name,
          ...(tool.description !== undefined && { description: tool.description }),
          parameters: schemaOf(tool),
        },
      })),
      ...choiceOf(toolChoice),
    }),
  })
}

export const words: ExtraWords = {
  seed: sameAs("seed"),
  frequencyPenalty: sameAs("frequency_penalty"),
  presencePenalty: sameAs("presence_penalty"),
  topK: sameAs("k"),
}

const findRefusal = ({ thread }: VendorRequest): EncodeRefusal | undefined => {
  const uses = (kind: Block["t"]) => thread.some(({ blocks }) => blocks.some(({ t }) => t === kind))
  if (uses("file")) return lacksFiles
  if (everyBlock(thread).some((block) => block.t === "tool_result" && block.blocks?.some(({ t }) => t !== "text"))) {
    return lacksResultMedia
  }
  if (thread.some(({ blocks }) => blocks.some((block) => isKeptElsewhere(block, undefined)))) return keptElsewhere
  if (uses("video")) return lacks("videos")
  return uses("audio") ? lacks("audio") : undefined
}

const lacksResultMedia: EncodeRefusal = {
  capability: "tool_results",
  message: "this model accepts text alone in the results of tools",
}
const lacksFiles: EncodeRefusal = { capability: "files", message: "this model accepts no files" }

/** Absent means that the model chooses. */
const choiceOf = (choice: VendorRequest["toolChoice"]): object => {
  if (choice === undefined || choice === "auto") return {}
  return { tool_choice: choice === "none" ? "NONE" : "REQUIRED" }
}

const thinkingOf = (level: NonNullable<VendorRequest["reasoning"]>, budget: number | undefined): object =>
  level === "off" ? { type: "disabled" } : { type: "enabled", ...(budget !== undefined && { token_budget: budget }) }

const encodeMessage = (message: Message, canReason: boolean): ReadonlyArray<object> => {
  switch (message.role) {
    case "system":
      return [{ role: "system", content: joined(message.blocks) }]
    case "assistant":
      return [encodeAssistant(message.blocks, canReason)]
    case "tool":
      return message.blocks.map(encodeResult)
    case "user": {
      const results = message.blocks.filter((block) => block.t === "tool_result")
      const parts = message.blocks.filter((block) => block.t !== "tool_result")
      const content = parts.every(({ t }) => t === "text") ? joined(parts) : parts.flatMap(encodePart)
      return [...results.map(encodeResult), ...(parts.length > 0 ? [{ role: "user", content }] : [])]
    }
  }
}

const encodeAssistant = (blocks: ReadonlyArray<Block>, canReason: boolean): object => {
  const calls = blocks.flatMap((block) => (block.t === "tool_call" ? [block] : []))
  const thoughts = blocks.flatMap((block) =>
    canReason && block.t === "reasoning" && block.redacted !== true && block.v !== ""
      ? [{ type: "thinking", thinking: block.v }]
      : [],
  )
  const text = joined(blocks)
  return {
    role: "assistant",
    ...(thoughts.length > 0
      ? { content: [...thoughts, ...(text === "" ? [] : [{ type: "text", text }])] }
      : text !== "" && { content: text }),
    ...(calls.length > 0 && {
      tool_calls: calls.map((call) => ({
        id: call.id,
        type: "function",
        function: { name: call.name, arguments: inputText(call) },
      })),
    }),
  }
}

const encodeResult = (result: ToolResultBlock): object => ({
  role: "tool",
  tool_call_id: result.id,
  content: resultText(result),
})

const encodePart = (block: Block): ReadonlyArray<object> => {
  if (block.t === "text") return [{ type: "text", text: block.v }]
  if (block.t === "vendor") return shownText(block) === "" ? [] : [{ type: "text", text: shownText(block) }]
  return block.t === "image" ? [{ type: "image_url", image_url: { url: sourceUrl(block), ...detailOf(block) } }] : []
}

const joined = (blocks: ReadonlyArray<Block>): string =>
  blocks.map((block) => (block.t === "text" ? block.v : block.t === "vendor" ? shownText(block) : "")).join("")
