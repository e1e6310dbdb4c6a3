/** The remaining amounts of the budgets that cover a caller. */
import { Schema } from "effect"
import { BudgetScope, BudgetUnit, periodFields } from "../catalogue/budget.ts"
import { Decimal } from "../usage.ts"
import { NonNegative, TokenCount } from "../values/bounds.ts"
import { storedName } from "../values/text.ts"

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
  ...periodFields,
  mode: Schema.Literals(["enforce", "shadow"]),
  limit: BudgetAmount,
  /** The amount by which the limit is raised in this period. */
  raised: Schema.optionalKey(BudgetAmount),
  /** Settled so far; running exchanges are not part of it. */
  used: BudgetAmount,
  /** The remaining amount, not below 0. */
  left: BudgetAmount,
  /** Absent if the period does not end. */
  resetAt: Schema.optionalKey(Schema.String),
  /** Whether the budget holds for each subject of its scope. Owners, admins and operators see it. */
  isGeneral: Schema.optionalKey(Schema.Boolean),
  /** The shares of the limit at which owners are warned. Owners, admins and operators see them. */
  warnAt: Schema.optionalKey(Schema.Array(Schema.Finite)),
}).annotate({ identifier: "BudgetState" })
export type BudgetState = typeof BudgetState.Type

/** A reset or a raise in the present period. */
export const BudgetAdjustment = Schema.Struct({
  /** The id of the subject, for a budget that holds for each subject of its scope. */
  subject: Schema.optionalKey(storedName(128)),
  /** Whether the used amount becomes zero. Running calls keep their holds. */
  reset: Schema.optionalKey(Schema.Literal(true)),
  /** The amount by which the limit is raised in all, for this period only; `0` takes it back. */
  raise: Schema.optionalKey(Schema.Union([NonNegative, TokenCount])),
})
  .check(
    Schema.makeFilter(({ reset, raise }: { readonly reset?: true; readonly raise?: string | number }) =>
      reset === undefined && raise === undefined ? { path: ["reset"], issue: "reset or raise is required" } : undefined,
    ),
  )
  .annotate({ identifier: "BudgetAdjustment" })
export type BudgetAdjustment = typeof BudgetAdjustment.Type

export const Budgets = Schema.Struct({ budgets: Schema.Array(BudgetState) }).annotate({ identifier: "Budgets" })
export type Budgets = typeof Budgets.Type
