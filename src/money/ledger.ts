/**
 * The ledger: a hold is made before the vendor is called and is closed exactly once, by a settlement or a release.
 *
 * Money is moved to a node's allotment ahead of need, and holds are made against it in the node's memory: while the allotment
 * covers a hold, nothing waits for the database.
 */
import { Clock, Context, Effect, Layer } from "effect"
import { forAll } from "../background.ts"
import { WeirConfig } from "../config.ts"
import { type ServiceError, serviceError } from "../protocol/error.ts"
import { StoreUnavailable } from "../store/unavailable.ts"
import { allottedSeries, recordBudget, recordLedgerEvent } from "../telemetry/metrics.ts"
import type { Allotment } from "./allotments.ts"
import { type Amount, formatAmount, wholeAmount } from "./amount.ts"
import { type BudgetNeed, budgetExceeded, labelOf } from "./budgets/budget.ts"
import { ShadowBudgets } from "./budgets/shadow-budgets.ts"
import { type Counter, isBatchAccount, tokensOf } from "./counters.ts"
import { makeGranting, sumsOf, type Wanted } from "./granting.ts"
import { layerPostgres } from "./ledger-postgres.ts"
import { type LedgerStore, LedgerStores } from "./ledger-store.ts"
import { Node, Nodes } from "./node.ts"
import { OpenHolds } from "./open-holds.ts"
import { allTokens } from "./pricing.ts"
import { RecallChannel, shareChannel } from "./recalls.ts"
import type { BudgetCounter, HoldFacts, OpenHold, Settlement } from "./settlement.ts"

export interface HoldRequest {
  /** The gateway's own request id. */
  readonly ref: string
  readonly orgId: string
  readonly currency: string
  readonly keyId: string
  /** The caller's idempotency key, if there is one. */
  readonly requestId?: string | undefined
  readonly amount: Amount
  /** The day (UTC+8) whose tokens the call is counted to. */
  readonly day: string
  /** The amounts that it takes of the budgets that cover it. */
  readonly budgets?: ReadonlyArray<BudgetNeed>
}

export interface Hold extends HoldFacts {
  /** The organisation's balance, as last reported to this node. */
  readonly balance: Amount
}

/**
 * The state of one allotment in a node's memory: `free + held` is its amount in the books, granted less spent. Charges that the
 * books do not have yet count as held.
 */
export interface OwnAllotment extends Pick<Allotment, "orgId" | "counter" | "free" | "held"> {
  readonly node: string
}

export type Checkpoint = Omit<OpenHold, "isFirst">

/** An amount of a counter that moves, as the books write it. */
export interface MovedNeed {
  readonly counter: string
  readonly amount: string
}

/** `lapsed`: the lease of the node that held it has ended; `repeated`: what it was held for is there already. */
export type MoveOutcome = "moved" | "lapsed" | "repeated"

export type HoldError = ServiceError | StoreUnavailable

/** The background work of a node for the organisations of one shard. */
export interface LedgerPart extends Pick<Ledger["Service"], "checkpoint" | "renew" | "reap" | "returnIdle"> {
  readonly has: (orgId: string) => boolean
}

