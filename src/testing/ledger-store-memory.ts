/** The ledger's books in memory, with the rules of those in PostgreSQL (`migrations/functions/books`). */

import { Clock, Effect, Layer } from "effect"
import { type Amount, maxAmount, wholeAmount } from "../money/amount.ts"
import { batchAccount, type Counter, isBatchAccount, tokensOf } from "../money/counters.ts"
import type { MoveOutcome } from "../money/ledger.ts"
import type { Adjustment, BudgetUse } from "../money/ledger-store.ts"
import {
  type Ask,
  type GivenBack,
  type Granted,
  type KeptReply,
  LedgerStore,
  LedgerStores,
  oneStore,
  type RequestState,
  type Settled,
} from "../money/ledger-store.ts"
import type { Period } from "../money/periods.ts"
import { allTokens } from "../money/pricing.ts"
import type { HoldFacts, OpenHold, Settlement } from "../money/settlement.ts"
import { dayMs } from "../protocol/values/instant.ts"
import { timeOfId } from "../protocol/values/ulid.ts"

interface Account {
  readonly orgId: string
  readonly counter: string
  period: Period | undefined
  funded: Amount
  /** The used amount that a reset took back: a part of the funded one. */
  forgiven: Amount
  granted: Amount
}

const noAccount = { funded: 0n, forgiven: 0n, granted: 0n }

interface NodeAllotment extends Counter {
  readonly orgId: string
  readonly node: string
  granted: Amount
  spent: Amount
}

/** A usage record that was billed, or the price of a job, which is set aside until the job ends. */
export interface BilledUsage {
  readonly settlement: Settlement
  readonly isReaped: boolean
  readonly isJobOpen?: boolean
}

/** Replies are given again for a day. */
const repliesKeptMs = dayMs

interface StoredHold {
  readonly hold: HoldFacts
  settlement: OpenHold["settlement"]
  state: "open" | "reaped" | "settled"
}

/** Everything that the books contain; for assertions. */
export class MemoryBooks {
  readonly nodes = new Map<string, number>()
  readonly accounts = new Map<string, Account>()
  readonly allotments = new Map<string, NodeAllotment>()
  readonly usage = new Map<string, BilledUsage>()
  readonly holds = new Map<string, StoredHold>()
  /** Request ids that are spent, with the ref of the exchange. */
  readonly spent = new Map<string, string>()
  /** Replies, by the ref of the exchange. */
  readonly replies = new Map<string, KeptReply>()
  /** The times when request ids were settled. */
  readonly #settledAt = new Map<string, number>()
  /** The credit of each top-up, by its id. */
  readonly #topups = new Map<string, string>()
  /** Batches, and whether they have not ended. */
  readonly #batches = new Map<string, boolean>()
  /** Refs of jobs that failed: what was set aside for them is back. */
  readonly #failedJobs = new Set<string>()

  join(node: string, leaseEndsMs: number): void {
    this.nodes.set(node, leaseEndsMs)
  }

  renew(node: string, leaseEndsMs: number): boolean {
    if (!this.nodes.has(node)) return false
    this.nodes.set(node, leaseEndsMs)
    return true
  }

  leave(node: string, nowMs: number): void {
    if (!this.nodes.has(node)) return
    this.nodes.set(node, Number.NEGATIVE_INFINITY)
    this.reap(nowMs)
  }

