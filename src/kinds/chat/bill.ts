/**
 * Decides whether an exchange is billed, and its counts. Pure. Nothing is billed before the vendor's first content; after the
 * end, the vendor's usage is billed as far as it can be true; in between, the known input plus the output received.
 */

import type { Bill } from "../../calls/settle/bill.ts"
import type { BrokenReason } from "../../calls/settle/outcome.ts"
import type { UsageSide, VendorUsage } from "../../dialects/chat-dialect.ts"
import { type Counts, inputTokens } from "../../money/pricing.ts"
import { hostedUnits, mostHostedUses } from "../../protocol/hosted-unit.ts"
import type { EstimatedReason } from "../../protocol/usage.ts"
import type { UsageMeter } from "./usage-meter.ts"

type Seen = Pick<UsageMeter, "contentSeen" | "textSeen" | "outputBytes" | "usage" | "usageIsFinal" | "done">

/** The gateway's own token count of an exchange. */
export interface Estimated {
  readonly promptTokens: number
  readonly outTokens: number
}

/** The highest counts that are billed: those that the model can have used, with the operator's `usageMargin`. */
export interface UsageLimits {
  readonly inTokens: number
  readonly outTokens: number
}

/** The validity of a vendor's report, by side; uses of hosted tools are priced separately. */
type Verdict = "reported" | "missing" | "implausible"
type Verdicts = Readonly<Record<UsageSide | "uses", Verdict>>

/**
 * A count is missing if it is absent or malformed, or 0 beside
 * text; vendors do report, and bill, 0 for replies of tool calls alone. No content needs no output.
 */
const judge = (usage: VendorUsage, { contentSeen, textSeen }: Seen, limits: UsageLimits): Verdicts => {
  const verdict = (side: UsageSide, count: number, limit: number): Verdict => {
    if (count > limit) return "implausible"
    const isStated = usage.missing?.includes(side) !== true
    if (count === 0 && textSeen) return "missing"
    return isStated || (side === "output" && !contentSeen) ? "reported" : "missing"
  }
  return {
    input: verdict("input", inputTokens(usage), limits.inTokens),
    output: verdict("output", usage.outTokens, limits.outTokens),
    uses: hostedUnits.some((unit) => (usage.dims[unit] ?? 0) > mostHostedUses) ? "implausible" : "reported",
  }
}

/** Whether the vendor has made its final report, and there is content to bill. */
const isReported = ({ usage, usageIsFinal, done, contentSeen }: Seen): boolean =>
  usage !== undefined && usageIsFinal && (done || contentSeen)

/** Whether the bill needs the gateway's own count. */
export const needsEstimate = (seen: Seen, limits: UsageLimits): boolean => {
  if (!seen.done && !seen.contentSeen) return false
  if (seen.usage === undefined || !isReported(seen)) return true
  const { input, output } = judge(seen.usage, seen, limits)
  return input !== "reported" || output !== "reported"
}

/** Whether a part of the vendor's report is beyond what the model can have used. */
export const isImplausible = (seen: Seen, limits: UsageLimits): boolean =>
  seen.usage !== undefined && Object.values(judge(seen.usage, seen, limits)).includes("implausible")

/**
 * @param broken the reason why the exchange ended before the vendor's terminal event; undefined if it ended normally
 * @param counted the counts to bill if the vendor reported none, as far as they are within the limits
 * @returns undefined if nothing is billed
 */
export const makeBill = (
  seen: Seen,
  broken: BrokenReason | undefined,
  counted: Estimated,
  limits: UsageLimits,
): Bill | undefined => {
  const { usage, done, contentSeen } = seen
  const estimated = within(counted, limits)
  if (!done && !contentSeen) return undefined
  const isFinal = isReported(seen)
  if (usage === undefined) {
    return { counts: estimatedCounts(estimated), estimatedReason: reasonOf(done, broken, false) }
  }
  const verdicts = judge(usage, seen, limits)
  const reported = believedCounts(usage, verdicts, estimated)
  const counts = isFinal ? reported : { ...reported, outTokens: Math.max(reported.outTokens, estimated.outTokens) }
  const isWhole = Object.values(verdicts).every((verdict) => verdict === "reported")
  if (isFinal && isWhole) return { counts }
  const isFalse = Object.values(verdicts).includes("implausible")
  return { counts, estimatedReason: reasonOf(done || isFinal, broken, isFalse) }
}

/** The bill of several requests. */
export const sumOfBills = (bills: ReadonlyArray<Bill>): Bill => {
  const requests = bills.map(({ counts }) => counts)
  const sum = (of: (counts: Counts) => number) => requests.reduce((total, counts) => total + of(counts), 0)
  const names = [...new Set(requests.flatMap(({ dims }) => Object.keys(dims)))]
  const estimatedReason = bills.find((bill) => bill.estimatedReason !== undefined)?.estimatedReason
  const region = bills.findLast((bill) => bill.region !== undefined)?.region
  return {
    counts: {
      inTokens: sum(({ inTokens }) => inTokens),
      outTokens: sum(({ outTokens }) => outTokens),
      cacheReadTokens: sum(({ cacheReadTokens }) => cacheReadTokens),
      cacheWriteTokens: sum(({ cacheWriteTokens }) => cacheWriteTokens),
      dims: Object.fromEntries(names.map((name) => [name, sum(({ dims }) => dims[name] ?? 0)])),
    },
    requests,
    ...(estimatedReason !== undefined && { estimatedReason }),
    ...(region !== undefined && { region }),
  }
}

/** Counts up to the limits: output beyond them was not asked for, and is not billed. */
const within = ({ promptTokens, outTokens }: Estimated, limits: UsageLimits): Estimated => ({
  promptTokens: Math.min(promptTokens, limits.inTokens),
  outTokens: Math.min(outTokens, limits.outTokens),
})

const reasonOf = (isComplete: boolean, broken: BrokenReason | undefined, isFalse: boolean): EstimatedReason => {
  if (isFalse) return "upstream_usage_implausible"
  return isComplete ? "upstream_usage_missing" : (broken ?? "upstream_usage_missing")
}

const estimatedCounts = ({ promptTokens, outTokens }: Estimated): Counts => ({
  inTokens: promptTokens,
  outTokens,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  dims: {},
})

/** Dimensions that are part of a side's total. */
const inputDims: ReadonlyArray<string> = ["audio_in", "image_in", "cache_write_1h"]
const outputDims: ReadonlyArray<string> = ["reasoning", "audio_out"]
const units: ReadonlySet<string> = new Set(hostedUnits)

/** The reported counts; estimates replace sides that are missing or implausible. */
const believedCounts = (usage: VendorUsage, verdicts: Verdicts, estimated: Estimated): Counts => {
  const input = verdicts.input === "reported" ? usage : estimatedCounts(estimated)
  const outTokens = verdicts.output === "reported" ? usage.outTokens : estimated.outTokens
  const { inTokens, cacheReadTokens, cacheWriteTokens } = input
  const limitOf = (name: string): number => {
    if (inputDims.includes(name)) return verdicts.input === "reported" ? inputTokens(input) : 0
    if (outputDims.includes(name)) return verdicts.output === "reported" ? outTokens : 0
    if (units.has(name)) return mostHostedUses
    return Number.MAX_SAFE_INTEGER
  }
  const dims = Object.entries(usage.dims).map(([name, count]) => [name, Math.min(count, limitOf(name))] as const)
  return {
    inTokens,
    outTokens,
    cacheReadTokens,
    cacheWriteTokens,
    dims: Object.fromEntries(dims.filter(([, count]) => count > 0)),
  }
}
