/** Places in a text, and in its UTF-8. */
import { expect, it } from "vitest"
import { Utf8Places } from "../../../src/dialects/gemini/utf8-places.ts"

const text = `${"a".repeat(100)}${"é漢".repeat(4045)}b🌊🌊${"c".repeat(9000)}é${"🌊".repeat(5000)}.`

it.each([
  ["at once", [0]],
  ["in parts", [0, 5, 100, 8192, 8193, 12_000, 20_000]],
  ["in small parts", Array.from({ length: Math.ceil(text.length / 7) }, (_, at) => at * 7)],
])("are the same, whatever the characters (%s)", (_, cuts) => {
  const places = new Utf8Places()
  for (const [at, from] of cuts.entries()) places.add(text.slice(from, cuts[at + 1]))
  const wrong: Array<number> = []
  let place = 0
  let byte = 0
  const end = Buffer.byteLength(text)
  for (const character of `${text} `) {
    const isSame = byte > end || (places.placeAt(byte) === place && places.byteAt(place) === byte)
    if (!isSame) wrong.push(place)
    place += character.length
    byte += Buffer.byteLength(character)
  }
  expect(wrong).toEqual([])
  expect(places.placeAt(end + 1)).toBeUndefined()
  expect(places.byteAt(text.length + 1)).toBe(end)
})

it("are asked about before the text is whole", () => {
  const places = new Utf8Places()
  expect([places.placeAt(0), places.placeAt(1), places.byteAt(1)]).toEqual([0, undefined, 0])
  places.add("é")
  expect([places.placeAt(2), places.byteAt(1)]).toEqual([1, 2])
  places.add("🌊".slice(0, 1))
  places.add("🌊".slice(1))
  expect([places.placeAt(6), places.byteAt(3)]).toEqual([3, 6])
})
