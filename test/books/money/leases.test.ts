/** Nodes that are lost, and nodes that share an organisation: what they had comes back once, and exactly. */
import { describe, expect, layer } from "@effect/vitest"
import { Context, Effect, Layer, Result } from "effect"
import { SqlClient } from "effect/sql"
import { type BudgetNeed, planBudget } from "../../../src/money/budgets/budget.ts"
import { Ledger } from "../../../src/money/ledger.ts"
import { layerPostgres } from "../../../src/money/ledger-postgres.ts"
import { LedgerStores, noUse } from "../../../src/money/ledger-store.ts"
import { periodOfDay } from "../../../src/money/periods.ts"
import type { UsageRecord } from "../../../src/money/usage-record.ts"
import { dayMs } from "../../../src/protocol/values/instant.ts"
import { newUlid } from "../../../src/protocol/values/ulid.ts"
import { inEach, Shards } from "../../../src/store/shards/shards.ts"
import {
  dailyTokens,
  expectSound,
  fund,
  holdOf,
  layerTestNodes,
  record,
  settlementOf,
  startNode,
  testBudget,
  unit,
} from "../../support/books.ts"

const lost = (outTokens: number): UsageRecord => ({
  ...record,
  counts: { inTokens: 0, outTokens, cacheReadTokens: 0, cacheWriteTokens: 0, dims: {} },
  estimatedReason: "gateway_lost",
  stop: "interrupted",
})

const stateOf = (orgId: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const holds = yield* sql<{ state: string }>`select state from holds where org_id = ${orgId}`
    const usage = yield* sql<{ cost: string; out_tokens: bigint; estimated_reason: string | null }>`
      select cost::float8::text as cost, out_tokens, estimated_reason from usage_records where org_id = ${orgId}`
    const allotments = yield* sql<{ counter: string }>`select counter from allotments where org_id = ${orgId}`
    return { holds: holds.map(({ state }) => state), usage, allotted: allotments.map(({ counter }) => counter) }
  })

/** The need of an exchange for a budget of money. */
const budgetOf = (limit: bigint, amount: bigint, start = "2026-01-01"): BudgetNeed => ({
  counter: `budget:test:subject:${start}`,
  unit: "money",
  budget: { ...testBudget, limit },
  subject: "subject",
  amount,
  period: periodOfDay(start),
  isTold: true,
})

const nodes = layerTestNodes