export class Ledger extends Context.Service<
  Ledger,
  {
    /** Reserves an amount; fails closed. Completes at once while this node's allotment covers it. */
    readonly hold: (request: HoldRequest) => Effect.Effect<Hold, HoldError>
    /**
     * Closes a hold at its cost, which may exceed the hold, and writes the usage record. Idempotent. Returns the
     * organisation's balance after this charge: available and allotted.
     */
    readonly settle: (settlement: Settlement) => Effect.Effect<Amount, StoreUnavailable>
    /**
     * Ends a hold of this process in its memory, at its cost, before the books have its settlement: {@link settle} must follow.
     * Returns the balance that this node knows after it; undefined if it is no hold of this process, or is ending.
     */
    readonly endAhead: (settlement: Settlement) => Effect.Effect<Amount | undefined>
    /**
     * Moves a hold to an account that outlives this node: a batch's.
     * @param move writes it to the books, in one commit with its reason
     * @returns whether it was moved; otherwise it is held as before
     */
    readonly handOver: (
      hold: HoldFacts,
      move: (node: string, needs: ReadonlyArray<MovedNeed>) => Effect.Effect<MoveOutcome, StoreUnavailable>,
    ) => Effect.Effect<boolean, StoreUnavailable>
    /** Closes a hold without a charge. Idempotent. */
    readonly release: (hold: HoldFacts) => Effect.Effect<void, StoreUnavailable>
    /** Writes checkpoints: the settlements of running exchanges if this node died now. */
    readonly checkpoint: (checkpoints: ReadonlyArray<Checkpoint>) => Effect.Effect<void, StoreUnavailable>
    /** Renews this node's lease. */
    readonly renew: Effect.Effect<void, StoreUnavailable>
    /** Closes the holds of dead nodes, at their last checkpoint. Returns the number of holds. */
    readonly reap: Effect.Effect<number, StoreUnavailable>
    /** Returns free amounts that are not used; runs every second. */
    readonly returnIdle: Effect.Effect<void, StoreUnavailable>
    /** The free and held amounts of this node, by organisation and counter. */
    readonly allotments: Effect.Effect<ReadonlyArray<OwnAllotment>>
    readonly topup: LedgerStore["Service"]["topup"]
    readonly isTopup: LedgerStore["Service"]["isTopup"]
    readonly balance: LedgerStore["Service"]["balance"]
    readonly used: LedgerStore["Service"]["used"]
    readonly budgetCounters: LedgerStore["Service"]["budgetCounters"]
    readonly adjust: LedgerStore["Service"]["adjust"]
    /** The books' knowledge of a caller's request id. */
    readonly requestState: LedgerStore["Service"]["requestState"]
    /** The parts that can fail on their own: one for each shard. */
    readonly parts: ReadonlyArray<LedgerPart>
  }
>()("weir/money/Ledger") {
  /** The rules, over any {@link LedgerStores}. */
  static readonly layerRules = Layer.effect(
    Ledger,
    Effect.suspend(() => makeLedger),
  )

  static readonly layer = Ledger.layerRules.pipe(Layer.provide(Layer.mergeAll(layerPostgres, RecallChannel.layer)))
}

/** A shard that does not answer stops only its own organisations: each shard has a ledger of its own. */
const makeLedger = Effect.gen(function* () {
  const { all, indexOf } = yield* LedgerStores
  const shared = yield* shareChannel(all.length)
  const ledgers = yield* Effect.forEach(all, (store) => Effect.provideService(makeOne(store), RecallChannel, shared))
  const [only] = ledgers
  if (only === undefined) return yield* Effect.die("The books have no shard")
  const of = (orgId: string): OneLedger => ledgers[indexOf(orgId)] ?? only
  const tellSums = yield* allottedSeries
  const record = Effect.sync(() => tellSums(sumsOf(ledgers.flatMap(({ nodes }) => nodes.all()))))
  const parts = ledgers.map((ledger) => ({
    ...ledger,
    returnIdle: Effect.andThen(record, ledger.returnIdle),
    has: (orgId: string) => of(orgId) === ledger,
  }))
  return Ledger.of({ ...(ledgers.length === 1 ? only : overShards(ledgers, of)), parts })
})

interface OneLedger extends Omit<Ledger["Service"], "parts"> {
  /** This process as a node of the shard. */
  readonly nodes: Nodes
}

