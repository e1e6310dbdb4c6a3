/** The cost of a reply from the cache, and its usage record. */
import type { Amount } from "../../money/amount.ts"
import { cachedDims } from "../../money/cached-replies.ts"
import { allTokens, type Charge, type Counts, noTokens, timesFactor } from "../../money/pricing.ts"
import type { Caching } from "../../reply-cache/outcome.ts"

/**
 * @param full the cost of the vendor call
 * @returns the cost, and the amount that the cache saved
 */
export const cachedCharge = ({ cost }: Charge, share: Amount): { readonly cost: Amount; readonly saved: Amount } => {
  const part = timesFactor(cost, share)
  return { cost: part, saved: cost - part }
}

/** The counts of the usage record: a reply from the cache has no generated tokens. */
export const recordedCounts = (counts: Counts, caching: Caching | undefined): Counts => {
  if (caching === undefined) return counts
  if (caching.state === "miss") return { ...counts, dims: { ...counts.dims, [cachedDims.miss]: 1 } }
  return { ...noTokens, dims: { [cachedDims.tokens]: allTokens(counts), [cachedDims[caching.how]]: 1 } }
}
