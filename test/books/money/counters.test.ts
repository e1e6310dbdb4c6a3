/** Counters in the books have the times of their periods, whichever version of a node has made them. */
import { randomUUID } from "node:crypto"
import { readFileSync } from "node:fs"
import { it, layer } from "@effect/vitest"
import { PGlite } from "@electric-sql/pglite"
import { Clock, Context, Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { expect } from "vitest"
import type { BudgetNeed } from "../../../src/money/budgets/budget.ts"
import { tokensOf } from "../../../src/money/counters.ts"
import { Ledger } from "../../../src/money/ledger.ts"
import { layerPostgres } from "../../../src/money/ledger-postgres.ts"
import { LedgerStores } from "../../../src/money/ledger-store.ts"
import { type Period, Periods, periodOfDay } from "../../../src/money/periods.ts"
import type { BudgetPeriod } from "../../../src/protocol/catalogue/budget.ts"
import { emptyDatabase } from "../../../src/store/embedded-files.ts"
import { startParameters } from "../../../src/store/embedded-parameters.ts"
import { Shards } from "../../../src/store/shards/shards.ts"
import { MemoryBooks, makeStore } from "../../../src/testing/ledger-store-memory.ts"
import { fund, holdOf, layerTestNodes, ledgerOver, settlementOf, testBudget, unit } from "../../support/books.ts"
import { periodOf } from "../../support/periods.ts"

const nowMs = Date.now()
const isoOf = ({ startMs, endMs }: Period) => [new Date(startMs).toISOString(), new Date(endMs).toISOString()]

const needOf = (kind: BudgetPeriod): BudgetNeed => {
  const period = periodOf(kind, nowMs)
  return {
    counter: `budget:test:money/${kind}:org:${period.name}`,
    period,
    unit: "money",
    budget: { ...testBudget, period: kind, limit: 100n * unit },
    subject: "org",
    amount: unit,
    isTold: true,
  }
}

interface StoredCounter {
  readonly counter: string
  readonly starts_at: Date | null
  readonly ends_at: Date | null
}

const storedTimes = ({ starts_at, ends_at }: Omit<StoredCounter, "counter">) => [
  starts_at?.toISOString(),
  ends_at?.toISOString(),
]

/** The times of an organisation's counters that count in a period, by name. */
const stored = (orgId: string) =>
  Effect.flatMap(Shards, (shards) =>
    shards.of(orgId).run(
      ({ sql, books }) => sql<StoredCounter>`
        select counter, starts_at, ends_at from ${books}counters where org_id = ${orgId} and counter like '%:%'`,
    ),
  ).pipe(Effect.map((rows) => new Map(rows.map((row) => [row.counter, storedTimes(row)]))))

layer(layerTestNodes, { excludeTestServices: true, timeout: "60 seconds" })("a counter", (it) => {
  it.effect("has the period that the node tells when it asks for some, or gives some back", () =>
    Effect.gen(function* () {
      const orgId = yield* fund(100n * unit)
      const { all, indexOf } = yield* Effect.map(Layer.build(layerPostgres), Context.get(LedgerStores))
      const budgets = (["day", "week", "month"] as const).map(needOf)
      const ledger = yield* Ledger
      const { day, node } = yield* ledger.hold({ ...holdOf(orgId, unit), budgets })
      const tokens = tokensOf(day)
      yield* all[indexOf(orgId)]?.giveBack([{ node, orgId, ...tokens, amount: 0n, isLast: false }]) ??
        Effect.die("no store")
      expect(yield* stored(orgId)).toEqual(
        new Map([...budgets, tokens].map(({ counter, period }) => [counter, timesOf(period)])),
      )
    }).pipe(Effect.scoped),
  )

  it.effect("of a node that tells none is listed, and gets its period with the next retention", () =>
    Effect.gen(function* () {
      const orgId = yield* fund(100n * unit)
      const ledger = yield* Ledger
      const shard = (yield* Shards).of(orgId)
      const node = `old_${randomUUID()}`
      yield* shard.run(({ sql, books }) => sql`select ${books}node_join(${node}, 60000::double precision)`)
      const need = needOf("week")
      const counters = [{ counter: need.counter, need: "1", want: "1", limit: "10" }]
      const items = JSON.stringify([{ item: 0, node, org: orgId, cur: "USD", counters }])
      yield* shard.run(({ sql, books }) => sql`select outcome from ${books}ledger_allot(${items}::text::jsonb)`)
      expect(yield* stored(orgId)).toEqual(new Map([[need.counter, [undefined, undefined]]]))
      expect(yield* ledger.budgetCounters(orgId, nowMs)).toEqual([need.counter])
      yield* shard.run(({ sql, books }) => sql`select ${books}retain_books(400)`)
      expect(yield* stored(orgId)).toEqual(new Map([[need.counter, isoOf(periodOf("week", nowMs))]]))
      yield* shard.run(({ sql, books }) => sql`select ${books}node_leave(${node})`)
    }).pipe(Effect.scoped),
  )

  it.effect("is listed from when its period begins until it ends", () =>
    Effect.gen(function* () {
      const orgId = yield* fund(100n * unit)
      const ledger = yield* Ledger
      const need = needOf("month")
      const held = yield* ledger.hold({ ...holdOf(orgId, unit), budgets: [need] })
      yield* ledger.settle(settlementOf(held, unit))
      const { startMs, endMs } = need.period
      const listed = (atMs: number) => ledger.budgetCounters(orgId, atMs)
      expect(yield* listed(startMs - 1)).toEqual([])
      expect(yield* listed(startMs)).toEqual([need.counter])
      expect(yield* listed(endMs - 1)).toEqual([need.counter])
      expect(yield* listed(endMs)).toEqual([])
    }),
  )

  it.effect("whose period nobody told has the one of its name", () =>
    Effect.gen(function* () {
      const shard = (yield* Shards).of("any")
      for (const { name, period } of [...names, ...rolling]) {
        const [row] = yield* shard.run(
          ({ sql, books }) => sql<Omit<StoredCounter, "counter">>`
            select ${books}counter_start(${name}) as starts_at, ${books}counter_end(${name}) as ends_at`,
        )
        expect(row && storedTimes(row), name).toEqual(timesOf(period))
      }
    }),
  )
})

it.effect("a node tells the period of what it gives back, also where it was charged without a hold", () =>
  Effect.gen(function* () {
    const books = new MemoryBooks()
    const ledger = yield* ledgerOver(makeStore(books, Clock.currentTimeMillis))
    yield* ledger.topup({ id: "t", orgId: "o", currency: "USD", amount: 10n * unit })
    const held = yield* ledger.hold({ ...holdOf("o", unit), day: "2026-11-26" })
    yield* ledger.settle(settlementOf(held, unit))
    yield* TestClock.adjust("10 seconds")
    yield* ledger.returnIdle
    const [account] = [...books.accounts.values()].filter(({ counter }) => counter === "tokens:2026-11-26")
    expect(account?.period).toEqual(periodOfDay("2026-11-26"))
  }).pipe(Effect.scoped),
)

const at = Date.parse("2026-11-26T12:00:00Z")
/** Names of days that count for longer than they last. */
const rolling = [2, 92].map((days) => {
  const period = new Periods({ period: { days } }).at(at, "Europe/Zurich")
  return {
    name: `budget:~own:tokens/days${days}:a:b/days5:c:${period?.name}`,
    period: period && { ...period, endMs: period.countsUntilMs ?? period.endMs },
  }
})
/** Names of counters as nodes before 0054 made them. */
const names: ReadonlyArray<{ readonly name: string; readonly period: Period | undefined }> = [
  ...(["day", "week", "month"] as const).map((kind) => {
    const period = periodOf(kind, at)
    return { name: `budget:~own:money/${kind}:a:b/c:${period.name}`, period }
  }),
  { name: "tokens:2026-11-26", period: periodOf("day", at) },
  // Without a kind of period: a month is the longest that it may be.
  { name: "budget:id:subject:2026-11-01", period: periodOf("month", at) },
  { name: "budget:id:subject", period: undefined },
  { name: "USD", period: undefined },
]
const timesOf = (period: Period | undefined) => (period === undefined ? [undefined, undefined] : isoOf(period))

it("an upgrade gives each counter the period of its name", async () => {
  const migration = readFileSync(new URL("../../../migrations/0054_counter_periods.sql", import.meta.url), "utf8")
  const db = await PGlite.create({ loadDataDir: emptyDatabase(), startParams: startParameters })
  try {
    await db.exec(`
      create table counters (org_id text, counter text, primary key (org_id, counter));
      create index counters_by_day on counters (counter)`)
    for (const { name } of names) await db.query("insert into counters values ('o', $1)", [name])
    await db.exec(`do $migration$ begin ${migration} end $migration$`)
    const { rows } = await db.query<StoredCounter>("select counter, starts_at, ends_at from counters")
    expect(new Map(rows.map((row) => [row.counter, storedTimes(row)]))).toEqual(
      new Map(names.map(({ name, period }) => [name, timesOf(period)])),
    )
  } finally {
    await db.close()
  }
})