  allot({ node, orgId, currency, counters }: Ask, nowMs: number): Granted {
    if ((this.nodes.get(node) ?? Number.NEGATIVE_INFINITY) <= nowMs) return { _tag: "Lapsed" }
    const grants = new Map<string, Amount>()
    const stock = new Map<string, Amount>()
    const scarce = new Set<string>()
    for (const { counter, need, want, limit, beside = [] } of counters) {
      const account = this.accounts.get(keyOf(orgId, counter))
      if (account === undefined && limit === undefined)
        return { _tag: "Short", counter, available: 0n, raised: 0n, others: 0 }
      const others = this.#allotmentsOf(orgId, counter).filter((each) => each.node !== node)
      const debts = others.reduce((sum, { granted, spent }) => (spent > granted ? sum + spent - granted : sum), 0n)
      const before = beside.reduce((sum, each) => sum + this.#usedOrGranted(orgId, each), 0n)
      const available = (limit ?? 0n) + (account?.funded ?? 0n) - (account?.granted ?? 0n) - debts - before
      if (available < need) {
        const having = others.filter(({ node, granted, spent }) => granted > spent && !isBatchAccount(node)).length
        const raised = (account?.funded ?? 0n) - (account?.forgiven ?? 0n)
        return { _tag: "Short", counter, available, raised, others: having }
      }
      const share = available / 8n
      grants.set(counter, maxAmount(need, share < want ? share : want))
      stock.set(counter, available)
      if (share < want) scarce.add(counter)
    }
    for (const each of counters) this.#grant(node, orgId, each, grants.get(each.counter) ?? 0n)
    return { _tag: "Granted", grants, available: stock, scarce, balance: this.balance(orgId, currency) }
  }

  giveBack(items: ReadonlyArray<GivenBack>): void {
    for (const { node, orgId, counter, period, amount, isLast } of items) {
      const key = keyOf(orgId, counter, node)
      const allotment = this.allotments.get(key)
      if (allotment === undefined) continue
      allotment.granted -= amount
      this.#account(orgId, { counter, period }).granted -= amount
      if (isLast && allotment.granted === allotment.spent) this.allotments.delete(key)
    }
  }

  settle(settlement: Settlement): Settled {
    const { hold } = settlement
    const { orgId, currency, ref } = hold
    const key = spentKey(hold)
    const spentBy = key === undefined ? ref : (this.spent.get(key) ?? ref)
    if (key !== undefined) {
      this.spent.set(key, spentBy)
      if (spentBy === ref) this.#settledAt.set(key, settlement.atMs)
    }
    const open = this.holds.get(ref)
    if (open !== undefined && open.state !== "settled") this.holds.delete(ref)
    if (spentBy !== ref) return { outcome: "duplicate", balance: this.balance(orgId, currency) }
    const billed = this.usage.get(ref)
    if (billed?.isReaped === true) this.#charge(billed.settlement, hold.node, -1n)
    const { reply } = settlement
    if ((billed === undefined || billed.isReaped) && !this.#failedJobs.has(ref)) {
      this.usage.set(ref, { settlement, isReaped: false, isJobOpen: settlement.job !== undefined })
      this.#charge(settlement, hold.node, 1n)
      const balance = this.balance(orgId, currency)
      if (reply !== undefined) this.replies.set(ref, { sealed: reply.sealed, balance: reply.told ?? balance })
      return { outcome: "settled", balance }
    }
    const kept = reply && this.replies.get(ref)
    if (kept === undefined) return { outcome: "settled", balance: this.balance(orgId, currency) }
    if (reply?.told !== undefined) this.replies.set(ref, { sealed: reply.sealed, balance: reply.told })
    return { outcome: "settled", balance: reply?.told ?? kept.balance }
  }

  /** Charges a job that is done; the price of one that failed goes back. @returns false if there is no such job any more */
  endJob(ref: string, isDone: boolean): boolean {
    const billed = this.usage.get(ref)
    if (billed?.isJobOpen !== true) return false
    if (isDone) {
      this.usage.set(ref, { ...billed, isJobOpen: false })
      return true
    }
    const { hold, cost } = billed.settlement
    this.usage.delete(ref)
    this.#failedJobs.add(ref)
    const ofMoney = (hold.budgets ?? []).filter(({ unit }) => unit === "money").map(({ counter }) => counter)
    for (const counter of [hold.currency, ...ofMoney]) {
      this.#account(hold.orgId, { counter }).granted -= cost
      const allotment = this.allotments.get(keyOf(hold.orgId, counter, hold.node))
      if (allotment === undefined) continue
      allotment.granted -= cost
      allotment.spent -= cost
    }
    return true
  }

  /** Whether a node is the account of a batch that has not ended. */
  isOpenBatch(node: string): boolean {
    return this.#batches.get(node) === true
  }

  /** Moves amounts that a node has held to the account of a batch. */
  beginBatch(
    id: string,
    orgId: string,
    node: string,
    needs: ReadonlyArray<Counter & { readonly amount: Amount }>,
    nowMs: number,
  ): MoveOutcome {
    const account = batchAccount(id)
    if (this.#batches.has(account)) return "moved"
    if ((this.nodes.get(node) ?? Number.NEGATIVE_INFINITY) <= nowMs) return "lapsed"
    for (const { amount, ...counter } of needs) {
      if (amount === 0n) continue
      this.#allotment(node, orgId, counter).granted -= amount
      this.#allotment(account, orgId, counter).granted += amount
    }
    this.#batches.set(account, true)
    return "moved"
  }

  /** Ends a batch: the rest of its money goes back. @returns false if it had ended */
  endBatch(id: string): boolean {
    const account = batchAccount(id)
    if (!this.isOpenBatch(account)) return false
    this.#batches.set(account, false)
    for (const [key, { orgId, counter, period, node, granted, spent }] of this.allotments) {
      if (node !== account) continue
      this.#account(orgId, { counter, period }).granted -= granted - spent
      this.allotments.delete(key)
    }
    return true
  }

  checkpoint(holds: ReadonlyArray<OpenHold>): void {
    for (const { hold, isFirst, settlement } of holds) {
      const stored = this.holds.get(hold.ref)
      if (stored?.state === "open") stored.settlement = settlement
      if (!isFirst || stored !== undefined) continue
      const key = spentKey(hold)
      const spentBy = key === undefined ? undefined : this.spent.get(key)
      // A response that is repeated has spent its own before.
      const isOwn = spentBy === hold.ref && key !== undefined && !this.#settledAt.has(key)
      if (spentBy !== undefined && !isOwn) continue
      if (key !== undefined) this.spent.set(key, hold.ref)
      this.holds.set(hold.ref, { hold, settlement, state: "open" })
    }
  }

  /** Gives the request id of a call to another one, if nothing was billed. @returns whether it did */
  takeOver({ ref: first, ...named }: Pick<HoldFacts, "ref" | "orgId" | "keyId" | "requestId">, ref: string): boolean {
    const stored = this.holds.get(first)
    const key = spentKey(named)
    if (key === undefined || (stored !== undefined && (stored.state !== "open" || stored.settlement !== undefined)))
      return false
    if (this.holds.delete(first) && this.spent.get(key) === first) this.spent.delete(key)
    if (this.spent.has(key)) return false
    this.spent.set(key, ref)
    return true
  }

  forbidCheckpoint(hold: HoldFacts): void {
    const stored = this.holds.get(hold.ref)
    if (stored === undefined) this.holds.set(hold.ref, { hold, settlement: undefined, state: "settled" })
    else if (stored.state === "open") stored.state = "settled"
  }

  release(hold: HoldFacts): void {
    if (this.holds.get(hold.ref)?.state !== "open") return
    this.holds.delete(hold.ref)
    const key = spentKey(hold)
    if (key !== undefined && this.spent.get(key) === hold.ref) this.spent.delete(key)
  }

  requestState(orgId: string, keyId: string, requestId: string, nowMs: number): RequestState {
    const key = keyOf(orgId, keyId, requestId)
    const ref = this.spent.get(key)
    if (ref === undefined) return { _tag: "New" }
    if (this.holds.get(ref)?.state === "open") return { _tag: "Running" }
    const isKept = (this.#settledAt.get(key) ?? Number.NEGATIVE_INFINITY) > nowMs - repliesKeptMs
    return { _tag: "Billed", ref, reply: isKept ? this.replies.get(ref) : undefined }
  }

  /**
   * Removes the records that retention removes after so many days.
   * @returns the removed usage records
   */
  forget(nowMs: number, keepDays: number): ReadonlyArray<BilledUsage> {
    const oldestMs = (Math.floor(nowMs / dayMs) - keepDays) * dayMs
    const gone = [...this.usage].filter(([, { settlement, isJobOpen }]) => settlement.atMs < oldestMs && !isJobOpen)
    for (const [ref] of gone) {
      this.usage.delete(ref)
      this.replies.delete(ref)
      if (this.holds.get(ref)?.state !== "open") this.holds.delete(ref)
    }
    for (const [key, { orgId, counter, period }] of this.accounts) {
      const isOld = period !== undefined && period.endMs < oldestMs
      if (isOld && this.#allotmentsOf(orgId, counter).length === 0) this.accounts.delete(key)
    }
    for (const key of this.spent.keys()) {
      const madeAtMs = timeOfId(String(JSON.parse(key)[2]))
      const isOld =
        madeAtMs === undefined
          ? (this.#settledAt.get(key) ?? Number.POSITIVE_INFINITY) < nowMs - keepDays * dayMs
          : madeAtMs < oldestMs - dayMs
      if (!isOld) continue
      this.spent.delete(key)
      this.#settledAt.delete(key)
    }
    return gone.map(([, billed]) => billed)
  }

  reap(nowMs: number): ReadonlyArray<{ readonly ref: string; readonly outcome: string }> {
    const reaped: Array<{ readonly ref: string; readonly outcome: string }> = []
    // A node that was declared dead may have written a checkpoint since.
    for (const { state, hold } of this.holds.values()) {
      if (state === "open" && !this.nodes.has(hold.node)) this.nodes.set(hold.node, Number.NEGATIVE_INFINITY)
    }
    for (const [node, leaseEndsMs] of this.nodes) {
      if (leaseEndsMs >= nowMs) continue
      for (const stored of this.holds.values()) {
        if (stored.state === "open" && stored.hold.node === node) reaped.push(this.#close(stored, nowMs))
      }
      this.nodes.delete(node)
    }
    for (const [key, { orgId, counter, period, node, granted, spent }] of this.allotments) {
      if (this.nodes.has(node) || this.isOpenBatch(node)) continue
      this.#account(orgId, { counter, period }).granted -= granted - spent
      this.allotments.delete(key)
    }
    return reaped
  }

  topup(id: string, orgId: string, currency: string, amount: Amount): boolean {
    if (this.#topups.has(id)) return false
    this.#topups.set(id, keyOf(orgId, currency, String(amount)))
    this.#account(orgId, { counter: currency }).funded += amount
    return true
  }

  isTopup(id: string, orgId: string, currency: string, amount: Amount): boolean {
    return this.#topups.get(id) === keyOf(orgId, currency, String(amount))
  }

  balance(orgId: string, counter: string): Amount {
    const { funded, granted } = this.accounts.get(keyOf(orgId, counter)) ?? { funded: 0n, granted: 0n }
    return this.#allotmentsOf(orgId, counter).reduce((sum, each) => sum + each.granted - each.spent, funded - granted)
  }

  budgetCounters(orgId: string, atMs: number): ReadonlyArray<string> {
    const all = [...this.accounts.values(), ...this.allotments.values()].filter((each) => each.orgId === orgId)
    const present = all.filter(
      ({ period }) => period === undefined || (period.startMs <= atMs && atMs < (period.countsUntilMs ?? period.endMs)),
    )
    return [...new Set(present.map(({ counter }) => counter))].filter((counter) => counter.startsWith("budget:")).sort()
  }

  used(orgId: string, counter: string): BudgetUse {
    const { funded, forgiven, granted } = this.accounts.get(keyOf(orgId, counter)) ?? noAccount
    const used = this.#allotmentsOf(orgId, counter).reduce((sum, each) => sum - each.granted + each.spent, granted)
    return { used: used - forgiven, raised: funded - forgiven }
  }

  adjust(orgId: string, counter: Counter, { isReset, raised }: Adjustment): BudgetUse {
    const account = this.#account(orgId, counter)
    const extra = raised ?? account.funded - account.forgiven
    if (isReset) account.forgiven += this.used(orgId, counter.counter).used
    account.funded = account.forgiven + extra
    return this.used(orgId, counter.counter)
  }

  #usedOrGranted(orgId: string, counter: string): Amount {
    const { forgiven, granted } = this.accounts.get(keyOf(orgId, counter)) ?? noAccount
    const debts = this.#allotmentsOf(orgId, counter).filter((each) => each.spent > each.granted)
    return debts.reduce((sum, each) => sum + each.spent - each.granted, granted - forgiven)
  }

  #close(stored: StoredHold, nowMs: number): { readonly ref: string; readonly outcome: string } {
    const { hold } = stored
    if (stored.settlement === undefined) {
      this.release(hold)
      return { ref: hold.ref, outcome: "released" }
    }
    const settlement = { hold, atMs: nowMs, ...stored.settlement }
    stored.state = "reaped"
    this.usage.set(hold.ref, { settlement, isReaped: true })
    this.#charge(settlement, hold.node, 1n)
    return { ref: hold.ref, outcome: "settled" }
  }

  #charge({ hold, cost, record: { counts } }: Settlement, node: string, sign: 1n | -1n): void {
    this.#allotment(node, hold.orgId, { counter: hold.currency }).spent += sign * cost
    const tokens = wholeAmount(allTokens(counts))
    this.#allotment(node, hold.orgId, tokensOf(hold.day)).spent += sign * tokens
    for (const budget of hold.budgets ?? []) {
      this.#allotment(node, hold.orgId, budget).spent += sign * (budget.unit === "money" ? cost : tokens)
    }
  }

  #grant(node: string, orgId: string, counter: Counter, amount: Amount): void {
    this.#account(orgId, counter).granted += amount
    this.#allotment(node, orgId, counter).granted += amount
  }

  #account(orgId: string, { counter, period }: Counter): Account {
    const account = ensure(this.accounts, keyOf(orgId, counter), () => {
      return { orgId, counter, period, ...noAccount }
    })
    account.period ??= period
    return account
  }

  #allotment(node: string, orgId: string, { counter, period }: Counter): NodeAllotment {
    const make = () => ({ orgId, counter, period, node, granted: 0n, spent: 0n })
    return ensure(this.allotments, keyOf(orgId, counter, node), make)
  }

  #allotmentsOf(orgId: string, counter: string): ReadonlyArray<NodeAllotment> {
    return [...this.allotments.values()].filter((each) => each.orgId === orgId && each.counter === counter)
  }
}

