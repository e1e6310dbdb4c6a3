/** `weir timeouts`: reading, adding up, evaluating and suggesting; and the command against a running gateway. */
import { describe, expect, it } from "@effect/vitest"
import { Schema } from "effect"
import { loadCatalogue } from "../../src/catalogue/load.ts"
import { describeTimeouts } from "../../src/cli/commands/timeouts-report.ts"
import { duration } from "../../src/protocol/values/duration.ts"
import { tierBoundaries } from "../../src/telemetry/metrics.ts"
import { enoughCalls, enoughForPercentiles, judge, profileOf } from "../../src/telemetry/timeouts/judge.ts"
import { addUp, type Observed, since } from "../../src/telemetry/timeouts/observed.ts"
import { readTiers } from "../../src/telemetry/timeouts/scrape.ts"
import { hello } from "../../src/testing/index.ts"
import { useProcesses } from "../support/use-processes.ts"

/** Observations as a histogram counts them. */
const observe = (millis: ReadonlyArray<number>, more: Partial<Observed> = {}): Observed => {
  const bounds = [...tierBoundaries, Number.POSITIVE_INFINITY]
  const buckets = bounds.map((upToMs, at) => ({
    fromMs: bounds[at - 1] ?? 0,
    upToMs,
    count: millis.filter((ms) => ms <= upToMs && ms > (bounds[at - 1] ?? Number.NEGATIVE_INFINITY)).length,
  }))
  return { vendor: "v", model: "m", tier: "ttfb", buckets, ended: 0, limitMs: 30_000, source: "platform", ...more }
}
const times = (count: number, ms: number) => Array.from({ length: count }, () => ms)

describe("reading a page of metrics", () => {
  const page = (extra = "") => `# HELP weir_upstream_tier_ms x
# TYPE weir_upstream_tier_ms histogram
weir_upstream_tier_ms_bucket{tier="ttfb",vendor="a",model="m \\"1\\"",le="100"} 3
weir_upstream_tier_ms_bucket{tier="ttfb",vendor="a",model="m \\"1\\"",le="1000"} 10
weir_upstream_tier_ms_bucket{tier="ttfb",vendor="a",model="m \\"1\\"",le="+Inf"} 10
weir_upstream_tier_timeouts_total{tier="ttfb",vendor="a",model="m \\"1\\""} 2
weir_upstream_tier_limit_ms{tier="ttfb",vendor="a",model="m \\"1\\"",source="model.production"} 30000
weir_exchanges_total{outcome="end",model="m"} 12
${extra}`

  it("gives buckets, calls that were ended, and the limit", () => {
    expect(readTiers(page())).toEqual([
      {
        vendor: "a",
        model: 'm "1"',
        tier: "ttfb",
        buckets: [
          { fromMs: 0, upToMs: 100, count: 3 },
          { fromMs: 100, upToMs: 1000, count: 7 },
          { fromMs: 1000, upToMs: Number.POSITIVE_INFINITY, count: 0 },
        ],
        ended: 2,
        limitMs: 30_000,
        source: "model.production",
      },
    ])
  })

  it("nodes are added up; the shortest of their limits counts", () => {
    const [one = observe([]), two = observe([])] = [readTiers(page())[0], readTiers(page())[0]]
    const [sum] = addUp([[one], [{ ...two, limitMs: 20_000, source: "vendor" }]])
    expect(sum).toMatchObject({ ended: 4, limitMs: 20_000, source: "vendor" })
    expect(sum?.buckets.map(({ count }) => count)).toEqual([6, 14, 0])
  })

  it("malformed lines, other metrics and unknown tiers are skipped", () => {
    expect(readTiers("")).toEqual([])
    expect(readTiers(`<html>\nweir_upstream_tier_ms_bucket{tier="x",vendor="a",model="b",le="1"} 4`)).toEqual([])
  })

  it("the difference to an earlier page is reported; a restarted node counts from zero", () => {
    const before = observe([...times(10, 50)], { ended: 1 })
    const now = observe([...times(10, 50), ...times(5, 5000)], { ended: 3 })
    const [rest = before] = since([now], [before])
    expect(judge(rest)).toMatchObject({ calls: 7, timedOutShare: 2 / 7 })
    expect(since([observe(times(2, 50))], [before])[0]).toEqual(observe(times(2, 50)))
  })
})

