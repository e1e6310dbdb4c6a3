/** The rule of budgets: whom each covers, in which period, and what it refuses or only counts. */
import { expect, it } from "@effect/vitest"
import { Clock, Effect, Metric, Result } from "effect"
import { TestClock } from "effect/testing"
import { describe } from "vitest"
import { wholeAmount } from "../../../../src/money/amount.ts"
import {
  type Budget,
  budgetExceeded,
  budgetsOf,
  budgetsWithin,
  indexBudgets,
  needsOf,
  planBudget,
  readBudget,
  type Subjects,
  stateOf,
  unusedOf,
} from "../../../../src/money/budgets/budget.ts"
import { noUse } from "../../../../src/money/ledger-store.ts"
import { SubjectScope } from "../../../../src/protocol/catalogue/budget.ts"
import { MemoryBooks, makeStore } from "../../../../src/testing/ledger-store-memory.ts"
import { holdOf, ledgerOver, unit as one, record, settlementOf } from "../../../support/books.ts"
import { namedPeriods, periodOf } from "../../../support/periods.ts"

const nowMs = Date.parse("2026-11-26T12:00:00Z")
/** When the periods of that time end. */
const resetAt = {
  day: "2026-11-26T16:00:00.000Z",
  week: "2026-11-29T16:00:00.000Z",
  month: "2026-11-30T16:00:00.000Z",
} as const

const nobody: Subjects = { org: [], team: [], person: [], app: [], key: [], endUser: [] }
const byKey: Subjects = { ...nobody, org: ["o"], app: ["a"], key: ["k"] }
const byPerson: Subjects = { ...nobody, org: ["o"], team: ["t1", "t2"], person: ["p"] }
const byEndUser: Subjects = { ...byKey, endUser: ["ada"] }

/** The caller for whose call a budget of a scope counts, and the subjects that it covers. */
const callers: Readonly<Record<SubjectScope, readonly [Subjects, ReadonlyArray<string>]>> = {
  org: [byKey, ["o"]],
  team: [byPerson, ["t1", "t2"]],
  person: [byPerson, ["p"]],
  app: [byKey, ["a"]],
  key: [byKey, ["k"]],
  endUser: [byEndUser, ["ada"]],
}

/** The limit of each unit, in which two calls fit: one holds 0.00756 and 520 tokens, and takes 0.006 and 1,200 tokens. */
const most = { money: (one * 756n) / 100_000n, tokens: wholeAmount(520) }
const cost = (one * 6n) / 1000n
const usage = {
  ...record,
  counts: { inTokens: 1000, outTokens: 200, cacheReadTokens: 0, cacheWriteTokens: 0, dims: {} },
}
const units = [
  {
    unit: "money",
    limit: "0.014",
    code: "org_ceiling_exceeded",
    used: ["0.012", "0.03"],
    shown: "0.014",
    left: "0.002",
  },
  { unit: "tokens", limit: 2000, code: "quota_exceeded", used: [2400, 6000], shown: 2000, left: 0 },
] as const

const rows = SubjectScope.literals.flatMap((scope) =>
  units.flatMap((unit) =>
    namedPeriods.flatMap((period) =>
      (["named", "each"] as const).flatMap((way) =>
        (["enforce", "shadow"] as const).map((mode) => ({ scope, ...unit, period, way, mode })),
      ),
    ),
  ),
)

/** Five calls, one after the other, of a caller whom a budget covers: what each came to. */
const fiveCalls = (budget: Budget, subjects: Subjects) =>
  Effect.gen(function* () {
    yield* TestClock.setTime(nowMs)
    const books = new MemoryBooks()
    const ledger = yield* ledgerOver(makeStore(books, Clock.currentTimeMillis))
    yield* ledger.topup({ id: "paid", orgId: "o", currency: "USD", amount: 100n * one })
    const covering = budgetsOf(indexBudgets([budget]), subjects, nowMs)
    const outcomes: Array<unknown> = []
    for (let call = 0; call < 5; call++) {
      const held = yield* Effect.result(
        ledger.hold({ ...holdOf("o", most.money), budgets: needsOf(covering, most), day: "2026-11-26" }),
      )
      if (Result.isSuccess(held)) yield* ledger.settle(settlementOf(held.success, cost, usage))
      outcomes.push(Result.isSuccess(held) ? "served" : held.failure)
      // The node returns scarce amounts in the meantime.
      yield* TestClock.adjust(0)
    }
    const counters = covering.map(({ counter }) => counter)
    const used = yield* ledger.used("o", counters)
    return { outcomes, states: covering.map((each) => stateOf(each, used.get(each.counter) ?? noUse)) }
  })

