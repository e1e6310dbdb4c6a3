/** Whether a reply is the answer to a request of a batch, or the request is to be made again later. Pure. */
import type { LineReply } from "./line-calls.ts"
import { isGood } from "./result-form.ts"

export interface LineOutcome {
  readonly isAnswered: boolean
  /** The time for which its batch asks for nothing. */
  readonly pauseMs: number
  /** Whether a vendor failed. */
  readonly isFailed: boolean
}

/** The pause of a batch whose caller has less than half of a rate left: the rest is for calls. */
const sparePauseMs = 5000
const firstPauseMs = 1000
const longestPauseMs = 5 * 60_000
/** Failures of a vendor after which a request has the last one as its answer. */
const mostFailures = 8

/** @param failures of its part so far */
export const laterOf = (reply: LineReply, failures: number): LineOutcome => {
  const { status, headers } = reply
  if (isGood(reply)) return { isAnswered: true, pauseMs: isShort(headers) ? sparePauseMs : 0, isFailed: false }
  const isLater = headers["retry-after-ms"] !== undefined
  // Clients do not wait for long; a batch does.
  const isFinal = !isLater && headers["x-should-retry"] === "false"
  const isBusy = (status === 429 && !isFinal) || (status === 409 && isLater)
  const isFailed = status >= 500 && !isFinal
  if ((isFailed && failures < mostFailures) || isBusy)
    return { isAnswered: false, pauseMs: pauseOf(headers, failures), isFailed }
  return { isAnswered: true, pauseMs: 0, isFailed: false }
}

/** Readings after which a vendor's reply that cannot be read is none, and those after which a fault of the gateway is one of the reply. */
const mostUnread = 3
const mostFaults = 20

/**
 * Whether a reply that a vendor has given is none, because the gateway could not make an answer of it: then it makes the
 * request again, and the vendor bills both.
 * @param status of the gateway's answer @param reads so far
 */
export const isNone = (status: number, reads: number): boolean =>
  status === 502 || status === 504 ? reads >= mostUnread : status >= 500 && reads >= mostFaults

const pauseOf = (headers: LineReply["headers"], failures: number): number => {
  const asked = Number(headers["retry-after-ms"] ?? 0)
  return Math.min(longestPauseMs, Math.max(asked, firstPauseMs * 2 ** failures))
}

const units = ["requests", "tokens"] as const

/** Whether less than half of a rate is left. */
const isShort = (headers: LineReply["headers"]): boolean =>
  units.some((unit) => {
    const limit = headers[`x-ratelimit-limit-${unit}`] ?? headers[`anthropic-ratelimit-${unit}-limit`]
    const remaining = headers[`x-ratelimit-remaining-${unit}`] ?? headers[`anthropic-ratelimit-${unit}-remaining`]
    return limit !== undefined && Number(remaining) < Number(limit) / 2
  })
