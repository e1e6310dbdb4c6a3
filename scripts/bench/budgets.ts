/** The time that budgets add to a hold that this node's allotments cover: in this process, without a database. */
import { Context, Effect, Layer } from "effect"
import { wholeAmount } from "../../src/money/amount.ts"
import { type Budget, budgetsOf, indexBudgets, needsOf, type Subjects } from "../../src/money/budgets/budget.ts"
import { Ledger } from "../../src/money/ledger.ts"
import { SubjectScope } from "../../src/protocol/catalogue/budget.ts"
import { dayOf } from "../../src/protocol/values/utc8.ts"
import { layerMemoryLedger, makeLedgerBook } from "../../src/testing/ledger-memory.ts"

const orgId = "org_bench"
const subjects: Subjects = {
  org: [orgId],
  team: [],
  person: [],
  app: ["app_bench"],
  key: ["key_bench"],
  endUser: ["user"],
}

/** Five that cover the caller, and a thousand that cover others. */
const fiveOfMany = indexBudgets([
  ...SubjectScope.literals.flatMap((scope) => subjects[scope].map((subject) => budgetOf(scope, subject))),
  budgetOf("org", orgId, "tokens"),
  ...Array.from({ length: 1000 }, (_, at) => budgetOf("key", `key_${at}`)),
])

function budgetOf(scope: Budget["scope"], subject: string, unit: Budget["unit"] = "money"): Budget {
  return {
    id: `${scope}-${unit}`,
    scope,
    subject,
    unit,
    period: "day",
    limit: wholeAmount(1_000_000),
    isEnforced: true,
    source: "platform",
    thresholds: [],
  }
}

/** Microseconds of a hold and its release, with budgets and without. */
export const holdCosts = async (holds: number, rounds: number) => {
  const layer = layerMemoryLedger(makeLedgerBook({ [orgId]: wholeAmount(1_000_000) }))
  return Effect.runPromise(
    Effect.scoped(
      Effect.gen(function* () {
        const { hold, release } = Context.get(yield* Layer.build(layer), Ledger)
        const most = { money: wholeAmount(1), tokens: wholeAmount(500) }
        const run = (index: typeof fiveOfMany) =>
          Effect.gen(function* () {
            const startedAt = performance.now()
            for (let at = 0; at < holds; at++) {
              const held = yield* hold({
                ref: `ref_${at}`,
                orgId,
                currency: "USD",
                keyId: "key_bench",
                amount: most.money,
                day: dayOf(Date.now()),
                budgets: needsOf(budgetsOf(index, subjects, Date.now()), most),
              })
              yield* release(held)
            }
            return ((performance.now() - startedAt) * 1000) / holds
          })
        const none = indexBudgets([])
        yield* run(none)
        yield* run(fiveOfMany)
        const without: Array<number> = []
        const under: Array<number> = []
        for (let round = 0; round < rounds; round++) {
          without.push(yield* run(none))
          under.push(yield* run(fiveOfMany))
        }
        return { withoutUs: Math.min(...without), underUs: Math.min(...under) }
      }),
    ),
  )
}
