/** The items that the ledger's functions in PostgreSQL take, by the names that the functions know. */
import { dateOf } from "../protocol/values/instant.ts"
import { timeOfId } from "../protocol/values/ulid.ts"
import { formatAmount } from "./amount.ts"
import type { ContentObject, HoldFacts, KeptFacts, Settlement } from "./settlement.ts"
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
  readonly orgId: string
  readonly fields: object
  readonly reply: Buffer | undefined
  /** A response that is kept, with its content, and the items that it adds to a conversation. */
  readonly kept: KeptItem | undefined
  /** Whether the books may have the hold. */
  readonly mayBeOpen: boolean
}

interface KeptItem {
  readonly facts: object
  readonly content: Buffer
  readonly conversation: { readonly id: string; readonly items: ReadonlyArray<AppendedItem> } | undefined
}

interface AppendedItem {
  readonly id: string
  readonly content: Buffer
  readonly object: ContentObject | undefined
}

const keptItem = ({ sealed, conversation, ...facts }: KeptFacts): KeptItem => ({
  facts,
  content: Buffer.from(sealed, "base64"),
  conversation: conversation && {
    id: conversation.id,
    items: conversation.items.map(({ id, sealed, object }) => ({ id, content: Buffer.from(sealed, "base64"), object })),
  },
})

export const settleItem = (
  { hold, atMs, cost, record, reply, job, kept }: Settlement,
  mayBeOpen: boolean,
): SettleItem => ({
  orgId: hold.orgId,
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
  kept: kept && keptItem(kept),
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
  /** A response that is kept, with the places of its content and of the items that it adds to a conversation. */
  const placed = ({ facts, content, conversation }: KeptItem) => ({
    kept: {
      ...facts,
      ...(conversation !== undefined && {
        conversation: {
          id: conversation.id,
          items: conversation.items.map(({ id, content, object }) => ({
            id,
            from: place(content),
            bytes: content.length,
            object,
          })),
        },
      }),
    },
    kept_from: place(content),
    kept_bytes: content.length,
  })
  const rows = items.map(({ fields, reply, kept }, item) => ({
    item,
    ...fields,
    ...(reply !== undefined && { reply_from: place(reply), reply_bytes: reply.length }),
    ...(kept !== undefined && placed(kept)),
  }))
  return {
    items: JSON.stringify(rows),
    mayBeOpen: items.some((item) => item.mayBeOpen),
    replies: Buffer.concat(bytes),
  }
}
