/** Budgets that the platform sets. */
import { Schema } from "effect"
import { NonNegative, TokenCount } from "../values/bounds.ts"
import { storedName } from "../values/text.ts"
import { WarnAt } from "./plan.ts"
import { Id } from "./values.ts"

export const BudgetScope = Schema.Literals(["org", "team", "person", "app", "key", "endUser"])
export type BudgetScope = typeof BudgetScope.Type

/** Tokens, or money of the organisation's currency, counted in full. */
export const BudgetUnit = Schema.Literals(["money", "tokens"])
export type BudgetUnit = typeof BudgetUnit.Type

/** In UTC+8; weeks begin on Monday, months on the first. */
export const BudgetPeriod = Schema.Literals(["day", "week", "month"])
export type BudgetPeriod = typeof BudgetPeriod.Type

/** Without colons: it is a part of its counters' names. */
export const BudgetId = Id.check(Schema.isPattern(/^[^:]+$/, { expected: "an id without colons" }))

/** The amount that a subject may spend in a period; without a subject, the budget holds for each subject of its scope. */
export const BudgetTerms = Schema.Struct({
  /** The kind of subject. */
  scope: BudgetScope,
  /** The id of the subject; each of the kind has the budget if absent. */
  subject: Schema.optionalKey(storedName(128)),
  /** Money of the organisation's currency, or tokens. */
  unit: BudgetUnit,
  /** The period after which the budget begins again. */
  period: BudgetPeriod,
  /** A decimal string; tokens may be a number. */
  limit: Schema.Union([NonNegative, TokenCount]),
  /** `shadow` refuses nothing, and counts the calls that it would refuse; `enforce` if absent. */
  mode: Schema.optionalKey(Schema.Literals(["enforce", "shadow"])),
  /** Shares of the limit at which the organisation is warned, e.g. `[0.8]`. */
  warnAt: Schema.optionalKey(WarnAt),
}).annotate({ identifier: "BudgetTerms" })
export type BudgetTerms = typeof BudgetTerms.Type

export const Budget = Schema.Struct({ id: BudgetId, ...BudgetTerms.fields }).annotate({ identifier: "Budget" })
export type Budget = typeof Budget.Type
