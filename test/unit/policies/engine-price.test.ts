import { describe, expect, it } from "vitest"
import { formatAmount } from "../../../src/money/amount.ts"
import { charactersOf, costOfUse, enginePriceOf } from "../../../src/policies/engines/engine-price.ts"

const priceOf = (perCall: string | undefined, perThousandCharacters: string | undefined) => {
  const made = enginePriceOf({
    id: "p",
    direction: "inbound",
    reason: "no",
    match: { keywords: ["x"] },
    price: {
      currency: "USD",
      ...(perCall !== undefined && { perCall }),
      ...(perThousandCharacters !== undefined && { perThousandCharacters }),
    },
  })
  if (made === undefined) throw new Error("it has a price")
  return made
}

describe("the cost of an engine's calls", () => {
  it.each([
    ["0.1", undefined, 3, 0, "0.3"],
    [undefined, "0.5", 1, 7, "0.0035"],
    ["0.0000000001", "0.0000000001", 1, 499, "0.0000000001"],
    ["0.0000000001", "0.0000000001", 1, 500, "0.0000000002"],
    ["1000000", "1000000", 2_000_000, 1_000_000_000, "3000000000000"],
  ])(
    "at %s a call and %s a thousand characters, %i calls with %i characters cost %s",
    (call, thousand, calls, characters, cost) => {
      expect(formatAmount(costOfUse(priceOf(call, thousand), { calls, characters }))).toBe(cost)
    },
  )

  it("never exceeds that of more calls and characters", () => {
    const price = priceOf("0.0000000003", "0.0000000007")
    for (let characters = 0; characters < 5000; characters += 7) {
      const [less, more] = [characters, characters + 1].map((count) =>
        costOfUse(price, { calls: 1, characters: count }),
      )
      expect((more ?? 0n) >= (less ?? 0n)).toBe(true)
    }
  })
})

it("counts characters as they are read", () => {
  expect(["", "abc", "Good 🌊!", "é"].map(charactersOf)).toEqual([0, 3, 7, 1])
})
