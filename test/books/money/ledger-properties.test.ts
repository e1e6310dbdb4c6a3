/** The books stay sound under any order of holds, settlements, releases, checkpoints, crashes, reapers and returns. */
import { describe, expect, layer } from "@effect/vitest"
import { Effect, References, Schedule, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { BudgetNeed } from "../../../src/money/budgets/budget.ts"
import { type Hold, Ledger } from "../../../src/money/ledger.ts"
import { periodOfDay } from "../../../src/money/periods.ts"
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

const Index = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 5 }))
const Node = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 2 }))
const Tenths = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 40 }))
const Step = Schema.Union([
  Schema.Struct({ do: Schema.Literal("hold"), at: Node, hold: Index, key: Index, amount: Tenths }),
  Schema.Struct({ do: Schema.Literal("settle"), at: Node, hold: Index, cost: Tenths }),
  Schema.Struct({ do: Schema.Literal("release"), at: Node, hold: Index }),
  Schema.Struct({ do: Schema.Literal("checkpoint"), at: Node, hold: Index, cost: Tenths }),
  Schema.Struct({ do: Schema.Literal("crash"), at: Node }),
  Schema.Struct({ do: Schema.Literal("reap"), at: Node }),
  Schema.Struct({ do: Schema.Literal("returnIdle"), at: Node }),
])
const Steps = Schema.Array(Step).check(Schema.isMinLength(4), Schema.isMaxLength(30))

/** Steps of a hold by the node that has it. Keys are few, so that many settlements are duplicates. */
const Few = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1 }))
const OwnStep = Schema.Union([
  Schema.Struct({ do: Schema.Literal("hold"), at: Node, hold: Few, key: Few, amount: Tenths }),
  Schema.Struct({ do: Schema.Literal("settle"), at: Node, hold: Few, cost: Tenths }),
  Schema.Struct({ do: Schema.Literals(["release", "returnIdle"]), at: Node, hold: Few }),
])

/** A budget of half of what the organisation has. */
const limit = 5n * unit
const counter = "budget:test:money/day:org:2026-01-01"
const budgetOf = (amount: bigint): BudgetNeed => ({
  counter,
  unit: "money",
  subject: "org",
  amount,
  period: periodOfDay("2026-01-01"),
  isTold: true,
  budget: { ...testBudget, limit },
})

const services = layerTestNodes

