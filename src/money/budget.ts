/**
 * Budgets: what a subject may spend in a period, each a counter of its organisation. Pure. A budget without a subject
 * holds for each subject of its scope.
 */
import type { BudgetState } from "../protocol/budget.ts"
import { type BudgetPeriod, BudgetScope } from "../protocol/catalogue.ts"
import { type ServiceError, serviceError } from "../protocol/error.ts"
import { periodOf } from "../protocol/utc8.ts"
import { type Amount, formatAmount, wholeAmount } from "./amount.ts"
import type { BudgetCounter } from "./settlement.ts"

export interface Budget {
  readonly id: string
  readonly scope: BudgetScope
  /** Absent if the budget holds for each of its scope. */
  readonly subject?: string | undefined
  readonly unit: BudgetCounter["unit"]
  readonly period: BudgetPeriod
  /** In the organisation's currency, or in whole tokens. */
  readonly limit: Amount
  /** Otherwise it only counts what it would refuse. */
  readonly isEnforced: boolean
}

/** Who calls, by scope: budgets of these subjects cover the call. */
export type Subjects = Readonly<Record<BudgetScope, ReadonlyArray<string>>>

/** Budgets by whom they cover: many organisations have budgets, and a call must not look at all of them. */
export interface BudgetIndex {
  /** Those that hold for each of their scope. */
  readonly general: ReadonlyArray<Budget>
  readonly byId: ReadonlyMap<string, Budget>
  /** By scope and subject. */
  readonly bySubject: ReadonlyMap<string, ReadonlyArray<Budget>>
}

export const indexBudgets = (budgets: ReadonlyArray<Budget>): BudgetIndex => {
  const bySubject = new Map<string, Array<Budget>>()
  for (const budget of budgets) {
    if (budget.subject === undefined) continue
    const key = subjectKey(budget.scope, budget.subject)
    const known = bySubject.get(key)
    if (known === undefined) bySubject.set(key, [budget])
    else known.push(budget)
  }
  const byId = new Map(budgets.map((budget) => [budget.id, budget]))
  return { general: budgets.filter(({ subject }) => subject === undefined), byId, bySubject }
}

const subjectKey = (scope: BudgetScope, subject: string): string => `${scope}:${subject}`

/** A budget as it covers one subject, now. */
export interface CoveringBudget extends BudgetCounter {
  readonly budget: Budget
  readonly subject: string
  readonly resetAtMs: number
  /** Whether the caller may know the budget's amounts. */
  readonly isTold: boolean
}

const none: ReadonlyArray<never> = []

const coveringOf = (budget: Budget, subject: string, nowMs: number, isTold: boolean): CoveringBudget => {
  const { id, unit, period } = budget
  const { start, endMs } = periodOf(period, nowMs)
  // With another unit or period it counts anew.
  const counter = `budget:${id}:${unit}/${period}:${subject}:${start}`
  return { counter, unit, budget, subject, resetAtMs: endMs, isTold }
}

/**
 * The budgets of an organisation: those that name it or a subject of it, and those of which one of its subjects has used
 * something in the present period.
 * @param used counters of the organisation that have something
 */
export const budgetsWithin = (
  index: BudgetIndex,
  subjects: Subjects,
  used: Iterable<string>,
  nowMs: number,
): ReadonlyArray<CoveringBudget> => {
  const general = index.general.filter(({ scope }) => scope === "org")
  const known = new Map(budgetsOf({ ...index, general }, subjects, nowMs).map((each) => [each.counter, each]))
  for (const counter of used) {
    const [, id = "", subject = ""] = /^budget:([^:]+):[a-z/]+:(.*):[^:]+$/.exec(counter) ?? []
    const budget = index.byId.get(id)
    if (budget === undefined || known.has(counter)) continue
    const covering = coveringOf(budget, subject, nowMs, true)
    // A counter of an earlier period, or of what the budget named before, is not the present one.
    if (covering.counter === counter && (budget.subject ?? subject) === subject) known.set(counter, covering)
  }
  return [...known.values()]
}

/** The budgets that cover a caller. An end user may know of its own only. */
export const budgetsOf = (
  { general, bySubject }: BudgetIndex,
  subjects: Subjects,
  nowMs: number,
): ReadonlyArray<CoveringBudget> => {
  if (general.length === 0 && bySubject.size === 0) return none
  const isEndUser = subjects.endUser.length > 0
  const covering: Array<CoveringBudget> = []
  const add = (budget: Budget, subject: string) =>
    covering.push(coveringOf(budget, subject, nowMs, !isEndUser || budget.scope === "endUser"))
  for (const budget of general) for (const subject of subjects[budget.scope]) add(budget, subject)
  if (bySubject.size === 0) return covering
  for (const scope of BudgetScope.literals) {
    for (const subject of subjects[scope]) {
      for (const budget of bySubject.get(subjectKey(scope, subject)) ?? none) add(budget, subject)
    }
  }
  return covering
}

/** What a call takes of one budget. */
export interface BudgetNeed extends CoveringBudget {
  readonly amount: Amount
}

/** @param most the most that the call can cost; what is 0 is not counted */
export const needsOf = (
  covering: ReadonlyArray<CoveringBudget>,
  most: Readonly<Record<BudgetCounter["unit"], Amount>>,
): ReadonlyArray<BudgetNeed> =>
  covering.length === 0
    ? none
    : covering.flatMap((budget) => (most[budget.unit] === 0n ? [] : [{ ...budget, amount: most[budget.unit] }]))

/** An amount as it is told: a decimal of money, a number of tokens. */
const shown = (unit: BudgetCounter["unit"], amount: Amount): string | number =>
  unit === "money" ? formatAmount(amount) : Number(amount / wholeAmount(1))

/** What is left of a budget. */
export const stateOf = ({ budget, subject, unit, resetAtMs }: CoveringBudget, used: Amount): BudgetState => {
  const { id, scope, period, limit, isEnforced } = budget
  return {
    id,
    scope,
    subject,
    unit,
    period,
    mode: isEnforced ? "enforce" : "shadow",
    limit: shown(unit, limit),
    used: shown(unit, used),
    left: shown(unit, used < limit ? limit - used : 0n),
    resetAt: new Date(resetAtMs).toISOString(),
  }
}

/** @param available what is left at all nodes; less than was needed */
export const budgetExceeded = (need: BudgetNeed, available: Amount, nowMs: number): ServiceError => {
  const { budget, subject, resetAtMs, isTold, unit } = need
  const { scope, period, limit } = budget
  const amounts = { scope, subject, limit: shown(unit, limit), used: shown(unit, limit - available) }
  const options = {
    detail: { ...(isTold && amounts), unit, period, resetAt: new Date(resetAtMs).toISOString() },
    retryAfterMs: resetAtMs - nowMs,
  }
  return unit === "money"
    ? serviceError("org_ceiling_exceeded", "A budget does not cover this request", options)
    : serviceError("quota_exceeded", "A budget of tokens does not cover this request", options)
}
