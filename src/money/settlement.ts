/** The parts of a settlement: the hold that it closes, its cost, and its usage record. */
import type { BudgetUnit } from "../protocol/catalogue/budget.ts"
import type { Amount } from "./amount.ts"
import type { Counter } from "./counters.ts"
import type { UsageRecord } from "./usage-record.ts"

/** A counter of a budget that covers an exchange, and the unit that is counted there. */
export interface BudgetCounter extends Counter {
  readonly unit: BudgetUnit
}

/** The data of a hold: enough for any process to settle it. */
export interface HoldFacts {
  /** The gateway's own request id. */
  readonly ref: string
  readonly orgId: string
  readonly currency: string
  readonly keyId: string
  /** The caller's idempotency key, if there is one: spent once, for ever. */
  readonly requestId?: string | undefined
  /** The day (UTC+8) whose token quota is charged. */
  readonly day: string
  /** The node whose allotment is charged: a process, for as long as its lease lasts without a gap. */
  readonly node: string
  /** The reserved amount. */
  readonly amount: Amount
  /** The budgets that cover it. */
  readonly budgets?: ReadonlyArray<BudgetCounter> | undefined
}

/** The reply to a caller's request id, sealed; a client that repeats the request gets the balance of its settlement. */
export interface SealedReply {
  /** Base64. */
  readonly sealed: string
  /** The balance that the caller got before the settlement was made. */
  readonly told?: Amount | undefined
}

/** Sealed content outside of the database, by its hash, and its length. */
export interface ContentObject {
  readonly id: string
  readonly bytes: number
}

/** A response that its caller may continue and read later. Its content is sealed. */
export interface KeptFacts {
  readonly id: string
  /** The day (UTC) in its id. */
  readonly day: string
  /** The response that it continues. */
  readonly previous?: string | undefined
  /** The owner; an absent part is empty. */
  readonly app: string
  readonly person: string
  readonly endUser: string
  readonly model: string
  readonly state: "completed" | "incomplete"
  /** Whether the books have it since it began: then it is kept only if it was not erased meanwhile. */
  readonly background?: boolean | undefined
  /** The caller's key and request id of one that begins, for a client that repeats the request. */
  readonly asked?: AskedWith | undefined
  /** The request of one that begins, for another node, if this one dies. */
  readonly again?: SealedRequest | undefined
  /** Milliseconds since 1970. */
  readonly eraseAt: number
  /** Ids of items that later requests may reference. */
  readonly items: ReadonlyArray<string>
  /** Base64; empty if an object has it. */
  readonly sealed: string
  readonly object?: ContentObject | undefined
  /** The conversation to which its items are appended. */
  readonly conversation?: AppendedItems | undefined
}

/** The names of a request that may be repeated. */
export interface AskedWith {
  readonly key: string
  readonly request: string
  /** The sealed hash of its payload: base64. */
  readonly hash: string
}

/** A request that may be made once more. */
export interface SealedRequest {
  /** The caller's key. */
  readonly key: string
  /** Base64. */
  readonly sealed: string
}

/** Items that a response adds to a conversation. */
export interface AppendedItems {
  readonly id: string
  readonly items: ReadonlyArray<{
    readonly id: string
    /** Base64; empty if an object has it. */
    readonly sealed: string
    readonly object?: ContentObject | undefined
  }>
}

/** A call that outlives its request: the vendor works on it, and reports the outcome later. */
export interface JobFacts {
  readonly id: string
  readonly kind: string
  readonly endUserId?: string | undefined
  /** The vendor's name of the model, and of the job. */
  readonly targetModel: string
  readonly vendorJob: string
  /** Whether the organisation's own key was used. */
  readonly isOwn: boolean
  /** The fields that its owner sees; no prompt. */
  readonly view: Readonly<Record<string, string | number>>
  readonly timeoutMs: number
}

/** A cost and its usage record. */
export interface Settlement {
  /** The organisation; if absent, the one that the books have under its ref. */
  readonly hold: HoldFacts
  /** The time when the exchange ended; the same for every attempt to settle. */
  readonly atMs: number
  readonly cost: Amount
  readonly record: UsageRecord
  /** The cost is moved to the account of this job, and charged at its end. */
  readonly job?: JobFacts | undefined
  /** Kept for as long as request ids are remembered. */
  readonly reply?: SealedReply | undefined
  /** Kept for as long as the caller's organisation says. */
  readonly kept?: KeptFacts | undefined
}

/** The settlement that a running exchange would have now; without a cost, its hold would be released. */
export interface OpenHold {
  readonly hold: HoldFacts
  /** Whether this may be the first checkpoint of this exchange. */
  readonly isFirst: boolean
  readonly settlement: Pick<Settlement, "cost" | "record"> | undefined
}
