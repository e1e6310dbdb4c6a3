/**
 * The plan of an exchange, before money or vendors are involved: model, price, allowed parameters, and the maximum cost.
 * Pure.
 */

import { Result } from "effect"
import { modelFor, withOwnKeys } from "../../calls/model.ts"
import { mostTokensOf, tokensOfBytes } from "../../calls/tokens/tokens.ts"
import type { CallTarget, CatalogueSnapshot, ModelEntry } from "../../catalogue/snapshot.ts"
import { type Amount, maxAmount } from "../../money/amount.ts"
import { atTier, maxCharge, type Price } from "../../money/pricing.ts"
import type { Block } from "../../protocol/block.ts"
import type { Capability } from "../../protocol/catalogue/model.ts"
import { type ServiceError, serviceError } from "../../protocol/error.ts"
import type { WarnEvent } from "../../protocol/event.ts"
import { type HostedUnit, type HostedUses, hostedCapability, mostHostedUses } from "../../protocol/hosted-unit.ts"
import { invalidInput } from "../../protocol/json/issues.ts"
import { entryOf } from "../../protocol/values/entry.ts"
import type { OrgEntry } from "../../tenants/tenants.ts"
import { type AllowedParams, applyProfile, levelOf } from "./allowed-params.ts"
import type { UsageLimits } from "./bill.ts"
import { type ChatRequest, isPinned } from "./chat-request.ts"
import type { PromptParams } from "./prompt.ts"
import { tokensOfPrompt } from "./prompt-tokens.ts"
import { tokensOfRound } from "./round-results.ts"
import { usualRounds } from "./tool-rounds.ts"

export interface Plan {
  readonly entry: ModelEntry
  readonly price: Price
  /** The request without its prompt, and the target's own name of the model. */
  readonly vendorRequest: Omit<PromptParams, "model">
  readonly promptTokens: number
  /** The most tokens of all replies. */
  readonly outTokens: number
  /** The most tokens of all requests. */
  readonly holdTokens: number
  /** The number of replies to the prompt. */
  readonly n: number
  readonly holdAmount: Amount
  /** The highest counts that the model can use for this request. */
  readonly usageLimits: UsageLimits
  readonly warnings: ReadonlyArray<WarnEvent>
}

export type PlanError = ServiceError<
  "model_not_authorized" | "pricing_guard_tripped" | "context_window_exceeded" | "image_not_supported" | "bad_request"
>

export const makePlan = (
  request: ChatRequest,
  caller: OrgEntry,
  catalogue: CatalogueSnapshot,
  nowMs: number,
): Result.Result<Plan, PlanError> =>
  Result.flatMap(modelFor(request.model, "chat", caller, catalogue, nowMs), ({ entry, price }) => {
    const capabilities = new Set(entry.model.capabilities)
    const { params, warnings } = applyProfile(request.params ?? {}, entry)
    const { n = 1, serviceTier, prediction = "" } = params.extras ?? {}
    const refusal =
      untranslatable(request, entry) ??
      pinRefusal(request, caller, entry) ??
      lackOf(request, capabilities) ??
      severalReplies(request) ??
      tierRefusal(serviceTier, price) ??
      overflowOf(request.params?.promptTokensEstimate, params.maxTokens, entry.model.contextWindow)
    if (refusal !== undefined) return Result.fail(refusal)
    const hosted = hostedUses(request.carried, caller, price, entry.targets)
    const promptTokens = heldPromptTokens(request, entry, params.maxTokens)
    const tooLong = clearlyTooLong(request, promptTokens, entry)
    if (tooLong !== undefined) return Result.fail(tooLong)
    // Each of several replies may use that many.
    const uses = hosted && { ...hosted, most: hosted.most * n }
    const compacted =
      request.carried?.compacts === true ? { inTokens: promptTokens, outTokens: tokensOfCompaction } : none
    const inTokens = promptTokens + compacted.inTokens + tokensOfUse * (uses?.most ?? 0)
    // Predicted text that the reply does not have is billed as output.
    const outTokens = (params.maxTokens + tokensOfBytes(Buffer.byteLength(prediction))) * n + compacted.outTokens
    const rounds = roundsOf(request)
    const charged = (each: Price) =>
      heldOverRounds(rounds, inTokens, outTokens, (most) =>
        maxCharge(
          each,
          most,
          outTokens,
          uses,
          Math.min(mostTokensOf(most), entry.model.contextWindow ?? largestContextWindow),
        ),
      )
    return Result.succeed({
      entry,
      price,
      promptTokens,
      outTokens,
      holdTokens: (promptTokens + outTokens) * rounds + ((rounds * (rounds - 1)) / 2) * (outTokens + tokensOfRound),
      n,
      warnings,
      // A vendor may answer at its usual tier.
      holdAmount: maxAmount(charged(price), serviceTier === undefined ? 0n : charged(atTier(price, serviceTier))),
      usageLimits: usageLimits(entry, outTokens),
      vendorRequest: {
        ...vendorRequestOf(request, params, capabilities),
        hosted,
        searches: searchesOf(request.carried, hosted),
      },
    })
  })