const overShards = (
  ledgers: ReadonlyArray<OneLedger>,
  of: (orgId: string) => OneLedger,
): Omit<Ledger["Service"], "parts"> => {
  const inAll = <A>(job: (ledger: OneLedger) => Effect.Effect<A, StoreUnavailable>) =>
    forAll(ledgers, job, { concurrency: "unbounded" })
  return {
    hold: (request) => of(request.orgId).hold(request),
    // The organisation of a settlement in an old journal, which has only the ref, is not known.
    settle: (settlement) =>
      settlement.hold.orgId === ""
        ? Effect.map(
            inAll((ledger) => ledger.settle(settlement)),
            (balances) => balances.find((each) => each !== 0n) ?? 0n,
          )
        : of(settlement.hold.orgId).settle(settlement),
    endAhead: (settlement) => of(settlement.hold.orgId).endAhead(settlement),
    handOver: (hold, move) => of(hold.orgId).handOver(hold, move),
    release: (hold) => of(hold.orgId).release(hold),
    checkpoint: (checkpoints) => {
      const parts = Map.groupBy(checkpoints, ({ hold }) => of(hold.orgId))
      return Effect.asVoid(inAll((ledger) => ledger.checkpoint(parts.get(ledger) ?? [])))
    },
    renew: Effect.asVoid(inAll(({ renew }) => renew)),
    reap: Effect.map(
      inAll(({ reap }) => reap),
      (counts) => counts.reduce((sum, count) => sum + count, 0),
    ),
    returnIdle: Effect.asVoid(inAll(({ returnIdle }) => returnIdle)),
    allotments: Effect.map(
      Effect.forEach(ledgers, ({ allotments }) => allotments),
      (each) => each.flat(),
    ),
    topup: (credit) => of(credit.orgId).topup(credit),
    isTopup: (credit) => of(credit.orgId).isTopup(credit),
    balance: (orgId, currency) => of(orgId).balance(orgId, currency),
    used: (orgId, counters) => of(orgId).used(orgId, counters),
    adjust: (orgId, counter, change) => of(orgId).adjust(orgId, counter, change),
    budgetCounters: (orgId, atMs) => of(orgId).budgetCounters(orgId, atMs),
    requestState: (orgId, keyId, requestId) => of(orgId).requestState(orgId, keyId, requestId),
  }
}

