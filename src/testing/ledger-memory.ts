/** The ledger over books in memory, for one organisation in one currency. */
import { Effect, Layer } from "effect"
import type { Amount } from "../money/amount.ts"
import { Ledger } from "../money/ledger.ts"
import { RecallChannel } from "../money/recalls.ts"
import type { UsageRecord } from "../money/usage-record.ts"
import { layerMemoryStore, MemoryBooks } from "./ledger-store-memory.ts"
import { layerTestConfig } from "./stores.ts"

export interface MemoryHold {
  readonly ref: string
  readonly orgId: string
  readonly amount: Amount
  state: "held" | "settled" | "released"
  cost: Amount
  record: UsageRecord | undefined
}

/** The state of a memory ledger, for assertions. */
export interface LedgerBook {
  readonly books: MemoryBooks
  /** The balance of an organisation. */
  readonly balance: (orgId: string) => Amount
  /** Every hold, by the gateway's request id. */
  readonly holds: Map<string, MemoryHold>
}

const currency = "USD"

export const makeLedgerBook = (balances: Readonly<Record<string, Amount>>): LedgerBook => {
  const books = new MemoryBooks()
  for (const [orgId, amount] of Object.entries(balances)) books.topup(`opening ${orgId}`, orgId, currency, amount)
  return { books, balance: (orgId) => books.balance(orgId, currency), holds: new Map() }
}

/** @param book balances by organisation, and every hold */
export const layerMemoryLedger = ({ books, holds }: LedgerBook): Layer.Layer<Ledger> => {
  const recorded = Effect.map(Ledger, (ledger) =>
    Ledger.of({
      ...ledger,
      hold: (request) =>
        Effect.tap(ledger.hold(request), ({ ref, orgId, amount }) =>
          Effect.sync(() => holds.set(ref, { ref, orgId, amount, state: "held", cost: 0n, record: undefined })),
        ),
      settle: (settlement) =>
        Effect.tap(ledger.settle(settlement), () =>
          Effect.sync(() => {
            const hold = holds.get(settlement.hold.ref)
            if (hold?.state === "held")
              Object.assign(hold, { state: "settled", cost: settlement.cost, record: settlement.record })
          }),
        ),
      release: (facts) =>
        Effect.tap(ledger.release(facts), () =>
          Effect.sync(() => {
            const hold = holds.get(facts.ref)
            if (hold?.state === "held") hold.state = "released"
          }),
        ),
    }),
  )
  return Layer.effect(Ledger, recorded).pipe(
    Layer.provide(Ledger.layerRules),
    Layer.provide(Layer.mergeAll(layerMemoryStore(books), RecallChannel.layerLocal, layerTestConfig())),
  )
}
