/** The items that the ledger's functions in PostgreSQL take, by the names that the functions know. */
import { dateOf } from "../protocol/values/instant.ts"
import { timeOfId } from "../protocol/values/ulid.ts"
import { formatAmount } from "./amount.ts"
import type { HoldFacts, Settlement } from "./settlement.ts"
import { usageColumns } from "./usage-record.ts"

export const factsOf = ({ node, orgId, ref, currency, keyId, requestId, day, budgets = [] }: HoldFacts) => ({
  node,
  org: orgId,
  ref,
  cur: currency,
  key: keyId,
  req: requestId ?? null,
  day,
  ...(budgets.length > 0 && { budgets: Object.fromEntries(budgets.map(({ counter, unit }) => [counter, unit])) }),
})

export interface SettleItem {
  readonly fields: object
  readonly reply: Buffer | undefined
  /** The content of a response that is kept. */
  readonly kept: Buffer | undefined
  /** Whether the books may have the hold. */
  readonly mayBeOpen: boolean
}

export const settleItem = (
  { hold, atMs, cost, record, reply, job, kept }: Settlement,
  mayBeOpen: boolean,
): SettleItem => ({
  fields: {
    ...factsOf(hold),
    ...(hold.requestId !== undefined && { req_day: dayOfId(hold.requestId) }),
    usage: usageColumns(record),
    at: atMs,
    cost: formatAmount(cost),
    ...(reply?.told !== undefined && { told: formatAmount(reply.told) }),
    ...(job !== undefined && { job }),
    ...(kept !== undefined && { kept: { ...kept, sealed: undefined } }),
  },
  reply: reply && Buffer.from(reply.sealed, "base64"),
  kept: kept && Buffer.from(kept.sealed, "base64"),
  mayBeOpen,
})

/**
 * The day (UTC) of a request id that contains its time, `-infinity` for others: the result of `request_day` in the database,
 * which takes longer.
 */
export const dayOfId = (requestId: string): string => {
  const atMs = timeOfId(requestId)
  return atMs === undefined ? "-infinity" : dateOf(atMs)
}

/**
 * Settlements of a batch: their fields as JSON, and their replies and kept responses as bytes, one after the other, because
 * encoding them in JSON took most of the time.
 */
export const packSettlements = (items: ReadonlyArray<SettleItem>) => {
  const bytes: Array<Buffer> = []
  // Positions of bytes in SQL begin at 1.
  let from = 1
  const place = (part: Buffer): number => {
    const begin = from
    bytes.push(part)
    from += part.length
    return begin
  }
  const rows = items.map(({ fields, reply, kept }, item) => ({
    item,
    ...fields,
    ...(reply !== undefined && { reply_from: place(reply), reply_bytes: reply.length }),
    ...(kept !== undefined && { kept_from: place(kept), kept_bytes: kept.length }),
  }))
  return {
    items: JSON.stringify(rows),
    mayBeOpen: items.some((item) => item.mayBeOpen),
    replies: Buffer.concat(bytes),
  }
}