/** The most requests of an exchange: one, and one after each round of calls that the gateway makes. */
const roundsOf = ({ offered, params }: ChatRequest): number =>
  offered === undefined ? 1 : 1 + (params?.maxRounds ?? usualRounds)

/** The prompt of each request has the replies and the results of those before it. */
const heldOverRounds = (
  rounds: number,
  inTokens: number,
  outTokens: number,
  charged: (inTokens: number) => Amount,
): Amount => {
  let sum = 0n
  for (let round = 0; round < rounds; round++) sum += charged(inTokens + round * (outTokens + tokensOfRound))
  return sum
}

/** Refuses a field that only a vendor of the client's own API supports, if the model has no such target. */
const untranslatable = ({ carried }: ChatRequest, { targets }: ModelEntry): PlanError | undefined =>
  carried?.lack === undefined || targets.some(({ dialect }) => dialect.chat?.carry?.api === carried.api)
    ? undefined
    : invalidInput([carried.lack])

/** Refuses content that is not kept where the model's targets are. */
const pinRefusal = (
  { pinned }: ChatRequest,
  { org, upstreamKeys }: OrgEntry,
  { targets }: ModelEntry,
): PlanError | undefined =>
  pinned === undefined || withOwnKeys(targets, org.id, upstreamKeys).some((target) => isPinned(target, pinned))
    ? undefined
    : invalidInput([{ path: "cachedContent", message: "was made for another model" }])

/** The gateway makes the calls of one reply. */
const severalReplies = ({ servers, params }: ChatRequest): PlanError | undefined =>
  servers === undefined || (params?.n ?? 1) === 1
    ? undefined
    : invalidInput([{ path: "params.n", message: "must be 1 with tools of servers" }])

/** A vendor counts the schema of an output as input. */
const tokensOfSchema = (schema: object): number => tokensOfBytes(Buffer.byteLength(JSON.stringify(schema)))

/** The tokens of the prompt that are held: the caller's estimate can only raise the gateway's own count. */
const heldPromptTokens = (
  { params, prompt, offered }: ChatRequest,
  { model: { contextWindow = largestContextWindow } }: ModelEntry,
  maxTokens: number,
): number =>
  Math.max(
    params?.promptTokensEstimate ?? 0,
    prompt.tokens +
      (offered === undefined ? 0 : tokensOfPrompt([], offered.functions)) +
      (typeof params?.output === "object" ? tokensOfSchema(params.output.schema) : 0),
    // Media and stored contents of unknown size can fill the model's context window.
    prompt.hasRemoteMedia || params?.vendorOptions?.gemini?.cachedContent !== undefined ? contextWindow - maxTokens : 0,
  )

/** A service tier needs a price; without one it is refused. */
const tierRefusal = (tier: string | undefined, { tiers }: Price): PlanError | undefined =>
  tier === undefined || entryOf(tiers ?? {}, tier) !== undefined
    ? undefined
    : serviceError("bad_request", "This model has no price for this service tier", {
        detail: { capability: "serviceTier", serviceTier: tier },
      })

/** A compaction reads the prompt once more, and its summary is no part of the answer. */
const tokensOfCompaction = 20_000
const none = { inTokens: 0, outTokens: 0 }

/** The tokens that the results of one use of a hosted tool add to a prompt, as the hold estimates them. */
const tokensOfUse = 10_000

/**
 * Tools that a vendor runs are for organisations with the capability, and for models whose price names them. A vendor that
 * carries all tools runs them for every organisation: money is held for those that a price names.
 */
const hostedUses = (
  carried: ChatRequest["carried"],
  { org }: OrgEntry,
  { dims }: Price,
  targets: ReadonlyArray<CallTarget>,
): HostedUses | undefined => {
  if (carried === undefined || carried.hosted.length === 0) return undefined
  const isCarrying = targets.some(({ vendor }) => vendor.hostedTools === "carry")
  const isAllowed = (unit: HostedUnit): boolean => org.capabilities?.[hostedCapability[unit]] === true
  const held = carried.hosted.flatMap(({ unit, maxUses }) =>
    unit !== undefined && dims[unit] !== undefined && (isCarrying || isAllowed(unit)) ? [{ unit, maxUses }] : [],
  )
  if (held.length === 0) return undefined
  const asked = held.reduce((sum, { maxUses }) => sum + maxUses, 0)
  const units = [...new Set(held.map(({ unit }) => unit))]
  return { units, most: Math.min(carried.maxHostedUses ?? asked, mostHostedUses), allowed: units.filter(isAllowed) }
}

