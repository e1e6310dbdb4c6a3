/** Observations that are counted by buckets, and their quantiles. Pure. */

export interface Bucket {
  /** Exclusive, in milliseconds: the upper bound of the bucket before, whether that is listed or not. */
  readonly fromMs: number
  /** Inclusive, in milliseconds; the last one is Infinity. */
  readonly upToMs: number
  readonly count: number
}

export const countIn = (buckets: ReadonlyArray<Pick<Bucket, "count">>): number =>
  buckets.reduce((sum, { count }) => sum + count, 0)

/**
 * The time within which so many observations ended, as if they were evenly distributed within their bucket; undefined if
 * there are fewer.
 * @param buckets ascending; those without observations may be absent @param rank of all observations, may be a fraction
 */
export const timeOfRank = (buckets: ReadonlyArray<Bucket>, rank: number): number | undefined => {
  let below = 0
  for (const { fromMs, upToMs, count } of buckets) {
    if (count > 0 && below + count >= rank) {
      return Number.isFinite(upToMs) ? fromMs + ((upToMs - fromMs) * (rank - below)) / count : fromMs
    }
    below += count
  }
  return undefined
}
