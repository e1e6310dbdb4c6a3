/** Days and hours in UTC+8, for daily quotas and plans. */
import { dayMs } from "./instant.ts"

/** Its name among the zones; the default of organisations. */
export const utc8 = "Etc/GMT-8"

const offsetMs = 8 * 3_600_000

/** The number of a day: 0 is the first of 1970. */
export const dayNumberOf = (atMs: number): number => Math.floor((atMs + offsetMs) / dayMs)

/** The first millisecond of a day, by its number. */
export const startOfDayNumber = (day: number): number => day * dayMs - offsetMs

let lastNumber = Number.NaN
let lastDay = ""

/** The date of an instant, e.g. `2026-11-21`. The last one is remembered: nearly all calls ask for today. */
export const dayOf = (atMs: number): string => {
  const number = dayNumberOf(atMs)
  if (number !== lastNumber) {
    lastDay = new Date(atMs + offsetMs).toISOString().slice(0, 10)
    lastNumber = number
  }
  return lastDay
}

/** The first instant of a day, e.g. of `2026-11-21`. */
export const startOfDay = (day: string): string => `${day}T00:00:00+08:00`

/** The hour, 0 to 23. */
export const hourOf = (atMs: number): number => new Date(atMs + offsetMs).getUTCHours()

/** A day that is some days before or after another. */
export const addDays = (day: string, days: number): string =>
  new Date(Date.parse(`${day}T00:00:00Z`) + days * dayMs).toISOString().slice(0, 10)
