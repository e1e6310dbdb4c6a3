/** Dates and instants (ISO 8601) that exist in the calendar, within a range around now. */
import { Schema } from "effect"

const pattern =
  /^(\d{4})-(\d{2})-(\d{2})(?:T([01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d{1,9})?)?(?:Z|[+-](?:0\d|1[0-4]):[0-5]\d))?$/

export const dayMs = 86_400_000

/** The date in UTC, e.g. `2026-11-24`. */
export const dateOf = (atMs: number): string => new Date(atMs).toISOString().slice(0, 10)

/** Milliseconds since the epoch; undefined if the text is not a date or an instant that exists, e.g. `2026-02-30`. */
export const parseInstant = (text: string): number | undefined => {
  const [, year, month, day] = pattern.exec(text) ?? []
  if (year === undefined || month === undefined || day === undefined) return undefined
  const date = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day)))
  const exists = date.getUTCMonth() === Number(month) - 1 && date.getUTCDate() === Number(day)
  const atMs = Date.parse(text)
  return exists && Number(year) > 0 && !Number.isNaN(atMs) ? atMs : undefined
}

const instantWithin = (expected: string, isInRange: (atMs: number, nowMs: number) => boolean) =>
  Schema.makeFilter((text: string) => {
    const atMs = parseInstant(text)
    if (atMs === undefined) return `${expected} that exists is required`
    return isInRange(atMs, Date.now()) ? undefined : `${expected} within range is required`
  })

/** A hundred years ahead: a later expiry is a mistake. */
const farthestMs = 36_525 * dayMs

/**
 * A date (`2026-01-01`, midnight UTC) or an instant (`2026-01-01T00:00:00Z`), from 1970 to a hundred years from now.
 */
export const Instant = Schema.String.check(
  instantWithin("a date or an instant", (atMs, nowMs) => atMs >= 0 && atMs <= nowMs + farthestMs),
)

/** The time of a reported event: an instant at most 400 days ago, and at most a day ahead because clocks differ. */
export const OccurredAt = Schema.String.check(
  Schema.isPattern(/T/, { expected: "an instant such as 2026-01-01T00:00:00Z" }),
  instantWithin("an instant", (atMs, nowMs) => atMs >= nowMs - 400 * dayMs && atMs <= nowMs + dayMs),
)
