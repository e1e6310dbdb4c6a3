/**
 * The request side of the dialect `bedrock`: Converse.
 * Source: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html
 */
import { Result } from "effect"
import type { Block, Cacheable, Message, ReasoningBlock, ToolResultBlock } from "../../protocol/block.ts"
import type { ReasoningLevel, ToolChoice } from "../../protocol/exchange.ts"
import { claudeVersion, effortOf, encodeThinking } from "../anthropic/thinking.ts"
import { lacksOutput, outputName, type VendorRequest } from "../chat-dialect.ts"
import { inputOf, schemaOf } from "../parse/exact-json.ts"
import { isObject, objectAt, objectsAt, stringAt } from "../parse/json.ts"
import { type ExtraWords, encodeExtras } from "../vendor/extras.ts"
import { makersName } from "../vendor/family.ts"
import { meetAll } from "../vendor/requirements.ts"
import { markOfResult } from "../vendor/results.ts"
import { withJsonAsked } from "../vendor/schemas.ts"
import { signatureFor } from "../vendor/signature.ts"
import { shownText } from "../vendor/vendor-blocks.ts"
import type { EncodeRefusal } from "../wire.ts"
import { encodeFile, encodeImage, encodeVideo, fileRefusal } from "./attachments.ts"
import { familyOf, type ModelFamily, takesOutput } from "./families.ts"
import { bedrockRequirements } from "./requirements.ts"

/** Bedrock accepts this many cache points per request; the last ones are the most useful. */
const maxCachePoints = 4

type WireBlock = { readonly [key: string]: unknown }

interface WireMessage {
  readonly role: "user" | "assistant"
  readonly content: Array<WireBlock>
}

const cachePoint = (ttl?: string): WireBlock => ({
  cachePoint: { type: "default", ...(ttl !== undefined && { ttl }) },
})

const isCachePoint = (block: WireBlock | undefined): boolean => block !== undefined && "cachePoint" in block

export const encodeConverse = (request: VendorRequest): Result.Result<object, EncodeRefusal> =>
  Result.flatMap(meetAll(bedrockRequirements, withJsonAsked(request)), writeConverse)

const writeConverse = (request: VendorRequest): Result.Result<object, EncodeRefusal> => {
  const { thread, cache, output } = request
  const refusal = fileRefusal(thread) ?? toolsRefusal(request)
  if (refusal !== undefined) return Result.fail(refusal)
  if (output !== undefined && !takesOutput(request, claudeVersion(request))) return Result.fail(lacksOutput)
  const family = familyOf(request)
  const { serviceTier, ...extras } = request.extras ?? {}
  const system = thread.flatMap(({ role, blocks }) => (role === "system" ? encodeBlocks(blocks, family) : []))
  const messages = mergeTurns(thread, family)
  if (cache.enabled && !cache.skipWrite) markEnd(system, messages)
  const tools = offeredTools(request, marksTools(family))
  // A prefix is read in this order.
  const contents = [tools, system, ...messages.map(({ content }) => content)]
  settleCachePoints(contents, cache.enabled ? maxCachePoints : 0, takesLives(request, family))
  const reasoning = encodeReasoningLevel(request, family)
  const samples = reasoning?.excludesSampling !== true
  const sampling = encodeExtras(extras, samples ? (words[family] ?? {}) : { topK: () => ({}) })
  if (Result.isFailure(sampling)) return Result.fail(sampling.failure)
  const more = { ...sampling.success, ...reasoning?.fields }
  return Result.succeed({
    messages,
    ...(system.length > 0 && { system }),
    inferenceConfig: {
      maxTokens: request.maxTokens,
      ...(samples && request.temperature !== undefined && { temperature: request.temperature }),
      ...(samples && request.topP !== undefined && { topP: request.topP }),
      ...(request.stop.length > 0 && { stopSequences: request.stop }),
    },
    ...encodeTools(request, tools),
    ...(Object.keys(more).length > 0 && { additionalModelRequestFields: more }),
    ...(serviceTier !== undefined && { serviceTier: { type: serviceTier } }),
    ...(output !== undefined && {
      outputConfig: {
        textFormat: {
          type: "json_schema",
          structure: {
            jsonSchema: {
              name: output.name ?? outputName,
              schema: output.schemaJson ?? JSON.stringify(output.schema),
            },
          },
        },
      },
    }),
  })
}

/**
 * Parameters beside the tier, which all models have.
 * https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters.html
 */
export const words: Readonly<Partial<Record<ModelFamily, ExtraWords>>> = {
  claude: { topK: (top_k) => ({ top_k }) },
  nova: { topK: (topK) => ({ inferenceConfig: { topK } }) },
}

