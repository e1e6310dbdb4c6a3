/** Days and hours in UTC+8, for daily quotas and plans. Source: interface.md "Limits". */
import type { BudgetPeriod } from "./catalogue.ts"

const dayMs = 86_400_000
const offsetMs = 8 * 3_600_000

let lastNumber = Number.NaN
let lastDay = ""

/** e.g. `2026-11-21`. The last one is remembered: nearly all calls ask for today. */
export const dayOf = (atMs: number): string => {
  const number = Math.floor((atMs + offsetMs) / dayMs)
  if (number !== lastNumber) {
    lastDay = new Date(atMs + offsetMs).toISOString().slice(0, 10)
    lastNumber = number
  }
  return lastDay
}

/** The first instant of a day, e.g. of `2026-11-21`. */
export const startOfDay = (day: string): string => `${day}T00:00:00+08:00`

export interface PeriodSpan {
  /** The first day, e.g. `2026-11-01`. */
  readonly start: string
  readonly endMs: number
}

const spans: Record<BudgetPeriod, { number: number; span: PeriodSpan }> = {
  day: { number: Number.NaN, span: { start: "", endMs: 0 } },
  week: { number: Number.NaN, span: { start: "", endMs: 0 } },
  month: { number: Number.NaN, span: { start: "", endMs: 0 } },
}

/** The period that a time is in. The last one is remembered. */
export const periodOf = (period: BudgetPeriod, atMs: number): PeriodSpan => {
  const number = Math.floor((atMs + offsetMs) / dayMs)
  const known = spans[period]
  if (known.number !== number) spans[period] = { number, span: spanOf(period, number) }
  return spans[period].span
}

const spanOf = (period: BudgetPeriod, number: number): PeriodSpan => {
  const date = new Date(number * dayMs)
  // The first day of 1970 was a Thursday.
  const first = { day: number, week: number - ((number + 3) % 7), month: number - date.getUTCDate() + 1 }[period]
  const next = {
    day: number + 1,
    week: first + 7,
    month: Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1) / dayMs,
  }[period]
  return { start: new Date(first * dayMs).toISOString().slice(0, 10), endMs: next * dayMs - offsetMs }
}

/** 0 to 23. */
export const hourOf = (atMs: number): number => new Date(atMs + offsetMs).getUTCHours()

/** A day, some days before or after another. */
export const addDays = (day: string, days: number): string =>
  new Date(Date.parse(`${day}T00:00:00Z`) + days * dayMs).toISOString().slice(0, 10)
