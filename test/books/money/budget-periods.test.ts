/** Budgets of all periods in the books: days that roll, totals, resets and raises, in memory and on a database. */
import { randomUUID } from "node:crypto"
import { layer } from "@effect/vitest"
import { Effect, Result } from "effect"
import { expect } from "vitest"
import { type Budget, budgetsOf, indexBudgets, needsOf, readBudget, useOf } from "../../../src/money/budgets/budget.ts"
import { type Hold, Ledger } from "../../../src/money/ledger.ts"
import type { BudgetTerms } from "../../../src/protocol/catalogue/budget.ts"
import { expectSound, fund, holdOf, layerTestNodes, settlementOf, unit } from "../../support/books.ts"

const nobody = { org: [], team: [], person: [], app: [], key: [], endUser: [] }
const dayMs = 86_400_000

/** An organisation with one budget, and calls against it at any time. */
const withBudget = (terms: Omit<BudgetTerms, "scope" | "unit">, zone = "Europe/Zurich") =>
  Effect.gen(function* () {
    const ledger = yield* Ledger
    const orgId = yield* fund(1000n * unit)
    const budget: Budget = readBudget(randomUUID(), { scope: "org", unit: "money", ...terms }, "platform")
    const at = (atMs: number) => budgetsOf(indexBudgets([budget]), { ...nobody, org: [orgId] }, atMs, zone)
    const needs = (atMs: number, amount: bigint) => needsOf(at(atMs), { money: amount, tokens: 0n })
    const hold = (atMs: number, amount: bigint) =>
      ledger.hold({ ...holdOf(orgId, amount), budgets: needs(atMs, amount) })
    const spend = (atMs: number, amount: bigint) =>
      Effect.gen(function* () {
        const held = yield* Effect.result(hold(atMs, amount))
        if (Result.isFailure(held)) return held.failure
        yield* ledger.settle(settlementOf(held.success, amount))
        return "served"
      })
    const use = (atMs: number) =>
      Effect.gen(function* () {
        const [covering] = at(atMs)
        if (covering === undefined) return undefined
        const uses = yield* ledger.used(orgId, [covering.counter, ...(covering.beside ?? [])])
        return useOf(covering, uses)
      })
    const adjust = (atMs: number, change: { readonly isReset: boolean; readonly raised?: bigint }) =>
      Effect.gen(function* () {
        const [covering] = at(atMs)
        if (covering === undefined) return yield* Effect.die("no period")
        return yield* ledger.adjust(orgId, covering, change)
      })
    const release = (held: Hold) => ledger.release(held)
    return { orgId, spend, use, adjust, hold, release }
  })

