/**
 * Budgets: limits of what a subject may spend in a period. Each budget and subject has a counter of the organisation. Pure. A
 * budget without a subject holds for each subject of its scope.
 */

import { Schema } from "effect"
import { type BudgetPeriod, type BudgetScope, type BudgetTerms, SubjectScope } from "../../protocol/catalogue/budget.ts"
import type { Plan } from "../../protocol/catalogue/plan.ts"
import type { BudgetState } from "../../protocol/control/budget.ts"
import { type ServiceError, serviceError } from "../../protocol/error.ts"
import type { WarnEvent } from "../../protocol/event.ts"
import { isWithinMoney, mostTokens } from "../../protocol/values/bounds.ts"
import { isTagScope, type Tags, tagIn, tagOf } from "../../protocol/values/tags.ts"
import { utc8 } from "../../protocol/values/utc8.ts"

import { type Amount, formatAmount, parseAmount, wholeAmount } from "../amount.ts"
import { tokensOf } from "../counters.ts"
import { type BudgetUse, noUse } from "../ledger-store.ts"
import { endsAt, type Period, Periods } from "../periods.ts"
import type { BudgetCounter } from "../settlement.ts"

/** The owner of a budget: the catalogue, an organisation for itself, or the organisation's plan. */
export type BudgetSource = BudgetState["source"]

export interface Budget {
  readonly id: string
  /**
   * The name in counters, if it is not the id: `~ID` for a budget of the organisation's own, `^ID` for one that the platform
   * set for this organisation.
   */
  readonly name?: string | undefined
  readonly source: BudgetSource
  readonly scope: BudgetScope
  /** Absent if the budget holds for each subject of its scope. */
  readonly subject?: string | undefined
  readonly unit: BudgetCounter["unit"]
  readonly period: BudgetPeriod
  readonly startsOn?: BudgetTerms["startsOn"] | undefined
  readonly from?: string | undefined
  readonly to?: string | undefined
  /** The limit, in the organisation's currency or in whole tokens. */
  readonly limit: Amount
  /** Whether calls are refused; if not, the budget only counts the calls that it would refuse. */
  readonly isEnforced: boolean
  /** The thresholds of warnings, the lowest first. */
  readonly thresholds: ReadonlyArray<Threshold>
}

export interface Threshold {
  readonly percent: number
  readonly amount: Amount
}

/** @param terms with a limit that is an amount of its unit, see {@link isAmountOf} @param name in counters */
export const readBudget = (
  id: string,
  { limit: text, mode, warnAt, ...terms }: BudgetTerms,
  source: BudgetSource,
  name?: string,
): Budget => {
  const limit = parseAmount(String(text)) ?? 0n
  return { ...terms, id, name, source, limit, isEnforced: mode !== "shadow", thresholds: thresholdsOf(limit, warnAt) }
}

const thresholdsOf = (limit: Amount, shares: ReadonlyArray<number> = []): ReadonlyArray<Threshold> =>
  shares
    .map((share) => Math.round(share * 100))
    .sort((a, b) => a - b)
    .map((percent) => ({ percent, amount: (limit * BigInt(percent)) / 100n }))

/** Whether a text is an amount of money, or of tokens. */
export const isAmountOf = (unit: BudgetCounter["unit"], text: string): boolean =>
  unit === "tokens"
    ? /^\d{1,16}$/.test(text) && Number(text) <= mostTokens
    : parseAmount(text) !== undefined && isWithinMoney(text)

/** A budget as a metric names it: organisations may have any number of their own. */
export const labelOf = ({ id, name }: Budget): string => (name === undefined ? id : "organisation")

/** The limit that the platform enforces for the same subject, unit and period; undefined if there is none. */
export const tightestLimit = (
  { general, bySubject }: BudgetIndex,
  { scope, subject, unit, period }: Pick<BudgetTerms, "scope" | "subject" | "unit" | "period">,
): Amount | undefined => {
  const named = subject === undefined ? undefined : bySubject.get(subjectKey(scope, subject))
  let tightest: Amount | undefined
  for (const budget of [...general, ...(named ?? [])]) {
    const isSame =
      budget.source === "platform" &&
      budget.scope === scope &&
      budget.unit === unit &&
      periodName(budget.period) === periodName(period)
    if (isSame && budget.isEnforced && (tightest === undefined || budget.limit < tightest)) tightest = budget.limit
  }
  return tightest
}

