/** The request side of the dialect `gemini`. */
import { Result } from "effect"
import {
  type AudioBlock,
  type Block,
  type Detail,
  everyBlock,
  type FileBlock,
  type ImageBlock,
  type MediaBlock,
  type ReasoningBlock,
  type ToolCallBlock,
  type ToolResultBlock,
  type VendorBlock,
  type VideoBlock,
} from "../../protocol/block.ts"
import type { ReasoningLevel, ToolChoice } from "../../protocol/exchange.ts"
import { editJsonText, set } from "../../protocol/json/json-edit.ts"
import { JsonText } from "../../protocol/json/json-text.ts"
import type { VendorRequest } from "../chat-dialect.ts"
import { inputOf, outputSchemaOf, schemaOf } from "../parse/exact-json.ts"
import { type ExtraWords, encodeExtras, sameAs } from "../vendor/extras.ts"
import { makersName } from "../vendor/family.ts"
import { isKeptElsewhere, keptElsewhere } from "../vendor/kept-files.ts"
import { levelFor, ruleOf } from "../vendor/model-rules.ts"
import { meetAll } from "../vendor/requirements.ts"
import { movesMedia, resultMedia, resultText } from "../vendor/results.ts"
import { signatureFor } from "../vendor/signature.ts"
import { ownBlock, shownText } from "../vendor/vendor-blocks.ts"
import type { EncodeRefusal } from "../wire.ts"
import { budgetsOf, budgetWithin, geminiModels } from "./models.ts"
import { type Content, geminiRequirements, isOld, withSignatures } from "./requirements.ts"

type Part = { readonly [key: string]: unknown }

interface OpenContent extends Content {
  readonly parts: Array<Part | JsonText>
}

export const encodeGenerate = (request: VendorRequest): Result.Result<object, EncodeRefusal> =>
  Result.flatMap(meetAll(geminiRequirements, request), (met) => writeGenerate(withMediaInResults(met)))

/** Media that models take in a result, as data: https://ai.google.dev/gemini-api/docs/function-calling */
const inResults: ReadonlySet<string> = new Set([
  "image/png",
  "image/jpeg",
  "image/webp",
  "application/pdf",
  "text/plain",
])

/** A part that a model does not take in a result comes after the results. */
const withMediaInResults = (request: VendorRequest): VendorRequest =>
  movesMedia(({ mime, data }) => data !== undefined && inResults.has(mime) && !isOld(makersName(request)))(request)

const writeGenerate = (request: VendorRequest): Result.Result<object, EncodeRefusal> => {
  const { thread, tools, ownTools = [], toolChoice, output } = request
  if (request.parallelToolCalls === false && tools.length > 0) {
    return Result.fail({ capability: "parallel_tool_calls", message: "this model may call several tools at once" })
  }
  if (everyBlock(thread).some((block) => isKeptElsewhere(block, undefined))) {
    return Result.fail(keptElsewhere)
  }
  const { serviceTier, vendorOptions, ...extras } = request.extras ?? {}
  const sampling = encodeExtras(extras, words)
  if (Result.isFailure(sampling)) return Result.fail(sampling.failure)
  const { cachedContent, mediaResolution } = vendorOptions?.gemini ?? {}
  const system = thread.flatMap(({ role, blocks }) => (role === "system" ? blocks : []))
  return Result.succeed({
    contents: withSignatures(mergeTurns(request), makersName(request)),
    ...(system.length > 0 && { systemInstruction: { parts: system.map(({ v }) => ({ text: v })) } }),
    ...(tools.length + ownTools.length > 0 && {
      tools: [...(tools.length === 0 ? [] : [declarationsOf(tools)]), ...ownTools.map(({ v }) => new JsonText(v))],
      ...(toolChoice !== undefined && { toolConfig: { functionCallingConfig: encodeToolChoice(toolChoice) } }),
    }),
    ...(request.searches !== undefined && { tools: [{ googleSearch: {} }] }),
    ...(serviceTier !== undefined && { serviceTier }),
    ...(cachedContent !== undefined && { cachedContent }),
    generationConfig: {
      maxOutputTokens: request.maxTokens,
      ...sampling.success,
      ...(mediaResolution !== undefined && { mediaResolution }),
      ...(request.temperature !== undefined && { temperature: request.temperature }),
      ...(request.topP !== undefined && { topP: request.topP }),
      ...(request.stop.length > 0 && { stopSequences: request.stop }),
      ...(request.reasoning !== undefined && { thinkingConfig: encodeThinking(request, request.reasoning) }),
      ...(request.anyJson === true && { responseMimeType: "application/json" }),
      ...(output !== undefined && { responseMimeType: "application/json", responseJsonSchema: outputSchemaOf(output) }),
    },
  })
}

