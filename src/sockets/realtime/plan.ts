/** The plan of a realtime session: model, price, and what one response can cost at most. Pure. Source: sockets "Life and money". */
import { Result } from "effect"
import { modelFor, type PricedModel, targetsFor } from "../../calls/model.ts"
import { tokensOfBytes } from "../../calls/tokens.ts"
import type { CallTarget, CatalogueSnapshot } from "../../catalogue/snapshot.ts"
import { inTokensPerSecond } from "../../dialects/openai-realtime/audio.ts"
import type { Caller } from "../../identity/caller.ts"
import type { Amount } from "../../money/amount.ts"
import { type Counts, inputTokens, maxCharge, type Price } from "../../money/pricing.ts"
import type { ServiceError } from "../../protocol/error.ts"

export interface RealtimePlan extends PricedModel {
  readonly handle: string
  readonly targets: ReadonlyArray<CallTarget>
  /** The most tokens of one response. */
  readonly maxOutTokens: number
  readonly hasTools: boolean
  /** The most tokens of a conversation; vendors leave out what is older. */
  readonly contextWindow: number
  /** Whether the organisation's own key is used at all targets. */
  readonly isOwn: boolean
}

/** The largest that vendors have, for models whose windows the catalogue does not state. */
const usualContextWindow = 128_000
const usualMaxOutTokens = 4096

export const makeRealtimePlan = (
  handle: string,
  caller: Caller,
  catalogue: CatalogueSnapshot,
  nowMs: number,
): Result.Result<RealtimePlan, ServiceError<"model_not_authorized" | "pricing_guard_tripped">> =>
  Result.map(modelFor(handle, "realtime", caller, catalogue, nowMs), ({ entry, price }) => {
    const { contextWindow, maxOutput, capabilities } = entry.model
    const targets = targetsFor(caller, entry.targets)
    return {
      entry,
      price,
      handle,
      targets,
      maxOutTokens: maxOutput ?? usualMaxOutTokens,
      hasTools: capabilities?.includes("tools") === true,
      contextWindow: contextWindow ?? usualContextWindow,
      isOwn: targets.every(({ isOwn }) => isOwn),
    }
  })

/** What a client may add before the next response begins, beside what it has added: a minute of sound, and a page of text. */
const turnTokens = 60 * inTokensPerSecond + 1000

/** What one response holds. */
export interface Need {
  readonly amount: Amount
  readonly tokens: number
}

/** @param conversationTokens what the conversation has already */
export const needOf = (
  { price, contextWindow, isOwn }: Pick<RealtimePlan, "price" | "contextWindow" | "isOwn">,
  conversationTokens: number,
  maxOutTokens: number,
): Need => {
  const inTokens = Math.min(contextWindow, conversationTokens + turnTokens)
  return { amount: isOwn ? 0n : maxCharge(price, inTokens, maxOutTokens), tokens: inTokens + maxOutTokens }
}

/** Tokens of a picture, where a vendor reports none. */
export const imageTokens = 1500

/** Tokens of text and sound, where a vendor reports none. */
export const estimatedTokens = (textBytes: number, audioSeconds: number, perSecond: number) => ({
  text: tokensOfBytes(textBytes),
  audio: Math.ceil(audioSeconds * perSecond),
})

/** Vendors count a few tokens differently. */
const usualMargin = 2
const spareTokens = 16

/** Whether a report can be true. */
export const isPlausible = ({ entry, contextWindow, maxOutTokens }: RealtimePlan, counts: Counts): boolean => {
  const margin = entry.model.usageMargin ?? usualMargin
  const most = (tokens: number) => Math.ceil(tokens * margin) + spareTokens
  return inputTokens(counts) <= most(contextWindow) && counts.outTokens <= most(maxOutTokens)
}

/** Seconds are billed where the price list has a price for them. */
export const withSeconds = (price: Price, counts: Counts, seconds: number): Counts =>
  seconds === 0 || price.dims["audio_seconds"] === undefined
    ? counts
    : { ...counts, dims: { ...counts.dims, audio_seconds: seconds } }