/** The caller by scope: budgets of these subjects cover the call. */
export type Subjects = Readonly<Record<SubjectScope, ReadonlyArray<string>>> & {
  /** The tags of the call, by their names. */
  readonly tags?: Tags | undefined
}

/** The subjects of a scope: those of a kind, or the value of a tag. */
const subjectsIn = (subjects: Subjects, scope: BudgetScope): ReadonlyArray<string> => {
  if (isSubjectScope(scope)) return subjects[scope]
  const value = isTagScope(scope) && subjects.tags ? tagOf(subjects.tags, tagIn(scope)) : undefined
  return value === undefined ? none : [value]
}

const isSubjectScope = Schema.is(SubjectScope)

/** Budgets by the subject that they cover: many organisations have budgets, and a call must not look at all of them. */
export interface BudgetIndex {
  /** The budgets that hold for each subject of their scope. */
  readonly general: ReadonlyArray<Budget>
  /** The budgets by their names in counters. */
  readonly byName: ReadonlyMap<string, Budget>
  /** The budgets by scope and subject. */
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
  const byName = new Map(budgets.map((budget) => [budget.name ?? budget.id, budget]))
  return { general: budgets.filter(({ subject }) => subject === undefined), byName, bySubject }
}

const subjectKey = (scope: BudgetScope, subject: string): string => `${scope}:${subject}`

/** A budget as it covers one subject, now. */
export interface CoveringBudget extends BudgetCounter {
  readonly budget: Budget
  readonly subject: string
  readonly period: Period
  /** Counters of the days before that count as well. */
  readonly beside?: ReadonlyArray<string> | undefined
  /** Whether the caller may know the budget's amounts. */
  readonly isTold: boolean
}

const none: ReadonlyArray<never> = []

/** The periods of budgets, made once: every call is held against some. */
const periodsOfBudgets = new WeakMap<Budget, Periods>()

const periodsOf = (budget: Budget): Periods => {
  const known = periodsOfBudgets.get(budget)
  if (known !== undefined) return known
  const periods = new Periods(budget)
  periodsOfBudgets.set(budget, periods)
  return periods
}

/** Undefined before a budget begins and after it has ended. */
const coveringOf = (
  budget: Budget,
  subject: string,
  nowMs: number,
  zone: string,
  isTold: boolean,
): CoveringBudget | undefined => {
  // Every call counts into the day's tokens, for every plan.
  const isOfPlan = budget.source === "plan"
  const period = periodsOf(budget).at(nowMs, isOfPlan ? utc8 : zone)
  if (period === undefined) return undefined
  const { counter } = isOfPlan ? tokensOf(period.name) : { counter: counterOf(budget, subject, period.name) }
  const beside = period.before?.map((name) => counterOf(budget, subject, name))
  return { counter, period, unit: budget.unit, budget, subject, isTold, ...(beside !== undefined && { beside }) }
}

/** A budget as it covers one subject now; undefined before it begins and after it has ended. */
export const coveringBudget = (
  budget: Budget,
  subject: string,
  nowMs: number,
  zone: string = utc8,
): CoveringBudget | undefined => coveringOf(budget, subject, nowMs, zone, true)

/** A period in names of counters: a word, or the number of days. */
const periodName = (period: BudgetPeriod): string => (typeof period === "string" ? period : `days${period.days}`)

/** The name of a budget's counter. With another unit or period the budget starts a new counter. */
const counterOf = ({ id, name = id, unit, period }: Budget, subject: string, of: string): string =>
  `budget:${name}:${unit}/${periodName(period)}:${subject}:${of}`

/** The budget's name and the subject in the name of a counter, see {@link counterOf}; empty if the counter is not of a budget. */
const readCounter = (counter: string): readonly [name: string, subject: string] => {
  const [, name = "", subject = ""] = /^budget:([^:]+):[a-z0-9/]+:(.*):[^:]+$/.exec(counter) ?? []
  return [name, subject]
}

/**
 * The budgets of an organisation: those that name it or a subject of it, and those of which one of its subjects has used
 * something in the present period.
 * @param used counters of the organisation that are above zero
 */