layer(nodes, { excludeTestServices: true, timeout: "60 seconds" })("leases", (it) => {
  it.effect("a settlement's record has the time of each tier, where it is known", () =>
    Effect.gen(function* () {
      const { hold, settle } = yield* Ledger
      const sql = yield* SqlClient.SqlClient
      const orgId = yield* fund(10n * unit)
      const [all, some] = [yield* hold(holdOf(orgId, unit)), yield* hold(holdOf(orgId, unit))]
      yield* settle(settlementOf(all, unit, { ...record, tierMs: { connect: 1, ttfb: 2, idle: 3, total: 4 } }))
      yield* settle(settlementOf(some, unit, { ...record, tierMs: { total: 5 } }))
      const rows = yield* sql`
        select connect_ms, ttfb_ms, idle_ms, total_ms from usage_records where org_id = ${orgId} order by total_ms`
      expect(rows).toEqual([
        { connect_ms: 1, ttfb_ms: 2, idle_ms: 3, total_ms: 4 },
        { connect_ms: null, ttfb_ms: null, idle_ms: null, total_ms: 5 },
      ])
    }),
  )

  describe("a node that is lost", () => {
    it.effect("leaves nothing of an exchange younger than its first checkpoint, and its allotments come back", () =>
      Effect.gen(function* () {
        const { reap, balance, hold } = yield* Ledger
        const orgId = yield* fund(10n * unit)
        const node = yield* startNode({ leaseMs: 400 })
        yield* node.hold(holdOf(orgId, 10n * unit, "again"))
        yield* node.crash
        yield* Effect.sleep(450)
        yield* reap
        expect(yield* stateOf(orgId)).toEqual({ holds: [], usage: [], allotted: [] })
        expect(yield* balance(orgId, "USD")).toBe(10n * unit)
        yield* hold(holdOf(orgId, 10n * unit, "again"))
        yield* expectSound(orgId)
      }).pipe(Effect.scoped),
    )

    it.effect("has given up its lease before its allotments are back: nobody is told of a fault meanwhile", () =>
      Effect.gen(function* () {
        const orgId = yield* fund(10n * unit)
        const node = yield* startNode()
        yield* node.release(yield* node.hold(holdOf(orgId, unit)))
        yield* inEach(
          yield* Shards,
          ({ sql, books }) => sql`alter function ${books}ledger_reap(integer) rename to later`,
        )
        yield* node.drain
        yield* inEach(
          yield* Shards,
          ({ sql, books }) => sql`alter function ${books}later(integer) rename to ledger_reap`,
        )
        expect(yield* stateOf(orgId)).toMatchObject({ allotted: expect.arrayContaining(["USD"]) })
        yield* expectSound(orgId)
        yield* (yield* Ledger).reap
        expect(yield* stateOf(orgId)).toEqual({ holds: [], usage: [], allotted: [] })
      }).pipe(Effect.scoped),
    )

    it.effect("is settled at its last checkpoint with gateway_lost, once, though 10 nodes reap", () =>
      Effect.gen(function* () {
        const { reap, balance } = yield* Ledger
        const orgId = yield* fund(10n * unit)
        const node = yield* startNode({ leaseMs: 400 })
        const held = yield* node.hold(holdOf(orgId, 4n * unit, "id"))
        yield* node.checkpoint([{ hold: held, settlement: { cost: unit, record: lost(5) } }])
        yield* node.checkpoint([{ hold: held, settlement: { cost: 2n * unit, record: lost(9) } }])
        yield* node.crash
        yield* Effect.sleep(450)
        yield* Effect.all(
          Array.from({ length: 10 }, () => reap),
          { concurrency: "unbounded" },
        )
        expect(yield* stateOf(orgId)).toEqual({
          holds: ["reaped"],
          usage: [{ cost: "2", out_tokens: 9n, estimated_reason: "gateway_lost" }],
          allotted: [],
        })
        expect(yield* balance(orgId, "USD")).toBe(8n * unit)
        yield* expectSound(orgId)
      }).pipe(Effect.scoped),
    )

    it.effect("is corrected when it comes back with the truth, once, and its own charge is taken back", () =>
      Effect.gen(function* () {
        const { reap, balance, settle } = yield* Ledger
        const orgId = yield* fund(10n * unit)
        const node = yield* startNode({ leaseMs: 400 })
        const held = yield* node.hold({ ...holdOf(orgId, 4n * unit), budgets: [dailyTokens(orgId, 100, 1000)] })
        yield* node.checkpoint([{ hold: held, settlement: { cost: 2n * unit, record: lost(9) } }])
        yield* Effect.sleep(450)
        yield* reap
        const truth = settlementOf(held, 3n * unit, { ...lost(30), estimatedReason: undefined, stop: "end" })
        expect(yield* node.settle(truth)).toBe(7n * unit)
        // A journal that another process took over sends it again.
        expect(yield* settle(truth)).toBe(7n * unit)
        expect((yield* stateOf(orgId)).usage).toEqual([{ cost: "3", out_tokens: 30n, estimated_reason: null }])
        yield* reap
        expect(yield* balance(orgId, "USD")).toBe(7n * unit)
        expect((yield* stateOf(orgId)).allotted).toEqual([])
        yield* expectSound(orgId)
      }).pipe(Effect.scoped),
    )

    it.effect("and lives on must not spend what was taken back: it joins anew", () =>
      Effect.gen(function* () {
        const { reap, balance, hold } = yield* Ledger
        const orgId = yield* fund(10n * unit)
        const node = yield* startNode({ leaseMs: 400 })
        yield* node.settle(settlementOf(yield* node.hold(holdOf(orgId, 10n * unit)), 0n))
        yield* Effect.sleep(450)
        yield* reap
        yield* hold(holdOf(orgId, 6n * unit))
        const refused = yield* Effect.result(node.hold(holdOf(orgId, 5n * unit)))
        expect(Result.isFailure(refused) && refused.failure).toMatchObject({ code: "insufficient_balance" })
        yield* node.hold(holdOf(orgId, 4n * unit))
        expect(yield* balance(orgId, "USD")).toBe(10n * unit)
        yield* expectSound(orgId)
      }).pipe(Effect.scoped),
    )

    it.effect("is settled with others, no more at once than are asked for", () =>
      Effect.gen(function* () {
        const orgId = yield* fund(10n * unit)
        const refs: Array<string> = []
        for (let count = 0; count < 3; count++) {
          const node = yield* startNode({ leaseMs: 50 })
          const held = yield* node.hold(holdOf(orgId, unit))
          yield* node.checkpoint([{ hold: held, settlement: { cost: unit, record: lost(1) } }])
          yield* node.crash
          refs.push(held.ref)
        }
        yield* Effect.sleep(200)
        const reaped = yield* Effect.map(
          inEach(yield* Shards, ({ sql, books }) => sql<{ ref: string }>`select ref from ${books}ledger_reap(2)`),
          (rows) => rows.flat().filter(({ ref }) => refs.includes(ref)),
        )
        expect(reaped.length).toBe(2)
        yield* (yield* Ledger).reap
        expect((yield* stateOf(orgId)).usage.length).toBe(3)
      }).pipe(Effect.scoped),
    )

    it.effect("is left alone while it renews", () =>
      Effect.gen(function* () {
        const { reap } = yield* Ledger
        const orgId = yield* fund(10n * unit)
        const node = yield* startNode({ leaseMs: 600 })
        const held = yield* node.hold(holdOf(orgId, unit))
        yield* node.checkpoint([{ hold: held, settlement: undefined }])
        for (let times = 0; times < 5; times++) {
          yield* Effect.sleep(100)
          yield* node.renew
        }
        yield* reap
        expect((yield* stateOf(orgId)).holds).toEqual(["open"])
      }).pipe(Effect.scoped),
    )
  })

  it.effect("what was used without a limit is remembered when its node gives back", () =>
    Effect.gen(function* () {
      const orgId = yield* fund(unit)
      const [free, limited] = [yield* startNode(), yield* startNode()]
      const counts = { inTokens: 700, outTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, dims: {} }
      yield* free.settle(settlementOf(yield* free.hold(holdOf(orgId, 0n)), 0n, { ...record, counts }))
      yield* Effect.sleep(5100)
      yield* free.returnIdle
      expect((yield* stateOf(orgId)).allotted).toEqual([])
      const refused = yield* Effect.result(
        limited.hold({ ...holdOf(orgId, 0n), budgets: [dailyTokens(orgId, 301, 1000)] }),
      )
      expect(Result.isFailure(refused) && refused.failure).toMatchObject({ detail: { limit: 1000, used: 700 } })
      yield* expectSound(orgId)
    }).pipe(Effect.scoped),
  )

  it.effect("an exchange that is settled while its checkpoint is due is not left open", () =>
    Effect.gen(function* () {
      const { hold, settle, checkpoint } = yield* Ledger
      const orgId = yield* fund(10n * unit)
      for (let times = 0; times < 20; times++) {
        const held = yield* hold(holdOf(orgId, unit / 4n, times % 2 === 0 ? `id-${times}` : undefined))
        const settlement = { cost: 1n, record: lost(1) }
        const both = [settle(settlementOf(held, 2n)), checkpoint([{ hold: held, settlement }])]
        yield* Effect.all(times % 3 === 0 ? both : both.reverse(), { concurrency: "unbounded" })
      }
      const { holds, usage } = yield* stateOf(orgId)
      expect(holds).toEqual([])
      expect(usage.length).toBe(20)
    }),
  )

  it.effect("a first checkpoint that comes after its settlement opens nothing", () =>
    Effect.gen(function* () {
      const { hold } = yield* Ledger
      const stores = Context.get(yield* Layer.build(layerPostgres), LedgerStores)
      const orgId = yield* fund(10n * unit)
      const held = yield* hold(holdOf(orgId, unit))
      const store = stores.all[stores.indexOf(orgId)]
      if (store === undefined) throw new Error("no store has the organisation")
      // Its outcome is unknown: it may still be on its way.
      yield* store.forbidCheckpoint(held)
      yield* store.settle(settlementOf(held, unit), true)
      yield* store.checkpoint([{ hold: held, isFirst: true, settlement: undefined }])
      expect((yield* stateOf(orgId)).holds).toEqual(["settled"])
      expect((yield* stateOf(orgId)).usage.length).toBe(1)
    }).pipe(Effect.scoped),
  )

  it.effect("an exchange that is released after its checkpoint leaves its request id free, of whatever form", () =>
    Effect.gen(function* () {
      const { hold, release, checkpoint, requestState } = yield* Ledger
      const orgId = yield* fund(10n * unit)
      // Ids of days from the migration on are in partitions.
      for (const requestId of ["plain", newUlid(Date.now()), newUlid(Date.now() + 3 * dayMs)]) {
        const held = yield* hold(holdOf(orgId, unit, requestId))
        yield* checkpoint([{ hold: held, settlement: undefined }])
        expect((yield* requestState(orgId, held.keyId, requestId))._tag, requestId).toBe("Running")
        yield* release(held)
        expect((yield* requestState(orgId, held.keyId, requestId))._tag, requestId).toBe("New")
      }
    }),
  )

  describe("a node that drains", () => {
    it.effect("gives back everything", () =>
      Effect.gen(function* () {
        const { balance } = yield* Ledger
        const orgId = yield* fund(10n * unit)
        const node = yield* startNode()
        yield* node.settle(settlementOf(yield* node.hold(holdOf(orgId, 4n * unit)), unit))
        expect((yield* stateOf(orgId)).allotted).not.toEqual([])
        yield* node.drain
        expect((yield* stateOf(orgId)).allotted).toEqual([])
        expect(yield* balance(orgId, "USD")).toBe(9n * unit)
        yield* expectSound(orgId)
      }).pipe(Effect.scoped),
    )
  })

  describe("four nodes of one organisation", () => {
    const serve = (orgId: string, times: number, budgets: ReadonlyArray<BudgetNeed> = []) =>
      Effect.gen(function* () {
        const ledgers = yield* Effect.all(Array.from({ length: 4 }, () => startNode()))
        const results = yield* Effect.forEach(
          Array.from({ length: times }, (_, at) => at),
          (at) => {
            const ledger = ledgers[at % 4]
            if (ledger === undefined) return Effect.die("no node")
            return Effect.result(
              Effect.flatMap(ledger.hold({ ...holdOf(orgId, unit), budgets }), (held) =>
                ledger.settle(settlementOf(held, unit)),
              ),
            )
          },
          { concurrency: "unbounded" },
        )
        yield* Effect.forEach(ledgers, ({ drain }) => drain, { discard: true })
        return results
      })

    it.effect("a balance for exactly 1,000 exchanges serves exactly 1,000 of 1,500, and nothing is left", () =>
      Effect.gen(function* () {
        const { balance } = yield* Ledger
        const orgId = yield* fund(1000n * unit)
        const results = yield* serve(orgId, 1500)
        expect(results.filter(Result.isSuccess).length).toBe(1000)
        for (const result of results) {
          if (Result.isFailure(result)) expect(result.failure).toMatchObject({ code: "insufficient_balance" })
        }
        expect(yield* balance(orgId, "USD")).toBe(0n)
        yield* expectSound(orgId)
      }).pipe(Effect.scoped),
    )

    it.effect("a budget for exactly 1,000 exchanges serves exactly 1,000 of 1,500, beside plenty of money", () =>
      Effect.gen(function* () {
        const { used } = yield* Ledger
        const orgId = yield* fund(10_000n * unit)
        const budget = budgetOf(1000n * unit, unit)
        const results = yield* serve(orgId, 1500, [budget])
        expect(results.filter(Result.isSuccess).length).toBe(1000)
        for (const result of results) {
          if (Result.isFailure(result)) expect(result.failure).toMatchObject({ code: "org_ceiling_exceeded" })
        }
        expect(yield* used(orgId, [budget.counter])).toEqual(
          new Map([[budget.counter, { used: 1000n * unit, raised: 0n }]]),
        )
        yield* expectSound(orgId)
      }).pipe(Effect.scoped),
    )

    it.effect("what one has at hand is given back before another refuses", () =>
      Effect.gen(function* () {
        const { balance } = yield* Ledger
        const orgId = yield* fund(100n * unit)
        const [rich, poor] = [yield* startNode(), yield* startNode()]
        yield* rich.settle(settlementOf(yield* rich.hold(holdOf(orgId, 12n * unit)), 0n))
        expect((yield* rich.allotments).some(({ orgId: of, free }) => of === orgId && free > 0n)).toBe(true)
        yield* poor.hold(holdOf(orgId, 100n * unit))
        expect(yield* balance(orgId, "USD")).toBe(100n * unit)
        yield* expectSound(orgId)
      }).pipe(Effect.scoped),
    )
  })

  it.effect("a crash: what was reserved of a budget goes back, what was billed stays, in the period of the hold", () =>
    Effect.gen(function* () {
      const { used, reap } = yield* Ledger
      const orgId = yield* fund(100n * unit)
      const [billed, lost] = [
        budgetOf(10n * unit, 4n * unit, "2026-01-31"),
        budgetOf(10n * unit, 4n * unit, "2026-02-01"),
      ]
      const crashing = yield* startNode({ leaseMs: 400 })
      const running = yield* crashing.hold({ ...holdOf(orgId, 4n * unit), budgets: [billed] })
      yield* crashing.hold({ ...holdOf(orgId, 4n * unit), budgets: [lost] })
      yield* crashing.checkpoint([{ hold: running, settlement: { cost: 3n * unit, record } }])
      yield* crashing.crash
      yield* Effect.sleep(450)
      yield* reap
      expect(yield* used(orgId, [billed.counter, lost.counter])).toEqual(
        new Map([
          [billed.counter, { used: 3n * unit, raised: 0n }],
          [lost.counter, noUse],
        ]),
      )
      // The node comes back with the truth: it is corrected.
      const back = yield* startNode()
      yield* back.settle(settlementOf(running, 2n * unit))
      expect((yield* used(orgId, [billed.counter])).get(billed.counter)?.used).toBe(2n * unit)
      // All but that can be used again, once the lost node's account is closed.
      yield* reap
      yield* back.hold({ ...holdOf(orgId, 8n * unit), budgets: [{ ...billed, amount: 8n * unit }] })
      yield* back.hold({ ...holdOf(orgId, 10n * unit), budgets: [{ ...lost, amount: 10n * unit }] })
      yield* expectSound(orgId)
    }).pipe(Effect.scoped),
  )

  it("the daily tokens of a plan end at midnight UTC+8", () => {
    const at = (now: string) => planBudget({ id: "p", dailyTokens: 1 }, "org", Date.parse(now), true)
    const ends = (now: string) => [at(now)?.counter, new Date(at(now)?.period.endMs ?? 0).toISOString()]
    expect(ends("2026-03-01T15:59:59.999Z")).toEqual(["tokens:2026-03-01", "2026-03-01T16:00:00.000Z"])
    expect(ends("2026-03-01T16:00:00.000Z")).toEqual(["tokens:2026-03-02", "2026-03-02T16:00:00.000Z"])
    expect(planBudget({ id: "p" }, "org", 0, true)).toBeUndefined()
  })
})
