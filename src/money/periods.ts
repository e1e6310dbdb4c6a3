/** Periods in which amounts are counted: when each begins and ends, by the days of UTC+8. */
import type { BudgetPeriod } from "../protocol/catalogue/budget.ts"
import { dayMs } from "../protocol/values/instant.ts"
import { dayNumberOf, dayOf, startOfDay, startOfDayNumber } from "../protocol/values/utc8.ts"

export interface Period {
  /** The first day, e.g. `2026-11-01`. */
  readonly firstDay: string
  readonly startMs: number
  /** The first millisecond of the next period. */
  readonly endMs: number
}

/** The numbers of a period's first day and of the next period's, by the number of any day in it. */
type Bounds = (day: number) => readonly [first: number, next: number]

const boundsOf: Readonly<Record<BudgetPeriod, Bounds>> = {
  day: (day) => [day, day + 1],
  week: (day) => {
    // Weeks begin on Monday; day 0 was a Thursday.
    const monday = day - ((day + 3) % 7)
    return [monday, monday + 7]
  },
  month: (day) => {
    const date = new Date(day * dayMs)
    const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()]
    return [Date.UTC(year, month) / dayMs, Date.UTC(year, month + 1) / dayMs]
  },
}

const last = new Map<BudgetPeriod, { readonly day: number; readonly period: Period }>()

/** The period that contains a time. The last one of each kind is remembered: nearly all calls ask for the present one. */
export const periodOf = (kind: BudgetPeriod, atMs: number): Period => {
  const day = dayNumberOf(atMs)
  const known = last.get(kind)
  if (known?.day === day) return known.period
  const [first, next] = boundsOf[kind](day)
  const startMs = startOfDayNumber(first)
  const period = { firstDay: dayOf(startMs), startMs, endMs: startOfDayNumber(next) }
  last.set(kind, { day, period })
  return period
}

/** A day as a period, e.g. `2026-11-21`. */
export const periodOfDay = (day: string): Period => periodOf("day", Date.parse(startOfDay(day)))
