/**
 * A year of a budget, on virtual time, against a calendar of its own: zones with and without daylight saving, changes of the zone and
 * the limit, resets, raises, calls that run over the end of a period, nodes that are killed. Never more than the limit is used in a
 * period, and nothing is refused that the limit covers.
 */
import { it } from "@effect/vitest"
import { Clock, Effect, Exit, Result, Scope } from "effect"
import { TestClock } from "effect/testing"
import { describe, expect } from "vitest"
import { budgetsOf, indexBudgets, needsOf, readBudget, stateOf, useOf } from "../../../../src/money/budgets/budget.ts"
import type { Hold, Ledger } from "../../../../src/money/ledger.ts"
import { RecallChannel } from "../../../../src/money/recalls.ts"
import type { BudgetPeriod } from "../../../../src/protocol/catalogue/budget.ts"
import { dayOf } from "../../../../src/protocol/values/utc8.ts"
import { MemoryBooks, makeStore } from "../../../../src/testing/ledger-store-memory.ts"
import { holdOf, ledgerOver, unit as one, settlementOf } from "../../../support/books.ts"
import { randomOf } from "../../../support/random.ts"

const nobody = { org: ["o"], team: [], person: [], app: [], key: [], endUser: [] }
const zones = ["UTC", "Etc/GMT-8", "Europe/Zurich", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata"]
const dayMs = 86_400_000
const hourMs = 3_600_000

/** The date of a zone, as its calendar writes it. */
const dates = new Map<string, Intl.DateTimeFormat>()
const dateIn = (zone: string, atMs: number): string => {
  const known = dates.get(zone) ?? new Intl.DateTimeFormat("sv-SE", { timeZone: zone, dateStyle: "short" })
  dates.set(zone, known)
  return known.format(atMs)
}

/** The name of the period of a date, by the calendar; of a number of days, its last day. */
const periodNamed = (period: BudgetPeriod, date: string, atMs: number): string => {
  if (period === "hour") return String(Math.floor(atMs / hourMs))
  if (period === "month") return date.slice(0, 7)
  if (period === "quarter") return `${date.slice(0, 4)}-${Math.floor((Number(date.slice(5, 7)) - 1) / 3)}`
  if (period === "year") return date.slice(0, 4)
  if (period === "week") return String(Math.floor((Date.parse(date) / dayMs + 3) / 7))
  return period === "total" ? "total" : date
}

/** Time passes in hours here, and nobody renews leases. */
const neverLapses = { leaseMs: 2 ** 50 }

interface Used {
  readonly period: string
  readonly dayNumber: number
  readonly zone: string
  amount: bigint
}

const runYear = (seed: number, period: BudgetPeriod) =>
  Effect.gen(function* () {
    const random = randomOf(seed)
    const pick = <A>(from: ReadonlyArray<A>): A => from[Math.floor(random() * from.length)] ?? expect.unreachable()
    let atMs = Date.parse("2026-01-01T05:00:00Z")
    const endMs = atMs + 365 * dayMs
    yield* TestClock.setTime(atMs)
    const books = new MemoryBooks()
    const start = Effect.gen(function* () {
      const scope = yield* Scope.make()
      return {
        scope,
        ledger: yield* Scope.provide(
          ledgerOver(makeStore(books, Clock.currentTimeMillis), RecallChannel.layerLocal, neverLapses),
          scope,
        ),
      }
    })
    let node: { readonly scope: Scope.Closeable; readonly ledger: Ledger["Service"] } = yield* start
    yield* node.ledger.topup({ id: "paid", orgId: "o", currency: "USD", amount: 1_000_000n * one })
    let zone = pick(zones)
    const hasNoZone = period === "hour" || period === "total"
    const [least, spread] = period === "hour" ? [6, 12] : period === "day" ? [10, 20] : [20, 60]
    let limit = least + spread / 2
    let raised = new Map<string, bigint>()
    const used: Array<Used> = []
    const running: Array<{ readonly hold: Hold; readonly of: Used; readonly untilMs: number }> = []
    let [served, refused] = [0, 0]
    const covering = () => {
      const budget = readBudget("b", { scope: "org", unit: "money", period, limit: String(limit) }, "platform")
      const [found] = budgetsOf(indexBudgets([budget]), nobody, atMs, zone)
      return found ?? expect.unreachable()
    }
    /** The amount that counts now, by the calendar: settled and held. */
    const counted = (): bigint => {
      const date = dateIn(zone, atMs)
      const day = Date.parse(date) / dayMs
      const days = typeof period === "string" ? 1 : period.days
      const counts = (each: Used) =>
        (each.zone === zone || hasNoZone) &&
        (typeof period === "string"
          ? each.period === periodNamed(period, date, atMs)
          : each.dayNumber <= day && each.dayNumber > day - days)
      return used.filter(counts).reduce((sum, { amount }) => sum + amount, 0n)
    }
    while (atMs < endMs) {
      atMs += Math.floor(random() * (period === "hour" ? 2 * hourMs : 14 * hourMs))
      yield* TestClock.setTime(atMs)
      for (const each of running.splice(0)) {
        if (each.untilMs > atMs) running.push(each)
        else {
          const cost = (each.of.amount * BigInt(Math.floor(random() * 101))) / 100n
          yield* node.ledger.settle(settlementOf(each.hold, cost))
          each.of.amount = cost
        }
      }
      yield* TestClock.adjust(10)
      const event = random()
      if (event < 0.01) zone = pick(zones)
      if (event > 0.01 && event < 0.02) limit = least + Math.floor(random() * spread)
      const { counter, period: now } = covering()
      if (event > 0.02 && event < 0.03) {
        yield* node.ledger.adjust("o", covering(), { isReset: true })
        // Settled calls count no more; running ones do.
        const date = dateIn(zone, atMs)
        const isOfToday = (each: Used) =>
          (each.zone === zone || hasNoZone) &&
          each.period === periodNamed(period, date, atMs) &&
          !running.some(({ of }) => of === each)
        for (const each of used) if (isOfToday(each)) each.amount = 0n
      }
      if (event > 0.03 && event < 0.04) {
        const by = BigInt(Math.floor(random() * 20)) * one
        yield* node.ledger.adjust("o", covering(), { isReset: false, raised: by })
        raised = new Map([...raised, [counter, by]])
      }
      if (event > 0.04 && event < 0.05) {
        // Killed: it is reaped. Its calls have no checkpoint yet, and are released.
        for (const id of books.nodes.keys()) books.leave(id, atMs)
        for (const { of } of running.splice(0)) of.amount = 0n
        node = yield* start
      }
      const amount = BigInt(1 + Math.floor(random() * 12)) * one
      const most = BigInt(limit) * one + (raised.get(counter) ?? 0n)
      const before = counted()
      const needs = needsOf([covering()], { money: amount, tokens: 0n })
      const held = yield* Effect.result(node.ledger.hold({ ...holdOf("o", amount), day: dayOf(atMs), budgets: needs }))
      const isCovered = before + amount <= most
      const where = `${JSON.stringify(period)} in ${zone} at ${new Date(atMs).toISOString()}: ${before} and ${amount} of ${most}`
      expect(Result.isSuccess(held), `${where} ${Result.isFailure(held) ? JSON.stringify(held.failure) : ""}`).toBe(
        isCovered,
      )
      if (Result.isSuccess(held)) {
        const date = dateIn(zone, atMs)
        const of = { period: periodNamed(period, date, atMs), dayNumber: Date.parse(date) / dayMs, zone, amount }
        used.push(of)
        running.push({ hold: held.success, of, untilMs: atMs + Math.floor(random() * 3 * hourMs) })
        served++
      } else {
        refused++
        // The end is the first second of another date.
        const { resetAt } = stateOf(covering(), useOf(covering(), yield* node.ledger.used("o", [counter])))
        if (period !== "total") {
          const endsMs = Date.parse(resetAt ?? "")
          expect(endsMs).toBe(now.endMs)
          const named = (ms: number) => periodNamed(period, dateIn(zone, ms), ms)
          expect([named(endsMs - 1), named(endsMs) === named(atMs)]).toEqual([named(atMs), false])
        }
      }
    }
    yield* Scope.close(node.scope, Exit.void)
    return { served, refused }
  })

describe("a year of a budget", () => {
  const periods = ["hour", "day", "week", "month", "quarter", "year", "total", { days: 7 }, { days: 30 }] as const
  it.effect.each(periods.map((period) => ({ period })))(
    "of each $period",
    ({ period }) =>
      Effect.gen(function* () {
        for (let seed = 1; seed <= 3; seed++) {
          const { served, refused } = yield* runYear(seed, period)
          expect(served).toBeGreaterThan(10)
          expect(refused).toBeGreaterThan(0)
        }
      }),
    { timeout: 60_000 },
  )
})
