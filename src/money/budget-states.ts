/** What is left of budgets, by the books. */
import { Effect } from "effect"
import type { Budgets } from "../protocol/budget.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"
import { type CoveringBudget, stateOf } from "./budget.ts"
import type { Ledger } from "./ledger.ts"

export const budgetStates = (
  ledger: Ledger["Service"],
  orgId: string,
  covering: ReadonlyArray<CoveringBudget>,
): Effect.Effect<Budgets, StoreUnavailable> => {
  if (covering.length === 0) return Effect.succeed({ budgets: [] })
  const counters = covering.map(({ counter }) => counter)
  return Effect.map(ledger.used(orgId, counters), (used) => ({
    budgets: covering.map((budget) => stateOf(budget, used.get(budget.counter) ?? 0n)),
  }))
}
