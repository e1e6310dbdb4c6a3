/** What a reply from the cache costs, and how its usage is recorded. */
import type { Amount } from "../../money/amount.ts"
import { cachedDims } from "../../money/cached-replies.ts"
import { allTokens, type Charge, type Counts, noTokens, timesFactor } from "../../money/pricing.ts"
import type { Caching } from "../../reply-cache/outcome.ts"

/** @param full what the vendor call would cost @returns with what the cache saved */
export const cachedCharge = ({ cost }: Charge, share: Amount): { readonly cost: Amount; readonly saved: Amount } => {
  const part = timesFactor(cost, share)
  return { cost: part, saved: cost - part }
}

/** The counts of the usage record: of a reply from the cache, no tokens were made. */
export const recordedCounts = (counts: Counts, caching: Caching | undefined): Counts => {
  if (caching === undefined) return counts
  if (caching.state === "miss") return { ...counts, dims: { ...counts.dims, [cachedDims.miss]: 1 } }
  return { ...noTokens, dims: { [cachedDims.tokens]: allTokens(counts), [cachedDims[caching.how]]: 1 } }
}