/** The searches that any vendor may make, if the client asks for a search without further options. */
const searchesOf = (carried: ChatRequest["carried"], hosted: HostedUses | undefined): number | undefined => {
  const search = carried?.hosted.find(({ isPlainSearch }) => isPlainSearch)
  if (search === undefined || hosted === undefined || !hosted.allowed.includes("web_search")) return undefined
  const searches = Math.min(search.maxUses, hosted.most)
  return searches === 0 ? undefined : searches
}

/** @param params within the model's profile */
export const vendorRequestOf = (
  request: Omit<ChatRequest, "prompt">,
  params: AllowedParams,
  capabilities: ReadonlySet<Capability>,
): Plan["vendorRequest"] => ({
  toolChoice: params.toolChoice,
  maxTokens: params.maxTokens,
  temperature: params.temperature,
  topP: params.topP,
  stop: params.stop ?? [],
  canReason: capabilities.has("reasoning"),
  reasoning: capabilities.has("reasoning") ? params.reasoning : undefined,
  reasoningBudget: params.reasoningBudget,
  effort: params.effort,
  reasoningDisplay: params.reasoningDisplay,
  parallelToolCalls: params.parallelToolCalls,
  output: params.output === "json" ? undefined : params.output,
  anyJson: params.output === "json" ? true : undefined,
  extras: params.extras,
  cache: {
    enabled: capabilities.has("cache"),
    skipWrite: request.cache?.skipWrite === true,
    key: request.cache?.key ?? request.meta?.sessionId,
  },
  stream: request.stream === true,
})

/** Refuses what the model does not support. */
function lackOf(
  { prompt, params, offered }: ChatRequest,
  capabilities: ReadonlySet<Capability>,
): PlanError | undefined {
  const uses = (kind: Block["t"]) => prompt.kinds.has(kind)
  const lacks = (capability: Capability) =>
    serviceError("bad_request", `This model does not support ${capability}`, { detail: { capability } })
  if (uses("image") && !capabilities.has("images")) {
    return serviceError("image_not_supported", "This model does not accept images")
  }
  if (uses("file") && !capabilities.has("files")) return lacks("files")
  // Sound and video are files to a model that takes files.
  if (uses("video") && !capabilities.has("videos") && !capabilities.has("files")) return lacks("videos")
  if (uses("audio") && !capabilities.has("audio") && !capabilities.has("files")) return lacks("audio")
  const usesTools = prompt.hasTools || (offered?.functions.length ?? 0) > 0 || uses("tool_call") || uses("tool_result")
  if (usesTools && !capabilities.has("tools")) return lacks("tools")
  const reasoning = params === undefined ? "off" : (levelOf(params) ?? "off")
  return reasoning !== "off" && !capabilities.has("reasoning") ? lacks("reasoning") : undefined
}

/** Refuses a prompt that does not fit into the model's context window beside its reply. */
function overflowOf(
  promptTokensEstimate: number | undefined,
  maxTokens: number,
  contextWindow: number | undefined,
): PlanError | undefined {
  if (promptTokensEstimate === undefined || contextWindow === undefined) return undefined
  if (promptTokensEstimate + maxTokens <= contextWindow) return undefined
  return serviceError("context_window_exceeded", "The prompt and maxTokens exceed the model's context window", {
    detail: { promptTokensEstimate, maxTokens, contextWindow },
  })
}

/**
 * Tokens of the gateway's own count for one of a vendor's, at most: texts of long words or of spaces have up to twelve bytes a
 * token, and the count has three.
 */
const mostOvercounted = 4

/**
 * Refuses text that no tokenizer fits into the context window, before money is held. Media have no certain count, and a vendor
 * that may summarise the thread takes longer ones.
 */
function clearlyTooLong(
  { prompt, carried }: ChatRequest,
  promptTokens: number,
  { model: { contextWindow } }: ModelEntry,
): PlanError | undefined {
  if (contextWindow === undefined || promptTokens <= contextWindow * mostOvercounted) return undefined
  if (carried?.compacts === true || media.some((kind) => prompt.kinds.has(kind))) return undefined
  return serviceError(
    "bad_request",
    `The prompt has about ${promptTokens} tokens, and the model's context window has ${contextWindow}`,
    { detail: { promptTokens, contextWindow } },
  )
}

const media = ["image", "file", "video", "audio"] as const

/** The largest context window that vendors sell; used for models whose window the catalogue does not state. */
const largestContextWindow = 2_000_000
/** Vendors count a few tokens differently, and treat very small limits as larger ones. */
const defaultUsageMargin = 2
const spareTokens = 16

function usageLimits({ model }: ModelEntry, maxTokens: number): UsageLimits {
  const withMargin = (tokens: number) => Math.ceil(tokens * (model.usageMargin ?? defaultUsageMargin)) + spareTokens
  return {
    inTokens: withMargin(model.contextWindow ?? largestContextWindow),
    outTokens: withMargin(maxTokens),
  }
}
