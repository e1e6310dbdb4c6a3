/** The request side of the dialect `anthropic`. */

import { Result } from "effect"
import { everyBlock, type FileBlock, type Message } from "../../protocol/block.ts"
import type { ToolChoice } from "../../protocol/exchange.ts"
import { isToolSearch } from "../../protocol/tool.ts"
import { entryOf } from "../../protocol/values/entry.ts"
import { lacksOutput, type VendorRequest } from "../chat-dialect.ts"
import { outputSchemaOf, schemaOf } from "../parse/exact-json.ts"
import { parseObject } from "../parse/json.ts"
import { type ExtraWords, encodeExtras, lacks } from "../vendor/extras.ts"
import { makersName } from "../vendor/family.ts"
import { isKeptElsewhere, keptElsewhere } from "../vendor/kept-files.ts"
import { meetAll } from "../vendor/requirements.ts"
import { withJsonAsked } from "../vendor/schemas.ts"
import { ownBlock } from "../vendor/vendor-blocks.ts"
import type { EncodeRefusal, WireRequest } from "../wire.ts"
import {
  clearCacheBreakpoints,
  type Markable,
  marked,
  ownText,
  setCacheBreakpoints,
  type WireBlock,
  type WireMessage,
} from "./cache-marks.ts"
import { instructionPlaces, takesInstructions } from "./instructions.ts"
import { claudeSchema } from "./output-schema.ts"
import { anthropicRequirements } from "./requirements.ts"
import { claudeVersion, effortOf, encodeThinking } from "./thinking.ts"
import { encodeBlocks, written } from "./written-blocks.ts"

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

/** Anthropic's names of tiers: `auto` is priority if the account has some. */
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

/** https://platform.claude.com/docs/en/build-with-claude/structured-outputs; a model whose name has no number is not refused. */
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
 * Tool results have the role user; adjacent messages of one role are merged. Instructions stay if the model takes them at
 * their position; those behind the model's last text become a message of the user, which the model answers.
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
