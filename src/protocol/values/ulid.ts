/** ULIDs: ids that sort by their creation time, the form of ids that clients create. Source: https://github.com/ulid/spec */

/** The form of a ULID: its first ten characters are a time. */
const ulidTime = /^([0-7][0-9A-HJKMNP-TV-Z]{9})[0-9A-HJKMNP-TV-Z]{16}$/i
const alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
const timeLength = 10
const randomLength = 16

export const isUlid = (id: string): boolean => ulidTime.test(id)

/** The time in a ULID, in milliseconds; undefined for other ids. */
export const timeOfUlid = (id: string): number | undefined => {
  const digits = ulidTime.exec(id)?.[1]?.toUpperCase()
  if (digits === undefined) return undefined
  return [...digits].reduce((time, digit) => time * 32 + alphabet.indexOf(digit), 0)
}

const uuidTime = /^([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i

/** The time in a UUID of version 7 (RFC 9562, section 5.7), in milliseconds; undefined for other ids. */
export const timeOfUuid = (id: string): number | undefined => {
  const [, high, low] = uuidTime.exec(id) ?? []
  return high === undefined || low === undefined ? undefined : Number.parseInt(high + low, 16)
}

/**
 * The time of the first gateway: an earlier time means that the id is of another kind. `request_day` in the database has the
 * same limit.
 */
const firstMs = Date.UTC(2026, 0, 1)
const endMs = Date.UTC(2100, 0, 1)

/** The time that a request id carries, in milliseconds; undefined if it carries none. */
export const timeOfId = (id: string): number | undefined => {
  const atMs = timeOfUlid(id) ?? timeOfUuid(id)
  return atMs !== undefined && atMs >= firstMs && atMs < endMs ? atMs : undefined
}

/** @param nowMs milliseconds since 1970 */
export const newUlid = (nowMs: number): string => {
  return ulidOf(nowMs, crypto.getRandomValues(new Uint8Array(randomLength)))
}

/** @param bytes the rest of the id: five bits of each of the first sixteen */
export const ulidOf = (atMs: number, bytes: Uint8Array): string => {
  let time = ""
  for (let left = atMs, at = 0; at < timeLength; at++, left = Math.floor(left / 32)) {
    time = `${alphabet.charAt(left % 32)}${time}`
  }
  return time + Array.from(bytes.subarray(0, randomLength), (byte) => alphabet.charAt(byte % 32)).join("")
}
