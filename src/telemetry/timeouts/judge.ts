/** Evaluates a timeout from observations: quantiles, how many calls it ends, and a suggested value. Pure. */
import { type Tier, tiers } from "../../protocol/timeout-tiers.ts"
import { countIn, timeOfRank } from "../buckets.ts"
import type { Observed } from "./observed.ts"

export interface Judged {
  readonly vendor: string
  readonly model: string
  readonly tier: Tier
  readonly calls: number
  /** Milliseconds; undefined if beyond the timeout in force, and of fewer calls than {@link enoughForPercentiles}. */
  readonly p50: number | undefined
  readonly p90: number | undefined
  readonly p99: number | undefined
  readonly p999: number | undefined
  /** Upper bound of the calls that were not ended. */
  readonly max: number | undefined
  readonly limitMs: number | undefined
  /** The source of the timeout in force. */
  readonly source: string | undefined
  /** Share of calls, 0 to 1, that the timeout in force ended. */
  readonly timedOutShare: number
  /** Share that a candidate would end; an upper bound if it is longer than the timeout in force. */
  readonly candidate: { readonly limitMs: number; readonly share: number; readonly isUpperBound: boolean } | undefined
  /** The suggested timeout; undefined if there are too few observations. */
  readonly suggestedMs: number | undefined
}

/** Minimum number of calls for percentiles: with fewer, the last ones depend on chance. */
export const enoughForPercentiles = 20
/** Minimum number of calls for a suggestion. */
export const enoughCalls = 200
/** One call in a thousand may be ended; the suggestion adds half of the time as a margin for slow days. */
const headroom = 1.5
const maxTimedOutShare = 0.001
/** Lower bounds: shorter timeouts save nothing and end calls in a bad minute. */
const leastMs: Readonly<Record<Tier, number>> = { connect: 1000, ttfb: 5000, idle: 10_000, total: 60_000 }
const mostMs: Readonly<Record<Tier, number>> = { connect: 30_000, ttfb: 600_000, idle: 600_000, total: 3_600_000 }

export const judge = (observed: Observed, candidateMs?: number): Judged => {
  const { vendor, model, tier, limitMs, source, ended } = observed
  const kept = countIn(observed.buckets)
  const calls = kept + ended
  // A time within a bucket is an estimate, but no call that was not ended took longer than the limit.
  const quantile = (share: number) => {
    const ms = calls < enoughForPercentiles ? undefined : timeOfRank(observed.buckets, share * calls)
    return ms === undefined ? undefined : Math.min(ms, limitMs ?? ms)
  }
  return {
    vendor,
    model,
    tier,
    calls,
    p50: quantile(0.5),
    p90: quantile(0.9),
    p99: quantile(0.99),
    p999: quantile(0.999),
    max: kept === 0 ? undefined : observed.buckets.findLast(({ count }) => count > 0)?.upToMs,
    limitMs,
    source,
    timedOutShare: calls === 0 ? 0 : ended / calls,
    candidate: candidateMs === undefined ? undefined : weigh(observed, calls, candidateMs),
    suggestedMs: recommend(observed, calls),
  }
}

const weigh = (observed: Observed, calls: number, limitMs: number): NonNullable<Judged["candidate"]> => {
  let later = observed.ended
  for (const { fromMs, upToMs, count } of observed.buckets) {
    if (fromMs >= limitMs) later += count
    else if (upToMs > limitMs)
      later += Number.isFinite(upToMs) ? (count * (upToMs - limitMs)) / (upToMs - fromMs) : count
  }
  return {
    limitMs,
    share: calls === 0 ? 0 : later / calls,
    isUpperBound: observed.ended > 0 && limitMs > (observed.limitMs ?? 0),
  }
}

const recommend = (observed: Observed, calls: number): number | undefined => {
  const { tier, ended, limitMs } = observed
  if (calls < enoughCalls) return undefined
  const within = (ms: number) => roundUp(Math.min(mostMs[tier], Math.max(leastMs[tier], ms)))
  // Ended calls have unknown times: suggest twice the timeout and observe again.
  if (ended / calls > maxTimedOutShare && limitMs !== undefined) return within(limitMs * 2)
  const p999 = timeOfRank(observed.buckets, 0.999 * calls)
  return p999 === undefined ? undefined : within(p999 * headroom)
}

/** Rounds up to a number that people would write: 1, 1.5, 2, 3, 4, 5, 6, 8 or 10 of a unit. */
const roundUp = (ms: number): number => {
  const unit = 10 ** Math.floor(Math.log10(ms))
  return ([1, 1.5, 2, 3, 4, 5, 6, 8, 10].find((step) => step * unit >= ms) ?? 10) * unit
}

/** One profile for all targets: for each tier the longest suggestion. */
export const profileOf = (judged: ReadonlyArray<Judged>): Readonly<Partial<Record<Tier, number>>> => {
  const profile: Partial<Record<Tier, number>> = {}
  for (const tier of tiers) {
    const wanted = judged.flatMap((row) =>
      row.tier === tier && row.suggestedMs !== undefined ? [row.suggestedMs] : [],
    )
    if (wanted.length > 0) profile[tier] = Math.max(...wanted)
  }
  return profile
}