/** The tier is a field beside them. */
export const words: ExtraWords = {
  seed: sameAs("seed"),
  frequencyPenalty: sameAs("frequencyPenalty"),
  presencePenalty: sameAs("presencePenalty"),
  topK: sameAs("topK"),
  logprobs: (value) => ({ responseLogprobs: true, ...(value > 0 && { logprobs: value }) }),
  n: sameAs("candidateCount"),
}

function encodeToolChoice(choice: ToolChoice): object {
  if (typeof choice !== "string") return { mode: "ANY", allowedFunctionNames: [choice.name] }
  return { mode: { auto: "AUTO", none: "NONE", required: "ANY" }[choice] }
}

const thinkingBudgets: Readonly<Record<ReasoningLevel, number>> = {
  off: 0,
  minimal: 512,
  low: 2048,
  medium: 8192,
  high: 16_384,
  xhigh: 24_576,
  max: 24_576,
}

/** Models up to 2.5 take a budget in tokens, later ones a level; pro models cannot disable thinking. */
function encodeThinking(request: VendorRequest, level: ReasoningLevel): object {
  const { reasoningDisplay } = request
  const name = makersName(request)
  const includeThoughts = level !== "off" && reasoningDisplay !== "omitted"
  return isOld(name)
    ? { thinkingBudget: thinkingBudget(request, level), includeThoughts }
    : { thinkingLevel: thinkingLevel(level, name), includeThoughts }
}

/** The budget that was asked for, or the usual one of a level. */
export const thinkingBudget = (request: VendorRequest, level: ReasoningLevel): number => {
  const budget = request.reasoningBudget ?? thinkingBudgets[level]
  const budgets = budgetsOf(request)
  return budgets === undefined ? budget : budgetWithin(budget, budgets)
}

/** The level that the model has for the requested one. */
export const thinkingLevel = (asked: ReasoningLevel, name: string): string => {
  const level = levelFor(asked, ruleOf(geminiModels, { model: name }) ?? {}) ?? asked
  const least = name.includes("pro") ? "low" : "minimal"
  return { off: least, minimal: least, low: "low", medium: "medium", high: "high", xhigh: "high", max: "high" }[level]
}

/** Tool results have the role user; adjacent messages of one role are merged. */
function mergeTurns(request: VendorRequest): ReadonlyArray<Content> {
  const { thread } = request
  const model = makersName(request)
  const toolNames = new Map<string, string>()
  const turns: Array<OpenContent> = []
  for (const { role, blocks } of thread) {
    if (role === "system") continue
    for (const block of blocks) if (block.t === "tool_call") toolNames.set(block.id, block.name)
    const parts = encodeParts(blocks, toolNames, model)
    const author = role === "assistant" ? "model" : "user"
    const last = turns.at(-1)
    if (parts.length === 0) continue
    if (last?.role === author) last.parts.push(...parts)
    else turns.push({ role: author, parts: [...parts] })
  }
  return turns
}

/** A signature belongs to the part after its reasoning; at the end of a turn it is on an empty text. */
function encodeParts(
  blocks: ReadonlyArray<Block>,
  toolNames: ReadonlyMap<string, string>,
  model: string,
): ReadonlyArray<Part | JsonText> {
  const parts: Array<Part | JsonText> = []
  let signature: string | undefined
  const flush = () => {
    if (signature !== undefined) parts.push({ text: "", thoughtSignature: signature })
    signature = undefined
  }
  for (const block of blocks) {
    if (block.t === "reasoning") {
      flush()
      signature = ownSignature(block)
      continue
    }
    if (block.t === "vendor" && ownBlock("gemini", block) === undefined && shownText(block) === "") continue
    parts.push(signed(encodePart(block, toolNames, model), signature))
    signature = undefined
  }
  flush()
  return parts
}

