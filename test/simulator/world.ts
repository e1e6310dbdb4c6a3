/**
 * A simulated world: several nodes with the ledger's rules, the books in memory between them, clients, and faults, in one
 * process on virtual time. After each step the books are checked.
 */
import { Cause, Clock, Context, Effect, Exit, Fiber, Layer, References, Result, Scheduler, Scope } from "effect"
import { TestClock } from "effect/testing"
import { Gate } from "../../src/admission/gate.ts"
import { isExpired } from "../../src/admission/request-id.ts"
import { keepLeases, type LeasedCall } from "../../src/calls/settle/leases.ts"
import { WeirConfig } from "../../src/config.ts"
import { type Amount, parseAmount, wholeAmount } from "../../src/money/amount.ts"
import { type BudgetNeed, planBudget } from "../../src/money/budgets/budget.ts"
import { batchAccount, isMoney } from "../../src/money/counters.ts"
import { type Hold, type HoldRequest, Ledger, type MovedNeed } from "../../src/money/ledger.ts"
import { type LedgerStore, LedgerStores, oneStore } from "../../src/money/ledger-store.ts"
import { periodOfDay } from "../../src/money/periods.ts"
import { allTokens } from "../../src/money/pricing.ts"
import { RecallChannel } from "../../src/money/recalls.ts"
import type { JobFacts, Settlement } from "../../src/money/settlement.ts"
import type { UsageRecord } from "../../src/money/usage-record.ts"
import { dayMs } from "../../src/protocol/values/instant.ts"
import { newUlid } from "../../src/protocol/values/ulid.ts"
import { dayOf } from "../../src/protocol/values/utc8.ts"
import { StoreUnavailable } from "../../src/store/unavailable.ts"
import { MemoryBooks, makeStore } from "../../src/testing/ledger-store-memory.ts"
import { layerTestConfig } from "../../src/testing/stores.ts"
import { randomOf } from "../support/random.ts"
import { mapCalls } from "./calls.ts"
import type { History, Step } from "./history.ts"
import { type Closed, keptDays, type Mirror } from "./mirror.ts"
import { type Sizes, sizesProblem } from "./sizes.ts"

const leaseMs = 10_000
const checkpointMs = 1500
const deadlineMs = 2000

/** On virtual time nothing waits for the event loop, whose turns would take half of the time. */
const inMicrotasks = Layer.succeed(
  Scheduler.Scheduler,
  new Scheduler.MixedScheduler("async", (task) => {
    let isCancelled = false
    queueMicrotask(() => {
      if (!isCancelled) task()
    })
    return () => {
      isCancelled = true
    }
  }),
)

/** The problem of the books as a sentence; undefined if there is none. */
export const simulate = (history: History, seed: number, options: SimulateOptions = {}): Promise<string | undefined> =>
  Effect.runPromise(
    Effect.scoped(new World(history, seed, options).run()).pipe(
      Effect.provide(Layer.provide(TestClock.layer(), inMicrotasks)),
      Effect.provideService(References.MinimumLogLevel, "None"),
    ),
  )

export interface SimulateOptions {
  /** Other books than the right ones: to see that faults are found. */
  readonly books?: MemoryBooks
  /** Books in PostgreSQL that must give the same answers. */
  readonly mirror?: Mirror
  /** Hears of every call of the store, in order. */
  readonly hear?: (call: string) => void
}

type Line = Extract<Step, { readonly do: "line" }>["how"] | "well"

/** A place where a node runs; a crash replaces the node, its journal stays. */
interface Place {
  ledger: Ledger["Service"] | undefined
  scope: Scope.Closeable | undefined
  line: Line
  readonly leased: Set<LeasedCall>
  /** Settlements that wait on disk. */
  readonly journal: Array<Settlement>
  /** Calls of the store that have not ended. */
  calls: number
  /** Asks the books by its line. */
  ask: <A>(name: string, call: Effect.Effect<A, StoreUnavailable>) => Effect.Effect<A, StoreUnavailable>
}

const day = { period: "day", subject: undefined, source: "platform", thresholds: [] } as const

/** Budgets that cover every exchange of an organisation: one that refuses, and one that only counts. */
const enforced = {
  counter: "budget:money:org:",
  budget: { ...day, id: "money", scope: "org", unit: "money", limit: wholeAmount(150), isEnforced: true },
} as const
const shadow = {
  counter: "budget:tokens:org:",
  budget: { ...day, id: "tokens", scope: "org", unit: "tokens", limit: wholeAmount(30), isEnforced: false },
} as const

const budgetsOf = (hold: number, today: string): ReadonlyArray<BudgetNeed> => [
  {
    ...enforced,
    counter: enforced.counter + today,
    unit: "money",
    subject: "org",
    amount: wholeAmount(hold),
    period: periodOfDay(today),
    isTold: true,
  },
  {
    ...shadow,
    counter: shadow.counter + today,
    unit: "tokens",
    subject: "org",
    amount: wholeAmount(5),
    period: periodOfDay(today),
    isTold: true,
  },
]

