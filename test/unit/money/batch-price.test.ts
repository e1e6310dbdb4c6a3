/** Prices of lines of batches: exact, and in one place. */
import { describe, expect, it } from "@effect/vitest"
import { formatAmount } from "../../../src/money/amount.ts"
import { batchFactor, batchPrice } from "../../../src/money/batch-price.ts"
import { type Counts, maxCharge, noTokens, type Price, priceUsage, readPrice } from "../../../src/money/pricing.ts"

const listOf = (entry: object): Price => {
  const price = readPrice({ currency: "USD", input: "3", output: "15", ...entry })
  if (price === undefined) throw new Error("no price")
  return price
}
const costOf = (price: Price, some: Partial<Counts>): string =>
  formatAmount(priceUsage(price, { ...noTokens, dims: {}, ...some }).cost)

const million = 1_000_000

describe("a price with a share of batches", () => {
  it.each<[string, object, Partial<Counts>, string]>([
    ["input and output", {}, { inTokens: million, outTokens: million }, "9"],
    ["cache reads", { cacheRead: "0.3" }, { cacheReadTokens: million }, "0.15"],
    [
      "cache writes for an hour",
      { cacheWrite1h: "6" },
      { cacheWriteTokens: million, dims: { cache_write_1h: million } },
      "3",
    ],
    ["cache reads without a price of their own", {}, { cacheReadTokens: million }, "1.5"],
    [
      "reasoning at its own price",
      { dims: { reasoning: "20" } },
      { outTokens: million, dims: { reasoning: million } },
      "10",
    ],
    ["pictures", { dims: { images: "40000" } }, { dims: { images: 1 } }, "0.02"],
    ["pictures by their size", { dims: { "images:4K": "40000" } }, { dims: { images: 1, "images:4K": 1 } }, "0.02"],
    [
      "tools that the vendor runs, at their price",
      { dims: { web_search: "10000" } },
      { dims: { web_search: 1 } },
      "0.01",
    ],
    ["long inputs", { above: [{ tokens: 1000, input: "6" }] }, { inTokens: million }, "3"],
    ["a service tier", { tiers: { flex: "0.5" } }, { inTokens: million, dims: { tier_flex: 1 } }, "0.75"],
    ["the tier of batches, once", { tiers: { batch: "0.5" } }, { inTokens: million, dims: { tier_batch: 1 } }, "1.5"],
    [
      "the tier of batches of a long input, once",
      { tiers: { batch: "0.5" }, above: [{ tokens: 1000, input: "6", tiers: { batch: "0.4" } }] },
      { inTokens: million, dims: { tier_batch: 1 } },
      "3",
    ],
  ])("bills %s", (_what, entry, counts, cost) => {
    expect(costOf(batchPrice(listOf({ batch: "0.5", ...entry })), counts)).toBe(cost)
  })

  it("holds half as much, too", () => {
    const list = listOf({ batch: "0.5", above: [{ tokens: 1000, input: "6", output: "20" }] })
    expect(maxCharge(batchPrice(list), million, million) * 2n).toBe(maxCharge(list, million, million))
  })

  it("bills nothing at a share of 0, and everything at 1", () => {
    expect(costOf(batchPrice(listOf({ batch: "0" })), { inTokens: million })).toBe("0")
    expect(costOf(batchPrice(listOf({ batch: "1" })), { inTokens: million })).toBe("3")
  })

  it("is applied once", () => {
    const once = batchPrice(listOf({ batch: "0.5", above: [{ tokens: 1000, input: "6" }] }))
    expect(batchPrice(once)).toEqual(once)
  })
})

describe("a price without one", () => {
  it("stays the same, with the tier of batches that a vendor reports", () => {
    const list = listOf({ tiers: { batch: "0.5" } })
    expect(batchPrice(list)).toBe(list)
    expect(formatAmount(batchFactor(list))).toBe("1")
    expect(costOf(batchPrice(list), { inTokens: million, dims: { tier_batch: 1 } })).toBe("1.5")
  })
})
