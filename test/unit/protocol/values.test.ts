/** Values that are refused where they enter: text that a store cannot hold, and dates that do not exist. */
import { Schema } from "effect"
import { describe, expect, it } from "vitest"
import { Instant, OccurredAt, parseInstant } from "../../../src/protocol/values/instant.ts"
import { StoredJson, StoredText, storedName } from "../../../src/protocol/values/text.ts"

const accepts = (schema: Schema.Codec<unknown, unknown>) => Schema.is(schema)
const fromNow = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString()

describe("text", () => {
  it.each([
    ["plain", true, true],
    ["é, 🦫", true, true],
    ["two\nlines", true, false],
    ["\u0085", true, false],
    ["a\u202eb", true, false],
    ["a\u2066b", true, false],
    ["a\u200bb", true, false],
    ["a\u2028b", true, false],
    ["\u3164", true, false],
    ["\ufeffa", true, false],
    ["\u0000", false, false],
    ["\ud800", false, false],
    ["a\udc00b", false, false],
    ["", true, false],
  ])("%j is stored text: %s, a name: %s", (text, isText, isName) => {
    expect(accepts(StoredText)(text)).toBe(isText)
    expect(accepts(storedName(8))(text)).toBe(isName)
  })

  it("a name has a maximum length", () => {
    expect(accepts(storedName(8))("12345678")).toBe(true)
    expect(accepts(storedName(8))("123456789")).toBe(false)
  })

  it("JSON is checked in its keys and members, and in its depth", () => {
    expect(accepts(StoredJson)({ a: [1, null, { b: "c" }] })).toBe(true)
    expect(accepts(StoredJson)({ a: ["\u0000"] })).toBe(false)
    expect(accepts(StoredJson)({ "\ud800": 1 })).toBe(false)
    const nested = (depth: number): unknown => (depth === 0 ? 1 : [nested(depth - 1)])
    expect(accepts(StoredJson)(nested(32))).toBe(true)
    expect(accepts(StoredJson)(nested(33))).toBe(false)
  })
})

describe("an instant", () => {
  it.each([
    ["2026-02-28", Date.UTC(2026, 1, 28)],
    ["2024-02-29", Date.UTC(2024, 1, 29)],
    ["2026-01-01T12:00:00Z", Date.UTC(2026, 0, 1, 12)],
    ["2026-01-01T12:00:00.123456+08:00", Date.UTC(2026, 0, 1, 4, 0, 0, 123)],
    ["2026-02-29", undefined],
    ["2026-02-30", undefined],
    ["2026-02-30T00:00:00Z", undefined],
    ["2026-13-01", undefined],
    ["2026-00-10", undefined],
    ["0000-01-01", undefined],
    ["2026-01-01T24:00:00Z", undefined],
    ["2026-01-01T00:60:00Z", undefined],
    ["2026-01-01T00:00:00+15:00", undefined],
    ["2026-1-1", undefined],
    ["tomorrow", undefined],
    ["", undefined],
  ])("%s is %s", (text, atMs) => {
    expect(parseInstant(text)).toBe(atMs)
  })

  it.each([
    ["1970-01-01", true],
    ["1969-12-31", false],
    ["1900-01-01", false],
    ["9999-12-31", false],
    [fromNow(3650), true],
    [fromNow(40_000), false],
  ])("%s can be a term: %s", (text, isTerm) => {
    expect(accepts(Instant)(text)).toBe(isTerm)
  })

  it.each([
    [fromNow(0), true],
    [fromNow(-399), true],
    [fromNow(-401), false],
    [fromNow(0.5), true],
    [fromNow(2), false],
    [fromNow(0).slice(0, 10), false],
  ])("%s can be when something happened: %s", (text, isOccurredAt) => {
    expect(accepts(OccurredAt)(text)).toBe(isOccurredAt)
  })
})
