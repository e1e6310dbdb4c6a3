/** The ledger stays consistent under any order of holds, settlements, releases, retries, renewals and reapers. */
import { randomUUID } from "node:crypto"
import { describe, expect, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { type HoldRequest, Ledger } from "../../src/money/ledger.ts"
import { expectSound, fund, holdOf, layerTestLedger, record, unit } from "../money/books.ts"

const Index = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 5 }))
const Tenths = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 40 }))
const Step = Schema.Union([
  Schema.Struct({ do: Schema.Literal("hold"), hold: Index, key: Index, amount: Tenths, lapses: Schema.Boolean }),
  Schema.Struct({ do: Schema.Literal("settle"), hold: Index, cost: Tenths }),
  Schema.Struct({ do: Schema.Literal("release"), hold: Index }),
  Schema.Struct({ do: Schema.Literal("renew"), hold: Index, cost: Tenths, lapses: Schema.Boolean }),
  Schema.Struct({ do: Schema.Literal("reap") }),
])
const Steps = Schema.Array(Step).check(Schema.isMinLength(4), Schema.isMaxLength(30))

layer(layerTestLedger, { excludeTestServices: true, timeout: "60 seconds" })("the ledger", (it) => {
  describe("under any interleaving", () => {
    it.effect.prop(
      "entries sum to balances, a key is billed at most once, and nothing more is spent than there was held",
      [Steps, Schema.Boolean],
      ([steps, concurrent]) =>
        Effect.gen(function* () {
          const service = yield* Ledger
          const sql = yield* SqlClient.SqlClient
          const orgId = yield* fund(10n * unit)
          const holds = new Map<number, HoldRequest>()
          const requestOf = (index: number, key: number, amount: number, lapses: boolean): HoldRequest => {
            const known = holds.get(index)
            if (known !== undefined) return known
            const request = {
              ...holdOf(orgId, (BigInt(amount) * unit) / 10n, `key-${key}`),
              leaseMs: lapses ? 1 : 60_000,
              quota: { tokens: 7, limit: 100 },
            }
            holds.set(index, request)
            return request
          }
          const amountOf = (tenths: number) => (BigInt(tenths) * unit) / 10n
          const refOf = (index: number) => holds.get(index)?.ref ?? randomUUID()
          const run = (step: typeof Step.Type): Effect.Effect<unknown> => {
            switch (step.do) {
              case "hold":
                return Effect.ignore(service.hold(requestOf(step.hold, step.key, step.amount, step.lapses)))
              case "settle":
                return Effect.ignore(service.settle({ ref: refOf(step.hold), cost: amountOf(step.cost), record }))
              case "release":
                return Effect.ignore(service.release(refOf(step.hold)))
              case "renew": {
                const settlement = { cost: amountOf(step.cost), record }
                return Effect.ignore(service.renew([{ ref: refOf(step.hold), settlement }], step.lapses ? 1 : 60_000))
              }
              case "reap":
                return Effect.ignore(service.reap)
            }
          }
          yield* Effect.forEach(steps, run, { concurrency: concurrent ? "unbounded" : 1, discard: true })
          yield* expectSound(orgId)
          const findings = yield* sql<{ finding: string; id: string }>`select finding, id from ledger_audit()`
          const ours = findings.filter(
            ({ finding, id }) => finding !== "a hold has outlived its lease" && id.includes(orgId),
          )
          expect(ours).toEqual([])
          const [quota] = yield* sql<{ spent: bigint }>`
            select coalesce(max(used + reserved), 0)::bigint as spent from quota_days where org_id = ${orgId}`
          expect(quota?.spent).toBeLessThanOrEqual(100n)
        }),
      { arbitrary: { runs: 60 } },
    )
  })
})
