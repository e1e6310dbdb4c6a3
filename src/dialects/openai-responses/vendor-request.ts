/** The request side of the dialect `openai-responses`. */
import { Result } from "effect"
import {
  type Block,
  everyBlock,
  type Message,
  type ReasoningBlock,
  sourceUrl,
  type ToolResultBlock,
} from "../../protocol/block.ts"
import type { ReasoningLevel } from "../../protocol/exchange.ts"
import { JsonText } from "../../protocol/json/json-text.ts"
import { isToolSearch } from "../../protocol/tool.ts"
import { type AskedOutput, outputName, type VendorRequest } from "../chat-dialect.ts"
import { openaiEffort } from "../openai-chat/models.ts"
import { inputText, outputSchemaOf, schemaOf } from "../parse/exact-json.ts"
import { type ExtraWords, encodeExtras, lacks, sameAs } from "../vendor/extras.ts"
import { makersName } from "../vendor/family.ts"
import { isKeptElsewhere, keptElsewhere } from "../vendor/kept-files.ts"
import { encodeSound } from "../vendor/openai-sound.ts"
import { meetAll } from "../vendor/requirements.ts"
import { movesMedia } from "../vendor/results.ts"
import { isStrict } from "../vendor/schemas.ts"
import { signatureFor, signFor } from "../vendor/signature.ts"
import { ownBlock, shownText } from "../vendor/vendor-blocks.ts"
import type { EncodeRefusal } from "../wire.ts"
import { responsesRequirements } from "./requirements.ts"

export const encodeResponses = (request: VendorRequest): Result.Result<object, EncodeRefusal> =>
  Result.flatMap(meetAll(responsesRequirements, request), (met) => writeResponses(withSoundBehind(met)))

/** The output of a function has text, pictures and files. */
const withSoundBehind = movesMedia(({ t }) => t !== "audio")

const writeResponses = (request: VendorRequest): Result.Result<object, EncodeRefusal> => {
  if (request.stop.length > 0) {
    return Result.fail({ capability: "stop", message: "this model does not accept stop sequences" })
  }
  const refusal = findRefusal(request)
  if (refusal !== undefined) return Result.fail(refusal)
  const { logprobs, verbosity, ...extras } = request.extras ?? {}
  const fields = encodeExtras(extras, words)
  if (Result.isFailure(fields)) return Result.fail(fields.failure)
  const include = [
    ...(request.canReason ? ["reasoning.encrypted_content"] : []),
    ...(logprobs === undefined ? [] : ["message.output_text.logprobs"]),
  ]
  const { truncation, promptCacheOptions, reasoningMode } = extras.vendorOptions?.openai ?? {}
  const text = {
    ...(request.output !== undefined && { format: encodeOutput(request.output) }),
    ...(request.anyJson === true && { format: { type: "json_object" } }),
    ...(verbosity !== undefined && verbosity !== "medium" && { verbosity }),
  }
  const reasoning = {
    ...encodeReasoningLevel(request),
    ...(reasoningMode !== undefined && { mode: reasoningMode }),
  }
  return Result.succeed({
    model: request.model,
    input: encodeThread(request.thread),
    max_output_tokens: request.maxTokens,
    // Nothing is stored at the vendor; encrypted reasoning is returned with the thread.
    store: false,
    ...(include.length > 0 && { include }),
    ...(logprobs !== undefined && logprobs > 0 && { top_logprobs: logprobs }),
    ...(request.temperature !== undefined && { temperature: request.temperature }),
    ...(request.topP !== undefined && { top_p: request.topP }),
    ...(Object.keys(reasoning).length > 0 && { reasoning }),
    ...(Object.keys(text).length > 0 && { text }),
    ...fields.success,
    ...(truncation !== undefined && { truncation }),
    ...(promptCacheOptions !== undefined && { prompt_cache_options: promptCacheOptions }),
    ...encodeTools(request),
    ...(countTools(request) > 0 && {
      ...(request.toolChoice !== undefined && { tool_choice: encodeToolChoice(request) }),
      ...(request.parallelToolCalls !== undefined && { parallel_tool_calls: request.parallelToolCalls }),
    }),
    ...(request.cache.key !== undefined && { prompt_cache_key: request.cache.key }),
    ...(request.stream && { stream: true }),
  })
}

/** Verbosity and logprobs have fields of their own. */
export const words: ExtraWords = { serviceTier: sameAs("service_tier") }

const findRefusal = ({ thread }: VendorRequest): EncodeRefusal | undefined => {
  for (const block of everyBlock(thread)) {
    if (block.t === "video") return lacks("videos")
    if (isKeptElsewhere(block, "openai")) return keptElsewhere
    if (block.t === "audio" && block.url !== undefined) return lacks("audio")
  }
  return undefined
}

/** A limit on calls counts the vendor's own tools only. */
const encodeTools = ({ tools, textTools = [], ownTools = [], searches }: VendorRequest): object => {
  const isSearched = ownTools.some(isToolSearch)
  const own = [
    ...tools.map((tool) => ({
      type: "function",
      name: tool.name,
      ...(isSearched && tool.deferred === true && { defer_loading: true }),
      ...(tool.description !== undefined && { description: tool.description }),
      parameters: schemaOf(tool),
      strict: tool.strict === true && isStrict(tool.inputSchema),
    })),
    ...textTools.map(({ name, description, grammar }) => ({
      type: "custom",
      name,
      ...(description !== undefined && { description }),
      ...(grammar !== undefined && { format: { type: "grammar", ...grammar } }),
    })),
    ...ownTools.map(({ v }) => new JsonText(v)),
  ]
  if (searches !== undefined) return { tools: [...own, { type: "web_search" }], max_tool_calls: searches }
  return own.length > 0 ? { tools: own } : {}
}

