/** A ledger in memory, with the rules of the real one. */
import { Effect, Layer } from "effect"
import type { Amount } from "../money/amount.ts"
import { type HoldError, Ledger, type UsageRecord } from "../money/ledger.ts"
import { serviceError } from "../protocol/error.ts"

export interface MemoryHold {
  readonly ref: string
  readonly key: string
  readonly orgId: string
  readonly amount: Amount
  state: "held" | "settled" | "released"
  cost: Amount
  record: UsageRecord | undefined
}

/** The state of a memory ledger, for assertions. */
export interface LedgerBook {
  readonly balances: Map<string, Amount>
  readonly holds: Map<string, MemoryHold>
}

export const makeLedgerBook = (balances: Readonly<Record<string, Amount>>): LedgerBook => ({
  balances: new Map(Object.entries(balances)),
  holds: new Map(),
})

/** @param book balances by organisation, and every hold */
export const layerMemoryLedger = (book: LedgerBook): Layer.Layer<Ledger> => {
  const balanceOf = (orgId: string): Amount => book.balances.get(orgId) ?? 0n
  const move = (orgId: string, change: Amount) => book.balances.set(orgId, balanceOf(orgId) + change)

  const close = (ref: string, cost: Amount, record: UsageRecord | undefined) =>
    Effect.sync(() => {
      const hold = book.holds.get(ref)
      if (hold === undefined) return 0n
      if (hold.state === "held") {
        hold.state = record === undefined ? "released" : "settled"
        hold.cost = cost
        hold.record = record
        move(hold.orgId, hold.amount - cost)
      }
      return balanceOf(hold.orgId)
    })

  return Layer.succeed(
    Ledger,
    Ledger.of({
      hold: ({ ref, orgId, keyId, requestId, amount }) =>
        Effect.suspend((): Effect.Effect<Amount, HoldError> => {
          const key = `${orgId} ${keyId} ${requestId}`
          const taken = [...book.holds.values()].some((hold) => hold.key === key && hold.state !== "released")
          if (taken)
            return Effect.fail(serviceError("idempotency_conflict", "billed", { detail: { replayable: false } }))
          if (balanceOf(orgId) < amount) return Effect.fail(serviceError("insufficient_balance", "too little"))
          book.holds.set(ref, { ref, key, orgId, amount, state: "held", cost: 0n, record: undefined })
          move(orgId, -amount)
          return Effect.succeed(balanceOf(orgId))
        }),
      settle: ({ ref, cost, record }) => close(ref, cost, record),
      renew: () => Effect.void,
      reap: Effect.succeed(0),
      release: (ref) => close(ref, 0n, undefined),
      topup: ({ orgId, amount }) =>
        Effect.sync(() => {
          move(orgId, amount)
          return true
        }),
      balance: (orgId) => Effect.sync(() => balanceOf(orgId)),
    }),
  )
}
