/** The remaining amounts of the budgets that cover a caller. */
import { Schema } from "effect"
import { BudgetPeriod, BudgetScope, BudgetUnit } from "../catalogue/budget.ts"
import { Decimal } from "../usage.ts"

/** A decimal string for money, in the organisation's currency; a number for tokens. */
const BudgetAmount = Schema.Union([Decimal, Schema.Int])

export const BudgetState = Schema.Struct({
  id: Schema.String,
  /** The owner of the budget: the platform, the organisation for itself, or its plan (daily tokens). */
  source: Schema.Literals(["platform", "organisation", "plan"]),
  scope: BudgetScope,
  subject: Schema.String,
  unit: BudgetUnit,
  period: BudgetPeriod,
  mode: Schema.Literals(["enforce", "shadow"]),
  limit: BudgetAmount,
  /** Settled so far; running exchanges are not part of it. */
  used: BudgetAmount,
  /** The remaining amount, not below 0. */
  left: BudgetAmount,
  resetAt: Schema.String,
}).annotate({ identifier: "BudgetState" })
export type BudgetState = typeof BudgetState.Type

export const Budgets = Schema.Struct({ budgets: Schema.Array(BudgetState) }).annotate({ identifier: "Budgets" })
export type Budgets = typeof Budgets.Type
