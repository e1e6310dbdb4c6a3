/** Arrays of numbers that are followed byte by byte: the same are accepted as by `JSON.parse`. */
import { describe, expect, it } from "vitest"
import { NumberArray } from "../../../src/dialects/parse/number-array.ts"
import { randomOf } from "../../support/random.ts"

const random = randomOf(5)
const pick = <A>(values: ReadonlyArray<A>, otherwise: A): A => values[Math.floor(random() * values.length)] ?? otherwise

const pieces = ["0", "-0", "1", "-12.5", "0.25", "1e5", "1E+5", "1.5e-12", "1e400", "-1e999", "9".repeat(320), "3.0e0"]
const breaks = [
  "",
  ".",
  "e",
  "-",
  "+",
  "01",
  "1.",
  ".5",
  "1e",
  "1e+",
  "--1",
  "null",
  '"a"',
  "[1]",
  "{}",
  "NaN",
  "0x1",
  "٣",
]
const spaces = ["", "", "", " ", "\n\t", "\r "]

const read = (text: string) => {
  const bytes = Buffer.from(text)
  const array = new NumberArray()
  let at = 1
  while (at < bytes.length && !array.isDone && !array.hasFailed) {
    const size = 1 + Math.floor(random() * 7)
    const chunk = bytes.subarray(at, at + size)
    const taken = array.take(chunk, 0)
    expect(taken === chunk.length || array.isDone || array.hasFailed).toBe(true)
    at += taken
  }
  return { array, at }
}

const parsed = (text: string): ReadonlyArray<unknown> | undefined => {
  try {
    const value: unknown = JSON.parse(text)
    return Array.isArray(value) ? value : undefined
  } catch {
    return undefined
  }
}

describe("an array of numbers", () => {
  it("is one exactly if JSON.parse reads it as one, in whatever parts it comes", () => {
    let accepted = 0
    for (let round = 0; round < 20_000; round++) {
      const items = Array.from({ length: Math.floor(random() * 5) }, () => {
        const item = random() < 0.85 ? pick(pieces, "0") : pick(breaks, "")
        return pick(spaces, "") + item + pick(spaces, "")
      })
      const text = `[${items.join(",")}]`
      const { array, at } = read(text)
      const value = parsed(text)
      const isNumbers = value !== undefined && value.length > 0 && value.every((each) => typeof each === "number")
      expect([text, array.isDone]).toEqual([text, isNumbers])
      expect(array.hasFailed).toBe(!isNumbers)
      if (value === undefined || !isNumbers) continue
      accepted++
      expect([text, array.count, at]).toEqual([text, value.length, Buffer.byteLength(text)])
      // It may suspect too many, and never too few.
      if (value.some((each) => !Number.isFinite(each))) expect([text, array.mayBeInfinite]).toEqual([text, true])
    }
    expect(accepted).toBeGreaterThan(5000)
  })

  it("that comes in one part is suspected of a number that is too long, wherever it is", () => {
    for (const text of [`[${"9".repeat(320)},1]`, `[1,${"9".repeat(320)}]`, `[1,${"9".repeat(320)} ,1]`]) {
      const array = new NumberArray()
      array.take(Buffer.from(text), 1)
      expect([array.isDone, array.mayBeInfinite]).toEqual([true, true])
    }
  })

  it("of usual vectors is not suspected", () => {
    const { array } = read(JSON.stringify(Array.from({ length: 300 }, (_, at) => Math.sin(at) / 10 ** (at % 12))))
    expect([array.isDone, array.count, array.mayBeInfinite]).toEqual([true, 300, false])
  })
})