/** The daily tokens of a plan, where they are limited. */
const dailyOf = (dailyTokens: number | undefined, nowMs: number): ReadonlyArray<BudgetNeed> => {
  const daily = planBudget({ id: "plan", ...(dailyTokens !== undefined && { dailyTokens }) }, "org", nowMs, true)
  return daily === undefined ? [] : [{ ...daily, amount: wholeAmount(5) }]
}

/** The books are checked each time that so much of virtual time has passed. */
const betweenChecksMs = 500
/** The time in which everything ends. */
const restMs = 60_000

class World {
  readonly #history: History
  readonly #random: () => number
  readonly #books: MemoryBooks
  readonly #mirror: Mirror | undefined
  readonly #store: LedgerStore["Service"]
  readonly #hear: (call: string) => void
  readonly #places: Array<Place> = []
  /** Request ids that the registry remembers, and since when it does. */
  readonly #registry = new Set<string>()
  #remembersSinceMs = 0
  #skewMs = 0
  /** The time of the calendar at which virtual time began. */
  #originMs: number
  readonly #time = Effect.map(Clock.currentTimeMillis, (nowMs) => nowMs + this.#originMs)
  readonly #timeOfBooks = Effect.map(this.#time, (nowMs) => nowMs + this.#skewMs)
  readonly #requestIds = new Map<number, string>()
  /** The sums of usage records that retention has removed, by organisation and counter. */
  readonly #forgotten = new Map<string, bigint>()
  readonly #sizes: Array<Sizes> = []
  #closed: Closed | undefined
  readonly #limits = new Map<number, number | undefined>()
  /** The replies that clients got: cost and balance by ref. */
  readonly #told = new Map<
    string,
    { readonly cost: bigint; readonly balance: bigint; readonly key: string | undefined; readonly atMs: number }
  >()
  readonly #failedJobs = new Set<string>()
  /** A repeated request that got another reply than the first. */
  #wrongReply: string | undefined
  /** The problem of books whose months are closed. */
  #wrongMonth: string | undefined
  readonly #clients: Array<Fiber.Fiber<void>> = []
  /** The amount that was charged to nodes that had been taken for dead: it may exceed the balance. */
  #late = 0n
  #refs = 0

