/** Holds whose node is lost, and the daily quota: both in the ledger, both exact. */
import { describe, expect, layer } from "@effect/vitest"
import { Effect, Result } from "effect"
import { SqlClient } from "effect/sql"
import { type HoldRequest, Ledger, quotaExceeded, type UsageRecord } from "../../src/money/ledger.ts"
import { expectSound, fund, holdOf, layerTestLedger, unit } from "./books.ts"

const recordOf = (outTokens: number, estimatedReason?: UsageRecord["estimatedReason"]): UsageRecord => ({
  appId: "app",
  purpose: "exchange",
  model: "main",
  vendor: "v",
  counts: { inTokens: 0, outTokens, cacheReadTokens: 0, cacheWriteTokens: 0, dims: {} },
  estimatedReason,
  stop: "interrupted",
  cacheNetSaving: 0n,
})

const stateOf = (ref: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const [hold] = yield* sql<{ state: string; cost: string; reaped: boolean }>`
      select state, cost::float8::text as cost, reaped from holds where ref = ${ref}`
    const usage = yield* sql<{ out_tokens: bigint; estimated_reason: string | null }>`
      select out_tokens, estimated_reason from usage_records where ref = ${ref}`
    return { ...hold, usage }
  })

const quotaOf = (orgId: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const [row] = yield* sql<{ used: bigint; reserved: bigint }>`
      select used, reserved from quota_days where org_id = ${orgId}`
    return row
  })

const lapse = (request: HoldRequest): HoldRequest => ({ ...request, leaseMs: 1 })

layer(layerTestLedger, { excludeTestServices: true, timeout: "60 seconds" })("leases", (it) => {
  describe("a hold whose lease has run out", () => {
    it.effect("is released where nothing was owed, and the key may be used again", () =>
      Effect.gen(function* () {
        const { hold, reap, balance } = yield* Ledger
        const orgId = yield* fund(10n * unit)
        const request = lapse(holdOf(orgId, unit, "again"))
        yield* hold(request)
        yield* Effect.sleep(20)
        expect(yield* reap).toBeGreaterThanOrEqual(1)
        expect(yield* stateOf(request.ref)).toMatchObject({ state: "released", usage: [] })
        expect(yield* balance(orgId, "USD")).toBe(10n * unit)
        yield* hold(holdOf(orgId, unit, "again"))
        yield* expectSound(orgId)
      }),
    )

    it.effect("is settled at its last checkpoint with gateway_lost, once, though 10 nodes reap", () =>
      Effect.gen(function* () {
        const { hold, reap, renew, balance } = yield* Ledger
        const orgId = yield* fund(10n * unit)
        const request = holdOf(orgId, 4n * unit)
        yield* hold(request)
        const checkpoint = (outTokens: number, cost: bigint, leaseMs: number) =>
          renew([{ ref: request.ref, settlement: { cost, record: recordOf(outTokens, "gateway_lost") } }], leaseMs)
        yield* checkpoint(5, unit, 60_000)
        yield* checkpoint(9, 2n * unit, 1)
        yield* Effect.sleep(20)
        const closed = yield* Effect.all(
          Array.from({ length: 10 }, () => reap),
          { concurrency: "unbounded" },
        )
        expect(closed.reduce((sum, n) => sum + n, 0)).toBeGreaterThanOrEqual(1)
        expect(yield* stateOf(request.ref)).toEqual({
          state: "settled",
          cost: "2",
          reaped: true,
          usage: [{ out_tokens: 9n, estimated_reason: "gateway_lost" }],
        })
        expect(yield* balance(orgId, "USD")).toBe(8n * unit)
        yield* expectSound(orgId)
      }),
    )

    it.effect("is corrected when its node comes back with the truth, and only then", () =>
      Effect.gen(function* () {
        const { hold, reap, settle, balance } = yield* Ledger
        const orgId = yield* fund(10n * unit)
        const request = { ...lapse(holdOf(orgId, 4n * unit)), quota: { tokens: 100, limit: undefined } }
        yield* hold(request)
        yield* Effect.sleep(20)
        yield* reap
        expect(yield* quotaOf(orgId)).toEqual({ used: 0n, reserved: 0n })
        const truth = { ref: request.ref, cost: 3n * unit, record: recordOf(30) }
        expect(yield* settle(truth)).toBe(7n * unit)
        expect(yield* settle({ ...truth, cost: unit })).toBe(7n * unit)
        expect(yield* stateOf(request.ref)).toMatchObject({
          state: "settled",
          cost: "3",
          reaped: false,
          usage: [{ out_tokens: 30n, estimated_reason: null }],
        })
        expect(yield* quotaOf(orgId)).toEqual({ used: 30n, reserved: 0n })
        expect(yield* balance(orgId, "USD")).toBe(7n * unit)
        yield* expectSound(orgId)
      }),
    )

    it.effect("is left alone while it is renewed", () =>
      Effect.gen(function* () {
        const { hold, reap, renew } = yield* Ledger
        const orgId = yield* fund(10n * unit)
        const request = lapse(holdOf(orgId, unit))
        yield* hold(request)
        yield* Effect.sleep(20)
        yield* renew([{ ref: request.ref, settlement: undefined }], 60_000)
        yield* reap
        expect(yield* stateOf(request.ref)).toMatchObject({ state: "held" })
      }),
    )
  })

  describe("the daily quota", () => {
    const withQuota = (orgId: string, tokens: number, limit = 1000): HoldRequest => ({
      ...holdOf(orgId, 0n),
      quota: { tokens, limit },
    })

    it.effect("counts what runs, and is corrected at the settlement and the release", () =>
      Effect.gen(function* () {
        const { hold, settle, release } = yield* Ledger
        const orgId = yield* fund(unit)
        const first = withQuota(orgId, 600)
        const second = withQuota(orgId, 400)
        yield* hold(first)
        yield* hold(second)
        const refused = yield* Effect.result(hold(withQuota(orgId, 1)))
        expect(Result.isFailure(refused) && refused.failure).toMatchObject({
          code: "quota_exceeded",
          detail: { limit: 1000, used: 1000 },
        })
        yield* settle({ ref: first.ref, cost: 0n, record: recordOf(50) })
        yield* release(second.ref)
        expect(yield* quotaOf(orgId)).toEqual({ used: 50n, reserved: 0n })
        yield* hold(withQuota(orgId, 950))
      }),
    )

    it.effect("is never oversold to 200 concurrent registrations", () =>
      Effect.gen(function* () {
        const { hold } = yield* Ledger
        const orgId = yield* fund(unit)
        const results = yield* Effect.forEach(
          Array.from({ length: 200 }, () => withQuota(orgId, 30)),
          (request) => Effect.result(hold(request)),
          { concurrency: "unbounded" },
        )
        expect(results.filter(Result.isSuccess).length).toBe(33)
        expect(yield* quotaOf(orgId)).toEqual({ used: 0n, reserved: 990n })
      }),
    )

    it("ends at midnight UTC+8", () => {
      const resetAt = (now: string) => quotaExceeded(1, 1, Date.parse(now)).detail?.["resetAt"]
      expect(resetAt("2026-03-01T15:59:59.999Z")).toBe("2026-03-01T16:00:00.000Z")
      expect(resetAt("2026-03-01T16:00:00.000Z")).toBe("2026-03-02T16:00:00.000Z")
    })
  })
})
