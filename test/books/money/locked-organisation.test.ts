/** Rows of one organisation that somebody has locked: calls of others go on, and its own go on when the lock is gone. Needs a server. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Fiber, Result } from "effect"
import { SqlClient } from "effect/sql"
import { Ledger } from "../../../src/money/ledger.ts"
import {
  expectSound,
  fund,
  holdOf,
  layerTestNodes,
  record,
  settlementOf,
  startNode,
  unit,
} from "../../support/books.ts"

const isOnServer = process.env["SVC_TEST_DATABASE_URL"] !== undefined

/** The states of an organisation's holds, and the number of its allotments. */
const leftOf = (orgId: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const holds = yield* sql<{ state: string }>`select state from holds where org_id = ${orgId}`
    const allotments = yield* sql`select from allotments where org_id = ${orgId}`
    return { holds: holds.map(({ state }) => state), allotments: allotments.length }
  })

describe.skipIf(!isOnServer)("locked rows of one organisation", () => {
  it.live("delay no other organisation for long", () =>
    Effect.gen(function* () {
      const { hold, settle } = yield* Ledger
      const sql = yield* SqlClient.SqlClient
      const locked = yield* fund(1000n * unit)
      const others = yield* Effect.forEach(Array.from({ length: 20 }), () => fund(1000n * unit))
      const call = (orgId: string) =>
        Effect.flatMap(hold(holdOf(orgId, 100n * unit)), (held) => settle(settlementOf(held, unit)))
      for (const orgId of [locked, ...others]) yield* call(orgId)
      const held = yield* hold(holdOf(locked, unit))
      let slowest = 0
      const pending = yield* sql.withTransaction(
        Effect.gen(function* () {
          yield* sql`select from counters where org_id = ${locked} for update`
          yield* sql`select from allotments where org_id = ${locked} for update`
          const blocked = yield* Effect.forkDetach(settle(settlementOf(held, unit)))
          for (let round = 0; round < 5; round++) {
            const begunAt = performance.now()
            yield* Effect.forEach(others, call, { concurrency: "unbounded" })
            slowest = Math.max(slowest, performance.now() - begunAt)
          }
          return blocked
        }),
      )
      expect(slowest).toBeLessThan(2000)
      expect(yield* Fiber.join(pending)).toBe(998n * unit)
      yield* call(locked)
    }).pipe(Effect.provide(layerTestNodes), Effect.timeout("60 seconds")),
  )

  it.live("keep nothing of a lost node's from others, checkpoints neither", () =>
    Effect.gen(function* () {
      const { balance, reap } = yield* Ledger
      const sql = yield* SqlClient.SqlClient
      const orgs = yield* Effect.forEach(Array.from({ length: 8 }), () => fund(10n * unit))
      const [locked = "", ...others] = orgs
      const node = yield* startNode({ leaseMs: 3000 })
      const held = yield* Effect.forEach(orgs, (orgId) => node.hold(holdOf(orgId, unit)))
      const checkpoint = (cost: bigint) =>
        node.checkpoint(held.map((hold) => ({ hold, settlement: { cost, record: record } })))
      yield* checkpoint(unit)
      yield* sql.withTransaction(
        Effect.gen(function* () {
          yield* sql`select from counters where org_id = ${locked} for update`
          yield* sql`select from allotments where org_id = ${locked} for update`
          yield* sql`select from holds where org_id = ${locked} for update`
          expect(Result.isFailure(yield* Effect.result(checkpoint(2n * unit)))).toBe(true)
          yield* node.crash
          yield* Effect.sleep(3100)
          yield* reap
          for (const orgId of others) {
            expect(yield* leftOf(orgId)).toEqual({ holds: ["reaped"], allotments: 0 })
            expect(yield* balance(orgId, "USD")).toBe(8n * unit)
          }
        }),
      )
      yield* reap
      expect(yield* leftOf(locked)).toEqual({ holds: ["reaped"], allotments: 0 })
      expect(yield* balance(locked, "USD")).toBe(9n * unit)
      for (const orgId of orgs) yield* expectSound(orgId)
    }).pipe(Effect.scoped, Effect.provide(layerTestNodes), Effect.timeout("60 seconds")),
  )
})
