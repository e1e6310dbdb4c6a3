/** Quantiles of observations that are counted by buckets. Pure. */

/** Observations of at most this many milliseconds, and more than the bucket before. */
export interface BucketCount {
  readonly upToMs: number
  readonly count: number
}

/**
 * Interpolates a quantile, as if observations were evenly distributed within their bucket; undefined without any.
 * @param buckets ascending @param boundaries upper bounds of all buckets, ascending @param share 0 to 1
 */
export const quantile = (
  buckets: ReadonlyArray<BucketCount>,
  boundaries: ReadonlyArray<number>,
  share: number,
): number | undefined => {
  const total = buckets.reduce((sum, { count }) => sum + count, 0)
  let below = 0
  for (const { upToMs, count } of buckets) {
    if (count > 0 && below + count >= share * total) {
      const fromMs = boundaries[boundaries.indexOf(upToMs) - 1] ?? 0
      return fromMs + ((upToMs - fromMs) * (share * total - below)) / count
    }
    below += count
  }
  return undefined
}
