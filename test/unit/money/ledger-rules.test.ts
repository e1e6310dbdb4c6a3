/** The requests of the ledger to its store, and their times: over books in memory, on the test clock. */
import { describe, expect, it } from "@effect/vitest"
import { Clock, Effect, Metric, Result } from "effect"
import { TestClock } from "effect/testing"
import { LedgerStore } from "../../../src/money/ledger-store.ts"
import { StoreUnavailable } from "../../../src/store/unavailable.ts"
import { MemoryBooks, makeStore } from "../../../src/testing/ledger-store-memory.ts"
import { holdOf, ledgerOver, settlementOf, unit } from "../../support/books.ts"

const orgId = "org"

/** A ledger whose organisation has money, and the names of the calls that its store gets. */
const startLedger = Effect.gen(function* () {
  const calls: Array<string> = []
  const store = makeStore(new MemoryBooks(), Clock.currentTimeMillis)
  const watched = LedgerStore.of({
    ...store,
    allot: (ask) => {
      // A hold needs the amount that it waits for; a refill only wants it.
      const isNeeded = ask.counters.some(({ need }) => need > 0n)
      return Effect.andThen(
        Effect.sync(() => calls.push(isNeeded ? "grant" : "refill")),
        store.allot(ask),
      )
    },
    release: (hold) =>
      Effect.andThen(
        Effect.sync(() => calls.push("release")),
        store.release(hold),
      ),
  })
  const ledger = yield* ledgerOver(watched)
  yield* ledger.topup({ id: "start", orgId, currency: "USD", amount: 10_000n * unit })
  return { ledger, calls }
})

describe("the ledger", () => {
  it.effect("does not ask the store to release what has ended", () =>
    Effect.gen(function* () {
      const { ledger, calls } = yield* startLedger
      const hold = yield* ledger.hold(holdOf(orgId, unit, "key"))
      yield* ledger.settle(settlementOf(hold, unit))
      yield* ledger.release(hold)
      yield* ledger.release({ ...hold, ref: "of another process" })
      expect(calls).not.toContain("release")
      expect(yield* ledger.requestState(orgId, "key", "key")).toMatchObject({ _tag: "Billed" })
    }).pipe(Effect.scoped),
  )

  it.effect("moves more to a node before it is needed: a steady caller waits for its first holds only", () =>
    Effect.gen(function* () {
      const { ledger, calls } = yield* startLedger
      for (let call = 0; call < 200; call++) {
        const hold = yield* ledger.hold(holdOf(orgId, unit))
        yield* TestClock.adjust(50)
        yield* ledger.settle(settlementOf(hold, unit))
      }
      expect(calls.filter((call) => call === "refill").length).toBeGreaterThan(3)
      expect(calls.filter((call) => call === "grant").length).toBeLessThanOrEqual(3)
    }).pipe(Effect.scoped),
  )

  it.effect("tells what it holds, also of a node that was left behind, until nothing is held", () =>
    Effect.gen(function* () {
      const store = makeStore(new MemoryBooks(), Clock.currentTimeMillis)
      let isAway = false
      const ledger = yield* ledgerOver({
        ...store,
        allot: (ask) =>
          isAway ? Effect.fail(new StoreUnavailable({ store: "postgres", cause: "cut" })) : store.allot(ask),
      })
      yield* ledger.topup({ id: "start", orgId, currency: "USD", amount: 10_000n * unit })
      const told = Effect.gen(function* () {
        for (const { returnIdle } of ledger.parts) yield* returnIdle
        const series = yield* Metric.snapshot
        const held = series.filter(
          ({ id, attributes }) => id === "weir_ledger_allotted" && attributes?.["state"] === "held",
        )
        return held.map(({ attributes, state }) => [attributes?.["counter"], state])
      })
      const hold = yield* ledger.hold(holdOf(orgId, 5n * unit))
      expect(yield* told).toEqual([["USD", { value: 5 }]])
      // It is not known whether this is granted: another node takes the place of this one.
      isAway = true
      expect(Result.isFailure(yield* Effect.result(ledger.hold(holdOf(orgId, 9_000n * unit))))).toBe(true)
      isAway = false
      expect(yield* told).toEqual([["USD", { value: 5 }]])
      yield* ledger.release(hold)
      yield* ledger.renew
      expect(yield* told).toEqual([])
    }).pipe(Effect.scoped, Effect.provideService(Metric.MetricRegistry, new Map())),
  )
})