layer(services, { excludeTestServices: true, timeout: "60 seconds" })("the ledger", (it) => {
  describe("under any interleaving", () => {
    it.effect.prop(
      "transfers sum to balances, a key is billed at most once, nothing is spent that was not held, and no budget exceeded",
      [Steps, Schema.Boolean],
      ([steps, concurrent]) =>
        Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          const orgId = yield* fund(10n * unit)
          const nodes = [yield* startNode(), yield* startNode(), yield* startNode()]
          const holds = new Map<number, Hold>()
          const costs = new Map<string, bigint>()
          const lost = new Set<string>()
          /** The amount that is charged to lost nodes: others may have spent money that was taken back from them. */
          let late = 0n
          const amountOf = (tenths: number) => (BigInt(tenths) * unit) / 10n
          /** A settlement, whose cost is chosen once, and is no more than was held. */
          const settlementFor = (hold: Hold, tenths: number) => {
            const cost = costs.get(hold.ref) ?? (amountOf(tenths) < hold.amount ? amountOf(tenths) : hold.amount)
            costs.set(hold.ref, cost)
            return { ...settlementOf(hold, cost), atMs: 1_800_000_000_000 }
          }
          const run = (
            step: typeof Step.Type,
          ): Effect.Effect<unknown, unknown, Effect.Services<ReturnType<typeof startNode>>> => {
            const node = nodes[step.at]
            if (node === undefined) return Effect.void
            const hold = "hold" in step ? holds.get(step.hold) : undefined
            switch (step.do) {
              case "hold": {
                if (hold !== undefined) return Effect.void
                const budgets = [dailyTokens(orgId, 10, 200), budgetOf(amountOf(step.amount))]
                const request = { ...holdOf(orgId, amountOf(step.amount), `key-${step.key}`), budgets }
                return Effect.map(node.hold(request), (held) => holds.set(step.hold, held))
              }
              case "settle": {
                if (hold === undefined) return Effect.void
                const settlement = settlementFor(hold, step.cost)
                if (lost.has(hold.node)) late += settlement.cost
                return node.settle(settlement)
              }
              case "release":
                return hold === undefined || costs.has(hold.ref) ? Effect.void : node.release(hold)
              case "checkpoint": {
                if (hold === undefined) return Effect.void
                const { cost } = settlementFor(hold, step.cost)
                return node.checkpoint([{ hold, settlement: { cost, record } }])
              }
              case "crash":
                return Effect.gen(function* () {
                  yield* node.crash
                  for (const id of node.joined) lost.add(id)
                  yield* sql`update nodes set lease_until = now() - interval '1 second' where id = any(${node.joined}::text[])`
                  nodes[step.at] = yield* startNode()
                })
              case "reap":
                return node.reap
              case "returnIdle":
                return node.returnIdle
            }
          }
          yield* Effect.forEach(steps, (step) => Effect.ignore(run(step)), {
            concurrency: concurrent ? "unbounded" : 1,
            discard: true,
          })
          yield* expectSound(orgId)
          const [held] = yield* sql<{ granted: string }>`
            select coalesce(max(granted), 0)::float8::text as granted from counters
            where org_id = ${orgId} and counter = ${counter}`
          expect(Number(held?.granted) * Number(unit)).toBeLessThanOrEqual(Number(limit + late))

          // When every node has ended, nothing is allotted, and what was not charged is there.
          yield* Effect.forEach(nodes, ({ drain }) => drain, { discard: true })
          yield* sql`update nodes set lease_until = '-infinity'`
          const { reap, balance, used } = yield* Ledger
          yield* reap
          yield* expectSound(orgId)
          const [books] = yield* sql<{ allotted: bigint; spent: string; keys: bigint; calls: bigint; least: string }>`
            select (select count(*) from allotments where org_id = ${orgId}) as allotted,
              (select coalesce(sum(cost), 0)::float8::text from usage_records where org_id = ${orgId}) as spent,
              (select count(distinct request_id) from usage_records where org_id = ${orgId}) as keys,
              (select count(*) from usage_records where org_id = ${orgId}) as calls,
              (select min(funded - granted)::float8::text from counters where org_id = ${orgId} and counter = 'USD') as least`
          expect(books?.allotted).toBe(0n)
          expect(books?.calls).toBe(books?.keys)
          expect(Number(books?.least)).toBeGreaterThanOrEqual(0)
          expect(Number(yield* balance(orgId, "USD")) / Number(unit)).toBeCloseTo(10 - Number(books?.spent), 6)
          const ofBudget = (yield* used(orgId, [counter])).get(counter)?.used ?? 0n
          expect(ofBudget).toBeLessThanOrEqual(limit + late)
          expect(Number(ofBudget) / Number(unit)).toBeCloseTo(Number(books?.spent), 6)
        }).pipe(Effect.scoped),
      { arbitrary: { runs: 60 } },
    )

    it.effect.prop(
      "after each step, what a node has in memory is what its rows have",
      [Schema.Array(OwnStep).check(Schema.isMinLength(20), Schema.isMaxLength(40))],
      ([steps]) =>
        Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          const orgId = yield* fund(10n * unit)
          const nodes = [yield* startNode(), yield* startNode(), yield* startNode()]
          const holds = new Map<number, readonly [at: number, hold: Hold]>()
          const amountOf = (tenths: number) => (BigInt(tenths) * unit) / 10n
          for (const step of steps) {
            if (step.do === "hold" && !holds.has(step.hold)) {
              const budgets = [dailyTokens(orgId, 10, 200), budgetOf(amountOf(step.amount))]
              const request = { ...holdOf(orgId, amountOf(step.amount), `key-${step.key}`), budgets }
              const held = yield* Effect.option(nodes[step.at]?.hold(request) ?? Effect.never)
              if (held._tag === "Some") holds.set(step.hold, [step.at, held.value])
            }
            const [at, hold] = holds.get(step.hold) ?? [step.at, undefined]
            const node = nodes[at]
            if (node === undefined) continue
            if (step.do === "returnIdle") yield* node.returnIdle
            if (hold !== undefined && step.do === "settle") yield* node.settle(settlementOf(hold, amountOf(step.cost)))
            if (hold !== undefined && step.do === "release") yield* node.release(hold)
            if (step.do === "settle" || step.do === "release") holds.delete(step.hold)
            // A refill may be on its way.
            yield* Effect.retry(sameInMemory(sql, orgId, nodes), { schedule: Schedule.spaced(10), times: 50 })
          }
        }).pipe(Effect.scoped, Effect.provideService(References.MinimumLogLevel, "None")),
      { arbitrary: { runs: 60 } },
    )
  })
})

/** Fails with the difference if what is free and held in a node's memory is not what was granted to it and not spent. */
const sameInMemory = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  orgId: string,
  nodes: ReadonlyArray<Effect.Success<ReturnType<typeof startNode>>>,
) {
  const inMemory = (yield* Effect.forEach(nodes, ({ allotments }) => allotments)).flat()
  const rows = yield* sql<{ key: string; left: string }>`
    select node || ' ' || counter as key, ((granted - spent) * 10000000000)::numeric(40, 0)::text as left
    from allotments where org_id = ${orgId} and granted <> spent`
  const left = inMemory.flatMap((each) => {
    const total = each.free + each.held
    return each.orgId === orgId && total !== 0n ? [`${each.node} ${each.counter}: ${total}`] : []
  })
  const expected = rows.map((row) => `${row.key}: ${row.left}`)
  if (left.sort().join() !== expected.sort().join()) {
    return yield* Effect.fail(`in memory ${left.join(", ")}; in the books ${expected.join(", ")}`)
  }
})
