/** The request side of the dialect `anthropic`. */

import { Result } from "effect"
import {
  type Block,
  type Cacheable,
  everyBlock,
  type FileBlock,
  type ImageBlock,
  type Message,
  type ReasoningBlock,
  type TextBlock,
  type VendorBlock,
} from "../../protocol/block.ts"
import type { ToolChoice } from "../../protocol/exchange.ts"
import { cut, editJsonText, set } from "../../protocol/json-edit.ts"
import { JsonText } from "../../protocol/json-text.ts"
import { isToolSearch } from "../../protocol/tool.ts"
import { entryOf } from "../../protocol/words.ts"
import { lacksOutput, type VendorRequest } from "../dialect.ts"
import { inputOf, outputSchemaOf, schemaOf } from "../exact-json.ts"
import { type ExtraWords, encodeExtras, lacks } from "../extras.ts"
import { makersName } from "../family.ts"
import { parseObject } from "../json.ts"
import { isKeptElsewhere, keptElsewhere } from "../kept-files.ts"
import { meetAll } from "../requirements.ts"
import { markOfResult } from "../results.ts"
import { withJsonAsked } from "../schemas.ts"
import { signatureFor } from "../signature.ts"
import { ownBlock, shownText } from "../vendor-blocks.ts"
import type { EncodeRefusal, WireRequest } from "../wire.ts"
import { instructionPlaces, takesInstructions } from "./instructions.ts"
import { claudeSchema } from "./output-schema.ts"
import { anthropicRequirements, isBlank } from "./requirements.ts"
import { claudeVersion, effortOf, encodeThinking } from "./thinking.ts"

/** Anthropic accepts this many cache breakpoints per request; the last ones are the most useful. */
const maxCacheBreakpoints = 4

const ownText = Symbol("ownText")

/** Without a life of its own, a prefix is kept for five minutes. */
interface CacheMark {
  readonly type: "ephemeral"
  readonly ttl?: "5m" | "1h"
}

/** A block, or a tool. */
interface Markable {
  cache_control?: CacheMark
  /** The text of a block of Anthropic's own tools, or of such a tool. */
  readonly [ownText]?: string
  readonly [key: string]: unknown
}

interface WireBlock extends Markable {
  readonly type: string
}

interface WireMessage {
  readonly role: "user" | "assistant" | "system"
  readonly content: Array<WireBlock>
}

/** @param isCloud whether Claude runs at a cloud, which takes instructions before the thread only */
export const encodeMessages = (request: VendorRequest, isCloud = false): Result.Result<object, EncodeRefusal> =>
  Result.flatMap(meetAll(anthropicRequirements, request), (met) => writeMessages(withJsonAsked(met), isCloud))

const writeMessages = (request: VendorRequest, isCloud: boolean): Result.Result<object, EncodeRefusal> => {
  if (request.output !== undefined && !takesOutput(request)) return Result.fail(lacksOutput)
  const refusal = findRefusal(request)
  if (refusal !== undefined) return Result.fail(refusal)
  const thinking = encodeThinking(request)
  // With thinking enabled, Anthropic does not accept sampling parameters.
  const extras = encodeExtras(request.extras, thinking === undefined ? words : thinkingWords)
  if (Result.isFailure(extras)) return Result.fail(extras.failure)
  const { system, messages } = mergeTurns(request.thread, takesInstructions(request) && !isCloud)
  const tools = offeredTools(request)
  // A prefix is read in this order.
  const blocks = [...tools, ...system, ...messages.flatMap(({ content }) => content)]
  if (request.cache.enabled) setCacheBreakpoints(blocks, messages, request.cache.skipWrite)
  else clearCacheBreakpoints(blocks)
  return Result.succeed({
    model: request.model,
    max_tokens: request.maxTokens,
    ...(system.length > 0 && { system: system.map(written) }),
    messages: messages.map(({ role, content }) => ({ role, content: content.map(written) })),
    ...encodeTools(request, tools),
    ...(request.stop.length > 0 && { stop_sequences: request.stop }),
    ...(thinking === undefined && request.temperature !== undefined && { temperature: request.temperature }),
    ...(thinking === undefined && request.topP !== undefined && { top_p: request.topP }),
    ...extras.success,
    ...thinking?.fields,
    ...encodeOutputConfig(request, effortOf(makersName(request), request.effort ?? thinking?.effort)),
    ...(request.stream && { stream: true }),
  })
}

