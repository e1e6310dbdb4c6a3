/** A server of several that is down stops the organisations that it has, and nobody else. Starts Citus of its own. */
import { expect, it } from "@effect/vitest"
import { Effect, Layer, Redacted, Result } from "effect"
import type { BudgetNeed } from "../../src/money/budgets/budget.ts"
import { BudgetWarnings } from "../../src/money/budgets/budget-warnings.ts"
import { Ledger } from "../../src/money/ledger.ts"
import { periodOfDay } from "../../src/money/periods.ts"
import { Settler } from "../../src/money/settler.ts"
import { layerDatabase } from "../../src/store/database.ts"
import { Shards } from "../../src/store/shards/shards.ts"
import { statusOf } from "../../src/store/shards/status.ts"
import { layerTestConfig } from "../../src/testing/stores.ts"
import { expectSound, holdOf, settlementOf, testBudget, unit } from "../support/books.ts"
import { runsCitus, spreadBooks, temporaryCluster, urlAt } from "../support/faults/databases.ts"

const cluster = Effect.acquireRelease(
  Effect.promise(async () => {
    const started = await temporaryCluster(2)
    await spreadBooks(started.members[0]?.port ?? 0, 4, { SVC_ENV: "test", SVC_MASTER_KEY: "of a test" })
    return started
  }),
  ({ stop }) => Effect.promise(stop),
)

/** A budget of which this amount is half. */
const halfUsed = (amount: bigint): BudgetNeed => ({
  counter: "budget:near:money/day:subject:2026-01-01",
  unit: "money",
  subject: "subject",
  amount,
  period: periodOfDay("2026-01-01"),
  isTold: true,
  budget: { ...testBudget, id: "near", limit: 2n * amount, thresholds: [{ percent: 50, amount }] },
})

it.live.skipIf(!runsCitus)(
  "a worker that is down: its organisations wait, the others do not notice, and nothing is lost",
  () =>
    Effect.gen(function* () {
      const { members } = yield* cluster
      const [coordinator, worker] = members
      const config = layerTestConfig({
        databaseUrl: Redacted.make(urlAt(coordinator?.port ?? 0)),
        databaseDeadlineMs: 1500,
        settlePatienceMs: 100,
        leaseMs: 60_000,
      })
      const services = Layer.mergeAll(Settler.layer, BudgetWarnings.layer).pipe(
        Layer.provideMerge(Ledger.layer),
        Layer.provideMerge(layerDatabase),
        Layer.provideMerge(config),
      )
      yield* Effect.gen(function* () {
        const { hold, topup, balance } = yield* Ledger
        const { settle, deferred } = yield* Settler
        const shards = yield* Shards
        const warnings = yield* BudgetWarnings
        const [down = [], up = []] = [true, false].map((isDown) =>
          Array.from({ length: 40 }, (_, n) => `org_${n}`).filter(
            (orgId) => shards.of(orgId).server().endsWith(`:${worker?.port}`) === isDown,
          ),
        )
        expect(down.length).toBeGreaterThan(5)
        expect(up.length).toBeGreaterThan(5)
        for (const orgId of [...down, ...up]) {
          yield* topup({ id: orgId, orgId, currency: "USD", amount: 100n * unit })
        }
        const [known = "", unknown = ""] = down
        const first = yield* hold(holdOf(known, unit))
        const second = yield* hold(holdOf(known, unit))
        yield* settle(settlementOf(first, unit))
        yield* Effect.promise(async () => worker?.service.kill())

        // Its own: settled later; a hold that its allotment covers goes on; one that needs a grant fails closed.
        expect(yield* settle(settlementOf(second, unit))).toEqual({ _tag: "Deferred" })
        const third = yield* hold(holdOf(known, unit / 2n))
        expect(yield* settle(settlementOf(third, unit / 2n))).toEqual({ _tag: "Deferred" })
        const refused = yield* Effect.result(hold(holdOf(unknown, unit)))
        expect(Result.isFailure(refused) && refused.failure).toMatchObject({ _tag: "StoreUnavailable" })

        // Everybody else: grants and settlements as ever, none of them late.
        for (const orgId of up) {
          const beganMs = Date.now()
          const held = yield* hold(holdOf(orgId, unit))
          expect(yield* settle(settlementOf(held, unit))).toEqual({ _tag: "Settled", balance: 99n * unit })
          expect(Date.now() - beganMs).toBeLessThan(1000)
        }
        // The look at budgets of other organisations does not stop at those that wait.
        const [other = ""] = up
        const need = halfUsed(unit)
        const held = yield* hold({ ...holdOf(other, unit), budgets: [need] })
        yield* settle(settlementOf(held, unit))
        for (const orgId of [known, other]) warnings.charged(orgId, "USD", [need])
        yield* Effect.ignore(warnings.look)
        expect(warnings.take(other, [need]).map(({ percent }) => percent)).toEqual([50])

        const told = yield* statusOf(shards)
        expect(new Set(told.map(({ server, answers }) => `${server.endsWith(`:${worker?.port}`)} ${answers}`))).toEqual(
          new Set(["true false", "false true"]),
        )

        yield* Effect.promise(async () => worker?.service.start())
        for (let tries = 0; deferred().length > 0 && tries < 100; tries++) yield* Effect.sleep("100 millis")
        expect(deferred()).toEqual([])
        expect(yield* balance(known, "USD")).toBe(100n * unit - 5n * (unit / 2n))
        const late = yield* hold(holdOf(unknown, unit))
        yield* settle(settlementOf(late, unit))
        expect(yield* balance(unknown, "USD")).toBe(99n * unit)
        yield* expectSound(known)
      }).pipe(Effect.provide(services))
    }).pipe(Effect.scoped),
  120_000,
)
