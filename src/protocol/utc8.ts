/** Days and hours in UTC+8, for daily quotas and plans. Source: interface.md "Limits". */

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

/** 0 to 23. */
export const hourOf = (atMs: number): number => new Date(atMs + offsetMs).getUTCHours()

/** The start of the following day. */
export const nextDayMs = (atMs: number): number => (Math.floor((atMs + offsetMs) / dayMs) + 1) * dayMs - offsetMs

/** A day, some days before or after another. */
export const addDays = (day: string, days: number): string =>
  new Date(Date.parse(`${day}T00:00:00Z`) + days * dayMs).toISOString().slice(0, 10)
