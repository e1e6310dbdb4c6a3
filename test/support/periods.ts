/** Periods of UTC+8, for tests. */
import { type Period, Periods } from "../../src/money/periods.ts"
import type { BudgetPeriod } from "../../src/protocol/catalogue/budget.ts"
import { utc8 } from "../../src/protocol/values/utc8.ts"

export const periodOf = (period: BudgetPeriod, atMs: number): Period =>
  new Periods({ period }).at(atMs, utc8) ?? { name: "", startMs: 0, endMs: 0 }

/** The periods whose counters have a name by their first day. */
export const namedPeriods = ["day", "week", "month"] as const
