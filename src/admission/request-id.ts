/** Whether a caller's request id can have been used before. Pure. */
import { timeOfUlid } from "../protocol/ulid.ts"

/** How far a caller's clock may be ahead. */
const maxAheadMs = 300_000

/**
 * Whether the registry would know an id if it had been used: it is a ULID that was made within the time that records are
 * kept, and the registry has forgotten nothing since before then. All other ids must be looked up in the books.
 */
export const isRegistryComplete = (
  requestId: string,
  options: { readonly nowMs: number; readonly keptMs: number; readonly remembersSinceMs: number | undefined },
): boolean => {
  const { nowMs, keptMs, remembersSinceMs } = options
  const madeAtMs = timeOfUlid(requestId)
  if (madeAtMs === undefined || remembersSinceMs === undefined) return false
  return madeAtMs >= nowMs - keptMs && madeAtMs <= nowMs + maxAheadMs && remembersSinceMs <= madeAtMs - maxAheadMs
}
