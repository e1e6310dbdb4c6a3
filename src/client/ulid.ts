/** ULIDs: ids that sort by their creation time. Source: github.com/ulid/spec. */
const alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
const timeLength = 10
const randomLength = 16

/** @param nowMs milliseconds since 1970 */
export const newUlid = (nowMs: number): string => {
  let time = ""
  for (let left = nowMs, at = 0; at < timeLength; at++, left = Math.floor(left / 32)) {
    time = `${alphabet.charAt(left % 32)}${time}`
  }
  const random = crypto.getRandomValues(new Uint8Array(randomLength))
  return time + Array.from(random, (byte) => alphabet.charAt(byte % 32)).join("")
}
