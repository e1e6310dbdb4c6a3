/** Marks in bytes that come in parts. */
import { expect, it } from "vitest"
import { partsInclude } from "../../../src/media/parts-include.ts"

it.each([
  ["the mark", 'aaaa"file_id"aaaa', true],
  ["its beginning, twice", '"file_"file_id"', true],
  ["most of it", 'aaaa"file_i"aaaa', false],
  ["nothing", "", false],
])("%s is found or not, however the bytes are cut", (_name, text, isThere) => {
  const bytes = Buffer.from(text)
  for (let length = 1; length <= bytes.length + 1; length++) {
    for (let from = 0; from < length; from++) {
      const parts = [bytes.subarray(0, from)]
      for (let at = from; at < bytes.length; at += length) parts.push(bytes.subarray(at, at + length))
      expect(partsInclude(parts, ['"never"', '"file_id"'])).toBe(isThere)
    }
  }
  expect(partsInclude([], ["x"])).toBe(false)
})