const makeOne = Effect.fnUntraced(function* (store: LedgerStore["Service"]) {
  const { leaseMs } = yield* WeirConfig
  const clock = yield* Clock.Clock
  const context = yield* Effect.context<never>()
  const nodes = new Nodes(store, leaseMs, clock)
  const open = new OpenHolds(store)
  yield* Effect.addFinalizer(() =>
    Effect.catch(nodes.end, (cause) => Effect.logWarning("Allotments could not be given back; leases end them", cause)),
  )
  const granting = yield* makeGranting(store, nodes, context)
  const shadows = new ShadowBudgets((budget) => recordBudget(context, labelOf(budget), "would_reject"))

  const begin = (request: HoldRequest, { needs }: Wanted, node: Node): Hold => {
    const { ref, orgId, currency, keyId, requestId, amount, day } = request
    open.begin(ref, node, needs)
    const money = node.allotments.find(orgId, currency)
    const balance = money === undefined ? 0n : money.balance - money.unbooked
    const facts = { ref, orgId, currency, keyId, requestId, day, node: node.id, amount, balance }
    const budgets = countersOf(request)
    return budgets === undefined ? facts : { ...facts, budgets }
  }

  const hold = (request: HoldRequest): Effect.Effect<Hold, HoldError> =>
    Effect.suspend(() => {
      const nowMs = clock.currentTimeMillisUnsafe()
      const wanted = wantedBy(request, shadows.pass(request, nowMs))
      const node = granting.take(wanted)
      if (node !== undefined) return Effect.succeed(begin(request, wanted, node))
      return holdSlowly(request, wanted)
    })

  const holdSlowly = (request: HoldRequest, wanted: Wanted): Effect.Effect<Hold, HoldError> =>
    Effect.flatMap(granting.takeSlowly(wanted), (answer): Effect.Effect<Hold, HoldError> => {
      if (answer instanceof Node) return Effect.succeed(begin(request, wanted, answer))
      const nowMs = clock.currentTimeMillisUnsafe()
      const short = request.budgets?.find(({ counter }) => counter === answer.counter)
      if (short?.budget.isEnforced === false) {
        shadows.wouldReject(request.orgId, short, nowMs)
        const needs = wanted.needs.filter(({ counter }) => counter !== answer.counter)
        return holdSlowly(request, { ...wanted, needs })
      }
      if (short === undefined) return Effect.fail(insufficientBalance)
      recordBudget(context, labelOf(short.budget), "rejected")
      return Effect.fail(budgetExceeded(short, answer, nowMs))
    })

  /** Applies a cost and its usage to the allotments of a hold. Returns that of the money. */
  const charge = (
    hold: HoldFacts,
    { node, needs }: Ended,
    { cost, tokens }: Used,
    apply: (allotment: Allotment, held: Amount, used: Amount, nowMs: number) => void,
  ): Allotment => {
    const nowMs = nodes.nowMs()
    const each = (counter: Counter, used: Amount): Allotment => {
      const allotment = node.allotments.of(hold.orgId, counter, nowMs)
      apply(allotment, needs.find((need) => need.counter === counter.counter)?.amount ?? 0n, used, nowMs)
      granting.freed(node, allotment)
      return allotment
    }
    each(tokensOf(hold.day), tokens)
    for (const budget of hold.budgets ?? []) each(budget, budget.unit === "money" ? cost : tokens)
    return each({ counter: hold.currency }, cost)
  }

  /** Ends a hold in this node's memory. @param isBilled whether the books have its cost */
  const end = (hold: HoldFacts, used: Used, isBilled: boolean, balance?: Amount) => {
    const ended = open.end(hold.ref)
    if (ended === undefined) return
    const money = ended.isAhead
      ? charge(hold, ended, used, (allotment, _, used, nowMs) => allotment.booked(used, isBilled, nowMs))
      : charge(hold, ended, isBilled ? used : nothing, (allotment, held, used, nowMs) =>
          allotment.end(held, used, nowMs),
        )
    money.balance = balance ?? money.balance
  }

  const endAhead = (settlement: Settlement): Effect.Effect<Amount | undefined> =>
    Effect.sync(() => {
      const { hold } = settlement
      const held = open.endAhead(hold.ref)
      if (held === undefined) return undefined
      const money = charge(hold, held, usedIn(settlement), (allotment, held, used, nowMs) =>
        allotment.endAhead(held, used, nowMs),
      )
      return money.balance - money.unbooked
    })

  const settle = Effect.fnUntraced(function* (settlement: Settlement): Effect.fn.Return<Amount, StoreUnavailable> {
    const facts = settlement.hold.orgId === "" ? yield* store.find(settlement.hold.ref) : settlement.hold
    if (facts === undefined) return 0n
    // No checkpoint is written of what a batch holds.
    const mayBeOpen = !isBatchAccount(facts.node) && (yield* open.close(facts))
    const { outcome, balance } = yield* store.settle({ ...settlement, hold: facts }, mayBeOpen)
    if (outcome === "duplicate") {
      recordLedgerEvent(context, "duplicate")
      yield* Effect.logError("A request id was spent by another exchange; this one is not billed", { ref: facts.ref })
    }
    end(facts, usedIn(settlement), outcome !== "duplicate", balance)
    return balance
  })

  /** Ends a hold in this node's memory whose amounts have left its allotments. */
  const moved = (facts: HoldFacts) => {
    const { node, needs } = open.end(facts.ref) ?? { needs: [] }
    const nowMs = nodes.nowMs()
    for (const need of needs) {
      node?.allotments.of(facts.orgId, need, nowMs).end(need.amount, need.amount, nowMs)
    }
  }

  const handOver: Ledger["Service"]["handOver"] = (facts, move) =>
    Effect.uninterruptible(
      Effect.suspend(() => {
        const held = open.get(facts.ref)
        if (held === undefined) return Effect.die(new Error("The hold that is handed over has ended"))
        const needs = held.needs.map(({ counter, amount }) => ({ counter, amount: formatAmount(amount) }))
        // If it is not known whether the books have it, the node is left: what is its own then goes back from the books.
        const left = Effect.sync(() => {
          nodes.leave(held.node)
          moved(facts)
        })
        return Effect.flatMap(
          Effect.tapError(move(facts.node, needs), () => left),
          (outcome) => {
            if (outcome === "lapsed") return Effect.andThen(left, Effect.fail(lapsed))
            if (outcome === "moved") moved(facts)
            return Effect.succeed(outcome === "moved")
          },
        )
      }),
    )

  const release = Effect.fnUntraced(function* (facts: HoldFacts): Effect.fn.Return<void, StoreUnavailable> {
    if (!open.has(facts.ref)) return
    const mayBeOpen = yield* open.close(facts)
    if (mayBeOpen) yield* store.release(facts)
    end(facts, nothing, false)
  })

  return {
    hold,
    settle,
    endAhead,
    handOver,
    release,
    checkpoint: (checkpoints) => open.checkpoint(checkpoints),
    renew: Effect.uninterruptible(nodes.renew),
    reap: Effect.uninterruptible(store.reap).pipe(
      Effect.tap((rows) =>
        rows.length === 0
          ? Effect.void
          : Effect.logWarning("Holds of lost exchanges were settled or released", { rows }),
      ),
      Effect.map((rows) => rows.length),
    ),
    returnIdle: granting.returnIdle,
    allotments: Effect.sync(() => {
      const node = nodes.current(nodes.nowMs())
      if (node === undefined) return []
      return [...node.allotments.all()].map(({ orgId, counter, free, held, unbooked }) => {
        return { node: node.id, orgId, counter, free, held: held + unbooked }
      })
    }),
    topup: store.topup,
    isTopup: store.isTopup,
    balance: store.balance,
    used: store.used,
    budgetCounters: store.budgetCounters,
    adjust: store.adjust,
    requestState: store.requestState,
    nodes,
  } satisfies OneLedger
})