  constructor(history: History, seed: number, options: SimulateOptions) {
    const { books = new MemoryBooks(), mirror, hear = () => undefined } = options
    this.#history = history
    this.#originMs = history.startsAtMs ?? 0
    this.#books = books
    this.#mirror = mirror
    this.#hear = hear
    const memory = makeStore(books, this.#timeOfBooks)
    this.#store = mirror?.over(memory, this.#timeOfBooks) ?? memory
    this.#random = randomOf(seed ^ 0x5eed)
  }

  run(): Effect.Effect<string | undefined, never, Scope.Scope> {
    return Effect.gen({ self: this }, function* () {
      yield* this.#mirror?.beginAt(this.#originMs) ?? Effect.void
      const channel = yield* Effect.map(Layer.build(RecallChannel.layerLocal), Context.get(RecallChannel))
      for (let at = 0; at < this.#history.nodes; at++) {
        const place: Place = {
          ledger: undefined,
          scope: undefined,
          line: "well",
          leased: new Set(),
          journal: [],
          calls: 0,
          ask: () => unavailable,
        }
        this.#places.push(place)
        yield* this.#start(place, channel)
      }
      let nowMs = 0
      for (const step of this.#history.steps) {
        // In small parts, so that the books are checked between.
        while (nowMs < step.atMs) {
          const partMs = Math.min(this.#mirror === undefined ? betweenChecksMs : 20, step.atMs - nowMs)
          yield* this.#pass(partMs)
          nowMs += partMs
          const problem = this.#problem()
          if (problem !== undefined) return `at ${nowMs} ms: ${problem}`
        }
        yield* this.#apply(step, channel)
        const problem = this.#problem()
        if (problem !== undefined) return `at ${nowMs} ms, after ${JSON.stringify(step)}: ${problem}`
      }
      return yield* this.#end(channel)
    })
  }

  /** Lets time pass, and the database answer. */
  #pass(millis: number): Effect.Effect<void> {
    return Effect.andThen(TestClock.adjust(millis), this.#mirror?.quiet ?? Effect.void)
  }

  /** Everything comes to rest: then nothing is held, and what was not charged can be spent. */
  #end(channel: RecallChannel["Service"]): Effect.Effect<string | undefined, never, Scope.Scope> {
    return Effect.gen({ self: this }, function* () {
      for (const place of this.#places) {
        place.line = "well"
        if (place.ledger === undefined) yield* this.#start(place, channel)
      }
      this.#skewMs = 0
      const partMs = this.#mirror === undefined ? betweenChecksMs : 100
      for (let restedMs = 0; restedMs < restMs; restedMs += partMs) {
        yield* this.#pass(partMs)
        const problem = this.#problem()
        if (problem !== undefined) return `while it comes to rest: ${problem}`
      }
      const stuck = this.#running()
      if (stuck > 0) return `${stuck} exchanges have not ended`
      if (!(yield* this.#stopAll())) return "a node does not end"
      if (this.#history.startsAtMs !== undefined) {
        yield* this.#close()
        const over = monthsBetween(this.#history.startsAtMs, yield* this.#timeOfBooks)
        if (this.#closed !== undefined && this.#closed.months !== over) {
          return `${this.#closed.months} of ${over} months are closed`
        }
      }
      // A node that has not left is taken for dead.
      this.#skewMs = 2 * leaseMs
      yield* Effect.forkDetach(Effect.ignore(this.#store.reap))
      yield* this.#pass(1)
      if (this.#books.allotments.size > 0) return "allotments are left"
      const open = [...this.#books.holds.values()].filter(({ state }) => state === "open")
      if (open.length > 0) return `${open.length} holds are left`
      for (const [ref, { cost, key }] of this.#told) {
        const billed = this.#books.usage.get(ref)?.settlement
        // Its price went back.
        if (this.#failedJobs.has(ref)) continue
        const isDuplicate = key !== undefined && this.#books.spent.get(key) !== ref
        if (billed === undefined && !isDuplicate) return `${ref} was told its cost and is not billed`
        if (billed !== undefined && billed.cost !== cost) return `${ref} was told ${cost} and billed ${billed.cost}`
      }
      return this.#problem() ?? sizesProblem(this.#sizes) ?? (yield* this.#mirror?.audit ?? Effect.undefined)
    })
  }

  /** Exchanges and jobs that have not ended. */
  #running(): number {
    return this.#clients.filter((client) => client.pollUnsafe() === undefined).length
  }

  /** Ends the nodes as a signal does. @returns whether all have ended */
  #stopAll(): Effect.Effect<boolean> {
    return Effect.gen({ self: this }, function* () {
      for (const place of this.#places) {
        const { scope } = place
        if (scope === undefined) continue
        const closing = yield* Effect.forkDetach(Scope.close(scope, Exit.void))
        for (let turns = 0; turns < 20 && closing.pollUnsafe() === undefined; turns++) yield* this.#pass(200)
        if (closing.pollUnsafe() === undefined) return false
        place.ledger = undefined
        place.scope = undefined
        place.leased.clear()
      }
      return true
    })
  }

  /** The first violation of a rule that must hold at any time. */
  #problem(): string | undefined {
    const difference = this.#mirror?.difference()
    if (difference !== undefined) return difference
    if (this.#wrongReply !== undefined) return this.#wrongReply
    if (this.#wrongMonth !== undefined) return this.#wrongMonth
    for (const place of this.#places) {
      const problem = this.#memoryProblem(place)
      if (problem !== undefined) return problem
    }
    const { billed, overruns, twice } = this.#billed()
    if (twice !== undefined) return `the request id ${twice} was billed twice`
    for (const { orgId, counter, funded, granted } of this.#books.accounts.values()) {
      const nodes = [...this.#books.allotments.values()].filter(
        (each) => each.orgId === orgId && each.counter === counter,
      )
      const given = nodes.reduce((sum, each) => sum + each.granted, 0n)
      if (given > granted) return `${orgId} ${counter}: nodes have ${given} of ${granted} granted`
      const key = `${orgId} ${counter}`
      if (counter.startsWith("budget:")) {
        const problem = this.#budgetProblem(orgId, counter, billed.get(key) ?? 0n, overruns.get(key) ?? 0n)
        if (problem !== undefined) return problem
      }
      if (!isMoney(counter)) continue
      const left = this.#books.balance(orgId, counter)
      const spent = billed.get(key) ?? 0n
      if (left !== funded - spent) return `${orgId}: ${left} is left of ${funded} after ${spent} was spent`
      if (left < -this.#late) return `${orgId}: ${-left} more was spent than there was, ${this.#late} of it late`
    }
    return undefined
  }

  /**
   * The problem of a node's memory: its free amounts must be what was granted to it and not spent, if it holds nothing and
   * nothing is on its way.
   */
  #memoryProblem({ ledger, calls, journal }: Place): string | undefined {
    if (ledger === undefined || calls > 0 || journal.length > 0) return undefined
    const own = Effect.runSync(ledger.allotments)
    if (own.some(({ held }) => held !== 0n)) return undefined
    for (const { node, orgId, counter, free } of own) {
      const row = [...this.#books.allotments.values()].find(
        (each) => each.node === node && each.orgId === orgId && each.counter === counter,
      )
      const left = (row?.granted ?? 0n) - (row?.spent ?? 0n)
      if (free !== left) return `${node} has ${free} of ${orgId} ${counter} in memory, and ${left} in the books`
    }
    return undefined
  }

  /** The sums of the usage records, by organisation and counter, and the part that was above their holds. */
  #billed() {
    const billed = new Map(this.#forgotten)
    const overruns = new Map<string, bigint>()
    const keys = new Set<string>()
    for (const { settlement } of this.#books.usage.values()) {
      const { cost, hold } = settlement
      const { orgId, keyId, requestId, budgets = [] } = hold
      addTo(billed, settlement)
      if (cost > hold.amount)
        for (const { counter } of budgets) add(overruns, `${orgId} ${counter}`, cost - hold.amount)
      if (requestId === undefined) continue
      const key = `${orgId} ${keyId} ${requestId}`
      if (keys.has(key)) return { billed, overruns, twice: key }
      keys.add(key)
    }
    return { billed, overruns }
  }

  /** A budget has what the usage records have, and an enforced one no more than it may, but for costs above their holds. */
  #budgetProblem(orgId: string, counter: string, billed: bigint, overrun: bigint): string | undefined {
    const { used } = this.#books.used(orgId, counter)
    if (used !== billed) return `${orgId} ${counter}: ${used} is used of ${billed} that was billed`
    const isOver = counter.startsWith(enforced.counter) && used > enforced.budget.limit + overrun + this.#late
    return isOver ? `${orgId} ${counter}: ${used} is used, of ${enforced.budget.limit}` : undefined
  }

  #apply(step: Step, channel: RecallChannel["Service"]): Effect.Effect<void, never, Scope.Scope> {
    return Effect.gen({ self: this }, function* () {
      switch (step.do) {
        case "exchange":
          this.#clients.push(yield* Effect.forkDetach(this.#exchange(step)))
          return
        case "session":
          this.#clients.push(yield* Effect.forkDetach(this.#session(step)))
          return
        case "batch":
          this.#clients.push(yield* Effect.forkDetach(this.#batch(step)))
          return
        case "crash": {
          const place = this.#places[step.at]
          if (place?.scope === undefined) return
          const { scope } = place
          place.ledger = undefined
          place.scope = undefined
          place.leased.clear()
          // A killed process gives nothing back: its store does not hear it any more.
          yield* Effect.forkDetach(Scope.close(scope, Exit.void))
          yield* Effect.forkDetach(
            Effect.delay(
              Effect.suspend(() => this.#restart(place, channel)),
              step.forMs,
            ),
          )
          return
        }
        case "line": {
          const place = this.#places[step.at]
          if (place === undefined) return
          place.line = step.how
          const heal = Effect.sync(() => {
            place.line = "well"
          })
          yield* Effect.forkDetach(Effect.delay(heal, step.forMs))
          return
        }
        case "empty registry":
          this.#registry.clear()
          this.#remembersSinceMs = yield* Clock.currentTimeMillis
          return
        case "top up":
          yield* Effect.forkDetach(
            Effect.ignore(
              this.#store.topup({
                id: `${step.org} ${this.#refs++}`,
                orgId: `org${step.org}`,
                currency: "USD",
                amount: wholeAmount(step.amount),
              }),
            ),
          )
          yield* this.#pass(0)
          return
        case "limit":
          this.#limits.set(step.org, step.tokens)
          return
        case "clock":
          this.#skewMs = step.byMs
          return
        case "next month": {
          // No job lasts until a month is over.
          for (let turns = 0; turns < 300 && this.#running() > 0; turns++) yield* this.#pass(500)
          yield* this.#stopAll()
          const now = new Date(yield* this.#time)
          const endMs = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1)
          this.#originMs += Math.max(0, endMs - step.endsInMs - now.getTime())
          for (const place of this.#places) if (place.ledger === undefined) yield* this.#start(place, channel)
          // The registry keeps request ids for a day.
          this.#registry.clear()
          this.#remembersSinceMs = yield* Clock.currentTimeMillis
          return
        }
        case "close":
          yield* this.#close()
      }
    })
  }

  /** Closes months that are over, and removes expired data. */
  #close(): Effect.Effect<void> {
    return Effect.gen({ self: this }, function* () {
      const forget = Effect.map(this.#timeOfBooks, (nowMs) => {
        for (const { settlement } of this.#books.forget(nowMs, keptDays)) this.#forget(settlement)
      })
      const since = this.#history.startsAtMs ?? 0
      this.#closed = yield* this.#mirror?.close(forget, this.#timeOfBooks, since) ?? Effect.as(forget, undefined)
      this.#wrongMonth ??= this.#closed?.problem
      const { usage, spent, replies, accounts, allotments } = this.#books
      const inMemory = Object.entries({ usage, spent, replies, accounts, allotments })
      this.#sizes.push({
        ...Object.fromEntries(inMemory.map(([name, { size }]) => [`${name} in memory`, size])),
        ...this.#closed?.rows,
      })
    })
  }

  #forget(settlement: Settlement): void {
    const { hold, cost } = settlement
    const told = this.#told.get(hold.ref)
    this.#told.delete(hold.ref)
    if (told !== undefined && told.cost !== cost) {
      this.#wrongMonth ??= `${hold.ref} was told ${told.cost} and billed ${cost}`
    }
    addTo(this.#forgotten, settlement)
  }

  #restart(place: Place, channel: RecallChannel["Service"]): Effect.Effect<void> {
    return place.ledger === undefined ? this.#start(place, channel) : Effect.void
  }

  /** A node: the ledger's rules on a line to the books, with its leases kept as the gateway keeps them. */
  #start(place: Place, channel: RecallChannel["Service"]): Effect.Effect<void> {
    return Effect.gen({ self: this }, function* () {
      const scope = yield* Scope.make()
      place.scope = scope
      const config = yield* Effect.map(
        Layer.buildWithScope(layerTestConfig({ leaseMs, checkpointMs }), scope),
        Context.get(WeirConfig),
      )
      const ledger = yield* Layer.fresh(Ledger.layerRules).pipe(
        Layer.provide(Layer.succeed(LedgerStores, oneStore(this.#lineOf(place, scope)))),
        Layer.provide(Layer.succeed(RecallChannel, channel)),
        Layer.provide(Layer.succeed(WeirConfig, config)),
        Layer.buildWithScope(scope),
        Effect.map(Context.get(Ledger)),
      )
      place.ledger = ledger
      const gate = yield* Effect.map(
        Layer.buildWithScope(Layer.mock(Gate, { renew: () => Effect.void, ping: Effect.void }), scope),
        Context.get(Gate),
      )
      const leases = keepLeases({ ledger, gate, running: place.leased, waiting: new Set(), leaseMs, checkpointMs })
      yield* Scope.provide(leases, scope)
      const replay = Effect.suspend(() => Effect.forEach([...place.journal], (each) => this.#replay(place, each)))
      yield* Scope.provide(Effect.forkScoped(Effect.forever(Effect.delay(replay, 1000))), scope)
    })
  }

  #replay(place: Place, settlement: Settlement): Effect.Effect<void> {
    return Effect.suspend(() => {
      const settling = place.ledger?.settle(settlement) ?? Effect.void
      return Effect.ignore(
        Effect.tap(settling, () =>
          Effect.sync(() => {
            const at = place.journal.indexOf(settlement)
            if (at >= 0) place.journal.splice(at, 1)
          }),
        ),
      )
    })
  }

  /** The books at the end of a line that may fail. */
  #lineOf(place: Place, scope: Scope.Closeable): LedgerStore["Service"] {
    const store = this.#store
    const watched: LedgerStore["Service"] = {
      ...store,
      settle: (settlement, mayBeOpen) =>
        Effect.suspend(() => {
          const { node, ref } = settlement.hold
          const isNew = this.#books.usage.get(ref)?.isReaped !== false
          const isThere = this.#books.nodes.has(node) || this.#books.isOpenBatch(node)
          if (isNew && !isThere) this.#late += settlement.cost
          return store.settle(settlement, mayBeOpen)
        }),
    }
    const through = <A>(name: string, call: Effect.Effect<A, StoreUnavailable>): Effect.Effect<A, StoreUnavailable> =>
      Effect.suspend((): Effect.Effect<A, StoreUnavailable> => {
        this.#hear(`${this.#places.indexOf(place)} ${name} ${place.line}`)
        if (place.scope !== scope) return Effect.interrupt
        const wayMs = 1 + this.#random() * 10
        const away = Effect.delay(unavailable, deadlineMs)
        if (place.line === "requests lost") return away
        if (place.line === "replies lost") return Effect.andThen(Effect.delay(Effect.ignore(call), wayMs), away)
        if (place.line === "well") return Effect.delay(call, wayMs)
        // Late: the caller may have given up when it happens.
        return Effect.timeoutOrElse(Effect.flatMap(Effect.forkDetach(Effect.delay(call, wayMs * 400)), Fiber.join), {
          duration: deadlineMs,
          orElse: () => unavailable,
        })
      })
    const counted = <A>(call: Effect.Effect<A, StoreUnavailable>): Effect.Effect<A, StoreUnavailable> =>
      Effect.acquireUseRelease(
        Effect.sync(() => place.calls++),
        () => call,
        () => Effect.sync(() => place.calls--),
      )
    place.ask = (name, call) => counted(through(name, call))
    return mapCalls((name, call) => counted(through(name, call(watched))))
  }

  /** A client's call: admitted by the registry, held, run, settled or released; or lost with its node. */
  #exchange(step: Extract<Step, { readonly do: "exchange" }>): Effect.Effect<void> {
    return Effect.gen({ self: this }, function* () {
      const place = this.#places[step.at]
      const { ledger, scope } = place ?? {}
      if (place === undefined || ledger === undefined) return
      const ref = `x${this.#refs++}`
      const nowMs = yield* this.#time
      const requestId = step.key === undefined ? undefined : this.#requestIdOf(step.key, nowMs)
      if (requestId !== undefined && isExpired(requestId, nowMs, keptDays)) return
      if (requestId !== undefined && this.#registry.has(`${step.org} ${requestId}`)) return
      if (requestId !== undefined) this.#registry.add(`${step.org} ${requestId}`)
      const isForgotten = this.#remembersSinceMs > 0
      if (requestId !== undefined && isForgotten && !(yield* this.#isNew(ledger, step.org, requestId))) return
      const held = yield* Effect.result(ledger.hold(this.#holdOf(step, nowMs, ref, requestId)))
      if (Result.isFailure(held)) {
        this.#registry.delete(`${step.org} ${requestId}`)
        return
      }
      const hold = held.success
      const isDown = () => place.scope !== scope
      if (isDown()) return
      const leased = leasedCallOf(hold, step.job === undefined ? step.cost : undefined)
      place.leased.add(leased)
      yield* Effect.sleep(step.lastsMs)
      if (isDown()) return
      if (step.ends === "released") {
        yield* Effect.ignore(Effect.retry(ledger.release(hold), { times: 3 }))
        place.leased.delete(leased)
        this.#registry.delete(`${step.org} ${requestId}`)
        return
      }
      yield* this.#settle(place, ledger, hold, step)
      place.leased.delete(leased)
    })
  }

  /** In a year, half of the ids carry their time. */
  #requestIdOf(key: number, nowMs: number): string {
    if (this.#history.startsAtMs === undefined || key % 2 === 0) return `k${key}`
    const known = this.#requestIds.get(key) ?? newUlid(nowMs).slice(0, 10) + String(key).padStart(16, "0")
    this.#requestIds.set(key, known)
    return known
  }

  #holdOf(
    step: { readonly org: number; readonly hold: number },
    nowMs: number,
    ref: string,
    requestId?: string,
  ): HoldRequest {
    const today = dayOf(nowMs)
    return {
      ref,
      orgId: `org${step.org}`,
      currency: "USD",
      keyId: "key",
      requestId,
      amount: wholeAmount(step.hold),
      day: today,
      budgets: [...dailyOf(this.#limits.get(step.org), nowMs), ...budgetsOf(step.hold, today)],
    }
  }

  /** A realtime session: each response takes the hold that is ready, and the next is made when it has ended. */
  #session(step: Extract<Step, { readonly do: "session" }>): Effect.Effect<void> {
    return Effect.gen({ self: this }, function* () {
      const place = this.#places[step.at]
      const { ledger, scope } = place ?? {}
      if (place === undefined || ledger === undefined) return
      const isDown = () => place.scope !== scope
      const giveBack = (hold: Hold) => Effect.ignore(Effect.retry(ledger.release(hold), { times: 3 }))
      for (const response of step.responses) {
        const held = yield* Effect.result(ledger.hold(this.#holdOf(step, yield* this.#time, `s${this.#refs++}`)))
        // Without a hold for the next response, a session ends.
        if (Result.isFailure(held) || isDown()) return
        const hold = held.success
        yield* Effect.sleep(response.silentMs)
        if (isDown()) return
        const leased = leasedCallOf(hold, response.cost)
        place.leased.add(leased)
        yield* Effect.sleep(response.lastsMs)
        if (isDown()) return
        if (response.ends === "released") yield* giveBack(hold)
        else yield* this.#settle(place, ledger, hold, { cost: response.cost, job: undefined })
        place.leased.delete(leased)
      }
      // The one that is ready when the client leaves.
      const last = yield* Effect.result(ledger.hold(this.#holdOf(step, yield* this.#time, `s${this.#refs++}`)))
      if (Result.isSuccess(last) && !isDown()) yield* giveBack(last.success)
    })
  }

  /** A batch: held at one node, run by any, and ended once. */
  #batch(step: Extract<Step, { readonly do: "batch" }>): Effect.Effect<void> {
    return Effect.gen({ self: this }, function* () {
      const place = this.#places[step.at]
      const { ledger, scope } = place ?? {}
      if (place === undefined || ledger === undefined) return
      const id = `b${this.#refs++}`
      const total = { org: step.org, hold: step.hold * step.requests.length }
      const held = yield* Effect.result(ledger.hold(this.#holdOf(total, yield* this.#time, `h${id}`)))
      if (Result.isFailure(held) || place.scope !== scope) return
      const hold = held.success
      const periods = new Map((hold.budgets ?? []).map(({ counter, period }) => [counter, period]))
      const move = (node: string, needs: ReadonlyArray<MovedNeed>) => {
        const own = needs.map(({ counter, amount }) => ({
          counter,
          period: periods.get(counter),
          amount: parseAmount(amount) ?? 0n,
        }))
        const inMemory = Effect.map(this.#timeOfBooks, (nowMs) =>
          this.#books.beginBatch(id, hold.orgId, node, own, nowMs),
        )
        const begun = { id, orgId: hold.orgId, node, needs }
        return place.ask("batch", this.#mirror?.beginBatch(inMemory, this.#timeOfBooks, begun) ?? inMemory)
      }
      yield* Effect.exit(ledger.handOver(hold, move))
      // Its answer may be lost, or it begins late: then another node finds it.
      const account = batchAccount(id)
      for (let look = 0; look < looks && !this.#books.isOpenBatch(account); look++) yield* Effect.sleep(1000)
      if (!this.#books.isOpenBatch(account)) return
      const facts = { ...hold, node: account, amount: wholeAmount(step.hold) }
      for (const [number, request] of step.requests.entries()) {
        yield* Effect.sleep(request.lastsMs)
        const requestId = `${id}-${number}`
        const settle = (at: number) => {
          const ref = `l${this.#refs++}`
          return this.#settleRequest(at, { ...facts, ref, requestId }, request.cost)
        }
        const isSettled = yield* settle(request.at)
        if (!isSettled || request.isRepeated) yield* settle(request.at + 1)
      }
      yield* this.#endBatch(id, hold.orgId)
      if (yield* this.#endBatch(id, hold.orgId)) this.#wrongReply ??= `${id} ended twice`
    })
  }

  #endBatch(id: string, orgId: string): Effect.Effect<boolean> {
    const inMemory = Effect.sync(() => this.#books.endBatch(id))
    return this.#mirror?.endBatch(inMemory, this.#timeOfBooks, { id, orgId }) ?? inMemory
  }

  /** Settles a request of a batch at a node, or leaves it to the node's journal. @returns false if the node is down */
  #settleRequest(at: number, hold: Hold, cost: number): Effect.Effect<boolean> {
    return Effect.gen({ self: this }, function* () {
      const place = this.#places[at % this.#places.length]
      const { ledger, scope } = place ?? {}
      if (place === undefined || ledger === undefined) return false
      const settlement = { hold, atMs: yield* this.#time, cost: wholeAmount(cost), record: recordOf(cost) }
      // A node that is killed answers nothing more.
      const settled = yield* Effect.exit(Effect.retry(ledger.settle(settlement), { times: 1 }))
      if (place.scope !== scope) return false
      if (Exit.isFailure(settled)) place.journal.push(settlement)
      return true
    })
  }

  /** Whether the books do not have a request id; if they have its reply, it is the one that the first client got. */
  #isNew(ledger: Ledger["Service"], org: number, requestId: string): Effect.Effect<boolean> {
    return Effect.gen({ self: this }, function* () {
      const known = yield* Effect.result(ledger.requestState(`org${org}`, "key", requestId))
      if (Result.isFailure(known)) {
        this.#registry.delete(`${org} ${requestId}`)
        return false
      }
      const { success: state } = known
      if (state._tag === "New") return true
      if (state._tag === "Running") return false
      const told = this.#told.get(state.ref)
      // The books may have an attempt whose answer was lost, until the journal's settlement has come.
      const isDeferred = this.#places.some(({ journal }) => journal.some(({ hold }) => hold.ref === state.ref))
      const isForgotten = told !== undefined && told.atMs < (yield* this.#time) - dayMs && state.reply === undefined
      if (told !== undefined && !isDeferred && !isForgotten && state.reply?.balance !== told.balance) {
        this.#wrongReply ??= `${state.ref} was told ${told.balance}, and ${state.reply?.balance} when it was repeated`
      }
      return false
    })
  }

  /** Ends a job after it is in the books: once, however often its end is reported. */
  #followJob(settlement: Settlement, job: { readonly lastsMs: number; readonly isDone: boolean }): Effect.Effect<void> {
    return Effect.gen({ self: this }, function* () {
      yield* Effect.sleep(job.lastsMs)
      for (let look = 0; look < looks; look++) {
        if (yield* this.#endJob(settlement, job.isDone)) {
          if (yield* this.#endJob(settlement, !job.isDone)) this.#wrongReply ??= `${settlement.hold.ref} ended twice`
          if (!job.isDone) this.#failedJobs.add(settlement.hold.ref)
          return
        }
        yield* Effect.sleep(1000)
      }
    })
  }

  #endJob({ hold, cost }: Settlement, isDone: boolean): Effect.Effect<boolean> {
    const inMemory = Effect.sync(() => this.#books.endJob(hold.ref, isDone))
    return this.#mirror?.endJob(inMemory, this.#timeOfBooks, { ...hold, cost, isDone }) ?? inMemory
  }

  #settle(
    place: Place,
    ledger: Ledger["Service"],
    hold: Hold,
    step: Pick<Extract<Step, { readonly do: "exchange" }>, "cost" | "job">,
  ): Effect.Effect<void> {
    return Effect.gen({ self: this }, function* () {
      const { scope } = place
      const settlement: Settlement = {
        hold,
        atMs: yield* this.#time,
        cost: wholeAmount(step.cost),
        record: step.job === undefined ? recordOf(step.cost) : jobRecord,
        reply: hold.requestId === undefined ? undefined : { sealed: Buffer.from(hold.ref).toString("base64") },
        ...(step.job !== undefined && { job: jobOf(hold.ref) }),
      }
      const tell = (balance: Amount) => {
        const { orgId, keyId, requestId } = hold
        const key = requestId === undefined ? undefined : JSON.stringify([orgId, keyId, requestId])
        this.#told.set(hold.ref, { cost: settlement.cost, balance, key, atMs: settlement.atMs })
      }
      // Half of the replies go out once their settlement is on the node's disk.
      const ahead = step.job === undefined && step.cost % 2 === 0 ? yield* ledger.endAhead(settlement) : undefined
      if (ahead !== undefined) {
        const { reply } = settlement
        const stored = { ...settlement, reply: reply && { ...reply, told: ahead } }
        place.journal.push(stored)
        tell(ahead)
        return yield* this.#replay(place, stored)
      }
      if (step.job !== undefined) this.#clients.push(yield* Effect.forkDetach(this.#followJob(settlement, step.job)))
      const settled = yield* Effect.result(Effect.retry(ledger.settle(settlement), { times: 1 }))
      if (place.scope !== scope) return
      const balance = Result.isSuccess(settled) ? settled.success : hold.balance - settlement.cost
      if (Result.isFailure(settled)) {
        const { reply } = settlement
        place.journal.push({ ...settlement, reply: reply && { ...reply, told: balance } })
      }
      tell(balance)
    })
  }
}

/** @param cost half of it is due before the end; undefined if nothing is */
const leasedCallOf = (hold: Hold, cost: number | undefined): LeasedCall => ({
  orgId: hold.orgId,
  registration: undefined,
  checkpoint: () => ({
    hold,
    settlement: cost === undefined ? undefined : { cost: wholeAmount(Math.floor(cost / 2)), record: recordOf(cost) },
  }),
})

/** The units that a settlement takes of a budget. */
const unitsOf = ({ cost, record }: Settlement, unit: BudgetNeed["unit"]): bigint =>
  unit === "money" ? cost : wholeAmount(allTokens(record.counts))

/** Adds a settlement to what was billed, by organisation and counter. */
const addTo = (billed: Map<string, bigint>, settlement: Settlement): void => {
  const { orgId, currency, budgets = [] } = settlement.hold
  add(billed, `${orgId} ${currency}`, settlement.cost)
  for (const { counter, unit } of budgets) add(billed, `${orgId} ${counter}`, unitsOf(settlement, unit))
}

const add = (sums: Map<string, bigint>, key: string, amount: bigint): void =>
  void sums.set(key, (sums.get(key) ?? 0n) + amount)

/** The number of months that have ended. */
const monthsBetween = (fromMs: number, untilMs: number): number => {
  const [from, until] = [new Date(fromMs), new Date(untilMs)]
  return (until.getUTCFullYear() - from.getUTCFullYear()) * 12 + until.getUTCMonth() - from.getUTCMonth()
}

/** The number of times that a job is looked for which is not in the books yet. */
const looks = 30

const jobOf = (ref: string): JobFacts => ({
  id: ref,
  kind: "video",
  targetModel: "v",
  vendorJob: ref,
  isOwn: false,
  view: {},
  timeoutMs: 3_600_000,
})

const unavailable = Effect.fail(new StoreUnavailable({ store: "postgres", cause: "simulated" }))

const record: UsageRecord = {
  appId: "app",
  purpose: "exchange",
  model: "main",
  vendor: "v",
  counts: { inTokens: 3, outTokens: 2, cacheReadTokens: 0, cacheWriteTokens: 0, dims: {} },
  stop: "end",
  cacheNetSaving: 0n,
}

/** The records of an exchange, an embedding, and a search, which has no tokens. */
const records: ReadonlyArray<UsageRecord> = [
  record,
  { ...record, purpose: "embedding", model: "embed", counts: { ...record.counts, inTokens: 4, outTokens: 0 } },
  {
    ...record,
    purpose: "websearch",
    model: "websearch",
    counts: { ...record.counts, inTokens: 0, outTokens: 0, dims: { web_search: 1 } },
  },
]

/** A job has units, and no tokens. */
const jobRecord: UsageRecord = {
  ...record,
  purpose: "video",
  model: "film",
  counts: { inTokens: 0, outTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, dims: { video_seconds: 4 } },
}

const recordOf = (cost: number): UsageRecord => records[cost % records.length] ?? record

/** The text of a defect: a simulation that throws has failed. */
export const textOf = (cause: unknown): string =>
  cause instanceof Error ? (cause.stack ?? cause.message) : Cause.isCause(cause) ? Cause.pretty(cause) : String(cause)