/** Tiers have words of their own: `auto` is priority where there is some. */
const tierWords: Readonly<Record<string, string>> = { priority: "auto", standard: "standard_only" }

export const words: ExtraWords = {
  topK: (top_k) => ({ top_k }),
  serviceTier: (tier) => {
    const word = entryOf(tierWords, tier)
    return word === undefined ? undefined : { service_tier: word }
  },
}
const thinkingWords: ExtraWords = { ...words, topK: () => ({}) }

/** Features that a request uses, and that must be asked for: https://docs.anthropic.com/en/api/beta-headers */
export const betasOf = ({ thread, extras }: VendorRequest): ReadonlySet<string> => {
  const betas = new Set<string>()
  if (extras?.vendorOptions?.anthropic?.taskBudget !== undefined) betas.add("task-budgets-2026-03-13")
  for (const block of everyBlock(thread)) {
    if ((block.t === "image" || block.t === "file") && block.kept !== undefined) betas.add("files-api-2025-04-14")
    const type = block.t === "vendor" ? ownBlock("anthropic", block)?.["type"] : undefined
    if (type === "compaction") betas.add("compact-2026-01-12")
    if (type === "mcp_tool_use" || type === "mcp_tool_result") betas.add("mcp-client-2025-11-20")
  }
  return betas
}

export const betaHeader = (betas: Iterable<string>): Readonly<Record<string, string>> => {
  const names = [...betas]
  return names.length === 0 ? {} : { "anthropic-beta": names.join(",") }
}

/** A request with its body. */
export const messagesWire = <Body extends string | Uint8Array>(
  { stream }: VendorRequest,
  betas: Iterable<string>,
  body: Body,
): WireRequest<Body> => ({
  path: "/v1/messages",
  headers: { accept: stream ? "text/event-stream" : "application/json", ...betaHeader(betas) },
  body,
})

/** The name of Anthropic's own search: https://docs.anthropic.com/en/docs/agents-and-tools/tool-use/web-search-tool */
export const searchTool = "web_search"

const offeredTools = (request: VendorRequest): ReadonlyArray<Markable> => {
  const { tools, ownTools = [] } = request
  const isSearched = ownTools.some(isToolSearch)
  const own = tools.map((tool) => ({
    name: tool.name,
    ...marked(tool.cacheable),
    ...(isSearched && tool.deferred === true && { defer_loading: true }),
    ...(tool.description !== undefined && { description: tool.description }),
    input_schema: tool.strict === true && takesOutput(request) ? claudeSchema(tool.inputSchema) : schemaOf(tool),
    ...(tool.strict === true && takesOutput(request) && { strict: true }),
  }))
  return [...own, ...ownTools.map(({ v }) => ({ ...parseObject(v), [ownText]: v }))]
}

const encodeTools = (request: VendorRequest, tools: ReadonlyArray<Markable>): object => {
  const { searches } = request
  const search = searches === undefined ? [] : [{ type: "web_search_20250305", name: searchTool, max_uses: searches }]
  return {
    ...(tools.length + search.length > 0 && { tools: [...tools.map(written), ...search] }),
    ...(tools.length > 0 && encodeToolChoice(request)),
  }
}

/** https://platform.claude.com/docs/en/build-with-claude/structured-outputs; a name without a number is not refused. */
const takesOutput = (request: VendorRequest): boolean => {
  const version = claudeVersion(request)
  return version === 0 || version >= 4.1
}