/** The number of times that a decision on a budget was counted. */
const counted = (id: string, decision: string) =>
  Effect.map(Metric.snapshot, (series) => {
    const found = series.find(
      ({ id: name, attributes }) =>
        name === "weir_budgets_total" && attributes?.["budget"] === id && attributes["decision"] === decision,
    )
    return found?.type === "Counter" ? Number(found.state.count) : 0
  })

describe("a budget", () => {
  it.effect.each(rows)(
    "of scope $scope in $unit for a $period ($way, $mode)",
    ({ scope, unit, limit, code, used, shown, left, period, way, mode }) =>
      Effect.gen(function* () {
        const [subjects, covered] = callers[scope]
        const [subject = ""] = covered
        const id = `${scope}-${unit}-${period}-${way}-${mode}`
        const named = way === "named" ? { subject } : {}
        const budget = readBudget(id, { scope, unit, limit, period, mode, ...named }, "platform")
        const { outcomes, states } = yield* fiveCalls(budget, subjects)
        const toldOf = { id, source: "platform", scope, unit, period, mode, limit: shown, resetAt: resetAt[period] }
        const covers = way === "named" ? [subject] : covered
        const [usedByTwo, usedByFive] = used
        if (mode === "shadow") {
          expect(outcomes).toEqual(Array(5).fill("served"))
          expect(states).toEqual(
            covers.map((each) => ({ ...toldOf, subject: each, used: usedByFive, left: unit === "money" ? "0" : 0 })),
          )
          // Two of the five fit; each subject counts by itself.
          expect(yield* counted(id, "would_reject")).toBe(3 * covers.length)
          return
        }
        expect(outcomes.slice(0, 2)).toEqual(["served", "served"])
        for (const refusal of outcomes.slice(2)) {
          expect(refusal).toMatchObject({
            code,
            detail: { scope, subject, unit, period, limit: shown, used: usedByTwo, resetAt: resetAt[period] },
            retryAfterMs: Date.parse(resetAt[period]) - nowMs,
          })
        }
        expect(states).toEqual(covers.map((each) => ({ ...toldOf, subject: each, used: usedByTwo, left })))
        expect(yield* counted(id, "rejected")).toBe(3)
      }).pipe(Effect.scoped),
  )

  it.each(
    SubjectScope.literals.flatMap((scope) =>
      Object.entries({ byKey, byPerson, byEndUser }).map((by) => [scope, ...by] as const),
    ),
  )("of scope %s, called %s: covers the caller's subjects of its scope, and no other", (scope, _name, subjects) => {
    const terms = { scope, unit: "money", period: "day", limit: "1" } as const
    const own = subjects[scope]
    const each = budgetsOf(indexBudgets([readBudget("each", terms, "platform")]), subjects, nowMs)
    expect(each.map(({ subject }) => subject)).toEqual(own)
    // An end user may know of its own budgets only.
    for (const { isTold } of each) expect(isTold).toBe(subjects.endUser.length === 0 || scope === "endUser")
    for (const subject of ["somebody else", ...own]) {
      const named = indexBudgets([readBudget("named", { ...terms, subject }, "platform")])
      const covering = budgetsOf(named, subjects, nowMs)
      expect(covering.map((one) => one.subject)).toEqual(own.filter((id) => id === subject))
    }
  })

  it("hides its amounts in a refusal from a caller that may not know them", () => {
    const budget = readBudget("b", { scope: "org", unit: "money", period: "day", limit: "1" }, "platform")
    const [need] = needsOf(budgetsOf(indexBudgets([budget]), byEndUser, nowMs), most)
    if (need === undefined) throw new Error("the budget covers the call")
    const { detail } = budgetExceeded(need, { available: 0n, raised: 0n }, nowMs)
    expect(detail).toEqual({ unit: "money", period: "day", resetAt: resetAt.day })
  })

  it("counts anew with another unit, period or source, and in each period", () => {
    const terms = { scope: "key", unit: "money", period: "day", limit: "1" } as const
    const counterOf = (budget: Budget, atMs = nowMs) => budgetsOf(indexBudgets([budget]), byKey, atMs)[0]?.counter
    const counters = [
      counterOf(readBudget("b", terms, "platform")),
      counterOf(readBudget("b", { ...terms, unit: "tokens" }, "platform")),
      counterOf(readBudget("b", { ...terms, period: "month" }, "platform")),
      counterOf(readBudget("b", terms, "organisation", "~b")),
      counterOf(readBudget("b", terms, "platform"), Date.parse(resetAt.day)),
    ]
    expect(new Set(counters).size).toBe(counters.length)
    const raised = counterOf(readBudget("b", { ...terms, limit: "2", mode: "shadow", warnAt: [0.5] }, "platform"))
    expect(raised).toBe(counters[0])
  })
})