export const budgetsWithin = (
  index: BudgetIndex,
  subjects: Subjects,
  used: Iterable<string>,
  nowMs: number,
  zone: string = utc8,
): ReadonlyArray<CoveringBudget> => {
  const general = index.general.filter(({ scope }) => scope === "org")
  const known = new Map(budgetsOf({ ...index, general }, subjects, nowMs, zone).map((each) => [each.counter, each]))
  for (const counter of used) {
    const [name, subject] = readCounter(counter)
    const budget = index.byName.get(name)
    if (budget === undefined || known.has(counter)) continue
    const covering = coveringOf(budget, subject, nowMs, zone, true)
    // A counter of an earlier period, or of an earlier unit of the budget, is not the present one.
    if (covering === undefined || !(covering.counter === counter || covering.beside?.includes(counter))) continue
    if ((budget.subject ?? subject) === subject) known.set(covering.counter, covering)
  }
  return [...known.values()]
}

/** The budgets that cover a caller. An end user may know of its own only. */
export const budgetsOf = (
  { general, bySubject }: BudgetIndex,
  subjects: Subjects,
  nowMs: number,
  zone: string = utc8,
): ReadonlyArray<CoveringBudget> => {
  if (general.length === 0 && bySubject.size === 0) return none
  const isEndUser = subjects.endUser.length > 0
  const covering: Array<CoveringBudget> = []
  const add = (budget: Budget, subject: string) => {
    const each = coveringOf(budget, subject, nowMs, zone, !isEndUser || budget.scope === "endUser")
    if (each !== undefined) covering.push(each)
  }
  for (const budget of general) for (const subject of subjectsIn(subjects, budget.scope)) add(budget, subject)
  if (bySubject.size === 0) return covering
  for (const [name, value] of Object.entries(subjects.tags ?? {})) {
    for (const budget of bySubject.get(subjectKey(`tag:${name}`, value)) ?? none) add(budget, value)
  }
  for (const scope of SubjectScope.literals) {
    for (const subject of subjects[scope]) {
      for (const budget of bySubject.get(subjectKey(scope, subject)) ?? none) add(budget, subject)
    }
  }
  return covering
}

/** Budgets of plans, made once: every call is held against one. */
const dailyBudgets = new WeakMap<Plan, Budget>()

const dailyBudgetOf = (plan: Plan, dailyTokens: number): Budget => {
  const known = dailyBudgets.get(plan)
  if (known !== undefined) return known
  const { id, warnAt } = plan
  const terms = { scope: "org", unit: "tokens", period: "day", limit: dailyTokens } as const
  const budget = readBudget(`plan:${id}`, warnAt === undefined ? terms : { ...terms, warnAt }, "plan")
  dailyBudgets.set(plan, budget)
  return budget
}

/** The daily tokens of a plan, as a budget of the organisation; undefined if they are not limited. */
export const planBudget = (plan: Plan, orgId: string, nowMs: number, isTold: boolean): CoveringBudget | undefined =>
  plan.dailyTokens === undefined
    ? undefined
    : coveringOf(dailyBudgetOf(plan, plan.dailyTokens), orgId, nowMs, utc8, isTold)

/** The amount that a call takes of one budget. */
export interface BudgetNeed extends CoveringBudget {
  readonly amount: Amount
}

/** @param most the highest cost of the call; units of which it is 0 are not counted */
export const needsOf = (
  covering: ReadonlyArray<CoveringBudget>,
  most: Readonly<Record<BudgetCounter["unit"], Amount>>,
): ReadonlyArray<BudgetNeed> =>
  covering.length === 0
    ? none
    : covering.flatMap((budget) => (most[budget.unit] === 0n ? [] : [{ ...budget, amount: most[budget.unit] }]))

/** An amount as it is sent: a decimal of money, a number of tokens. */
const shown = (unit: BudgetCounter["unit"], amount: Amount): string | number =>
  unit === "money" ? formatAmount(amount) : Number(amount / wholeAmount(1))

/** The terms of a budget, as those who may change it see them. */
export const termsOf = ({
  subject,
  thresholds,
  startsOn,
  from,
  to,
}: Budget): Pick<BudgetState, "isGeneral" | "warnAt" | "startsOn" | "from" | "to"> => ({
  isGeneral: subject === undefined,
  ...(startsOn !== undefined && { startsOn }),
  ...(from !== undefined && { from }),
  ...(to !== undefined && { to }),
  ...(thresholds.length > 0 && { warnAt: thresholds.map(({ percent }) => percent / 100) }),
})

