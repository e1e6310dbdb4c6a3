/** The rules by which a failed call is repeated. */
import type { ErrorCode } from "../protocol/error-codes.ts"
import { type WeirError, WeirRefused, WeirUnreachable } from "./errors.ts"
import type { RetryOptions } from "./options.ts"

/** A model that took too long once may do so again, and each retry costs as much time. */
const timeouts: ReadonlySet<ErrorCode> = new Set(["upstream_ttfb_timeout", "upstream_total_timeout"])

/** Between two looks at a gateway that restarts. */
const longestUnreachableMs = 2000

/**
 * One call's retries: given its latest failure, the milliseconds until the next attempt, or undefined for none.
 *
 * @param isIdempotent whether a repetition has no further effect: only then is a lost reply asked for again
 */
export const makeRetries = (
  { times = 4, unreachableMs = 30_000, firstMs = 250, longestMs = 10_000 }: RetryOptions = {},
  isIdempotent: boolean,
): ((failure: WeirError) => number | undefined) => {
  let refused = 0
  let timedOut = 0
  let unreachable = 0
  let unreachableSince: number | undefined
  const backoffMs = (made: number, mostMs: number) => Math.min(mostMs, firstMs * 2 ** made) * (0.5 + Math.random() / 2)
  return (failure) => {
    if (times === 0) return undefined
    if (failure instanceof WeirUnreachable) {
      if (!isIdempotent) return undefined
      unreachableSince ??= Date.now()
      const leftMs = unreachableSince + unreachableMs - Date.now()
      if (leftMs <= 0) return undefined
      return Math.min(leftMs, backoffMs(unreachable++, Math.min(longestUnreachableMs, longestMs)))
    }
    unreachableSince = undefined
    unreachable = 0
    if (!(failure instanceof WeirRefused) || failure.advice !== "retry" || failure.isFinal === true) return undefined
    if (timeouts.has(failure.code) && timedOut++ > 0) return undefined
    if (refused >= times) return undefined
    const { retryAfterMs } = failure
    if (retryAfterMs === undefined) return backoffMs(refused++, longestMs)
    refused++
    // A pause that was asked for is a minimum.
    return retryAfterMs <= longestMs ? retryAfterMs * (1 + Math.random() / 4) : undefined
  }
}
