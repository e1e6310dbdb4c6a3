/** When periods begin and end: by the days of UTC+8, and in other zones. */
import { describe, expect, it } from "vitest"
import { endsAt, Periods, periodOfDay } from "../../../src/money/periods.ts"
import { periodOf } from "../../support/periods.ts"

const shown = ({ name, startMs, endMs }: ReturnType<typeof periodOf>) => [
  name,
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
      expect(next.name > period.name).toBe(true)
      period = next
    }
  })
})

it("a day by its name is the period of each of its times", () => {
  expect(periodOfDay("2026-11-21")).toEqual(periodOf("day", Date.parse("2026-11-21T15:59:59.999Z")))
  expect(periodOfDay("2026-11-22")).toEqual(periodOf("day", Date.parse("2026-11-21T16:00:00Z")))
})

const bounds = (terms: ConstructorParameters<typeof Periods>[0], zone: string, at: string) => {
  const period = new Periods(terms).at(Date.parse(at), zone)
  return period && [new Date(period.startMs).toISOString(), new Date(period.endMs).toISOString()]
}

describe("periods in a zone", () => {
  it.each([
    // Daylight saving begins on 29 March 2026 in Zurich: that day has 23 hours, and the last of October 25.
    ["day", "Europe/Zurich", "2026-03-29T12:00:00Z", "2026-03-28T23:00:00.000Z", "2026-03-29T22:00:00.000Z"],
    ["day", "Europe/Zurich", "2026-10-25T12:00:00Z", "2026-10-24T22:00:00.000Z", "2026-10-25T23:00:00.000Z"],
    ["week", "Europe/Zurich", "2026-03-29T12:00:00Z", "2026-03-22T23:00:00.000Z", "2026-03-29T22:00:00.000Z"],
    ["month", "America/New_York", "2026-03-31T23:59:59Z", "2026-03-01T05:00:00.000Z", "2026-04-01T04:00:00.000Z"],
    ["day", "Asia/Kolkata", "2026-11-28T18:29:59Z", "2026-11-27T18:30:00.000Z", "2026-11-28T18:30:00.000Z"],
    ["day", "Asia/Kathmandu", "2026-11-28T18:15:00Z", "2026-11-28T18:15:00.000Z", "2026-11-29T18:15:00.000Z"],
    // Midnight does not exist on 26 April 2026 in Cairo's sense of Beirut: the day begins at 01:00.
    ["day", "Asia/Beirut", "2026-03-29T12:00:00Z", "2026-03-28T22:00:00.000Z", "2026-03-29T21:00:00.000Z"],
    // The clock goes back at 01:00 to midnight, which comes twice: the first begins the day.
    ["day", "America/Havana", "2026-11-01T12:00:00Z", "2026-11-01T04:00:00.000Z", "2026-11-02T05:00:00.000Z"],
    // Lord Howe moves by half an hour.
    ["day", "Australia/Lord_Howe", "2026-10-04T00:00:00Z", "2026-10-03T13:30:00.000Z", "2026-10-04T13:00:00.000Z"],
    ["quarter", "Etc/GMT-8", "2026-11-28T00:00:00Z", "2026-09-30T16:00:00.000Z", "2026-12-31T16:00:00.000Z"],
    ["year", "UTC", "2028-02-29T00:00:00Z", "2028-01-01T00:00:00.000Z", "2029-01-01T00:00:00.000Z"],
    ["hour", "Asia/Kolkata", "2026-11-28T10:59:59Z", "2026-11-28T10:00:00.000Z", "2026-11-28T11:00:00.000Z"],
  ] as const)("a %s in %s at %s is from %s to %s", (period, zone, at, ...expected) => {
    expect(bounds({ period }, zone, at)).toEqual(expected)
  })

  it.each([
    ["week", "sunday", "2026-11-28T12:00:00Z", "2026-11-22T00:00:00.000Z", "2026-11-29T00:00:00.000Z"],
    ["week", "saturday", "2026-11-28T12:00:00Z", "2026-11-28T00:00:00.000Z", "2026-12-05T00:00:00.000Z"],
    ["month", 15, "2026-11-14T23:59:59Z", "2026-10-15T00:00:00.000Z", "2026-11-15T00:00:00.000Z"],
    ["month", 15, "2026-11-15T00:00:00Z", "2026-11-15T00:00:00.000Z", "2026-12-15T00:00:00.000Z"],
    // A shorter month has its last day.
    ["month", 31, "2027-02-27T00:00:00Z", "2027-01-31T00:00:00.000Z", "2027-02-28T00:00:00.000Z"],
    ["month", 31, "2027-03-01T00:00:00Z", "2027-02-28T00:00:00.000Z", "2027-03-31T00:00:00.000Z"],
    ["year", 6, "2026-01-05T00:00:00Z", "2025-01-06T00:00:00.000Z", "2026-01-06T00:00:00.000Z"],
    ["quarter", 10, "2026-01-09T00:00:00Z", "2025-10-10T00:00:00.000Z", "2026-01-10T00:00:00.000Z"],
  ] as const)("a %s that starts on %s has %s from %s to %s", (period, startsOn, at, ...expected) => {
    expect(bounds({ period, startsOn }, "UTC", at)).toEqual(expected)
  })

  it("are within from and to, and none before and after them", () => {
    const terms = { period: "month", from: "2026-11-10T00:00:00Z", to: "2026-12-05T00:00:00Z" } as const
    expect(bounds(terms, "UTC", "2026-11-09T23:59:59.999Z")).toBeUndefined()
    expect(bounds(terms, "UTC", "2026-11-10T00:00:00Z")).toEqual([
      "2026-11-10T00:00:00.000Z",
      "2026-12-01T00:00:00.000Z",
    ])
    expect(bounds(terms, "UTC", "2026-12-04T00:00:00Z")).toEqual([
      "2026-12-01T00:00:00.000Z",
      "2026-12-05T00:00:00.000Z",
    ])
    expect(bounds(terms, "UTC", "2026-12-05T00:00:00Z")).toBeUndefined()
  })

  it("of a total have no end, unless they are told one", () => {
    const total = new Periods({ period: "total" }).at(Date.parse("2026-11-28T00:00:00Z"), "UTC")
    expect(total && endsAt(total)).toBeUndefined()
    const ends = new Periods({ period: "total", to: "2027-01-01" }).at(Date.parse("2026-11-28T00:00:00Z"), "UTC")
    expect(ends && endsAt(ends)).toBe(Date.parse("2027-01-01"))
  })

  it("of a number of days name the days before, each as it is named when it is today", () => {
    const zone = "Europe/Zurich"
    const periods = new Periods({ period: { days: 7 } })
    const at = (day: number) => periods.at(Date.UTC(2026, 9, day, 12), zone)
    const names = Array.from(
      { length: 6 },
      (_, back) => new Periods({ period: { days: 7 } }).at(Date.UTC(2026, 9, 26 - back, 12), zone)?.name,
    )
    expect(at(27)?.before).toEqual(names)
    const begun = new Periods({ period: { days: 7 }, from: "2026-10-26T00:00:00Z" }).at(Date.UTC(2026, 9, 27, 12), zone)
    expect(begun?.before).toHaveLength(1)
  })

  const zones = [
    "UTC",
    "Europe/Zurich",
    "America/New_York",
    "America/Havana",
    "Asia/Kolkata",
    "Australia/Lord_Howe",
    "Pacific/Apia",
    "Africa/Casablanca",
  ]
  it.each(zones)("in %s follow each other without a gap for three years", (zone) => {
    for (const period of ["hour", "day", "week", "month", "quarter", "year"] as const) {
      let atMs = Date.parse("2025-06-15T00:00:00Z")
      for (let count = 0; count < (period === "hour" ? 500 : 1100) && atMs < Date.parse("2028-07-01"); count++) {
        const found = new Periods({ period }).at(atMs, zone)
        expect(found?.startMs).toBeLessThanOrEqual(atMs)
        expect(found?.endMs).toBeGreaterThan(atMs)
        if (count > 0) expect(found?.startMs).toBe(atMs)
        expect(new Periods({ period }).at((found?.endMs ?? 0) - 1, zone)).toEqual(found)
        atMs = found?.endMs ?? 0
      }
    }
  })
})
