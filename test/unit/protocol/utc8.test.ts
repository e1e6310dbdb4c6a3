/** Days and periods in UTC+8. */
import { describe, expect, it } from "vitest"
import { periodOf } from "../../../src/protocol/utc8.ts"

describe("periodOf", () => {
  it.each([
    ["day", "2026-11-22T15:59:59.999Z", "2026-11-22", "2026-11-22T16:00:00.000Z"],
    ["day", "2026-11-22T16:00:00.000Z", "2026-11-23", "2026-11-23T16:00:00.000Z"],
    // 22 November 2026 is a Sunday.
    ["week", "2026-11-22T15:59:59.999Z", "2026-11-16", "2026-11-22T16:00:00.000Z"],
    ["week", "2026-11-22T16:00:00.000Z", "2026-11-23", "2026-11-29T16:00:00.000Z"],
    ["week", "1970-01-01T00:00:00.000Z", "1969-12-29", "1970-01-04T16:00:00.000Z"],
    ["month", "2026-12-31T15:59:59.999Z", "2026-12-01", "2026-12-31T16:00:00.000Z"],
    ["month", "2026-12-31T16:00:00.000Z", "2027-01-01", "2027-01-31T16:00:00.000Z"],
    ["month", "2028-02-29T12:00:00.000Z", "2028-02-01", "2028-02-29T16:00:00.000Z"],
  ] as const)("%s of %s begins on %s and ends at %s", (period, at, start, end) => {
    const span = periodOf(period, Date.parse(at))
    expect([span.start, new Date(span.endMs).toISOString()]).toEqual([start, end])
  })
})
