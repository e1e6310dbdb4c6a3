/** One page of metrics for several workers. */
import { describe, expect, it } from "vitest"
import { mergeMetrics } from "../../../src/workers/merge-metrics.ts"

const page = (count: number, more = "") => `# HELP weir_exchanges_total Exchanges by outcome
# TYPE weir_exchanges_total counter
weir_exchanges_total{outcome="end",model="a b}"} ${count}
# HELP weir_open Open now
# TYPE weir_open gauge
weir_open 2
${more}`

describe("merging metrics", () => {
  it("adds up the same series, and keeps heads once", () => {
    expect(mergeMetrics([page(3), page(4)])).toBe(page(7).replace("weir_open 2", "weir_open 4"))
  })

  it("series that only some workers have stay with their family", () => {
    const other = page(1, "").replace("weir_open 2", `weir_exchanges_total 9`)
    const lines = mergeMetrics([page(1, "# TYPE weir_new counter\nweir_new_total 5\n"), other]).split("\n")
    expect(lines).toContain("weir_new_total 5")
    expect(lines.filter((line) => line.startsWith("# TYPE weir_exchanges_total"))).toHaveLength(1)
  })

  it("how late something is, and what must hold in each, are not added up", () => {
    const late = (value: number) =>
      `# TYPE weir_export_lag_seconds gauge\nweir_export_lag_seconds{export="lake"} ${value}\n`
    expect(mergeMetrics([late(900), late(1200), late(1100)])).toBe(late(1200))
    const batches = (value: number) =>
      `# TYPE weir_batches_at_vendors gauge\nweir_batches_at_vendors{vendor="openai"} ${value}\n`
    expect(mergeMetrics([batches(3), batches(4)])).toBe(batches(4))
    const valid = (value: number) => `# TYPE weir_identity_valid gauge\nweir_identity_valid{vendor="aws"} ${value}\n`
    expect(mergeMetrics([valid(1), valid(1)])).toBe(valid(1))
    expect(mergeMetrics([valid(1), valid(0), valid(1)])).toBe(valid(0))
    const spent = (value: number) => `# TYPE weir_spent_seconds counter\nweir_spent_seconds ${value}\n`
    expect(mergeMetrics([spent(2), spent(3)])).toBe(spent(5))
  })

  it("a limit that every worker reports is not added up", () => {
    const limit = `# TYPE weir_upstream_tier_limit_ms gauge\nweir_upstream_tier_limit_ms{tier="ttfb"} 40000\n`
    expect(mergeMetrics([limit, limit])).toBe(limit)
  })

  it("accepts no page, one page, and malformed lines", () => {
    expect(mergeMetrics([])).toBe("")
    expect(mergeMetrics(["nonsense\n\n"])).toBe("")
    expect(mergeMetrics([page(5)])).toBe(page(5))
  })
})