describe("the budgets of an organisation", () => {
  const terms = { unit: "money", limit: "1", period: "day" } as const
  const index = indexBudgets([
    readBudget("all", { ...terms, scope: "org" }, "platform"),
    readBudget("users", { ...terms, scope: "endUser" }, "platform"),
    readBudget("named", { ...terms, scope: "endUser", subject: "ada" }, "platform"),
  ])
  const counterOf = (name: string, subject: string, day = "2026-11-26") => `budget:${name}:money/day:${subject}:${day}`
  const within = (...used: ReadonlyArray<string>) =>
    budgetsWithin(index, { ...nobody, org: ["o"] }, used, nowMs).map(({ budget, subject }) => [budget.id, subject])

  it("are those that name it, and those of which a subject has used something", () => {
    expect(within()).toEqual([["all", "o"]])
    expect(within(counterOf("users", "a:b"), counterOf("named", "ada"))).toEqual([
      ["all", "o"],
      ["users", "a:b"],
      ["named", "ada"],
    ])
  })

  it("are also those that hold for each subject and that nobody has used, without a subject and with their terms", () => {
    const each = readBudget("each", { ...terms, scope: "key", warnAt: [0.8] }, "organisation")
    const unused = unusedOf(indexBudgets([each]), [], nowMs)
    expect(unused).toMatchObject([{ id: "each", scope: "key", used: "0", limit: "1", isGeneral: true, warnAt: [0.8] }])
    expect(unused[0]).not.toHaveProperty("subject")
    const used = budgetsOf(indexBudgets([each]), { ...nobody, key: ["k"] }, nowMs)
    expect(unusedOf(indexBudgets([each]), used, nowMs)).toEqual([])
  })

  it.each([
    ["of an earlier period", counterOf("users", "ada", "2026-11-25")],
    ["of a subject that the budget does not name any more", counterOf("named", "bob")],
    ["of a budget that there is not", counterOf("gone", "ada")],
    ["of another unit", counterOf("users", "ada").replace("money", "tokens")],
    ["of the day's tokens", "tokens:2026-11-26"],
    ["known already", counterOf("all", "o")],
  ])("are not more for a counter %s", (_what, counter) => {
    expect(within(counter)).toEqual([["all", "o"]])
  })
})

it("the daily tokens of a plan are counted with those of the day", () => {
  const covering = planBudget({ id: "plan", dailyTokens: 10 }, "o", nowMs, true)
  expect(covering).toMatchObject({ counter: "tokens:2026-11-26", subject: "o", period: periodOf("day", nowMs) })
  expect(planBudget({ id: "plan" }, "o", nowMs, true)).toBeUndefined()
})
