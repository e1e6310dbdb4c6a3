/** When a delivery is tried again, and what an answer means. */
import { describe, expect, it } from "vitest"
import { UpstreamBroken } from "../../src/upstream/client.ts"
import { EgressBlocked } from "../../src/upstream/egress.ts"
import { againAfter, outcomeOf, problemOf } from "../../src/webhooks/attempt.ts"

describe("a delivery", () => {
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