const encodeOutputConfig = ({ output, extras }: VendorRequest, effort: string | undefined): object => {
  const taskBudget = extras?.vendorOptions?.anthropic?.taskBudget
  return effort === undefined && output === undefined && taskBudget === undefined
    ? {}
    : {
        output_config: {
          ...(effort !== undefined && { effort }),
          ...(output !== undefined && { format: { type: "json_schema", schema: outputSchemaOf(output) } }),
          ...(taskBudget !== undefined && { task_budget: taskBudget }),
        },
      }
}

function encodeToolChoice({ toolChoice, parallelToolCalls }: VendorRequest): object {
  if (toolChoice === undefined && parallelToolCalls === undefined) return {}
  const isSingle = parallelToolCalls !== undefined && toolChoice !== "none"
  return {
    tool_choice: {
      ...encodeChoice(toolChoice ?? "auto"),
      ...(isSingle && { disable_parallel_tool_use: !parallelToolCalls }),
    },
  }
}

function encodeChoice(choice: ToolChoice): object {
  if (typeof choice !== "string") return { type: "tool", name: choice.name }
  return { type: choice === "required" ? "any" : choice }
}

const isReadableFile = ({ mime, url }: FileBlock): boolean =>
  mime === "application/pdf" || (mime.startsWith("text/") && url === undefined)

const findRefusal = ({ thread }: VendorRequest): EncodeRefusal | undefined => {
  for (const block of everyBlock(thread)) {
    if (isKeptElsewhere(block, "anthropic")) return keptElsewhere
    if (block.t === "file" && block.kept === undefined && !isReadableFile(block)) {
      return { capability: "file_type", message: "this model accepts files of type application/pdf, or text as data" }
    }
    if (block.t === "video") return lacks("videos")
    if (block.t === "audio") return lacks("audio")
  }
  return undefined
}

interface Turns {
  readonly system: Array<WireBlock>
  readonly messages: Array<WireMessage>
}

const roles = { system: "system", user: "user", assistant: "assistant", tool: "user" } as const

/**
 * Tool results have the role user; adjacent messages of one role are merged. Instructions stay where the model takes them there;
 * those behind the model's last words are a user's, which it answers.
 */
function mergeTurns(thread: ReadonlyArray<Message>, keepsInstructions: boolean): Turns {
  const turns = thread
    .map(({ role, blocks }) => ({ role: roles[role], content: encodeBlocks(blocks) }))
    .filter(({ content }) => content.length > 0)
  const places = instructionPlaces(turns.map(({ role }) => role))
  const system: Array<WireBlock> = []
  const messages: Array<WireMessage> = []
  for (const [at, { role: said, content }] of turns.entries()) {
    const place = places[at]
    const role = place === "at the end" ? "user" : said
    if (role === "system" && !(keepsInstructions && place === "after a user")) {
      system.push(...content)
      continue
    }
    const last = messages.at(-1)
    if (last?.role === role) last.content.push(...content)
    else messages.push({ role, content })
  }
  return { system, messages }
}

const encodeBlocks = (blocks: ReadonlyArray<Block>): Array<WireBlock> => blocks.flatMap(encodeBlock)

const marked = (cacheable: Cacheable = false): { cache_control?: CacheMark } => {
  if (cacheable === false) return {}
  return { cache_control: { type: "ephemeral", ...(cacheable !== true && { ttl: cacheable }) } }
}

function encodeBlock(block: Block): ReadonlyArray<WireBlock> {
  switch (block.t) {
    case "text":
      return encodeText(block)
    case "reasoning":
      return encodeReasoning(block)
    case "tool_call":
      return [{ type: "tool_use", id: block.id, name: block.name, input: inputOf(block), ...marked(block.cacheable) }]
    case "tool_result":
      return [
        {
          type: "tool_result",
          tool_use_id: block.id,
          content: block.v ?? block.blocks?.filter((inner) => !isBlank(inner)).flatMap(encodePart) ?? "",
          ...(block.isError === true && { is_error: true }),
          ...marked(markOfResult(block)),
        },
      ]
    case "image":
      return [{ type: "image", source: mediaSource(block), ...marked(block.cacheable) }]
    case "file":
      return [
        {
          type: "document",
          source:
            block.data !== undefined && block.mime.startsWith("text/")
              ? { type: "text", media_type: "text/plain", data: Buffer.from(block.data, "base64").toString("utf8") }
              : mediaSource(block),
          ...(block.name !== undefined && { title: block.name }),
          ...marked(block.cacheable),
        },
      ]
    case "vendor":
      return encodeOwn(block)
    case "video":
    case "audio":
      // Refused before.
      return []
  }
}

