/** Budgets in shadow: they refuse nothing, and count the calls that they would refuse. */
import type { Budget, BudgetNeed } from "./budget.ts"

interface Holding {
  readonly orgId: string
  readonly budgets?: ReadonlyArray<BudgetNeed>
}

/** The time for which a budget that has nothing left is not asked for. */
const restMs = 1000
/** The maximum number of counters that are remembered: each may belong to an end user who does not come back. */
const maxResting = 10_000

export class ShadowBudgets {
  readonly #wouldReject: (budget: Budget) => void
  /** The time until which a counter counts as used up, by organisation and counter. */
  readonly #restingUntilMs = new Map<string, number>()

  constructor(wouldReject: (budget: Budget) => void) {
    this.#wouldReject = wouldReject
  }

  /** The budgets to hold against; those in shadow that were used up a moment ago are left out, and counted. */
  pass({ orgId, budgets = [] }: Holding, nowMs: number): ReadonlyArray<BudgetNeed> {
    if (this.#restingUntilMs.size === 0) return budgets
    return budgets.filter(({ budget, counter }) => {
      if (budget.isEnforced) return true
      const key = keyOf(orgId, counter)
      const untilMs = this.#restingUntilMs.get(key)
      if (untilMs === undefined) return true
      if (untilMs <= nowMs) {
        this.#restingUntilMs.delete(key)
        return true
      }
      this.#wouldReject(budget)
      return false
    })
  }

  /** A budget had too little. */
  wouldReject(orgId: string, { budget, counter }: BudgetNeed, nowMs: number): void {
    this.#wouldReject(budget)
    if (this.#restingUntilMs.size >= maxResting) this.#restingUntilMs.clear()
    this.#restingUntilMs.set(keyOf(orgId, counter), nowMs + restMs)
  }
}

const keyOf = (orgId: string, counter: string): string => `${orgId} ${counter}`
