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
  /** Whether the books may have the hold. */
  readonly mayBeOpen: boolean
}

export const settleItem = ({ hold, atMs, cost, record, reply, job }: Settlement, mayBeOpen: boolean): SettleItem => ({
  fields: {
    ...factsOf(hold),
    ...(hold.requestId !== undefined && { req_day: dayOfId(hold.requestId) }),
    usage: usageColumns(record),
    at: atMs,
    cost: formatAmount(cost),
    ...(reply?.told !== undefined && { told: formatAmount(reply.told) }),
    ...(job !== undefined && { job }),
  },
  reply: reply && Buffer.from(reply.sealed, "base64"),
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
 * Settlements of a batch: their fields as JSON, and their replies as bytes, one after the other, because encoding the replies
 * in JSON took most of the time.
 */
export const packSettlements = (items: ReadonlyArray<SettleItem>) => {
  const replies: Array<Buffer> = []
  // Positions of bytes in SQL begin at 1.
  let from = 1
  const rows = items.map(({ fields, reply }, item) => {
    if (reply === undefined) return { item, ...fields }
    const row = { item, ...fields, reply_from: from, reply_bytes: reply.length }
    replies.push(reply)
    from += reply.length
    return row
  })
  return {
    items: JSON.stringify(rows),
    mayBeOpen: items.some((item) => item.mayBeOpen),
    replies: Buffer.concat(replies),
  }
}
