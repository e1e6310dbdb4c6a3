/** The reasons why a month stays open. */
import { describe, expect, it } from "vitest"
import { waitsFor } from "../../../src/exports/close-month.ts"
import type { Position } from "../../../src/exports/export-store.ts"

const until_at = new Date("2026-11-01T00:00:00Z")
const month = { month: "2026-10", until_at, previous: "", problem: null }
const position = (minutesAfter: number, more: Partial<Position> = {}): Position => ({
  ...{
    export: "bills",
    records: "usage",
    shard: "books",
    place: 1n,
    at: new Date(until_at.getTime() + minutesAfter * 60_000),
  },
  ...{ started_place: 0n, started_at: until_at, is_active: true, failures: 0, problem: null },
  ...more,
})

describe("a month", () => {
  it.each([
    ["no export", [], undefined],
    ["an export that has come well beyond it", [position(11)], undefined],
    ["an export that has just come beyond it", [position(9)], "usage"],
    ["one of several that is behind", [position(11), position(-1, { records: "transfers" })], "transfers"],
    ["an export that the catalogue has no more", [position(-1, { is_active: false })], undefined],
    ["an export of another shard", [position(-1, { shard: "other" })], undefined],
    ["the audit log, which is no shard's", [position(-1, { shard: "other", records: "audit" })], "audit"],
  ] as const)("with %s", (_what, positions, records) => {
    expect(waitsFor(month, "books", positions)).toBe(records && `the export bills has not written its ${records}`)
  })

  it("with an exchange that is not settled waits for it, whatever was exported", () => {
    expect(waitsFor({ ...month, problem: "not settled" }, "books", [position(11)])).toBe("not settled")
  })
})
