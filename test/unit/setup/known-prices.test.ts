/** The prices that come with Weir. */
import { describe, expect, it } from "vitest"
import { readKnownPrices } from "../../../src/setup/known-prices.ts"
import { knownVendors } from "../../../src/setup/known-vendors.ts"
import { findPriced, modelsOf } from "../../../src/setup/price-import.ts"

const { date, prices } = readKnownPrices()

describe("the known prices", () => {
  it("have a date, and each entry is read", () => {
    expect(date).toMatch(/^20\d\d-\d\d-\d\d$/)
    expect([...prices.refused]).toEqual([])
  })

  it.each(["openai", "anthropic", "gemini", "cohere", "mistral", "deepseek", "xai", "voyage", "bedrock"])(
    "have models of %s",
    (id) => {
      const provider = knownVendors.find(({ vendor }) => vendor.id === id)?.provider ?? ""
      expect(modelsOf(prices, provider).length).toBeGreaterThan(3)
    },
  )

  it("are exact: no price went through a float", () => {
    const { price } = findPriced(prices, "openai", "gpt-5") ?? {}
    expect(price).toMatchObject({ input: 12_500_000_000n, output: 100_000_000_000n, cacheRead: 1_250_000_000n })
    expect(findPriced(prices, "openai", "text-embedding-3-small")).toMatchObject({ kind: "embedding" })
  })
})