/** @param books shared by every node that is tested */
export const layerMemoryStore = (books: MemoryBooks): Layer.Layer<LedgerStores> =>
  Layer.succeed(LedgerStores, oneStore(makeStore(books, Clock.currentTimeMillis)))

/** @param nowMs the store's clock */
export const makeStore = (books: MemoryBooks, nowMs: Effect.Effect<number>): LedgerStore["Service"] => {
  const now = <A>(use: (nowMs: number) => A) => Effect.map(nowMs, use)
  const sync = Effect.sync
  return LedgerStore.of({
    join: (node, leaseMs) => now((nowMs) => books.join(node, nowMs + leaseMs)),
    renew: (node, leaseMs) => now((nowMs) => books.renew(node, nowMs + leaseMs)),
    leave: (node) => now((nowMs) => books.leave(node, nowMs)),
    allot: (ask) => now((nowMs) => books.allot(ask, nowMs)),
    giveBack: (items) => sync(() => books.giveBack(items)),
    settle: (settlement) => sync(() => books.settle(settlement)),
    checkpoint: (holds) => sync(() => books.checkpoint(holds)),
    forbidCheckpoint: (hold) => sync(() => books.forbidCheckpoint(hold)),
    release: (hold) => sync(() => books.release(hold)),
    find: (ref) => sync(() => books.holds.get(ref)?.hold),
    requestState: (orgId, keyId, requestId) => now((nowMs) => books.requestState(orgId, keyId, requestId, nowMs)),
    reap: now((nowMs) => books.reap(nowMs)),
    topup: ({ id, orgId, currency, amount }) => sync(() => books.topup(id, orgId, currency, amount)),
    isTopup: ({ id, orgId, currency, amount }) => sync(() => books.isTopup(id, orgId, currency, amount)),
    balance: (orgId, currency) => sync(() => books.balance(orgId, currency)),
    adjust: (orgId, counter, change) => sync(() => books.adjust(orgId, counter, change)),
    budgetCounters: (orgId, atMs) => sync(() => books.budgetCounters(orgId, atMs)),
    used: (orgId, counters) => sync(() => new Map(counters.map((counter) => [counter, books.used(orgId, counter)]))),
  })
}

const keyOf = (...parts: ReadonlyArray<string>): string => JSON.stringify(parts)

const spentKey = ({ orgId, keyId, requestId }: Pick<HoldFacts, "orgId" | "keyId" | "requestId">): string | undefined =>
  requestId === undefined ? undefined : keyOf(orgId, keyId, requestId)

const ensure = <A>(map: Map<string, A>, key: string, make: () => A): A => {
  const known = map.get(key)
  if (known !== undefined) return known
  const made = make()
  map.set(key, made)
  return made
}
