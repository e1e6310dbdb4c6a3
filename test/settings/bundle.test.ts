/** The fingerprint is content-stable, and tiers are read as the contract says. */
import { describe, expect, it } from "@effect/vitest"
import { Schema } from "effect"
import { fingerprintOf, tierOf } from "../../src/settings/bundle.ts"
import { mockCaller as caller } from "../../src/testing/index.ts"

/** The same value with the keys of every object in another order. */
const ordered = (value: Schema.Json, order: (keys: Array<[string, Schema.Json]>) => void): Schema.Json => {
  if (Array.isArray(value)) return value.map((item) => ordered(item, order))
  if (typeof value !== "object" || value === null) return value
  const fields = Object.entries(value)
  order(fields)
  // Prefixed: JSON.parse of V8 14.6 reads a key that is one escaped character, e.g. "\n", as a backslash.
  return Object.fromEntries(fields.map(([key, field]) => [`k${key}`, ordered(field, order)]))
}
const same = (value: Schema.Json) => ordered(value, () => {})
const reversed = (value: Schema.Json) => ordered(value, (fields) => fields.reverse())

describe("fingerprintOf", () => {
  it.prop("is the same whatever the order of keys", [Schema.JsonObject], ([content]) => {
    expect(fingerprintOf({ v: reversed(content) })).toBe(fingerprintOf({ v: same(content) }))
    expect(fingerprintOf(content)).toMatch(/^[0-9a-f]{32}$/)
  })

  it.prop("differs where the content does", [Schema.JsonObject, Schema.JsonObject], ([a, b]) => {
    const isSame = JSON.stringify(sorted(a)) === JSON.stringify(sorted(b))
    expect(fingerprintOf({ v: same(a) }) === fingerprintOf({ v: same(b) })).toBe(isSame)
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
