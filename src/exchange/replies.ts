/** Replies of exchanges that are not streamed. Source: interface.md "Exchange response", "In-progress reply". */
import type { Snapshot } from "../admission/gate.ts"
import { type Amount, formatAmount } from "../money/amount.ts"
import type { Charge } from "../money/pricing.ts"
import type { ReplyBlock } from "../protocol/block.ts"
import { type ErrorEnvelope, errorBody, errorStatus, type ServiceError } from "../protocol/error.ts"
import type { WarnEvent } from "../protocol/event.ts"
import type { ExchangeRequest, ExchangeResponse, InProgress, Stop } from "../protocol/exchange.ts"
import type { Usage } from "../protocol/usage.ts"
import type { Bill } from "./bill.ts"
import type { Reply } from "./client-link.ts"

/** Suggested interval between retries while the first call runs. */
const retryAfterMs = 1000

const json = { "content-type": "application/json" }

export const inProgressReply = (requestId: string): Reply => {
  const body: InProgress = { status: "in_progress", requestId, retryAfterMs }
  return {
    _tag: "Json",
    status: 202,
    headers: { ...json, "retry-after": String(Math.ceil(retryAfterMs / 1000)) },
    body: JSON.stringify(body),
  }
}

/** Body and billing headers are those of the first reply. */
export const replayedReply = ({ status, headers, body }: Snapshot): Reply => ({
  _tag: "Json",
  status,
  headers: { ...headers, "x-svc-idempotent-replay": "1" },
  body,
})

export interface CompletedExchange {
  readonly requestId: string
  readonly request: ExchangeRequest
  readonly blocks: ReadonlyArray<ReplyBlock>
  readonly stop: Stop
  readonly usage: Usage
  readonly warnings: ReadonlyArray<WarnEvent>
}

/** A whole reply; warnings, which a stream sends as `t.warn`, are named in `x-svc-warnings`. */
export const completedReply = ({ requestId, request, blocks, stop, usage, warnings }: CompletedExchange): Snapshot => {
  const clientRequestId = request.meta?.requestId
  const response: ExchangeResponse = {
    requestId,
    ...(clientRequestId !== undefined && { clientRequestId }),
    model: request.model,
    blocks,
    stop,
    usage,
  }
  return {
    status: 200,
    headers: {
      ...billedHeaders(requestId, usage),
      ...(warnings.length > 0 && { "x-svc-warnings": warnings.map(({ code }) => code).join(", ") }),
    },
    body: JSON.stringify(response),
  }
}

/** A reply whose content is withheld: an error with the usage. */
export const withheldReply = (requestId: string, error: ServiceError, usage: Usage): Snapshot => ({
  status: errorStatus[error.code],
  headers: billedHeaders(requestId, usage),
  body: JSON.stringify({ error: errorBody(error, requestId) } satisfies ErrorEnvelope),
})

const billedHeaders = (requestId: string, { cost, balance, currency }: Usage) => ({
  ...json,
  "x-svc-request-id": requestId,
  "x-svc-cost": cost,
  "x-svc-balance": balance,
  "x-svc-currency": currency,
})

export const usageOf = (
  { counts, estimatedReason }: Bill,
  charge: Charge,
  balance: Amount,
  currency: string,
): Usage => ({
  inTokens: counts.inTokens,
  outTokens: counts.outTokens,
  cacheReadTokens: counts.cacheReadTokens,
  cacheWriteTokens: counts.cacheWriteTokens,
  cost: formatAmount(charge.cost),
  balance: formatAmount(balance),
  currency,
  ...(estimatedReason !== undefined && { estimatedReason }),
  ...(Object.keys(counts.dims).length > 0 && { dims: counts.dims }),
  cacheNetSaving: formatAmount(charge.cacheNetSaving),
})
