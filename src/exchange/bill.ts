/**
 * Whether an exchange is billed, and for what. Pure. Source: decisions "Client gone"; field lessons 2, 8 and 11:
 * nothing before the vendor's first content; the vendor's usage once it has ended; in between, the known input plus the
 * output received.
 */
import type { Counts } from "../money/pricing.ts"
import type { EstimatedReason } from "../protocol/usage.ts"
import type { Tally } from "./tally.ts"

export interface Bill {
  readonly counts: Counts
  readonly estimatedReason?: EstimatedReason | undefined
}

type Seen = Pick<Tally, "contentSeen" | "usage" | "usageIsFinal" | "done">

/** The gateway's own token count of an exchange. */
export interface Estimated {
  readonly promptTokens: number
  readonly outTokens: number
}

/** Whether the vendor has reported everything that is billed. */
const isReported = ({ usage, usageIsFinal, done, contentSeen }: Seen): boolean =>
  usage !== undefined && usageIsFinal && (done || contentSeen)

/** Whether the bill needs the gateway's own count. */
export const needsEstimate = (seen: Seen): boolean => !isReported(seen) && (seen.done || seen.contentSeen)

/**
 * @param broken why the exchange ended before the vendor's terminal event; undefined if it ended normally
 * @param estimated the counts to bill if the vendor reported none
 */
export const makeBill = (
  seen: Seen,
  broken: Exclude<EstimatedReason, "upstream_usage_missing"> | undefined,
  estimated: Estimated,
): Bill | undefined => {
  if (seen.usage !== undefined && isReported(seen)) return { counts: seen.usage }
  if (!needsEstimate(seen)) return undefined
  const outTokens = Math.max(seen.usage?.outTokens ?? 0, estimated.outTokens)
  const reason = seen.done ? "upstream_usage_missing" : (broken ?? "upstream_usage_missing")
  if (seen.usage !== undefined) return { counts: { ...seen.usage, outTokens }, estimatedReason: reason }
  return {
    counts: { inTokens: estimated.promptTokens, outTokens, cacheReadTokens: 0, cacheWriteTokens: 0, dims: {} },
    estimatedReason: reason,
  }
}
