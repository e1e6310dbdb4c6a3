/** Replies from the cache in the books: their counts in usage records, and the amount that they saved. */
import { Effect } from "effect"
import type { ReplyCacheReport, ReportedBy } from "../protocol/control/reply-cache.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"
import type { SummaryQuery, UsageSummaries } from "./usage-summary.ts"

/** Dimensions of usage records. The tokens are those that no vendor had to generate; none of them is billed. */
export const cachedDims = {
  tokens: "obs_cached_tokens",
  hit: "obs_cache_hits",
  wait: "obs_cache_waits",
  miss: "obs_cache_misses",
} as const

/** The vendor of records whose reply no vendor made. */
export const noVendor = ""

export const cachedReplies = Effect.fnUntraced(function* (
  summaries: UsageSummaries["Service"],
  query: SummaryQuery & { readonly by: ReportedBy },
): Effect.fn.Return<ReplyCacheReport, StoreUnavailable> {
  const { from, to, groups } = yield* summaries.read(query)
  const given = yield* summaries.read({ ...query, only: { ...query.only, vendor: noVendor } })
  const savedBy = new Map(given.groups.map(({ group, cacheNetSaving }) => [group, cacheNetSaving]))
  const data = groups.map(({ group, units }) => ({
    group,
    hits: units[cachedDims.hit] ?? 0,
    waits: units[cachedDims.wait] ?? 0,
    misses: units[cachedDims.miss] ?? 0,
    tokens: units[cachedDims.tokens] ?? 0,
    saved: savedBy.get(group) ?? {},
  }))
  const askedOf = ({ hits, waits, misses }: (typeof data)[number]) => hits + waits + misses
  return { from, to, data: data.filter((row) => askedOf(row) > 0).sort((a, b) => askedOf(b) - askedOf(a)) }
})