layer(layerTestNodes, { excludeTestServices: true, timeout: "60 seconds" })("a budget", (it) => {
  it.effect("of a number of days counts today and the days before, and a day leaves as a whole", () =>
    Effect.gen(function* () {
      const { orgId, spend, use } = yield* withBudget({ period: { days: 3 }, limit: "10" })
      const noon = Date.parse("2026-10-24T10:00:00Z")
      expect(yield* spend(noon, 4n * unit)).toBe("served")
      // The day after has 25 hours.
      expect(yield* spend(noon + dayMs, 4n * unit)).toBe("served")
      expect(yield* spend(noon + 2 * dayMs, 3n * unit)).toMatchObject({
        code: "org_ceiling_exceeded",
        detail: { limit: "10", used: "8", period: { days: 3 }, resetAt: "2026-10-26T23:00:00.000Z" },
      })
      expect(yield* spend(noon + 2 * dayMs, 2n * unit)).toBe("served")
      expect(yield* use(noon + 2 * dayMs)).toEqual({ used: 10n * unit, raised: 0n })
      // The first day has left.
      expect(yield* use(noon + 3 * dayMs)).toEqual({ used: 6n * unit, raised: 0n })
      expect(yield* spend(noon + 3 * dayMs, 4n * unit)).toBe("served")
      expect(yield* spend(noon + 3 * dayMs, 1n)).toMatchObject({ code: "org_ceiling_exceeded" })
      yield* expectSound(orgId)
    }),
  )

  it.effect("without an end is used up once, and tells no time to try again", () =>
    Effect.gen(function* () {
      const { spend } = yield* withBudget({ period: "total", limit: "5" })
      const atMs = Date.now()
      expect(yield* spend(atMs, 5n * unit)).toBe("served")
      const refusal = yield* spend(atMs + 400 * dayMs, 1n)
      expect(refusal).toMatchObject({ code: "org_ceiling_exceeded", retry: "never" })
      expect(refusal).not.toHaveProperty("detail.resetAt")
    }),
  )

  it.effect("does not hold before it begins and after it has ended", () =>
    Effect.gen(function* () {
      const { spend, use } = yield* withBudget({
        period: "day",
        limit: "1",
        from: "2026-12-01T12:00:00Z",
        to: "2026-12-01T18:00:00Z",
      })
      const at = (time: string) => Date.parse(`2026-12-01T${time}Z`)
      expect(yield* spend(at("11:59:59"), 5n * unit)).toBe("served")
      expect(yield* spend(at("12:00:00"), 5n * unit)).toMatchObject({ detail: { resetAt: "2026-12-01T18:00:00.000Z" } })
      expect(yield* spend(at("18:00:00"), 5n * unit)).toBe("served")
      expect(yield* use(at("12:00:00"))).toEqual({ used: 0n, raised: 0n })
    }),
  )

  it.effect("that is raised allows more in this period only; raising again with the same amount changes nothing", () =>
    Effect.gen(function* () {
      const { orgId, spend, use, adjust } = yield* withBudget({ period: "month", limit: "10" })
      const atMs = Date.parse("2026-11-28T12:00:00Z")
      expect(yield* spend(atMs, 10n * unit)).toBe("served")
      expect(yield* spend(atMs, 1n)).toMatchObject({ code: "org_ceiling_exceeded" })
      for (let time = 0; time < 2; time++) {
        expect(yield* adjust(atMs, { isReset: false, raised: 5n * unit })).toEqual({
          used: 10n * unit,
          raised: 5n * unit,
        })
      }
      expect(yield* spend(atMs, 4n * unit)).toBe("served")
      expect(yield* spend(atMs, 2n * unit)).toMatchObject({ detail: { limit: "10", raised: "5", used: "14" } })
      expect(yield* use(atMs + 31 * dayMs)).toEqual({ used: 0n, raised: 0n })
      expect(yield* adjust(atMs, { isReset: false, raised: 0n })).toEqual({ used: 14n * unit, raised: 0n })
      expect(yield* spend(atMs, 1n)).toMatchObject({ code: "org_ceiling_exceeded" })
      yield* expectSound(orgId)
    }),
  )

  it.effect("that is reset begins anew, and what runs is still held", () =>
    Effect.gen(function* () {
      const { orgId, spend, use, adjust, hold, release } = yield* withBudget({ period: "year", limit: "10" })
      const atMs = Date.now()
      expect(yield* spend(atMs, 6n * unit)).toBe("served")
      const running = yield* hold(atMs, 4n * unit)
      expect(yield* adjust(atMs, { isReset: true })).toEqual({ used: 0n, raised: 0n })
      expect(yield* spend(atMs, 7n * unit)).toMatchObject({ code: "org_ceiling_exceeded" })
      expect(yield* spend(atMs, 6n * unit)).toBe("served")
      yield* release(running)
      expect(yield* use(atMs)).toEqual({ used: 6n * unit, raised: 0n })
      expect(yield* spend(atMs, 4n * unit)).toBe("served")
      expect(yield* spend(atMs, 1n)).toMatchObject({ code: "org_ceiling_exceeded" })
      yield* expectSound(orgId)
    }),
  )
})
