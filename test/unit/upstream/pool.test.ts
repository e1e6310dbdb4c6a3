/** Tiers, weights and affinity; and Retry-After. */
import { describe, expect, it } from "@effect/vitest"
import { Schema } from "effect"
import { orderTargets } from "../../../src/upstream/pool.ts"
import { retryAfterOf } from "../../../src/upstream/retry-after.ts"

const target = (key: string, weight = 1, tier = 1) => ({ key, weight, tier })
const keys = (targets: ReadonlyArray<{ readonly key: string }>) => targets.map(({ key }) => key)

/** The number of times that each target comes first. */
const shares = (targets: ReadonlyArray<ReturnType<typeof target>>, affinityOf: (at: number) => string | undefined) => {
  const counts: Record<string, number> = {}
  for (let at = 0; at < 20_000; at++) {
    const first = orderTargets(targets, affinityOf(at))[0]?.key ?? ""
    counts[first] = (counts[first] ?? 0) + 1
  }
  return counts
}

describe("orderTargets", () => {
  it("tries tiers in order, whatever the weights", () => {
    const pool = [target("c", 9, 3), target("a", 1, 1), target("b", 100, 2)]
    for (let at = 0; at < 50; at++) expect(keys(orderTargets(pool, undefined))).toEqual(["a", "b", "c"])
  })

  it.each([
    ["by lot", () => undefined],
    ["by conversation", (at: number) => `ses_${at}`],
  ])("shares a tier by weight: %s", (_how, affinityOf) => {
    const counts = shares([target("a", 3), target("b", 1)], affinityOf)
    expect((counts["a"] ?? 0) / 20_000).toBeCloseTo(0.75, 1)
  })

  it("leaves a target of weight 0 out of rotation", () => {
    expect(keys(orderTargets([target("a", 0), target("b")], undefined))).toEqual(["b"])
    expect(orderTargets([target("a", 0)], undefined)).toEqual([])
  })

  it.prop("keeps a conversation with its target when others come and go", [Schema.String], ([conversation]) => {
    const pool = ["a", "b", "c", "d"].map((key) => target(key))
    const [first] = orderTargets(pool, conversation)
    const smaller = pool.filter(({ key }) => key === first?.key || key < "c")
    expect(orderTargets(pool, conversation)[0]).toBe(first)
    expect(orderTargets(smaller, conversation)[0]).toBe(first)
  })
})

describe("retryAfterOf", () => {
  const nowMs = Date.parse("2026-01-01T00:00:00Z")
  it.each([
    [{ "retry-after": "7" }, 7000],
    [{ "retry-after": "1.5" }, 1500],
    [{ "retry-after": "Thu, 01 Jan 2026 00:00:30 GMT" }, 30_000],
    [{ "retry-after": "Thu, 01 Jan 1970 00:00:30 GMT" }, 0],
    [{ "retry-after-ms": "250", "retry-after": "1" }, 250],
    [{ "retry-after": "soon" }, undefined],
    [{ "retry-after": "-5" }, undefined],
    [{}, undefined],
  ])("%j is %s ms", (headers, millis) => {
    expect(retryAfterOf(headers, nowMs)).toBe(millis)
  })
})
