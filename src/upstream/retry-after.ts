/** Parses `Retry-After`. Source: RFC 9110 section 10.2.3; `retry-after-ms` is OpenAI's and Azure's. */

/** Milliseconds from now; undefined if absent or unreadable. */
export const retryAfterOf = (headers: Readonly<Record<string, string>>, nowMs: number): number | undefined => {
  const millis = headers["retry-after-ms"]
  if (millis !== undefined && /^\d{1,12}(\.\d+)?$/.test(millis)) return Math.ceil(Number(millis))
  const after = headers["retry-after"]?.trim()
  if (after === undefined) return undefined
  if (/^\d{1,9}(\.\d+)?$/.test(after)) return Math.ceil(Number(after) * 1000)
  const atMs = after.endsWith("GMT") ? Date.parse(after) : Number.NaN
  return Number.isNaN(atMs) ? undefined : Math.max(0, atMs - nowMs)
}
