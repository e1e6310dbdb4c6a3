/**
 * The store of the ledger's books: PostgreSQL, or memory for tests. Every operation is one round trip and one commit;
 * operations that many exchanges need at once are sent in batches. The rules are the ledger's (`ledger.ts`).
 */
import { Context, type Effect } from "effect"
import type { StoreUnavailable } from "../store/unavailable.ts"
import type { Amount } from "./amount.ts"
import type { Counter } from "./counters.ts"
import type { HoldFacts, OpenHold, Settlement } from "./settlement.ts"

/** A need of one counter; amounts of tokens count in whole units. */
export interface CounterNeed extends Counter {
  /** The amount that is missing for the hold. */
  readonly need: Amount
  /** The amount that the node asks for, at least the need. */
  readonly want: Amount
  /** The limit of a budget; money is limited by what was paid in. */
  readonly limit?: Amount | undefined
  /** Counters whose use counts as well. */
  readonly beside?: ReadonlyArray<string> | undefined
}

export interface Ask {
  readonly node: string
  readonly orgId: string
  readonly currency: string
  /** All are granted, or none. */
  readonly counters: ReadonlyArray<CounterNeed>
}

export type Granted =
  | {
      readonly _tag: "Granted"
      readonly grants: ReadonlyMap<string, Amount>
      /** The amount of each counter before. */
      readonly available: ReadonlyMap<string, Amount>
      /** Counters that have so little that only the need is granted. */
      readonly scarce: ReadonlySet<string>
      /** The organisation's balance in the currency, at all nodes. */
      readonly balance: Amount
    }
  /** A counter has too little; other nodes may have some to give back. */
  | {
      readonly _tag: "Short"
      readonly counter: string
      readonly available: Amount
      /** The amount by which its limit was raised for this period. */
      readonly raised: Amount
      readonly others: number
    }
  /** The store had declared the node dead. */
  | { readonly _tag: "Lapsed" }

/** An amount that a node does not need; negative if costs exceeded the allotment. */
export interface GivenBack extends Counter {
  readonly node: string
  readonly orgId: string
  readonly amount: Amount
  /** Whether the node has no holds there any more. */
  readonly isLast: boolean
}

export interface Settled {
  /** `duplicate`: another exchange has spent the request id, and nothing was billed. */
  readonly outcome: "settled" | "duplicate"
  readonly balance: Amount
}

/** The books' knowledge of a caller's request id. */
export type RequestState =
  | { readonly _tag: "New" }
  /** The exchange that has it is not settled. */
  | { readonly _tag: "Running" }
  | { readonly _tag: "Billed"; readonly ref: string; readonly reply: KeptReply | undefined }

/** A reply that was settled, sealed (base64), and the balance after it. */
export interface KeptReply {
  readonly sealed: string
  readonly balance: Amount
}

/** The amounts of a budget in its period. */
export interface BudgetUse {
  /** Since its beginning, or since it was reset. */
  readonly used: Amount
  /** The amount by which its limit was raised for this period. */
  readonly raised: Amount
}

export const noUse: BudgetUse = { used: 0n, raised: 0n }

export interface Adjustment {
  /** Whether the used amount becomes zero. */
  readonly isReset: boolean
  /** The amount by which the limit is raised in all; unchanged if absent. */
  readonly raised?: Amount | undefined
}

type Result<A> = Effect.Effect<A, StoreUnavailable>

export class LedgerStore extends Context.Service<
  LedgerStore,
  {
    readonly join: (node: string, leaseMs: number) => Result<void>
    /** Renews a node's lease; false if the store had declared the node dead. */
    readonly renew: (node: string, leaseMs: number) => Result<boolean>
    /** Ends a node that has no holds: its allotments go back. */
    readonly leave: (node: string) => Result<void>
    readonly allot: (ask: Ask) => Result<Granted>
    /** All of them, or none. */
    readonly giveBack: (items: ReadonlyArray<GivenBack>) => Result<void>
    /** @param mayBeOpen whether an open hold may have been written */
    readonly settle: (settlement: Settlement, mayBeOpen: boolean) => Result<Settled>
    readonly checkpoint: (holds: ReadonlyArray<OpenHold>) => Result<void>
    /** Blocks a first checkpoint whose outcome is unknown. */
    readonly forbidCheckpoint: (hold: HoldFacts) => Result<void>
    /** Removes an open hold without a charge. */
    readonly release: (hold: HoldFacts) => Result<void>
    /** The open or reaped hold of a ref, for settlements in a journal of the first design. */
    readonly find: (ref: string) => Result<HoldFacts | undefined>
    readonly requestState: (orgId: string, keyId: string, requestId: string) => Result<RequestState>
    /** Settles what dead nodes left and takes back their allotments. Returns the outcome of each hold, by ref. */
    readonly reap: Result<ReadonlyArray<{ readonly ref: string; readonly outcome: string }>>
    /** Credits an organisation. Idempotent by id; returns whether the id was new. */
    readonly topup: (credit: {
      readonly id: string
      readonly orgId: string
      readonly currency: string
      readonly amount: Amount
    }) => Result<boolean>
    /** Whether the top-up with this id credited exactly this. */
    readonly isTopup: (credit: {
      readonly id: string
      readonly orgId: string
      readonly currency: string
      readonly amount: Amount
    }) => Result<boolean>
    readonly balance: (orgId: string, currency: string) => Result<Amount>
    /** The amounts that were charged to counters, without holds. */
    readonly used: (orgId: string, counters: ReadonlyArray<string>) => Result<ReadonlyMap<string, BudgetUse>>
    /** Resets a budget's counter, or raises its limit for this period. Running calls keep their holds. */
    readonly adjust: (orgId: string, counter: Counter, change: Adjustment) => Result<BudgetUse>
    /**
     * Names of the counters of budgets that an organisation has, of periods that are in course at a time. Counters whose
     * period the books do not know yet, because a node of an older version made them, are included.
     */
    readonly budgetCounters: (orgId: string, atMs: number) => Result<ReadonlyArray<string>>
  }
>()("weir/money/LedgerStore") {}

/** A store for each shard of the books; on one server there is one. */
export class LedgerStores extends Context.Service<
  LedgerStores,
  {
    readonly all: ReadonlyArray<LedgerStore["Service"]>
    /** The index in `all` of the store that has an organisation. */
    readonly indexOf: (orgId: string) => number
  }
>()("weir/money/LedgerStores") {}

/** One store has all organisations. */
export const oneStore = (store: LedgerStore["Service"]): LedgerStores["Service"] => ({ all: [store], indexOf: () => 0 })