const signed = (part: Part | JsonText, signature: string | undefined): Part | JsonText => {
  if (signature === undefined) return part
  return part instanceof JsonText
    ? new JsonText(editJsonText(part.text, [set(signature, "thoughtSignature")]))
    : { ...part, thoughtSignature: signature }
}

/** The text of thoughts is not returned: the signature represents it. */
const ownSignature = ({ signature }: ReasoningBlock): string | undefined => signatureFor("gemini", signature)

function encodePart(
  block: Exclude<Block, ReasoningBlock>,
  toolNames: ReadonlyMap<string, string>,
  model: string,
): Part | JsonText {
  switch (block.t) {
    case "text":
      return { text: block.v }
    case "image":
    case "file":
    case "video":
    case "audio":
      return encodeMedia(block, model)
    case "vendor":
      return encodeOwn(block)
    case "tool_call":
      return encodeCall(block)
    case "tool_result":
      return encodeResult(block, toolNames.get(block.id) ?? block.id)
  }
}

const encodeMedia = (block: MediaBlock, model: string): Part => {
  const { mime, data, url } = block
  return {
    ...(url === undefined ? { inlineData: { mimeType: mime, data } } : { fileData: { mimeType: mime, fileUri: url } }),
    ...(block.t === "image" && encodeDetail(block, model)),
    ...(block.t === "video" && block.clip !== undefined && { videoMetadata: encodeClip(block.clip) }),
  }
}

const declarationsOf = (tools: VendorRequest["tools"]): object => ({
  functionDeclarations: tools.map((tool) => ({
    name: tool.name,
    description: tool.description ?? "",
    parametersJsonSchema: schemaOf(tool),
  })),
})
/** https://ai.google.dev/gemini-api/docs/media-resolution; models up to 2.5 look at all pictures alike. */
const resolutions: Readonly<Record<Exclude<Detail, "auto">, string>> = {
  low: "MEDIA_RESOLUTION_LOW",
  high: "MEDIA_RESOLUTION_HIGH",
  original: "MEDIA_RESOLUTION_ULTRA_HIGH",
}

const encodeDetail = ({ detail = "auto" }: ImageBlock, model: string): object =>
  detail === "auto" || isOld(model) ? {} : { mediaResolution: { level: resolutions[detail] } }

const encodeClip = ({ from, to, fps }: NonNullable<VideoBlock["clip"]>): object => ({
  ...(from !== undefined && { startOffset: `${from}s` }),
  ...(to !== undefined && { endOffset: `${to}s` }),
  ...(fps !== undefined && { fps }),
})

/** Blocks of Gemini's tools go back to it unchanged; blocks of others' tools become the text that they showed. */
const encodeOwn = (block: VendorBlock): Part | JsonText =>
  ownBlock("gemini", block) === undefined ? { text: shownText(block) } : new JsonText(block.v)

const encodeCall = (call: ToolCallBlock): Part => ({
  functionCall: { id: call.id, name: call.name, args: inputOf(call) },
})

/**
 * A result must be an object: its text is put under a key of Gemini's documentation. JSON in it is not parsed, because Gemini
 * would interpret a part of it: `$ref` as the name of a picture, `error` as a failure. Source:
 * https://ai.google.dev/gemini-api/docs/function-calling
 */
const encodeResult = (result: ToolResultBlock, name: string): Part => {
  const text = resultText(result)
  const media = resultMedia(result)
  return {
    functionResponse: {
      id: result.id,
      name,
      response: result.isError === true ? { error: text } : { output: text },
      ...(media.length > 0 && { parts: media.map(encodeInResult) }),
    },
  }
}

const encodeInResult = (block: ImageBlock | FileBlock | AudioBlock): Part => ({
  inlineData: {
    mimeType: block.mime,
    data: block.data,
    ...(block.t === "file" && block.name !== undefined && { displayName: block.name }),
  },
})
