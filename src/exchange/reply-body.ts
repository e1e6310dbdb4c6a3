/** The content of replies that are not streamed. Source: interface.md "Exchange response", "In-progress reply". */
import { type Amount, formatAmount } from "../money/amount.ts"
import type { Charge } from "../money/pricing.ts"
import type { ReplyBlock } from "../protocol/block.ts"
import { type ErrorEnvelope, errorBody, errorStatus, type ServiceError } from "../protocol/error.ts"
import type { WarnEvent } from "../protocol/event.ts"
import type { ExchangeRequest, ExchangeResponse, InProgress, Stop } from "../protocol/exchange.ts"
import type { Usage } from "../protocol/usage.ts"
import type { Bill } from "./bill.ts"
import type { WholeReply } from "./reply.ts"

/** Suggested interval between retries while the first call runs. */
export const retryAfterMs = 1000

const json = { "content-type": "application/json" }

export const inProgressReply = (requestId: string): WholeReply => {
  const body: InProgress = { status: "in_progress", requestId, retryAfterMs }
  return {
    status: 202,
    headers: { ...json, "retry-after": String(Math.ceil(retryAfterMs / 1000)) },
    body: JSON.stringify(body),
  }
}

/** The reply of a billed call, complete but for the balance, which its settlement tells. */
export interface FinishedReply {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** With an empty balance; or text, before and after the balance, in a single part if it does not name it. */
  readonly body: ExchangeResponse | ReadonlyArray<string>
}

export const replyWith = ({ status, headers, body }: FinishedReply, balance: Amount): WholeReply => {
  const text = formatAmount(balance)
  return {
    status,
    headers: { ...headers, "x-svc-balance": text },
    body: "usage" in body ? { ...body, usage: { ...body.usage, balance: text } } : body.join(text),
  }
}

/** The text of a finished reply around its balance, which is the last member of a response. */
export const textAround = ({ body }: FinishedReply): ReadonlyArray<string> => {
  if (!("usage" in body)) return body
  const text = JSON.stringify(body)
  const at = text.lastIndexOf('""') + 1
  return [text.slice(0, at), text.slice(at)]
}

/** Body and billing headers are those of the first reply. */
export const replayedReply = ({ headers, ...reply }: FinishedReply, balance: Amount): WholeReply =>
  replyWith({ ...reply, headers: { ...headers, "x-svc-idempotent-replay": "1" } }, balance)

export interface CompletedExchange {
  readonly requestId: string
  readonly request: ExchangeRequest
  readonly blocks: ReadonlyArray<ReplyBlock>
  readonly stop: Stop
  readonly usage: SettledUsage
  readonly warnings: ReadonlyArray<WarnEvent>
}

/** A whole reply; warnings, which a stream sends as `t.warn`, are named in `x-svc-warnings`. */
export const completedReply = (completed: CompletedExchange): FinishedReply => {
  const { requestId, request, blocks, stop, usage, warnings } = completed
  const clientRequestId = request.meta?.requestId
  return {
    status: 200,
    headers: {
      ...billedHeaders(requestId, usage),
      ...(warnings.length > 0 && { "x-svc-warnings": warnings.map(({ code }) => code).join(", ") }),
    },
    body: {
      requestId,
      ...(clientRequestId !== undefined && { clientRequestId }),
      model: request.model,
      blocks,
      stop,
      usage: { ...usage, balance: "" },
    },
  }
}

/** A reply whose content is withheld: an error with the usage. */
export const withheldReply = (requestId: string, error: ServiceError, usage: SettledUsage): FinishedReply => ({
  status: errorStatus[error.code],
  headers: billedHeaders(requestId, usage),
  body: [JSON.stringify({ error: errorBody(error, requestId) } satisfies ErrorEnvelope)],
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
