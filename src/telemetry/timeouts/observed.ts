/** Observed times of the timeout tiers, by target; observations of several nodes and periods can be added. Pure. */
import type { TierTimesReply } from "../../protocol/control/admin.ts"
import type { Tier } from "../../protocol/timeout-tiers.ts"
import type { Bucket } from "../buckets.ts"

export interface Observed {
  readonly vendor: string
  readonly model: string
  readonly tier: Tier
  /** Ascending; of calls that the tier did not end. */
  readonly buckets: ReadonlyArray<Bucket>
  /** Calls that the tier ended; they would have taken longer. */
  readonly ended: number
  /** The timeout in force, in milliseconds. */
  readonly limitMs: number | undefined
  /** Its source; undefined if that is not known. */
  readonly source: string | undefined
}

/** Observations that were stored. */
export const storedObservation = ({ buckets, ...row }: TierTimesReply["data"][number]): Observed => ({
  ...row,
  buckets: buckets
    .map(({ upToMs, ...bucket }) => ({ ...bucket, upToMs: upToMs ?? Number.POSITIVE_INFINITY }))
    .sort((a, b) => a.upToMs - b.upToMs),
})

export const keyOf = ({ vendor, model, tier }: Pick<Observed, "vendor" | "model" | "tier">): string =>
  JSON.stringify([vendor, model, tier])

/** Adds observations of several nodes. If their limits differ, the shortest one is used. */
export const addUp = (pages: ReadonlyArray<ReadonlyArray<Observed>>): ReadonlyArray<Observed> => {
  const sums = new Map<string, Observed>()
  for (const observed of pages.flat()) {
    const known = sums.get(keyOf(observed))
    sums.set(keyOf(observed), known === undefined ? observed : combine(known, observed, 1))
  }
  return [...sums.values()]
}

/** The difference to earlier observations of the same nodes; a node that was restarted counts from its start. */
export const since = (now: ReadonlyArray<Observed>, before: ReadonlyArray<Observed>): ReadonlyArray<Observed> => {
  const earlier = new Map(before.map((observed) => [keyOf(observed), observed]))
  return now.map((observed) => {
    const past = earlier.get(keyOf(observed))
    if (past === undefined) return observed
    const rest = combine(observed, past, -1)
    return rest.ended < 0 || rest.buckets.some(({ count }) => count < 0) ? observed : rest
  })
}

const combine = (a: Observed, b: Observed, sign: 1 | -1): Observed => {
  const sums = new Map(a.buckets.map((bucket) => [bucket.upToMs, bucket]))
  for (const bucket of b.buckets) {
    const { count } = sums.get(bucket.upToMs) ?? { count: 0 }
    sums.set(bucket.upToMs, { ...bucket, count: count + sign * bucket.count })
  }
  const [inForce = a] = [a, ...(sign === 1 ? [b] : [])]
    .filter(({ limitMs }) => limitMs !== undefined)
    .sort((x, y) => (x.limitMs ?? 0) - (y.limitMs ?? 0))
  return {
    ...a,
    buckets: [...sums.values()].sort((x, y) => x.upToMs - y.upToMs),
    ended: a.ended + sign * b.ended,
    limitMs: inForce.limitMs,
    source: inForce.source,
  }
}
