/** The request side of the dialect `openai-chat`, including vendor profiles. */
import { Result } from "effect"
import {
  type Block,
  type Cacheable,
  everyBlock,
  type FileBlock,
  type ImageBlock,
  type Message,
  type ReasoningBlock,
  sourceUrl,
  type TextBlock,
  type ToolCallBlock,
  type ToolResultBlock,
} from "../../protocol/block.ts"
import type { StructuredOutput } from "../../protocol/exchange.ts"
import type { VendorOptions } from "../../protocol/extra-params.ts"
import { outputName, type VendorRequest } from "../chat-dialect.ts"
import { inputText, outputSchemaOf, schemaOf } from "../parse/exact-json.ts"
import { encodeExtras, lacks } from "../vendor/extras.ts"
import { makersName } from "../vendor/family.ts"
import { isKeptElsewhere, keptElsewhere } from "../vendor/kept-files.ts"
import { encodeSound } from "../vendor/openai-sound.ts"
import { meetAll } from "../vendor/requirements.ts"
import { markOfResult, movesMedia, resultText } from "../vendor/results.ts"
import { isStrict } from "../vendor/schemas.ts"
import { shownText } from "../vendor/vendor-blocks.ts"
import type { EncodeRefusal } from "../wire.ts"
import type { ChatProfile } from "./chat-profile.ts"
import { reasoningDetailsOf } from "./reasoning-details.ts"
import { chatRequirements } from "./requirements.ts"

export const encodeChat = (request: VendorRequest, profile: ChatProfile): Result.Result<object, EncodeRefusal> =>
  Result.flatMap(meetAll(chatRequirements(profile), request), (met) => writeChat(withMediaBehind(met), profile))

/** Results are text here: pictures and files in them follow in a message of a user. */
const withMediaBehind = movesMedia(() => false)

const writeChat = (request: VendorRequest, profile: ChatProfile): Result.Result<object, EncodeRefusal> => {
  const { output } = request
  const refusal = findRefusal(request, profile)
  if (refusal !== undefined) return Result.fail(refusal)
  const extras = encodeExtras(request.extras, profile.extras)
  if (Result.isFailure(extras)) return Result.fail(extras.failure)
  const tools = encodeTools(request)
  const writer = new MessageWriter(profile, request.cache.enabled)
  return Result.succeed({
    model: request.model,
    messages: request.thread.flatMap((message) => writer.encode(message)),
    [profile.maxTokens]: request.maxTokens,
    ...(request.temperature !== undefined && { temperature: request.temperature }),
    ...(request.topP !== undefined && { top_p: request.topP }),
    ...(request.stop.length > 0 && { stop: request.stop }),
    ...encodeReasoning(request, profile),
    ...(output !== undefined && {
      response_format: encodeOutput(output),
    }),
    ...(request.anyJson === true && { response_format: profile.lacksJsonMode ? anyObject : { type: "json_object" } }),
    ...(tools.length > 0 && {
      tools,
      ...(request.toolChoice !== undefined && { tool_choice: encodeToolChoice(request, profile) }),
      ...(request.parallelToolCalls !== undefined && { parallel_tool_calls: request.parallelToolCalls }),
    }),
    ...extras.success,
    ...optionsOf(request.extras?.vendorOptions, profile),
    ...(profile.cache === "key" && request.cache.key !== undefined && { prompt_cache_key: request.cache.key }),
    ...(request.stream && { stream: true, ...(profile.asksForUsage && { stream_options: { include_usage: true } }) }),
  })
}

const encodeReasoning = (request: VendorRequest, profile: ChatProfile): object => {
  const { reasoning, reasoningBudget, reasoningDisplay, effort, canReason } = request
  const model = makersName(request)
  if (reasoning !== undefined) return profile.reasoning(reasoning, model, reasoningBudget, reasoningDisplay)
  return effort !== undefined && canReason && profile.reasonsByEffort === true ? profile.reasoning(effort, model) : {}
}

const encodeOutput = (output: StructuredOutput): object => ({
  type: "json_schema",
  json_schema: {
    name: output.name ?? outputName,
    schema: outputSchemaOf(output),
    ...(output.strict !== undefined && { strict: output.strict }),
  },
})

