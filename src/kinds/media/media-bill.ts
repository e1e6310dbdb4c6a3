/** The bill of a call about pictures or sound: units, and tokens if its price has any. */
import type { Bill } from "../../calls/settle/bill.ts"
import type { ReportedUsage } from "../../dialects/media-dialect.ts"
import type { Price } from "../../money/pricing.ts"
import type { EstimatedReason } from "../../protocol/usage.ts"

export interface TokenCounts {
  readonly inTokens: number
  readonly outTokens: number
}

/** Whether a price list charges tokens at all. */
export const isByTokens = ({ lacks = [], dims }: Price): boolean =>
  lacks.length < 2 || tokenDims.some((name) => dims[name] !== undefined)

const tokenDims = ["image_in", "audio_in", "audio_out"]

export interface MediaTokens {
  readonly price: Price
  /** A conservative estimate, before the call. */
  readonly held: TokenCounts
  /** The highest count that a vendor can report. */
  readonly limit: TokenCounts
}

interface ReportedSum extends TokenCounts {
  readonly imageIn: number
  readonly audioIn: number
}

/** The sum of the reports of a call's parts; undefined if one of them reported nothing. */
const sumOf = (reports: ReadonlyArray<ReportedUsage | undefined>): ReportedSum | undefined => {
  const sum = { inTokens: 0, outTokens: 0, imageIn: 0, audioIn: 0 }
  for (const report of reports) {
    if (report?.inTokens === undefined || report.outTokens === undefined) return undefined
    sum.inTokens += report.inTokens
    sum.outTokens += report.outTokens
    sum.imageIn += report.imageIn ?? 0
    sum.audioIn += report.audioIn ?? 0
  }
  return sum
}

/** The reason why a report is not believed; undefined if it is, or if nothing depends on it. */
export const doubtOf = (
  { price, limit }: MediaTokens,
  reports: ReadonlyArray<ReportedUsage | undefined>,
): EstimatedReason | undefined => {
  const sum = sumOf(reports)
  if (sum === undefined || sum.inTokens + sum.outTokens === 0) {
    return isByTokens(price) ? "upstream_usage_missing" : undefined
  }
  const canBe = sum.inTokens <= limit.inTokens && sum.outTokens <= limit.outTokens
  return canBe ? undefined : "upstream_usage_implausible"
}

/** @param units the counts of units; with the exact names of what was asked for if these have a price of their own */
export const mediaBill = (
  tokens: MediaTokens,
  reports: ReadonlyArray<ReportedUsage | undefined>,
  units: Readonly<Record<string, number>>,
  reason: EstimatedReason | undefined,
  allIn: "audioIn" | "audioOut" | undefined,
): Bill => {
  const doubt = doubtOf(tokens, reports)
  const { price, held } = tokens
  const sum = doubt === undefined ? sumOf(reports) : undefined
  const assumed = doubt !== undefined && isByTokens(price) ? held : none
  const { inTokens, outTokens } = sum ?? assumed
  const estimatedReason = reason ?? doubt
  const audioIn = allIn === "audioIn" ? (sum?.audioIn ? sum.audioIn : inTokens) : 0
  const audioOut = allIn === "audioOut" ? outTokens : 0
  const dims = {
    ...units,
    ...((sum?.imageIn ?? 0) > 0 && { image_in: sum?.imageIn ?? 0 }),
    ...(audioIn > 0 && { audio_in: audioIn }),
    ...(audioOut > 0 && { audio_out: audioOut }),
  }
  return {
    counts: { inTokens, outTokens, cacheReadTokens: 0, cacheWriteTokens: 0, dims },
    ...(estimatedReason !== undefined && { estimatedReason }),
  }
}

const none: TokenCounts = { inTokens: 0, outTokens: 0 }

/** The figures of a report that is not believed, for the log. */
export const implausibleMedia = (
  tokens: MediaTokens,
  reports: ReadonlyArray<ReportedUsage | undefined>,
): Record<string, unknown> | undefined =>
  doubtOf(tokens, reports) === "upstream_usage_implausible"
    ? { reported: sumOf(reports), limit: tokens.limit }
    : undefined