const hasToolBlocks = (thread: ReadonlyArray<Message>): boolean =>
  thread.some(({ blocks }) => blocks.some(({ t }) => t === "tool_call" || t === "tool_result"))

/** Bedrock refuses a thread with tool calls without tools, and has no choice that forbids them. */
const toolsRefusal = ({ thread, tools, toolChoice, parallelToolCalls }: VendorRequest): EncodeRefusal | undefined => {
  if (tools.length > 0 && parallelToolCalls === false && toolChoice !== "none") {
    return { capability: "parallel_tool_calls", message: "this model may call several tools at once" }
  }
  if (!hasToolBlocks(thread)) return undefined
  if (tools.length === 0) {
    return { capability: "tools", message: "this model needs the tools that the thread has called" }
  }
  return toolChoice === "none"
    ? { capability: "tool_choice", message: "this model cannot be forbidden to call tools" }
    : undefined
}

const offeredTools = ({ tools, toolChoice }: VendorRequest, marks: boolean): Array<WireBlock> => {
  if (toolChoice === "none") return []
  return tools.flatMap((tool) => {
    const toolSpec = {
      name: tool.name,
      ...(tool.description && { description: tool.description }),
      inputSchema: { json: schemaOf(tool) },
    }
    return marked({ toolSpec }, marks && tool.cacheable)
  })
}

const encodeTools = ({ toolChoice }: VendorRequest, tools: ReadonlyArray<WireBlock>): object => {
  if (tools.length === 0) return {}
  return {
    toolConfig: {
      tools,
      ...(toolChoice !== undefined && { toolChoice: encodeChoice(toolChoice) }),
    },
  }
}

const encodeChoice = (choice: ToolChoice): object => {
  if (typeof choice !== "string") return { tool: { name: choice.name } }
  return choice === "required" ? { any: {} } : { auto: {} }
}

interface ReasoningFields {
  readonly fields: object
  /** Claude accepts no sampling parameters while it thinks. */
  readonly excludesSampling: boolean
}

const efforts: Readonly<Record<Exclude<ReasoningLevel, "off">, "low" | "medium" | "high">> = {
  minimal: "low",
  low: "low",
  medium: "medium",
  high: "high",
  xhigh: "high",
  max: "high",
}

const encodeClaudeThinking = (request: VendorRequest): ReasoningFields => {
  const thinking = encodeThinking(request)
  const effort = effortOf(makersName(request), request.effort ?? thinking?.effort)
  return {
    fields: { ...thinking?.fields, ...(effort !== undefined && { output_config: { effort } }) },
    excludesSampling: thinking !== undefined,
  }
}

/** Each family has its own fields for reasoning; other models keep their default. */
const encodeReasoningLevel = (request: VendorRequest, family: ModelFamily): ReasoningFields | undefined => {
  const { reasoning } = request
  if (family === "claude") return encodeClaudeThinking(request)
  if (reasoning === undefined || reasoning === "off") return undefined
  switch (family) {
    case "nova":
      return {
        fields: { reasoningConfig: { type: "enabled", maxReasoningEffort: efforts[reasoning] } },
        excludesSampling: false,
      }
    case "gpt-oss":
      return { fields: { reasoning_effort: efforts[reasoning] }, excludesSampling: false }
    case "qwen":
      return { fields: { reasoning_config: efforts[reasoning] }, excludesSampling: false }
    case "other":
    case "unknown":
      return undefined
  }
}

/** Tool results have the role user; adjacent messages of one role are merged. A document needs text beside it. */
const mergeTurns = (thread: ReadonlyArray<Message>, family: ModelFamily): Array<WireMessage> => {
  const messages: Array<WireMessage> = []
  for (const { role: twpRole, blocks } of thread) {
    if (twpRole === "system") continue
    const role = twpRole === "assistant" ? "assistant" : "user"
    const content = encodeBlocks(blocks, family)
    if (content.length === 0) continue
    const last = messages.at(-1)
    if (last?.role === role) last.content.push(...content)
    else messages.push({ role, content })
  }
  nameDocuments(messages)
  for (const { content } of messages) {
    const isAlone = content.some((block) => "document" in block) && !content.some((block) => "text" in block)
    if (isAlone) content.push({ text: "See the document." })
  }
  return messages
}

