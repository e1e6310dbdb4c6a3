/** When periods begin and end, by the days of UTC+8. */
import { describe, expect, it } from "vitest"
import { periodOf, periodOfDay } from "../../../src/money/periods.ts"

const shown = ({ firstDay, startMs, endMs }: ReturnType<typeof periodOf>) => [
  firstDay,
  new Date(startMs).toISOString(),
  new Date(endMs).toISOString(),
]

describe("periodOf", () => {
  it.each([
    ["day", "2026-11-22T15:59:59.999Z", "2026-11-22", "2026-11-21T16:00:00.000Z", "2026-11-22T16:00:00.000Z"],
    ["day", "2026-11-22T16:00:00.000Z", "2026-11-23", "2026-11-22T16:00:00.000Z", "2026-11-23T16:00:00.000Z"],
    ["day", "2026-12-31T16:00:00.000Z", "2027-01-01", "2026-12-31T16:00:00.000Z", "2027-01-01T16:00:00.000Z"],
    // 22 November 2026 is a Sunday.
    ["week", "2026-11-22T15:59:59.999Z", "2026-11-16", "2026-11-15T16:00:00.000Z", "2026-11-22T16:00:00.000Z"],
    ["week", "2026-11-22T16:00:00.000Z", "2026-11-23", "2026-11-22T16:00:00.000Z", "2026-11-29T16:00:00.000Z"],
    ["week", "2026-12-31T20:00:00.000Z", "2026-12-28", "2026-12-27T16:00:00.000Z", "2027-01-03T16:00:00.000Z"],
    ["week", "1970-01-01T00:00:00.000Z", "1969-12-29", "1969-12-28T16:00:00.000Z", "1970-01-04T16:00:00.000Z"],
    ["month", "2026-12-31T15:59:59.999Z", "2026-12-01", "2026-11-30T16:00:00.000Z", "2026-12-31T16:00:00.000Z"],
    ["month", "2026-12-31T16:00:00.000Z", "2027-01-01", "2026-12-31T16:00:00.000Z", "2027-01-31T16:00:00.000Z"],
    ["month", "2028-02-29T12:00:00.000Z", "2028-02-01", "2028-01-31T16:00:00.000Z", "2028-02-29T16:00:00.000Z"],
    ["month", "2027-02-28T15:59:59.999Z", "2027-02-01", "2027-01-31T16:00:00.000Z", "2027-02-28T16:00:00.000Z"],
  ] as const)("%s of %s begins on %s, at %s, and ends at %s", (kind, at, ...expected) => {
    expect(shown(periodOf(kind, Date.parse(at)))).toEqual(expected)
  })

  it.each(["day", "week", "month"] as const)("of every %s, the next one begins where it ends", (kind) => {
    let period = periodOf(kind, Date.parse("2023-12-15T00:00:00Z"))
    for (let count = 0; count < 1500; count++) {
      expect(periodOf(kind, period.startMs)).toEqual(period)
      expect(periodOf(kind, period.endMs - 1)).toEqual(period)
      const next = periodOf(kind, period.endMs)
      expect(next.startMs).toBe(period.endMs)
      expect(next.firstDay > period.firstDay).toBe(true)
      period = next
    }
  })
})

it("a day by its name is the period of each of its times", () => {
  expect(periodOfDay("2026-11-21")).toEqual(periodOf("day", Date.parse("2026-11-21T15:59:59.999Z")))
  expect(periodOfDay("2026-11-22")).toEqual(periodOf("day", Date.parse("2026-11-21T16:00:00Z")))
})
