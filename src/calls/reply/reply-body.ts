/** The content of replies that are not streamed. */
import { randomUUID } from "node:crypto"
import { type Amount, formatAmount } from "../../money/amount.ts"
import type { Charge } from "../../money/pricing.ts"
import { type ErrorEnvelope, errorBody, errorStatus, type ServiceError } from "../../protocol/error.ts"
import type { WarnEvent } from "../../protocol/event.ts"
import type { InProgress } from "../../protocol/exchange.ts"
import { writeJson } from "../../protocol/json/json-text.ts"
import type { Usage } from "../../protocol/usage.ts"
import type { WholeReply } from "../connection.ts"
import type { Bill } from "../settle/bill.ts"

/** Suggested interval between retries while the first call runs. */
export const retryAfterMs = 1000

const json = { "content-type": "application/json" }

export const inProgressReply = (requestId: string): WholeReply<never> => {
  const body: InProgress = { status: "in_progress", requestId, retryAfterMs }
  return {
    status: 202,
    headers: { ...json, "retry-after": String(Math.ceil(retryAfterMs / 1000)) },
    body: JSON.stringify(body),
  }
}

interface ReplyHead {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
}

/** The reply of a billed call, complete except for the balance, which its settlement returns. */
export interface FinishedReply<Body extends object> extends ReplyHead {
  /** A body that is made with the balance; or text without a balance. */
  readonly body: ((balance: string) => Body) | string
}

/** A reply as the text before and the text after the balance; a single text if it has no balance. */
export interface ReplyText extends ReplyHead {
  readonly parts: ReadonlyArray<string>
}

export const replyWith = <Body extends object>(
  { status, headers, body }: FinishedReply<Body>,
  balance: Amount,
): WholeReply<Body> => {
  const text = formatAmount(balance)
  return { ...withBalance({ status, headers }, text), body: typeof body === "string" ? body : body(text) }
}

const withBalance = ({ status, headers }: ReplyHead, balance: string): ReplyHead => ({
  status,
  headers: { ...headers, "x-svc-balance": balance },
})

/** A placeholder for the balance; no vendor can know it. */
const placeOfBalance = randomUUID()

export const textOfFinished = <Body extends object>({ body, ...head }: FinishedReply<Body>): ReplyText => {
  const text = typeof body === "string" ? body : writeJson(body(placeOfBalance))
  const at = typeof body === "string" ? -1 : text.lastIndexOf(placeOfBalance)
  return { ...head, parts: at === -1 ? [text] : [text.slice(0, at), text.slice(at + placeOfBalance.length)] }
}

/** The stored reply again, with the body and billing headers of the first one. */
export const replayedReply = ({ status, headers, parts }: ReplyText, balance: Amount): WholeReply<never> => {
  const text = formatAmount(balance)
  const head = { status, headers: { ...headers, "x-svc-idempotent-replay": "1" } }
  return { ...withBalance(head, text), body: parts.join(text) }
}

/** A whole reply; warnings, which a stream sends as `t.warn`, are named in `x-svc-warnings`. */
export const completedReply = <Body extends object>(
  requestId: string,
  body: (balance: string) => Body,
  usage: SettledUsage,
  warnings: ReadonlyArray<WarnEvent>,
): FinishedReply<Body> => ({
  status: 200,
  headers: {
    ...billedHeaders(requestId, usage),
    ...(warnings.length > 0 && { "x-svc-warnings": warnings.map(({ code }) => code).join(", ") }),
  },
  body,
})

/** A reply whose content is withheld: an error with the usage. */
export const withheldReply = (requestId: string, error: ServiceError, usage: SettledUsage): FinishedReply<never> => ({
  status: errorStatus[error.code],
  headers: billedHeaders(requestId, usage),
  body: JSON.stringify({ error: errorBody(error, requestId) } satisfies ErrorEnvelope),
})

/** The usage of a billed call, without the balance. */
export type SettledUsage = Omit<Usage, "balance">

const billedHeaders = (requestId: string, { cost, currency }: SettledUsage) => ({
  ...json,
  "x-svc-request-id": requestId,
  "x-svc-cost": cost,
  "x-svc-currency": currency,
})

export const usageOf = ({ counts, estimatedReason }: Bill, charge: Charge, currency: string): SettledUsage => ({
  inTokens: counts.inTokens,
  outTokens: counts.outTokens,
  cacheReadTokens: counts.cacheReadTokens,
  cacheWriteTokens: counts.cacheWriteTokens,
  cost: formatAmount(charge.cost),
  currency,
  ...(estimatedReason !== undefined && { estimatedReason }),
  ...(Object.keys(counts.dims).length > 0 && { dims: counts.dims }),
  cacheNetSaving: formatAmount(charge.cacheNetSaving),
})
