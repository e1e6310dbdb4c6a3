/** Whether a caller's request id can have been used before. Pure. */

/** The form of a ULID: its first ten characters are a time. Source: https://github.com/ulid/spec */
const ulidTime = /^([0-7][0-9A-HJKMNP-TV-Z]{9})[0-9A-HJKMNP-TV-Z]{16}$/i
const alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

/** How far a caller's clock may be ahead. */
const maxAheadMs = 300_000

/** The time in a ULID, in milliseconds; undefined for other ids. */
export const timeOfUlid = (id: string): number | undefined => {
  const digits = ulidTime.exec(id)?.[1]?.toUpperCase()
  if (digits === undefined) return undefined
  return [...digits].reduce((time, digit) => time * 32 + alphabet.indexOf(digit), 0)
}

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
