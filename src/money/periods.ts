/** Periods in which amounts are counted: when each begins and ends, in the zone of its organisation. Pure. */
import { DateTime } from "effect"
import type { BudgetPeriod, PeriodTerms, Weekday } from "../protocol/catalogue/budget.ts"
import { dayMs, parseInstant } from "../protocol/values/instant.ts"
import { dayNumberOf, dayOf, startOfDay, startOfDayNumber, utc8 } from "../protocol/values/utc8.ts"

export interface Period {
  /**
   * Its name in counters: the first day, e.g. `2026-11-01`, for days, weeks and months of UTC+8; otherwise `@` and its first and last
   * second.
   */
  readonly name: string
  readonly startMs: number
  /** The first millisecond after it. */
  readonly endMs: number
  /** Names of the periods before that count as well, for budgets of a number of days. */
  readonly before?: ReadonlyArray<string> | undefined
  /** The time until which it counts, if that is after its end. */
  readonly countsUntilMs?: number | undefined
}

interface Terms extends Pick<PeriodTerms, "period"> {
  readonly startsOn?: PeriodTerms["startsOn"] | undefined
  readonly from?: string | undefined
  readonly to?: string | undefined
}

/** The end of a period that does not end. */
const neverMs = Date.UTC(9999, 0)

/** Whether a period ends. */
export const endsAt = ({ endMs }: Period): number | undefined => (endMs === neverMs ? undefined : endMs)

/** The periods of a budget. The last one of each zone is remembered: nearly all calls ask for the present one. */
export class Periods {
  readonly #terms: Terms
  readonly #fromMs: number
  readonly #toMs: number
  readonly #last = new Map<string, Period>()

  constructor(terms: Terms) {
    this.#terms = terms
    this.#fromMs = (terms.from === undefined ? undefined : parseInstant(terms.from)) ?? Number.NEGATIVE_INFINITY
    this.#toMs = (terms.to === undefined ? undefined : parseInstant(terms.to)) ?? neverMs
  }

  /** The period that contains a time; undefined before the budget's beginning and after its end. */
  at(atMs: number, zone: string): Period | undefined {
    const last = this.#last.get(zone)
    if (last !== undefined && atMs >= last.startMs && atMs < last.endMs) return last
    if (atMs < this.#fromMs || atMs >= this.#toMs) return undefined
    const period = this.#make(atMs, zone)
    this.#last.set(zone, period)
    return period
  }

  #make(atMs: number, zone: string): Period {
    const { period, startsOn, from, to } = this.#terms
    const [startMs, endMs] = boundsOf(period, startsOn, zone, atMs)
    const [first, end] = [Math.max(startMs, this.#fromMs), Math.min(endMs, this.#toMs)]
    const isPlain = startsOn === undefined && from === undefined && to === undefined && zone === utc8
    if (isPlain && isNamedByDay(period)) return { name: dayOf(first), startMs: first, endMs: end }
    if (typeof period === "string") return { name: nameOf(first, end), startMs: first, endMs: end }
    return {
      name: nameOf(first, end),
      startMs: first,
      endMs: end,
      // A day may have an hour more.
      countsUntilMs: end + (period.days - 1) * dayMs + hourMs,
      before: daysBefore(period.days - 1, first, zone, this.#fromMs),
    }
  }
}

/** Periods that had a name before there were others: their counters go on. */
const isNamedByDay = (period: BudgetPeriod): boolean => period === "day" || period === "week" || period === "month"

const nameOf = (startMs: number, endMs: number): string => `@${Math.floor(startMs / 1000)}-${Math.floor(endMs / 1000)}`

const daysBefore = (days: number, startMs: number, zone: string, fromMs: number): ReadonlyArray<string> => {
  const names: Array<string> = []
  let endMs = startMs
  for (let back = 0; back < days && endMs > fromMs; back++) {
    const [first] = boundsOf("day", undefined, zone, endMs - 1)
    names.push(nameOf(Math.max(first, fromMs), endMs))
    endMs = first
  }
  return names
}

/** The beginning of the period that contains a time, and of the next one. */
type Bounds = readonly [startMs: number, endMs: number]

const weekdays: ReadonlyArray<Weekday> = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"]
const hourMs = 3_600_000

const boundsOf = (period: BudgetPeriod, startsOn: PeriodTerms["startsOn"], zone: string, atMs: number): Bounds => {
  if (typeof period !== "string") return boundsOf("day", undefined, zone, atMs)
  if (period === "total") return [0, neverMs]
  // Hours are those of UTC: a zone that is half an hour off has no others of its own.
  if (period === "hour") return [Math.floor(atMs / hourMs) * hourMs, (Math.floor(atMs / hourMs) + 1) * hourMs]
  const { year, month, day, weekDay } = dateIn(zone, atMs)
  if (period === "day") return [startOf(zone, year, month, day), startOf(zone, year, month, day + 1)]
  if (period === "week") {
    const first = weekdays.indexOf(typeof startsOn === "string" ? startsOn : "monday")
    const since = (weekDay - first + 7) % 7
    return [startOf(zone, year, month, day - since), startOf(zone, year, month, day - since + 7)]
  }
  const length = { month: 1, quarter: 3, year: 12 }[period]
  const starts = (of: number) =>
    startOf(zone, year, of, dayOfMonth(year, of, typeof startsOn === "number" ? startsOn : 1))
  const present = Math.floor((month - 1) / length) * length + 1
  // Before the day on which it starts, the period before goes on.
  return atMs < starts(present)
    ? [starts(present - length), starts(present)]
    : [starts(present), starts(present + length)]
}

/** A day of a month, or its last if it is shorter. Months below 1 and above 12 are those of other years. */
const dayOfMonth = (year: number, month: number, day: number): number =>
  Math.min(day, new Date(Date.UTC(year, month, 0)).getUTCDate())

const dateIn = (zone: string, atMs: number) => {
  if (zone === utc8) {
    const date = new Date(dayNumberOf(atMs) * dayMs)
    return {
      year: date.getUTCFullYear(),
      month: date.getUTCMonth() + 1,
      day: date.getUTCDate(),
      weekDay: date.getUTCDay(),
    }
  }
  return DateTime.toParts(DateTime.makeZonedUnsafe(atMs, { timeZone: zone }))
}

/** The first instant of a day: the one after a gap, and the first of two. Days beyond a month are those of the next one. */
const startOf = (zone: string, year: number, month: number, day: number): number => {
  const date = new Date(Date.UTC(year, month - 1, day))
  if (zone === utc8) return startOfDayNumber(date.getTime() / dayMs)
  const parts = { year: date.getUTCFullYear(), month: date.getUTCMonth() + 1, day: date.getUTCDate() }
  return DateTime.makeZonedUnsafe(parts, { timeZone: zone, adjustForTimeZone: true }).epochMilliseconds
}

/** The first instant of a date such as `2026-11-21` in a zone. */
export const startOfDate = (date: string, zone: string): number => {
  const [year = 1970, month = 1, day = 1] = date.split("-").map(Number)
  return startOf(zone, year, month, day)
}

const days = new Periods({ period: "day" })

/** A day of UTC+8 as a period, e.g. `2026-11-21`. */
export const periodOfDay = (day: string): Period =>
  days.at(Date.parse(startOfDay(day)), utc8) ?? { name: day, startMs: 0, endMs: dayMs }
