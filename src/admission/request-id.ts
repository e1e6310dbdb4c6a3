/** Whether a caller's request id can have been used before. Pure. */
import { type ServiceError, serviceError } from "../protocol/error.ts"
import { dayMs } from "../protocol/values/instant.ts"
import { timeOfId, timeOfUlid } from "../protocol/values/ulid.ts"

/** The time that a caller's clock may be ahead. */
const maxAheadMs = 300_000

/**
 * Whether the registry would know an id if it had been used: it is a ULID that was made within the time that records are
 * kept, and the registry has lost nothing since before then. All other ids must be looked up in the books.
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

/** Whether an id contains a time whose spent ids are not stored any more: it may have been used. */
export const isExpired = (requestId: string, nowMs: number, keptDays: number): boolean => {
  const madeAtMs = timeOfId(requestId)
  return madeAtMs !== undefined && madeAtMs < nowMs - keptDays * dayMs
}

export const expiredId = (keptDays: number): ServiceError<"idempotency_conflict"> =>
  serviceError("idempotency_conflict", `This requestId was made more than ${keptDays} days ago: use a new one`, {
    detail: { reason: "expired" },
  })
