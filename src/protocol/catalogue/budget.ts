/** Budgets that the platform sets. */
import { Schema } from "effect"
import { NonNegative, TokenCount } from "../values/bounds.ts"
import { Instant, parseInstant } from "../values/instant.ts"
import { TagScope } from "../values/tags.ts"
import { storedName } from "../values/text.ts"
import { WarnAt } from "./plan.ts"
import { Id } from "./values.ts"

export const SubjectScope = Schema.Literals(["org", "team", "person", "app", "key", "endUser"])
export type SubjectScope = typeof SubjectScope.Type

/** A kind of subject, or a tag of calls such as `tag:feature`, whose values are the subjects. */
export const BudgetScope = Schema.Union([SubjectScope, TagScope])
export type BudgetScope = typeof BudgetScope.Type

/** Tokens, or money of the organisation's currency, counted in full. */
export const BudgetUnit = Schema.Literals(["money", "tokens"])
export type BudgetUnit = typeof BudgetUnit.Type

/**
 * In the organisation's zone; weeks begin on Monday, months, quarters and years on the first, unless `startsOn` says otherwise. `total` has
 * no end. `{days: n}` counts today and the days before it.
 */
export const BudgetPeriod = Schema.Union([
  Schema.Literals(["hour", "day", "week", "month", "quarter", "year", "total"]),
  Schema.Struct({ days: Schema.Int.check(Schema.isBetween({ minimum: 2, maximum: 92 })) }),
])
export type BudgetPeriod = typeof BudgetPeriod.Type

/** A period as people read it: `month`, `30 days`. */
export const periodText = (period: BudgetPeriod): string =>
  typeof period === "string" ? period : `${period.days} days`

export const Weekday = Schema.Literals(["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"])
export type Weekday = typeof Weekday.Type

const DayOfMonth = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 31 }))

export const periodFields = {
  /** The period after which the budget begins again. */
  period: BudgetPeriod,
  /** The weekday on which a week begins, or the day of the month on which a month, quarter or year does; a shorter month has its last. */
  startsOn: Schema.optionalKey(Schema.Union([Weekday, DayOfMonth])),
  /** The instant from which on it holds. */
  from: Schema.optionalKey(Instant),
  /** The instant at which it ends. */
  to: Schema.optionalKey(Instant),
}
const PeriodTermsStruct = Schema.Struct(periodFields)
export type PeriodTerms = typeof PeriodTermsStruct.Type

/** A problem of a period: a day on which it cannot begin, or an end before its beginning. */
const periodProblem = ({ period, startsOn, from, to }: PeriodTerms) => {
  if (typeof startsOn === "string" && period !== "week")
    return { path: ["startsOn"], issue: "only a week begins on a weekday" }
  const isOfMonths = period === "month" || period === "quarter" || period === "year"
  if (typeof startsOn === "number" && !isOfMonths) {
    return { path: ["startsOn"], issue: "only a month, a quarter or a year begins on a day of the month" }
  }
  const isInOrder = from === undefined || to === undefined || (parseInstant(from) ?? 0) < (parseInstant(to) ?? 0)
  return isInOrder ? undefined : { path: ["to"], issue: "is not after from" }
}

/** Without colons: it is a part of its counters' names. */
export const BudgetId = Id.check(Schema.isPattern(/^[^:]+$/, { expected: "an id without colons" }))

const termFields = {
  /** The kind of subject. */
  scope: BudgetScope,
  /** The id of the subject; each of the kind has the budget if absent. */
  subject: Schema.optionalKey(storedName(128)),
  /** Money of the organisation's currency, or tokens. */
  unit: BudgetUnit,
  ...periodFields,
  /** A decimal string; tokens may be a number. */
  limit: Schema.Union([NonNegative, TokenCount]),
  /** `shadow` refuses nothing, and counts the calls that it would refuse; `enforce` if absent. */
  mode: Schema.optionalKey(Schema.Literals(["enforce", "shadow"])),
  /** Shares of the limit at which the organisation is warned, e.g. `[0.8]`. */
  warnAt: Schema.optionalKey(WarnAt),
}

/** The amount that a subject may spend in a period; without a subject, the budget holds for each subject of its scope. */
export const BudgetTerms = Schema.Struct(termFields)
  .check(Schema.makeFilter(periodProblem))
  .annotate({ identifier: "BudgetTerms" })
export type BudgetTerms = typeof BudgetTerms.Type

export const Budget = Schema.Struct({ id: BudgetId, ...termFields })
  .check(Schema.makeFilter(periodProblem))
  .annotate({ identifier: "Budget" })
export type Budget = typeof Budget.Type