/** The amounts and the node of a hold that ends. */
type Ended = Pick<NonNullable<ReturnType<OpenHolds["end"]>>, "node" | "needs">

/** The cost and the tokens of a call. */
interface Used {
  readonly cost: Amount
  readonly tokens: Amount
}

const nothing: Used = { cost: 0n, tokens: 0n }

const usedIn = ({ cost, record }: Settlement): Used => ({ cost, tokens: wholeAmount(allTokens(record.counts)) })

/** @param budgets without those in shadow that have nothing left */
const wantedBy = ({ orgId, currency, amount }: HoldRequest, budgets: ReadonlyArray<BudgetNeed>): Wanted => ({
  orgId,
  currency,
  needs: [
    { counter: currency, amount, limit: undefined, isOnlyCounted: false },
    ...budgets.map(({ counter, period, amount, beside, budget: { limit, isEnforced } }) => {
      return { counter, period, amount, limit, beside, isOnlyCounted: !isEnforced }
    }),
  ],
})

/** The counters of its budgets that a hold must name: the day's tokens are counted of every call. */
const countersOf = ({ budgets = [] }: HoldRequest): HoldFacts["budgets"] => {
  const named: Array<BudgetCounter> = []
  for (const { budget, counter, period, unit } of budgets) {
    if (budget.source !== "plan") named.push({ counter, period, unit })
  }
  return named.length === 0 ? undefined : named
}

const lapsed = new StoreUnavailable({ store: "postgres", cause: "the lease of the node has run out" })

const insufficientBalance = serviceError("insufficient_balance", "The balance does not cover this request")
