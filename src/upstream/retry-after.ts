/**
 * The time that a vendor asks to wait. Sources: RFC 9110 section 10.2.3; `retry-after-ms` of OpenAI and Azure;
 * `x-amz-retry-after` of AWS; `x-ratelimit-reset-*`, https://platform.openai.com/docs/guides/rate-limits#rate-limits-in-headers;
 * `anthropic-ratelimit-*-reset`, https://docs.anthropic.com/en/api/rate-limits#response-headers
 */
import type { VendorFault } from "../dialects/vendor/faults.ts"

type Headers = Readonly<Record<string, string>>

/** A failure with the longest wait that its vendor names, in its body or its headers. */
export const withWait = (fault: VendorFault, headers: Headers, nowMs: number): VendorFault => {
  const told = retryAfterOf(headers, nowMs) ?? (fault.status === 429 ? resetOf(headers, nowMs) : undefined)
  const waits = [told, fault.retryAfterMs].filter((wait) => wait !== undefined)
  return waits.length === 0 ? fault : { ...fault, retryAfterMs: Math.max(...waits) }
}

/** Milliseconds from now; undefined if absent or unreadable. */
export const retryAfterOf = (headers: Headers, nowMs: number): number | undefined => {
  const millis = headers["retry-after-ms"] ?? headers["x-amz-retry-after"]
  if (millis !== undefined && /^\d{1,12}(\.\d+)?$/.test(millis)) return Math.ceil(Number(millis))
  const after = headers["retry-after"]?.trim()
  if (after === undefined) return undefined
  if (/^\d{1,9}(\.\d+)?$/.test(after)) return Math.ceil(Number(after) * 1000)
  const atMs = after.endsWith("GMT") ? Date.parse(after) : Number.NaN
  return Number.isNaN(atMs) ? undefined : Math.max(0, atMs - nowMs)
}

/** The names of a limit: `tokens` in `x-ratelimit-reset-tokens`, nothing in `x-ratelimit-reset`. */
const resetName = /^(?:x-ratelimit-reset-?(.*)|anthropic-ratelimit-(.+)-reset)$/

/**
 * The time when the limits are open again of which nothing remains. If no header says what remains, the first limit is
 * assumed.
 */
const resetOf = (headers: Headers, nowMs: number): number | undefined => {
  const limits = Object.entries(headers).flatMap(([name, value]) => {
    const [found, openai, anthropic] = resetName.exec(name) ?? []
    const waitMs = found === undefined ? undefined : waitOf(value.trim(), nowMs)
    if (waitMs === undefined) return []
    const left = headers[anthropic === undefined ? remainingName(openai) : `anthropic-ratelimit-${anthropic}-remaining`]
    return [{ waitMs, left: left === undefined ? undefined : Number(left) }]
  })
  const usedUp = limits.filter(({ left }) => left === 0)
  if (usedUp.length > 0) return Math.max(...usedUp.map(({ waitMs }) => waitMs))
  const unknown = limits.filter(({ left }) => left === undefined)
  return unknown.length === 0 ? undefined : Math.min(...unknown.map(({ waitMs }) => waitMs))
}

const remainingName = (limit = ""): string => `x-ratelimit-remaining${limit === "" ? "" : `-${limit}`}`

const parts = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1000, ms: 1 } as const
const duration = /^(?:\d{1,9}(?:\.\d{1,9})?(?:ms|[dhms]))+$/
const durationPart = /(\d{1,9}(?:\.\d{1,9})?)(ms|[dhms])/g

/** A duration (`6m0s`, `120ms`), seconds, or an instant: seconds or milliseconds since 1970, or RFC 3339. */
const waitOf = (value: string, nowMs: number): number | undefined => {
  const wait = /^\d{1,16}(\.\d{1,9})?$/.test(value) ? waitOfNumber(Number(value), nowMs) : waitOfText(value, nowMs)
  return wait === undefined || Number.isNaN(wait) ? undefined : Math.max(0, Math.ceil(wait))
}

const waitOfNumber = (value: number, nowMs: number): number => {
  if (value >= 1e12) return value - nowMs
  return value >= 1e9 ? value * 1000 - nowMs : value * 1000
}

const waitOfText = (value: string, nowMs: number): number | undefined => {
  if (/^\d{4}-\d\d-\d\dT/.test(value)) return Date.parse(value) - nowMs
  if (!duration.test(value)) return undefined
  return [...value.matchAll(durationPart)].reduce((sum, [, count, unit]) => sum + Number(count) * millisOf(unit), 0)
}

const millisOf = (unit: string | undefined): number => {
  switch (unit) {
    case "d":
    case "h":
    case "m":
    case "s":
    case "ms":
      return parts[unit]
    default:
      return 0
  }
}
