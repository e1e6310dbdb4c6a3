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
  /** Absent if the budget holds for each subject of its scope, and none has used anything of it. */
  subject: Schema.optionalKey(Schema.String),
  unit: BudgetUnit,
  period: BudgetPeriod,
  mode: Schema.Literals(["enforce", "shadow"]),
  limit: BudgetAmount,
  /** Settled so far; running exchanges are not part of it. */
  used: BudgetAmount,
  /** The remaining amount, not below 0. */
  left: BudgetAmount,
  resetAt: Schema.String,
  /** Whether the budget holds for each subject of its scope. Owners, admins and operators see it. */
  isGeneral: Schema.optionalKey(Schema.Boolean),
  /** The shares of the limit at which owners are warned. Owners, admins and operators see them. */
  warnAt: Schema.optionalKey(Schema.Array(Schema.Finite)),
}).annotate({ identifier: "BudgetState" })
export type BudgetState = typeof BudgetState.Type

export const Budgets = Schema.Struct({ budgets: Schema.Array(BudgetState) }).annotate({ identifier: "Budgets" })
export type Budgets = typeof Budgets.Type