/** A part of a result, which has the mark of its parts. */
const encodePart = (part: Block): ReadonlyArray<WireBlock> => {
  const blocks = encodeBlock(part)
  clearCacheBreakpoints(blocks)
  return blocks
}

/** What Anthropic's tools left goes back to it as it is; of others' tools there is the text that they showed. */
function encodeOwn(block: VendorBlock): ReadonlyArray<WireBlock> {
  const own = ownBlock("anthropic", block)
  if (own !== undefined && typeof own["type"] === "string") return [{ ...own, type: own["type"], [ownText]: block.v }]
  return encodeText({ t: "text", v: shownText(block) })
}

/** A block of Anthropic's own tools is its text, with the mark that it has here. */
const written = (block: Markable): object => {
  const { [ownText]: text, cache_control: mark } = block
  if (text === undefined) return block
  return new JsonText(editJsonText(text, [mark === undefined ? cut("cache_control") : set(mark, "cache_control")]))
}

/** Thinking without its signature, or of another vendor, is refused, so it is omitted. */
function encodeReasoning({ v, signature, redacted }: ReasoningBlock): ReadonlyArray<WireBlock> {
  if (redacted === true) return [{ type: "redacted_thinking", data: v }]
  const own = signatureFor("anthropic", signature)
  return own === undefined ? [] : [{ type: "thinking", thinking: v, signature: own }]
}

/** Anthropic refuses empty text. */
const encodeText = ({ v, cacheable }: TextBlock): ReadonlyArray<WireBlock> =>
  v === "" ? [] : [{ type: "text", text: v, ...marked(cacheable) }]

const mediaSource = ({ mime, data, url, kept }: ImageBlock | FileBlock): object => {
  if (kept !== undefined) return { type: "file", file_id: kept.id }
  return url !== undefined ? { type: "url", url } : { type: "base64", media_type: mime, data }
}

const isCacheable = ({ type }: WireBlock): boolean => type !== "thinking" && type !== "redacted_thinking"

const lastsLong = ({ cache_control: mark }: Markable): boolean => mark?.ttl === "1h"

/**
 * Marks the end of the thread, as long as its last breakpoint, unless this is a one-shot request, and keeps the last
 * breakpoints that fit. Nothing may be kept for an hour after what is kept for less:
 * https://platform.claude.com/docs/en/build-with-claude/prompt-caching
 */
function setCacheBreakpoints(
  blocks: ReadonlyArray<Markable>,
  messages: ReadonlyArray<WireMessage>,
  skipWrite: boolean,
): void {
  const tail = messages.at(-1)?.content.at(-1)
  const isMarked = ({ cache_control: mark }: Markable) => mark !== undefined
  if (!skipWrite && tail !== undefined && isCacheable(tail)) {
    tail.cache_control = blocks.findLast(isMarked)?.cache_control ?? { type: "ephemeral" }
  }
  const marks = blocks.filter(isMarked)
  clearCacheBreakpoints(marks.slice(0, -maxCacheBreakpoints))
  for (const block of marks.slice(-maxCacheBreakpoints, marks.findLastIndex(lastsLong) + 1)) {
    block.cache_control = { type: "ephemeral", ttl: "1h" }
  }
}

function clearCacheBreakpoints(blocks: ReadonlyArray<Markable>): void {
  for (const block of blocks) delete block.cache_control
}
