/** The plan of a realtime session: model, price, and the highest cost of one response. Pure. */
import { Result } from "effect"
import { modelFor, type PricedModel, targetsFor } from "../../calls/model.ts"
import { mostTokensOf, tokensOfBytes } from "../../calls/tokens/tokens.ts"
import type { CallTarget, CatalogueSnapshot, ModelEntry } from "../../catalogue/snapshot.ts"
import { openaiRates } from "../../dialects/openai-realtime/audio.ts"
import type { TokenRates, TranscriptUnit, TranscriptUsage } from "../../dialects/realtime-dialect.ts"
import type { Caller } from "../../identity/caller.ts"
import type { Amount } from "../../money/amount.ts"
import { type Counts, inputTokens, maxCharge, type Price, unitCharge } from "../../money/pricing.ts"
import { type ServiceError, serviceError } from "../../protocol/error.ts"
import type { RealtimeApi } from "../../protocol/kinds/call-kind.ts"

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
  /** Tokens of sound and pictures in its API. */
  readonly rates: TokenRates
}

/** The largest that vendors have, for models whose windows the catalogue does not state. */
const usualContextWindow = 128_000
const usualMaxOutTokens = 4096

/** @param session its API; a target of another one does not understand its messages */
export const makeRealtimePlan = (
  handle: string,
  session: { readonly api: RealtimeApi; readonly rates: TokenRates },
  caller: Caller,
  catalogue: CatalogueSnapshot,
  nowMs: number,
): Result.Result<RealtimePlan, ServiceError<"model_not_authorized" | "pricing_guard_tripped" | "bad_request">> =>
  Result.flatMap(modelFor(handle, "realtime", caller, catalogue, nowMs), ({ entry, price }) => {
    const { contextWindow, maxOutput, capabilities } = entry.model
    const all = targetsFor(caller, entry.targets)
    const targets = all.filter(({ dialect }) => (dialect.realtime?.api ?? session.api) === session.api)
    if (targets.length === 0 && all.length > 0) return Result.fail(ofOtherApi[session.api])
    return Result.succeed({
      entry,
      price,
      handle,
      targets,
      maxOutTokens: maxOutput ?? usualMaxOutTokens,
      hasTools: capabilities?.includes("tools") === true,
      contextWindow: contextWindow ?? usualContextWindow,
      isOwn: targets.every(({ isOwn }) => isOwn),
      rates: session.rates,
    })
  })

/** The API of a model's sessions, as a member of a list; empty for models of other kinds. */
export const listedApi = (entry: ModelEntry | undefined): { readonly realtimeApi?: RealtimeApi } => {
  if (entry?.model.kind !== "realtime") return {}
  const [realtimeApi] = entry.targets.flatMap(({ dialect }) => dialect.realtime?.api ?? [])
  return realtimeApi === undefined ? {} : { realtimeApi }
}

/** The refusal of a model whose vendors have another API than the session. */
const ofOtherApi = {
  openai: serviceError("bad_request", "This model has Google's Live API: open the session with a client of Google's"),
  google: serviceError(
    "bad_request",
    "This model has OpenAI's Realtime API: open the session with a client of OpenAI's",
  ),
}

/**
 * The most that a client may add before the next response begins, beside what it has added: a minute of sound, and a page of
 * text.
 */
const turnSeconds = 60
const pageTokens = 1000
const turnTokensOf = ({ inTokensPerSecond }: TokenRates): number => turnSeconds * inTokensPerSecond + pageTokens

/** The most that transcripts can be billed for sound of this length, and of one turn more. Their prompt is a page of text. */
export const mostTranscripts = (heardSeconds: number): TranscriptUsage => {
  const seconds = Math.ceil(heardSeconds) + turnSeconds
  const tokens = seconds * openaiRates.inTokensPerSecond + pageTokens
  return { seconds, inTokens: tokens, outTokens: tokens }
}

/** The units in which transcripts of the input can be billed: those with a price. With the organisation's own key, any. */
export const transcriptUnits = ({ price, isOwn }: Pick<RealtimePlan, "price" | "isOwn">) => {
  const { audio_seconds, transcript_in, transcript_out } = price.dims
  const units: Array<TranscriptUnit> = []
  if (isOwn || audio_seconds !== undefined) units.push("seconds")
  if (isOwn || (transcript_in !== undefined && transcript_out !== undefined)) units.push("tokens")
  return units
}

/** The amount that one response holds. */
export interface Need {
  readonly amount: Amount
  readonly tokens: number
}

/**
 * @param conversationTokens the tokens of the conversation so far
 * @param unbilledSeconds the seconds of sound whose transcripts were not billed yet
 */
export const needOf = (
  { price, contextWindow, isOwn, rates }: Pick<RealtimePlan, "price" | "contextWindow" | "isOwn" | "rates">,
  conversationTokens: number,
  maxOutTokens: number,
  unbilledSeconds: number,
): Need => {
  const counted = conversationTokens + turnTokensOf(rates)
  const inTokens = Math.min(contextWindow, counted)
  const mostInTokens = Math.min(contextWindow, mostTokensOf(counted))
  const transcripts = unitCharge(price, transcriptDims(price, mostTranscripts(unbilledSeconds)))
  return {
    amount: isOwn ? 0n : maxCharge(price, inTokens, maxOutTokens, undefined, mostInTokens) + transcripts,
    tokens: inTokens + maxOutTokens,
  }
}

/** Tokens of text and sound, if a vendor reports none. */
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

/** An estimate that is no more than a response of the model can have. */
export const withinPlan = ({ contextWindow, maxOutTokens }: RealtimePlan, counts: Counts): Counts => ({
  ...counts,
  inTokens: Math.min(counts.inTokens, contextWindow),
  outTokens: Math.min(counts.outTokens, maxOutTokens),
  dims: Object.fromEntries(
    Object.entries(counts.dims).map(([name, count]) => [
      name,
      Math.min(count, name === "audio_out" ? maxOutTokens : contextWindow),
    ]),
  ),
})

/** Transcripts are billed if the price list has a price for them. */
export const withTranscripts = (price: Price, counts: Counts, transcripts: TranscriptUsage): Counts => ({
  ...counts,
  dims: { ...counts.dims, ...transcriptDims(price, transcripts) },
})

const transcriptDims = ({ dims }: Price, { seconds, inTokens, outTokens }: TranscriptUsage) =>
  Object.fromEntries(
    Object.entries({ audio_seconds: seconds, transcript_in: inTokens, transcript_out: outTokens }).filter(
      ([name, count]) => count > 0 && dims[name] !== undefined,
    ),
  )