const Time = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 3_000_000 }))
const Times = Schema.Array(Time).check(Schema.isMinLength(1), Schema.isMaxLength(200))
const EnoughTimes = Schema.Array(Time).check(Schema.isMinLength(enoughForPercentiles), Schema.isMaxLength(200))

describe("judging", () => {
  it.prop("quantiles lie in the bucket that they belong to", [EnoughTimes], ([millis]) => {
    const sorted = [...millis].sort((a, b) => a - b)
    const judged = judge(observe(millis, { limitMs: undefined }))
    for (const [value, share] of [
      [judged.p50, 0.5],
      [judged.p99, 0.99],
    ] as const) {
      const exact = sorted[Math.max(0, Math.ceil(share * millis.length) - 1)] ?? 0
      const above = tierBoundaries.find((bound) => bound >= exact) ?? 0
      const below = tierBoundaries.findLast((bound) => bound < exact) ?? 0
      expect(value).toBeGreaterThanOrEqual(below)
      expect(value).toBeLessThanOrEqual(above)
    }
    expect(judged.max).toBeGreaterThanOrEqual(sorted.at(-1) ?? 0)
  })

  it("a time between one second and a minute is known to a quarter", () => {
    const within = tierBoundaries.filter((bound) => bound >= 1000 && bound <= 60_000)
    expect([within[0], within.at(-1)]).toEqual([1000, 60_000])
    for (const [at, bound] of within.entries()) expect(bound / (within[at - 1] ?? bound)).toBeLessThanOrEqual(1.25)
    // Times that were stored by the boundaries of before can still be read.
    for (const power of [1, 10, 100, 1000, 10_000, 100_000, 1_000_000]) {
      for (const step of [1, 1.5, 2, 3]) expect(tierBoundaries).toContain(step * power)
    }
    expect(tierBoundaries).toEqual([...new Set(tierBoundaries)].sort((a, b) => a - b))
  })

  it("percentiles come from twenty calls or more, and none is beyond the limit that the calls kept to", () => {
    const slow = times(enoughForPercentiles, 26_000)
    expect(judge(observe(slow, { limitMs: 27_000 })).p99).toBe(27_000)
    expect(judge(observe(slow.slice(1)))).toMatchObject({ p50: undefined, p99: undefined, calls: 19 })
    expect(describeTimeouts([judge(observe(slow.slice(1)))], "test")).not.toContain("> 30s")
  })

  it.prop("buckets without calls may be absent", [Times, Time], ([millis, limit]) => {
    const whole = observe(millis)
    const sparse = { ...whole, buckets: whole.buckets.filter(({ count }) => count > 0) }
    expect(judge(sparse, limit)).toEqual(judge(whole, limit))
  })

  it.prop(
    "a longer candidate ends no more calls than a shorter one, and one beyond all ends none",
    [Times, Time, Time],
    ([millis, a, b]) => {
      const share = (limit: number) => judge(observe(millis), limit).candidate?.share ?? 0
      expect(share(Math.max(a, b))).toBeLessThanOrEqual(share(Math.min(a, b)) + 1e-9)
      expect(share(3_600_000)).toBe(0)
    },
  )

  it("reports the share that the current timeout ends, and a candidate's", () => {
    const slow = observe([...times(900, 800), ...times(90, 25_000)], { ended: 10 })
    expect(judge(slow, 5000)).toMatchObject({
      timedOutShare: 0.01,
      p50: expect.any(Number),
      candidate: { share: 0.1, isUpperBound: false },
    })
    expect(judge(slow).p999).toBeUndefined()
    expect(judge(slow, 60_000).candidate).toMatchObject({ share: 0.01, isUpperBound: true })
  })

  it.each([
    ["too few calls", observe(times(enoughCalls - 1, 800)), undefined],
    ["half as much again as the slowest of a thousand", observe(times(5000, 9000)), 15_000],
    ["never below what a bad minute needs", observe(times(5000, 3)), 5000],
    ["twice the limit, where the limit ends too many", observe(times(900, 800), { ended: 100 }), 60_000],
    ["never beyond what anybody waits", observe(times(900, 800), { ended: 100, limitMs: 500_000 }), 600_000],
  ])("suggests: %s", (_, observed, recommended) => {
    expect(judge(observed).suggestedMs).toBe(recommended)
  })
})