const encodeTools = ({ tools, textTools = [] }: VendorRequest): ReadonlyArray<object> => [
  ...tools.map((tool) => ({
    type: "function",
    function: {
      name: tool.name,
      ...(tool.description !== undefined && { description: tool.description }),
      parameters: schemaOf(tool),
      ...(tool.strict === true && isStrict(tool.inputSchema) && { strict: true }),
    },
  })),
  ...textTools.map(({ name, description, grammar }) => ({
    type: "custom",
    custom: {
      name,
      ...(description !== undefined && { description }),
      ...(grammar !== undefined && { format: { type: "grammar", grammar } }),
    },
  })),
]

/** A schema of any object, if the vendor takes only schemas. */
const anyObject = encodeOutput({ schema: { type: "object" } })

const encodeToolChoice = ({ toolChoice, textTools }: VendorRequest, { requiredChoice }: ChatProfile): unknown => {
  if (toolChoice === "required") return requiredChoice
  if (typeof toolChoice !== "object") return toolChoice
  const { name } = toolChoice
  return textTools?.some((tool) => tool.name === name)
    ? { type: "custom", custom: { name } }
    : { type: "function", function: { name } }
}

/** Options of this vendor's own. */
const optionsOf = (options: VendorOptions | undefined, { options: owner }: ChatProfile): object => {
  if (options === undefined || owner === undefined) return {}
  switch (owner) {
    case "openai": {
      const { promptCacheOptions } = options.openai ?? {}
      return promptCacheOptions === undefined ? {} : { prompt_cache_options: promptCacheOptions }
    }
    case "openrouter": {
      const { provider } = options.openrouter ?? {}
      return provider === undefined ? {} : { provider }
    }
    case "groq": {
      const { reasoningFormat, searchSettings } = options.groq ?? {}
      return {
        ...(reasoningFormat !== undefined && { reasoning_format: reasoningFormat }),
        ...(searchSettings !== undefined && { search_settings: searchSettings }),
      }
    }
  }
}

export const findRefusal = (
  { thread }: Pick<VendorRequest, "thread">,
  { documents, videos, keepsFiles }: ChatProfile,
): EncodeRefusal | undefined => {
  for (const block of everyBlock(thread)) {
    // Most vendors accept files as data only.
    if (block.t === "file" && block.url !== undefined && documents === "data") return filesByUrl
    if (block.t === "audio" && block.url !== undefined) return filesByUrl
    if (block.t === "video" && videos !== true) return lacks("videos")
    // A picture has an address here, and no id.
    if (isKeptElsewhere(block, keepsFiles === true && block.t === "file" ? "openai" : undefined)) return keptElsewhere
  }
  return undefined
}

const filesByUrl: EncodeRefusal = {
  capability: "file_url",
  message: "this model accepts files as data, not by URL",
}

class MessageWriter {
  readonly #profile: ChatProfile
  readonly #marksCache: boolean

  constructor(profile: ChatProfile, cacheEnabled: boolean) {
    this.#profile = profile
    this.#marksCache = profile.cache === "marks" && cacheEnabled
  }

