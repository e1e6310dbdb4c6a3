/** Canonical JSON is RFC 8785's, and the fingerprint is that of the content. */
import { describe, expect, it } from "@effect/vitest"
import { Schema } from "effect"
import { canonicalJson, fingerprint } from "../../../src/protocol/values/canonical.ts"

/** The same value with the keys of every object in another order. Nothing is parsed: V8 14.6 mistakes keys with escapes. */
const ordered = (value: Schema.Json, order: (keys: Array<[string, Schema.Json]>) => void): Schema.Json => {
  if (Array.isArray(value)) return value.map((item) => ordered(item, order))
  if (typeof value !== "object" || value === null) return value === 0 ? 0 : value
  const fields = Object.entries(value)
  order(fields)
  return Object.fromEntries(fields.map(([key, field]) => [key, ordered(field, order)]))
}
const reversed = (value: Schema.Json) => ordered(value, (fields) => fields.reverse())
const sorted = (value: Schema.Json) => ordered(value, (fields) => fields.sort(([x], [y]) => (x < y ? -1 : 1)))

describe("canonicalJson", () => {
  it("sorts by code units, and writes as ECMAScript does", () => {
    expect(canonicalJson({ "\u20ac": 1, "\r": 2, "1": 3, é: 4.5e30 })).toBe(`{"\\r":2,"1":3,"é":4.5e+30,"€":1}`)
  })

  it("leaves out what is undefined", () => {
    expect(canonicalJson({ a: undefined, b: [{ c: undefined }] })).toBe(`{"b":[{}]}`)
  })
})

describe("fingerprint", () => {
  it("ignores key order only", () => {
    expect(fingerprint({ a: 1, b: [1, { d: 2, c: 3 }] })).toBe(fingerprint({ b: [1, { c: 3, d: 2 }], a: 1 }))
    expect(fingerprint({ a: [1, 2] })).not.toBe(fingerprint({ a: [2, 1] }))
  })

  it.prop("is the same whatever the order of keys", [Schema.JsonObject], ([content]) => {
    expect(fingerprint(reversed(content))).toBe(fingerprint(content))
    expect(fingerprint(content)).toMatch(/^[0-9a-f]{32}$/)
  })

  it.prop("differs where the content does", [Schema.JsonObject, Schema.JsonObject], ([a, b]) => {
    const isSame = JSON.stringify(sorted(a)) === JSON.stringify(sorted(b))
    expect(fingerprint(a) === fingerprint(b)).toBe(isSame)
  })
})