/** The budgets that hold for each subject of their scope, and of which nobody has used anything. */
export const unusedOf = (
  { general }: BudgetIndex,
  listed: ReadonlyArray<CoveringBudget>,
  nowMs: number,
  zone: string = utc8,
): ReadonlyArray<BudgetState> => {
  const used = new Set(listed.map(({ budget }) => budget))
  return general.flatMap((budget) => {
    const covering = used.has(budget) ? undefined : coveringOf(budget, "", nowMs, zone, true)
    if (covering === undefined) return []
    const { subject: _, ...state } = stateOf(covering, noUse)
    return [{ ...state, ...termsOf(budget) }]
  })
}

/** The use of a budget: of its own counter, and of those of the days before. */
export const useOf = ({ counter, beside = [] }: CoveringBudget, uses: ReadonlyMap<string, BudgetUse>): BudgetUse => {
  const own = uses.get(counter) ?? noUse
  return { ...own, used: beside.reduce((sum, each) => sum + (uses.get(each)?.used ?? 0n), own.used) }
}

interface SubjectState extends BudgetState {
  readonly subject: string
}

/** The remaining amount of a budget. */
export const stateOf = (
  { budget, subject, unit, period: of }: CoveringBudget,
  { used, raised }: BudgetUse,
): SubjectState => {
  const { id, source, scope, period, isEnforced } = budget
  const { limit } = budget
  const endMs = endsAt(of)
  return {
    id,
    source,
    scope,
    subject,
    unit,
    period,
    mode: isEnforced ? "enforce" : "shadow",
    limit: shown(unit, limit),
    used: shown(unit, used),
    ...(raised !== 0n && { raised: shown(unit, raised) }),
    left: shown(unit, used < limit + raised ? limit + raised - used : 0n),
    ...(endMs !== undefined && { resetAt: new Date(endMs).toISOString() }),
  }
}

/** A budget that has reached a threshold. */
export interface NearBudget {
  readonly covering: CoveringBudget
  readonly percent: number
}

/** The warning for a caller that may see the budget. */
export const nearWarning = ({ covering, percent }: NearBudget): WarnEvent => {
  const { id, scope, unit, period } = covering.budget
  const endMs = endsAt(covering.period)
  const resetAt = endMs === undefined ? undefined : new Date(endMs).toISOString()
  const resets = resetAt === undefined ? "it does not reset" : `it resets at ${resetAt}`
  return {
    code: "budget_near",
    message: `${percent} % of the budget ${id} are used; ${resets}`,
    detail: {
      budget: id,
      scope,
      subject: covering.subject,
      unit,
      period,
      percent,
      ...(resetAt !== undefined && { resetAt }),
    },
  }
}

/** Warnings as `x-svc-warning` names them; undefined if there are none. */
export const nearNotice = (near: ReadonlyArray<NearBudget>): string | undefined =>
  near.length === 0
    ? undefined
    : `budget_near=${near.map(({ covering }) => encodeURIComponent(covering.budget.id)).join(",")}`

/** @param available the remaining amount at all nodes, which is less than was needed */
export const budgetExceeded = (
  need: BudgetNeed,
  { available, raised }: { readonly available: Amount; readonly raised: Amount },
  nowMs: number,
): ServiceError => {
  const { budget, subject, isTold, unit } = need
  const endMs = endsAt(need.period)
  const { scope, period } = budget
  const { limit } = budget
  const amounts = {
    scope,
    subject,
    limit: shown(unit, limit),
    used: shown(unit, limit + raised - available),
    ...(raised !== 0n && { raised: shown(unit, raised) }),
  }
  const options = {
    detail: {
      ...(isTold && amounts),
      unit,
      period,
      ...(endMs !== undefined && { resetAt: new Date(endMs).toISOString() }),
    },
    ...(endMs === undefined ? { retry: "never" as const } : { retryAfterMs: endMs - nowMs }),
  }
  return unit === "money"
    ? serviceError("org_ceiling_exceeded", "A budget does not cover this request", options)
    : serviceError("quota_exceeded", "A budget of tokens does not cover this request", options)
}
