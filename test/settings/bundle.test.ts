/** The fingerprint is content-stable, and tiers are read as the contract says. */
import { describe, expect, it } from "@effect/vitest"
import { Schema } from "effect"
import { fingerprintOf, tierOf } from "../../src/settings/bundle.ts"
import { mockCaller as caller } from "../../src/testing/index.ts"

/** The same value with the keys of every object the other way round. */
const reversed = (value: Schema.Json): Schema.Json => {
  if (Array.isArray(value)) return value.map(reversed)
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, field]) => [key, reversed(field)]),
  )
}

describe("fingerprintOf", () => {
  it.prop("is the same whatever the order of keys", [Schema.JsonObject], ([content]) => {
    expect(fingerprintOf({ v: reversed(content) })).toBe(fingerprintOf({ v: content }))
    expect(fingerprintOf(content)).toMatch(/^[0-9a-f]{32}$/)
  })

  it.prop("differs where the content does", [Schema.JsonObject, Schema.JsonObject], ([a, b]) => {
    const isSame = JSON.stringify(sorted(a)) === JSON.stringify(sorted(b))
    expect(fingerprintOf(a) === fingerprintOf(b)).toBe(isSame)
  })
})

const sorted = (value: Schema.Json): Schema.Json => {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== "object" || value === null) return value === 0 ? 0 : value
  const fields = Object.entries(value).sort(([x], [y]) => (x < y ? -1 : 1))
  return Object.fromEntries(fields.map(([key, field]) => [key, sorted(field)]))
}

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
