/** The ledger on a real database: holds, settlements, releases, and their invariants. */
import { randomUUID } from "node:crypto"
import { describe, expect, layer } from "@effect/vitest"
import { Effect, Result } from "effect"
import { SqlClient } from "effect/sql"
import { formatAmount } from "../../src/money/amount.ts"
import { Ledger } from "../../src/money/ledger.ts"
import { expectSound, fund, holdOf, layerTestLedger, record, unit } from "./books.ts"

layer(layerTestLedger, { excludeTestServices: true, timeout: "60 seconds" })("the ledger", (it) => {
  describe("a hold", () => {
    it.effect("takes from the balance; a settlement gives back what is left, at once and once", () =>
      Effect.gen(function* () {
        const { hold, settle } = yield* Ledger
        const orgId = yield* fund(10n * unit)
        const request = holdOf(orgId, 4n * unit)
        expect(yield* hold(request)).toBe(6n * unit)
        expect(yield* settle({ ref: request.ref, cost: 1n * unit, record })).toBe(9n * unit)
        expect(yield* settle({ ref: request.ref, cost: 3n * unit, record })).toBe(9n * unit)
        yield* expectSound(orgId)
        const sql = yield* SqlClient.SqlClient
        const rows = yield* sql`select cost::text, dims from usage_records where ref = ${request.ref}`
        expect(rows).toEqual([{ cost: "1.0000000000", dims: { reasoning: 1 } }])
      }),
    )

    it.effect("may be exceeded by its cost: what was used is owed", () =>
      Effect.gen(function* () {
        const { hold, settle } = yield* Ledger
        const orgId = yield* fund(2n * unit)
        const request = holdOf(orgId, 2n * unit)
        yield* hold(request)
        expect(formatAmount(yield* settle({ ref: request.ref, cost: 3n * unit, record }))).toBe("-1")
        yield* expectSound(orgId)
      }),
    )

    it.effect("is refused beyond the balance, without an account, and takes nothing then", () =>
      Effect.gen(function* () {
        const { hold } = yield* Ledger
        const orgId = yield* fund(unit)
        for (const request of [holdOf(orgId, unit + 1n), holdOf("org_unheard", 0n)]) {
          const refused = yield* Effect.result(hold(request))
          expect(Result.isFailure(refused) && refused.failure).toMatchObject({ code: "insufficient_balance" })
        }
        yield* expectSound(orgId)
      }),
    )

    it.effect("of a request id that is running or billed is refused; after a release it is the next attempt", () =>
      Effect.gen(function* () {
        const { hold, release, settle } = yield* Ledger
        const orgId = yield* fund(10n * unit)
        const attempt = () => holdOf(orgId, unit, "same")
        const first = attempt()
        yield* hold(first)
        const again = yield* Effect.result(hold(attempt()))
        expect(Result.isFailure(again) && again.failure).toMatchObject({ code: "idempotency_conflict" })
        yield* release(first.ref)
        const second = attempt()
        yield* hold(second)
        yield* settle({ ref: second.ref, cost: 1n, record })
        const third = yield* Effect.result(hold(attempt()))
        expect(Result.isFailure(third) && third.failure).toMatchObject({ detail: { replayable: false } })
        const sql = yield* SqlClient.SqlClient
        const rows = yield* sql`select attempt, state from holds where org_id = ${orgId} order by attempt`
        expect(rows).toEqual([
          { attempt: 1, state: "released" },
          { attempt: 2, state: "settled" },
        ])
        yield* expectSound(orgId)
      }),
    )

    it.effect("released or settled later changes nothing; an unknown one is no error", () =>
      Effect.gen(function* () {
        const { hold, release, settle } = yield* Ledger
        const orgId = yield* fund(5n * unit)
        const request = holdOf(orgId, unit)
        yield* hold(request)
        yield* release(request.ref)
        expect(yield* settle({ ref: request.ref, cost: unit, record })).toBe(5n * unit)
        expect(yield* release("never")).toBe(0n)
        yield* expectSound(orgId)
      }),
    )
  })

  it.effect("never sells more than the balance to 200 concurrent holds", () =>
    Effect.gen(function* () {
      const { hold, settle } = yield* Ledger
      const orgId = yield* fund(50n * unit)
      const requests = Array.from({ length: 200 }, () => holdOf(orgId, unit))
      const results = yield* Effect.forEach(requests, (request) => Effect.result(hold(request)), { concurrency: 32 })
      const held = requests.filter((_, at) => results[at]?._tag === "Success")
      expect(held.length).toBe(50)
      yield* Effect.forEach(held, ({ ref }) => settle({ ref, cost: unit / 2n, record }), { concurrency: 32 })
      expect(yield* (yield* Ledger).balance(orgId, "USD")).toBe(25n * unit)
      yield* expectSound(orgId)
    }),
  )

  it.effect("concurrent holds, and settlements, travel together: few transactions for many", () =>
    Effect.gen(function* () {
      const { hold, settle } = yield* Ledger
      const sql = yield* SqlClient.SqlClient
      const orgId = yield* fund(500n * unit)
      const requests = Array.from({ length: 300 }, () => holdOf(orgId, unit))
      yield* Effect.forEach(requests, hold, { concurrency: "unbounded" })
      const transactions = sql<{ n: bigint }>`select count(distinct xmin::text) as n from holds where org_id = ${orgId}`
      expect((yield* transactions)[0]?.n).toBeLessThan(10n)
      yield* Effect.forEach(requests, ({ ref }) => settle({ ref, cost: unit, record }), { concurrency: "unbounded" })
      expect((yield* transactions)[0]?.n).toBeLessThan(10n)
      yield* expectSound(orgId)
    }),
  )

  it.effect("one bad item of a batch fails alone", () =>
    Effect.gen(function* () {
      const { hold } = yield* Ledger
      const orgId = yield* fund(10n * unit)
      // PostgreSQL refuses NUL in text, and the whole statement with it.
      const bad = { ...holdOf(orgId, unit), keyId: "a\u0000b" }
      const requests = [holdOf(orgId, unit), bad, holdOf(orgId, unit), holdOf("org_unheard", unit)]
      const results = yield* Effect.forEach(requests, (request) => Effect.result(hold(request)), {
        concurrency: "unbounded",
      })
      expect(results.map((result) => (Result.isSuccess(result) ? "held" : result.failure._tag))).toEqual([
        "held",
        "StoreUnavailable",
        "held",
        "ServiceError",
      ])
      yield* expectSound(orgId)
    }),
  )

  it.effect("asking again with the same ref gives the same hold", () =>
    Effect.gen(function* () {
      const { hold, balance } = yield* Ledger
      const orgId = yield* fund(10n * unit)
      const request = holdOf(orgId, unit)
      yield* hold(request)
      yield* hold(request)
      expect(yield* balance(orgId, "USD")).toBe(9n * unit)
    }),
  )

  it.effect("a top-up counts once an id", () =>
    Effect.gen(function* () {
      const { topup, balance } = yield* Ledger
      const orgId = `org_${randomUUID()}`
      const credit = { id: randomUUID(), orgId, currency: "USD", amount: 7n * unit }
      expect(yield* topup(credit)).toBe(true)
      expect(yield* topup(credit)).toBe(false)
      expect(yield* balance(orgId, "USD")).toBe(7n * unit)
    }),
  )
})