/** Names of documents must differ within a request. */
const nameDocuments = (messages: ReadonlyArray<WireMessage>): void => {
  const seen = new Set<string>()
  const named = (block: WireBlock): WireBlock => {
    const { document, toolResult } = block
    if (isObject(toolResult)) {
      return { toolResult: { ...toolResult, content: objectsAt(toolResult, "content").map(named) } }
    }
    if (!isObject(document)) return block
    let name = String(document["name"])
    for (let n = 2; seen.has(name); n++) name = `${String(document["name"])} (${n})`
    seen.add(name)
    return { document: { ...document, name } }
  }
  for (const { content } of messages) {
    content.forEach((block, at) => {
      if ("document" in block || "toolResult" in block) content[at] = named(block)
    })
  }
}

const encodeBlocks = (blocks: ReadonlyArray<Block>, family: ModelFamily): Array<WireBlock> =>
  blocks.flatMap((block) => encodeBlock(block, family))

const marked = (block: WireBlock, cacheable: Cacheable = false): ReadonlyArray<WireBlock> => {
  if (cacheable === false) return [block]
  return [block, cachePoint(cacheable === true ? undefined : cacheable)]
}

const encodeBlock = (block: Block, family: ModelFamily): ReadonlyArray<WireBlock> => {
  switch (block.t) {
    case "text":
      // Blank text is refused.
      return block.v.trim() === "" ? [] : marked({ text: block.v }, block.cacheable)
    case "reasoning":
      return family === "claude" || family === "unknown" ? encodeReasoning(block) : []
    case "tool_call":
      return marked({ toolUse: { toolUseId: block.id, name: block.name, input: inputOf(block) } }, block.cacheable)
    case "tool_result":
      return marked(encodeResult(block, family), markOfResult(block))
    case "image":
      return marked(encodeImage(block), block.cacheable)
    case "file":
      return marked(encodeFile(block), block.cacheable)
    case "video":
      return marked(encodeVideo(block), block.cacheable)
    case "audio":
      // Refused before.
      return []
    case "vendor":
      return shownText(block).trim() === "" ? [] : [{ text: shownText(block) }]
  }
}

const encodeResult = (result: ToolResultBlock, family: ModelFamily): WireBlock => {
  const { id, v = "", blocks, isError } = result
  const parts = encodeBlocks(blocks ?? (v.trim() === "" ? [] : [{ t: "text", v }]), family)
  const content = parts.filter((part) => !isCachePoint(part))
  return {
    toolResult: {
      toolUseId: id,
      content: content.length === 0 ? [{ text: "(empty)" }] : content,
      status: isError === true ? "error" : "success",
    },
  }
}

/** Claude signs its reasoning in the same way on every platform. Without a signature it is refused, so it is omitted. */
const encodeReasoning = ({ v, signature, redacted }: ReasoningBlock): ReadonlyArray<WireBlock> => {
  if (redacted === true) return [{ reasoningContent: { redactedContent: Buffer.from(v).toString("base64") } }]
  const own = signatureFor("anthropic", signature)
  return own === undefined ? [] : [{ reasoningContent: { reasoningText: { text: v, signature: own } } }]
}

/** Marks the end of the thread, as long as its last cache point. */
const markEnd = (system: ReadonlyArray<WireBlock>, messages: ReadonlyArray<WireMessage>): void => {
  const content = messages.at(-1)?.content
  const tail = content?.at(-1)
  if (tail === undefined || isCachePoint(tail) || "reasoningContent" in tail) return
  const last = [...system, ...messages.flatMap((message) => message.content)].findLast(isCachePoint)
  content?.push(last ?? cachePoint())
}

/** Claude from 4.5 on keeps a prefix for an hour: https://docs.aws.amazon.com/bedrock/latest/userguide/prompt-caching.html */
const takesLives = (request: VendorRequest, family: ModelFamily): boolean =>
  family === "unknown" || (family === "claude" && claudeVersion(request) >= 4.5)

/** Claude's tools have cache points; Nova refuses them there, so a name that does not show its family gets none. */
export const marksTools = (family: ModelFamily): boolean => family === "claude"

/** Keeps the last cache points that fit. Nothing may be kept for an hour after what is kept for less. */
const settleCachePoints = (contents: ReadonlyArray<Array<WireBlock>>, most: number, haveLives: boolean): void => {
  let kept = 0
  let ttl: string | undefined
  for (const content of contents.toReversed()) {
    for (let at = content.length - 1; at >= 0; at--) {
      const point = objectAt(content[at], "cachePoint")
      if (point === undefined) continue
      kept++
      if (ttl !== "1h") ttl = stringAt(point, "ttl")
      if (kept > most) content.splice(at, 1)
      else content[at] = cachePoint(haveLives ? ttl : undefined)
    }
  }
}