describe("the report", () => {
  const judged = [
    judge(observe(times(5000, 9000)), 12_000),
    judge(observe(times(5000, 20_000), { vendor: "slow" }), 12_000),
    judge(observe(times(5000, 2), { tier: "connect", limitMs: 10_000 })),
    judge(observe([], { tier: "idle" })),
  ]

  it("a table, a chart, and a profile that a catalogue takes", () => {
    const text = describeTimeouts(judged, "production")
    expect(text).toContain("WOULD TIME OUT")
    expect(text).toContain("100.00% at 12s")
    expect(text).toMatch(/●.*│/)
    const yaml = text.slice(text.indexOf("timeouts:"))
    const loaded = loadCatalogue(`version: 1\n${yaml}`)
    expect(loaded).toMatchObject({ _tag: "Success" })
    expect(loaded).toHaveProperty("success.document.timeouts.production", {
      connect: 1000,
      ttfb: profileOf(judged).ttfb,
    })
  })

  it("says so if there are no observations", () => {
    expect(describeTimeouts([], "production")).toBe("No upstream calls have been observed")
    expect(describeTimeouts([judge(observe(times(3, 5)))], "production")).toContain("Too few observations")
  })

  it.each([
    [3, "3ms"],
    [1500, "1.5s"],
    [90_000, "90s"],
    [120_000, "2m"],
    [3_600_000, "1h"],
    [12_340, "12s"],
  ])("%i ms is %s", (ms, text) => {
    expect(duration(ms)).toBe(text)
  })
})

describe("the command", () => {
  const { serve, weir, dir } = useProcesses()
  it("reads a running node, a saved page, and the usage store", async () => {
    const { run, exchange, ready } = await serve()
    for (let at = 0; at < 3; at++) await exchange(hello)
    const seen = await run("timeouts", "--try", "ttfb=40s", "--save", `${dir()}/page`)
    expect(seen.code, seen.text).toBe(0)
    expect(seen.text).toMatch(/^ttfb +simulated +\S+ +3 /m)
    expect(seen.text).toContain("0 at 40s")
    await exchange(hello)
    const json = await run("timeouts", "--since", `${dir()}/page`, "--json")
    expect(JSON.parse(json.text).find(({ tier }: { tier: string }) => tier === "total")).toMatchObject({ calls: 1 })
    const stored = await run("timeouts", "--from", "2026-01-01", "--json")
    expect(JSON.parse(stored.text)).toContainEqual(expect.objectContaining({ tier: "ttfb", calls: 4, model: "main" }))
    const all = await run("timeouts", "--all", "--json")
    const rows = JSON.parse(all.text).filter(({ tier }: { tier: string }) => tier === "ttfb")
    expect(rows).toContainEqual(expect.objectContaining({ model: "embed", calls: 0, limitMs: expect.any(Number) }))
    expect(rows.filter(({ model }: { model: string }) => model === "main")).toMatchObject([{ calls: 4 }])
    for (const [args, words] of [
      [["timeouts", "--try", "ttfb=soon"], "ttfb=40s"],
      [["timeouts", "--since", "/nowhere"], "cannot be read"],
      [["timeouts", "--metrics", "http://127.0.0.1:9/metrics"], "cannot be reached"],
      [["timeouts", "--from", "yesterday"], "dates or instants"],
      [
        ["timeouts", "--vendor", "simulatd"],
        "--vendor simulatd: no calls to it have been observed; observed are simulated; did you mean simulated?",
      ],
    ] as const) {
      const refused = await run(...args)
      expect(refused.code).toBe(1)
      expect(refused.text).toContain(words)
    }
    const keyless = weir(["timeouts", "--from", "2026-01-01"], { SVC_BASE_URL: ready.baseUrl })
    expect(await keyless.exit).toBe(1)
    expect(keyless.output.text).toContain("SVC_ADMIN_KEY")
  }, 90_000)
})
