/** The search units of a reranking: what is expected, and which reports are believed. */
import { describe, expect, it } from "vitest"
import { SearchUnits } from "../../../src/kinds/rerank/search-units.ts"

const unitsFor = (count: number, bytes = 30) =>
  new SearchUnits({ query: "a weir", documents: Array.from({ length: count }, () => "x".repeat(bytes)) })
const reported = (searches: number | undefined) => [{ results: [], searches, inTokens: undefined }]

describe("search units", () => {
  it.each([
    [1, 30, 1],
    [100, 30, 1],
    [101, 30, 2],
    [1000, 30, 10],
    // Three pieces each.
    [100, 4000, 3],
  ])("of %d documents of %d bytes are expected to be %d", (count, bytes, units) => {
    expect(unitsFor(count, bytes).expected).toBe(units)
  })

  it.each([
    ["what can be true", 1, 1, undefined],
    ["what is more than expected and can be true", 2, 2, undefined],
    ["nothing", undefined, 2, "upstream_usage_missing"],
    ["no units at all", 0, 2, "upstream_usage_missing"],
    ["more than there can be", 50, 2, "upstream_usage_implausible"],
  ])("by a report of %s are billed", (_, searches, billed, doubt) => {
    const units = unitsFor(150)
    expect([units.of(reported(searches)), units.doubt(reported(searches))]).toEqual([billed, doubt])
  })
})
