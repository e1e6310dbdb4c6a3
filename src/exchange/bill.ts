/**
 * Whether an exchange is billed, and for what. Pure. Source: decisions "Client gone"; field lessons 2, 8 and 11:
 * nothing before the vendor's first content; its own usage once it has ended; in between, what is known of the input
 * plus the output seen.
 */
import type { Counts } from "../money/pricing.ts"
import type { EstimatedReason } from "../protocol/usage.ts"
import { tokensOfBytes } from "./estimate.ts"
import type { Tally } from "./tally.ts"

export interface Bill {
  readonly counts: Counts
  readonly estimatedReason?: EstimatedReason | undefined
}

type Seen = Pick<Tally, "contentSeen" | "outputBytes" | "usage" | "usageIsFinal" | "done">

/**
 * @param broken why the exchange ended before the vendor's terminal event; undefined where it ended well
 * @param promptTokens the gateway's own count of the input
 */
export const makeBill = (
  seen: Seen,
  broken: Exclude<EstimatedReason, "upstream_usage_missing"> | undefined,
  promptTokens: number,
): Bill | undefined => {
  if (seen.usage !== undefined && seen.usageIsFinal && (seen.done || seen.contentSeen)) return { counts: seen.usage }
  if (!seen.done && !seen.contentSeen) return undefined
  const outTokens = Math.max(seen.usage?.outTokens ?? 0, tokensOfBytes(seen.outputBytes))
  const reason = seen.done ? "upstream_usage_missing" : (broken ?? "upstream_usage_missing")
  if (seen.usage !== undefined) return { counts: { ...seen.usage, outTokens }, estimatedReason: reason }
  return {
    counts: { inTokens: promptTokens, outTokens, cacheReadTokens: 0, cacheWriteTokens: 0, dims: {} },
    estimatedReason: reason,
  }
}
