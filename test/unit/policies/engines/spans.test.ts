/** Places of findings: in the units of an engine, once each, and apart. */
import { describe, expect, it } from "vitest"
import {
  apart,
  codePointPlaces,
  distinct,
  type Span,
  unitPlaces,
  wordOf,
} from "../../../../src/policies/engines/spans.ts"

const span = (start: number, end: number, label = "A"): Span => ({ start, end, label })

describe("places in code points", () => {
  it.each(["plain", "🌊", "a🌊b", "👩‍🚀 flies", "e\u0301 🌊🌊 漢", "half \ud83c a 🌊"])("are those of %j", (text) => {
    const points = [...text]
    const placeOf = codePointPlaces(text)
    for (let start = 0; start < points.length; start++) {
      for (let end = start + 1; end <= points.length; end++) {
        const place = placeOf({ start, end })
        expect(text.slice(place?.start, place?.end)).toBe(points.slice(start, end).join(""))
      }
    }
    expect(placeOf({ start: 0, end: points.length + 1 })).toBeUndefined()
    expect(placeOf({ start: 0, end: 0 })).toBeUndefined()
  })

  it("are no places if they are no whole numbers in order", () => {
    const places = [{}, null, 5, [0, 1], { start: 1, end: 1 }, { start: 2, end: 1 }, { start: -1, end: 2 }]
    for (const value of [...places, { start: 0.5, end: 2 }, { start: "0", end: "2" }, { start: 0, end: 9e99 }]) {
      expect([codePointPlaces("a🌊bc")(value), unitPlaces("abcd")(value)]).toEqual([undefined, undefined])
    }
  })
})

it("findings of several pieces are there once", () => {
  expect(distinct([span(5, 9), span(1, 2), span(5, 9), span(5, 9, "B"), span(5, 12)])).toEqual([
    span(1, 2),
    span(5, 12),
    span(5, 9),
    span(5, 9, "B"),
  ])
})

it("findings that overlap become one, those that touch stay apart", () => {
  expect(
    apart([span(0, 4), span(4, 8, "B"), span(10, 14), span(12, 20, "B"), span(19, 21, "C"), span(30, 31)]),
  ).toEqual([span(0, 4), span(4, 8, "B"), span(10, 21), span(30, 31)])
})

it.each([
  ["EMAIL_ADDRESS", "EMAIL"],
  ["CREDIT_CARD", "CARD"],
  ["US_DRIVER_LICENSE", "USDRIVERLICENSE"],
  ["person", "PERSON"],
  ["Ω", "MASKED"],
  ["<b>", "B"],
  ["A".repeat(40), "A".repeat(24)],
])("the word of %j is %s", (kind, word) => {
  expect(wordOf(kind)).toBe(word)
})
