/** When a delivery is tried again, and what an answer means. */
import { describe, expect, it } from "vitest"
import { UpstreamBroken } from "../../../src/upstream/client.ts"
import { EgressBlocked } from "../../../src/upstream/egress.ts"
import { againAfter, askedWaitMs, outcomeOf, problemOf } from "../../../src/webhooks/attempt.ts"

describe("a delivery", () => {
  const nowMs = Date.parse("2026-11-28T00:00:00Z")
  const hour = 3_600_000
  it.each([
    [429, { "retry-after": "12" }, 12_000],
    [503, { "retry-after": "12" }, 12_000],
    [429, { "retry-after": "Sat, 28 Nov 2026 01:00:00 GMT" }, hour],
    // A receiver that asks for longer than it is tried: once more before that is over.
    [429, { "retry-after": "999999" }, 24 * hour - 60_000],
    [429, { "retry-after": "soon" }, 0],
    [429, {}, 0],
    [500, { "retry-after": "12" }, 0],
    [204, { "retry-after": "12" }, 0],
  ])("that is answered %i with %o waits at least %i ms", (status, headers, expected) => {
    expect(askedWaitMs({ status, headers }, new Date(nowMs + 24 * hour), nowMs)).toBe(expected)
  })

  it("that is about to be given up is not asked to wait", () => {
    const headers = { "retry-after": "12" }
    expect(askedWaitMs({ status: 503, headers }, new Date(nowMs + 1000), nowMs)).toBe(0)
  })

  it.each([
    [1, 5],
    [2, 30],
    [3, 120],
    [4, 600],
    [5, 1800],
    [6, 3600],
    [7, 3600],
    [100, 3600],
  ])("is tried again after its attempt %i in about %i seconds", (attempts, seconds) => {
    expect(againAfter(attempts, 0.5)).toBe(seconds * 1000)
    expect(againAfter(attempts, 0)).toBe(seconds * 800)
    expect(againAfter(attempts, 0.999)).toBeLessThan(seconds * 1200)
  })

  it.each([
    ["this gateway has no connection to spare", Object.assign(new Error("no file"), { code: "EMFILE" })],
    ["the address is not allowed", new Error("connect", { cause: new EgressBlocked({ reason: "address" }) })],
    ["the address cannot be reached", new Error("what the receiver said")],
  ])("without an answer tells its owner: %s", (problem, cause) => {
    expect(problemOf(new UpstreamBroken({ cause }))).toBe(problem)
  })

  it.each([
    [200, "delivered"],
    [299, "delivered"],
    [199, "again"],
    [301, "again"],
    [404, "again"],
    [410, "failed"],
    [500, "again"],
  ] as const)("that is answered %i: %s", (status, outcome) => {
    expect(outcomeOf(status)).toBe(outcome)
  })
})