/** For an OpenAI model that reasons, the level of reasoning is also its effort. */
const encodeReasoningLevel = (request: VendorRequest): object => {
  const { reasoning, effort, reasoningDisplay, canReason } = request
  const word = (level: ReasoningLevel) => openaiEffort(level, makersName(request))
  if (reasoning === undefined) return canReason && effort !== undefined ? { effort: word(effort) } : {}
  const isShown = reasoning !== "off" && reasoningDisplay !== "omitted"
  return { effort: word(reasoning), ...(isShown && { summary: "auto" }) }
}

const encodeOutput = (output: AskedOutput): object => ({
  type: "json_schema",
  name: output.name ?? outputName,
  schema: outputSchemaOf(output),
  strict: output.strict ?? false,
})

const countTools = ({ tools, textTools = [], ownTools = [] }: VendorRequest): number =>
  tools.length + textTools.length + ownTools.length

const encodeToolChoice = ({ toolChoice, textTools }: VendorRequest): unknown => {
  if (typeof toolChoice !== "object") return toolChoice
  const { name } = toolChoice
  return { type: textTools?.some((tool) => tool.name === name) ? "custom" : "function", name }
}

/** A result of a tool that takes a text has another type than that of a function. */
const encodeThread = (thread: ReadonlyArray<Message>): ReadonlyArray<object> => {
  const texts = new Set(
    thread.flatMap(({ blocks }) =>
      blocks.flatMap((block) => (block.t === "tool_call" && block.text !== undefined ? [block.id] : [])),
    ),
  )
  return thread.flatMap((message) => encodeMessage(message, texts))
}

/** Messages become items; content between two calls or results becomes its own messages, in order. */
function encodeMessage(message: Message, texts: ReadonlySet<string>): ReadonlyArray<object> {
  const { role, blocks } = message
  const items: Array<object> = []
  let content: Array<object> = []
  let phase: string | undefined
  const flush = () => {
    if (content.length > 0) items.push({ type: "message", role, ...(phase !== undefined && { phase }), content })
    content = []
  }
  for (const block of blocks) {
    const part = encodePart(block, role)
    if (part !== undefined) {
      const own = phaseOf(message, block)
      if (own !== phase) flush()
      phase = own
      content.push(part)
      continue
    }
    flush()
    const item = encodeItem(block, texts)
    if (item !== undefined) items.push(item)
  }
  flush()
  return items
}

/** Models that send phases must get them back. Source: https://platform.openai.com/docs/guides/latest-model */
const phaseOf = (message: Message, block: Block): string | undefined =>
  message.role === "assistant" && block.t === "text" ? (block.phase ?? message.phase) : undefined

function encodePart(block: Block, role: Message["role"]): object | undefined {
  switch (block.t) {
    case "text":
      return { type: role === "assistant" ? "output_text" : "input_text", text: block.v }
    case "image": {
      const { kept, detail = "auto" } = block
      return kept !== undefined
        ? { type: "input_image", file_id: kept.id, detail }
        : { type: "input_image", image_url: sourceUrl(block), detail }
    }
    case "file":
      if (block.kept !== undefined) return { type: "input_file", file_id: block.kept.id }
      return block.url !== undefined
        ? { type: "input_file", file_url: block.url }
        : { type: "input_file", filename: block.name ?? "file", file_data: sourceUrl(block) }
    case "audio":
      return encodeSound(block)
    case "vendor": {
      if (ownBlock("openai", block) !== undefined || shownText(block) === "") return undefined
      return { type: role === "assistant" ? "output_text" : "input_text", text: shownText(block) }
    }
    default:
      return undefined
  }
}

function encodeItem(block: Block, texts: ReadonlySet<string>): object | undefined {
  switch (block.t) {
    case "tool_call":
      return block.text === undefined
        ? { type: "function_call", call_id: block.id, name: block.name, arguments: inputText(block) }
        : { type: "custom_tool_call", call_id: block.id, name: block.name, input: block.text }
    case "tool_result":
      return encodeResult(block, texts.has(block.id))
    case "reasoning":
      return encodeReasoning(block)
    case "vendor":
      return ownBlock("openai", block) && new JsonText(block.v)
    default:
      return undefined
  }
}

const encodeResult = ({ id, v, blocks = [] }: ToolResultBlock, isOfText: boolean): object => ({
  type: isOfText ? "custom_tool_call_output" : "function_call_output",
  call_id: id,
  output: v ?? blocks.map((block) => encodePart(block, "user")),
})

/** An item id contains no colon. */
const separator = ":"

/** Encodes a reasoning item for a later request: its id and its encrypted content; undefined if there is none. */
export const reasoningSignature = (id: string | undefined, sealed: string | undefined): string | undefined =>
  sealed ? signFor("openai", `${id ?? ""}${separator}${sealed}`) : undefined

/** Reasoning without encrypted content, or of another vendor, is omitted. */
function encodeReasoning({ v, signature }: ReasoningBlock): object | undefined {
  const own = signatureFor("openai", signature)
  if (own === undefined) return undefined
  const end = own.indexOf(separator)
  const id = own.slice(0, Math.max(end, 0))
  return {
    type: "reasoning",
    ...(id !== "" && { id }),
    summary: v === "" ? [] : [{ type: "summary_text", text: v }],
    encrypted_content: own.slice(end + 1),
  }
}
