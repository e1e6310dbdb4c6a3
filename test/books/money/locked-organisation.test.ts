/** Rows of one organisation that somebody has locked: calls of others go on, and its own go on when the lock is gone. Needs a server. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { SqlClient } from "effect/sql"
import { Ledger } from "../../../src/money/ledger.ts"
import { fund, holdOf, layerTestLedger, settlementOf, unit } from "../../support/books.ts"

const isOnServer = process.env["SVC_TEST_DATABASE_URL"] !== undefined

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
    }).pipe(Effect.provide(layerTestLedger), Effect.timeout("60 seconds")),
  )
})
