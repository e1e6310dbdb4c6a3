/** Tiers are read as the contract says. */
import { describe, expect, it } from "@effect/vitest"
import { tierOf } from "../../../src/settings/bundle.ts"
import { mockCaller as caller } from "../../../src/testing/index.ts"

describe("tierOf", () => {
  it.each([
    [undefined, "full", "full"],
    ["platform-audio", "full", "full"],
    ["nonsense", "full", "baseline"],
    ["a, Platform-AUDIO ,b", "full", "full"],
    ["platform-audiox", "full", "baseline"],
  ])("header %j: owners %s, end users %s", (header, owner, endUser) => {
    expect(tierOf(caller, header)).toBe(owner)
    expect(tierOf({ ...caller, endUserId: "ada" }, header)).toBe(header === undefined ? "baseline" : endUser)
  })
})