  encode(message: Message): ReadonlyArray<object> {
    switch (message.role) {
      case "system":
        return [{ role: "system", content: this.#textContent(message.blocks) }]
      case "assistant":
        return this.#encodeAssistant(message.blocks)
      case "tool":
        return message.blocks.map((block) => this.#encodeToolResult(block))
      case "user": {
        const results = message.blocks.filter((block) => block.t === "tool_result")
        const parts = message.blocks.filter((block) => block.t !== "tool_result")
        const encoded = results.map((block) => this.#encodeToolResult(block))
        if (parts.length === 0) return encoded
        const [only] = parts
        const content =
          parts.length === 1 && only?.t === "text"
            ? this.#textContent([only])
            : parts.map((part) => this.#encodePart(part))
        return [...encoded, { role: "user", content }]
      }
    }
  }

  /** Text alone is a string, unless a part of it must carry a mark. */
  #textContent(blocks: ReadonlyArray<TextBlock>): unknown {
    return blocks.some((block) => this.#isMarked(block))
      ? blocks.map((block) => this.#encodePart(block))
      : joinText(blocks)
  }

  #isMarked({ cacheable = false }: { readonly cacheable?: Cacheable }): boolean {
    return this.#marksCache && cacheable !== false
  }

  /** A message without text is refused by most vendors: they do not take back the model's reasoning. */
  #encodeAssistant(blocks: ReadonlyArray<Block>): ReadonlyArray<object> {
    const text = joinText(blocks)
    const calls = blocks.filter((block): block is ToolCallBlock => block.t === "tool_call")
    const reasoning = this.#encodeReasoning(blocks.filter((block) => block.t === "reasoning"))
    if (text === "" && calls.length === 0 && Object.keys(reasoning).length === 0) return []
    return [
      {
        role: "assistant",
        content: text === "" && calls.length > 0 ? null : this.#saidContent(blocks, text),
        ...reasoning,
        ...(calls.length > 0 && { tool_calls: calls.map(encodeCall) }),
      },
    ]
  }

  /** The model's text is a string, unless a part of it must carry a mark. */
  #saidContent(blocks: ReadonlyArray<Block>, text: string): unknown {
    const said = blocks.filter((block) => block.t !== "tool_result" && textOf(block) !== "")
    const isMarked = said.some((block) => block.t === "text" && this.#isMarked(block))
    return isMarked ? said.flatMap((block) => (block.t === "tool_result" ? [] : [this.#encodePart(block)])) : text
  }

  #encodeReasoning(blocks: ReadonlyArray<ReasoningBlock>): object {
    switch (this.#profile.reasoningBack) {
      case "reasoning_content": {
        const text = blocks.map(({ v, redacted }) => (redacted === true ? "" : v)).join("")
        return text === "" ? {} : { reasoning_content: text }
      }
      case "reasoning_details": {
        const details = blocks.flatMap(({ signature }) => reasoningDetailsOf(signature))
        return details.length === 0 ? {} : { reasoning_details: details }
      }
      default:
        return {}
    }
  }

  #encodeToolResult(result: ToolResultBlock): object {
    const text = resultText(result)
    const cacheable = markOfResult(result)
    const content = this.#isMarked({ cacheable }) ? [{ type: "text", text, ...cacheMark(cacheable) }] : text
    return { role: "tool", tool_call_id: result.id, content }
  }

  #encodePart(part: Exclude<Block, ToolResultBlock>): object {
    switch (part.t) {
      case "image":
        return { type: "image_url", image_url: { url: sourceUrl(part), ...detailOf(part) } }
      case "file":
        return this.#encodeFile(part)
      case "audio":
        return encodeSound(part)
      case "video":
        return { type: "video_url", video_url: { url: sourceUrl(part) } }
      default: {
        const text = { type: "text", text: textOf(part) }
        return part.t === "text" && this.#isMarked(part) ? { ...text, ...cacheMark(part.cacheable) } : text
      }
    }
  }

  #encodeFile(file: FileBlock): object {
    if (file.kept !== undefined) return { type: "file", file: { file_id: file.kept.id } }
    if (file.mime.startsWith("audio/")) return encodeSound(file)
    return this.#profile.documents === "document_url"
      ? { type: "document_url", document_url: sourceUrl(file) }
      : { type: "file", file: { filename: file.name ?? "file", file_data: sourceUrl(file) } }
  }
}

/** Vendors that do not support tools of texts get functions. */
const encodeCall = (call: ToolCallBlock): object =>
  call.text === undefined
    ? { id: call.id, type: "function", function: { name: call.name, arguments: inputText(call) } }
    : { id: call.id, type: "custom", custom: { name: call.name, input: call.text } }
/** A cache breakpoint in Anthropic's format. */
const cacheMark = (cacheable: Cacheable = true): object => ({
  cache_control: { type: "ephemeral", ...(typeof cacheable === "string" && { ttl: cacheable }) },
})

/** Chat completions have no value for the original. */
export const detailOf = ({ detail }: ImageBlock): object =>
  detail === undefined ? {} : { detail: detail === "original" ? "high" : detail }

const joinText = (blocks: ReadonlyArray<Block>): string => blocks.map(textOf).join("")

const textOf = (block: Block): string => (block.t === "text" ? block.v : block.t === "vendor" ? shownText(block) : "")
