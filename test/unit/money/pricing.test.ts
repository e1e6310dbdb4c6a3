/** Amounts and prices: exact, rounded once, never through a float. */

import { describe, expect, it } from "@effect/vitest"
import { Schema } from "effect"
import { formatAmount, parseAmount } from "../../../src/money/amount.ts"
import {
  atTier,
  type Counts,
  chargeLines,
  isSanePrice,
  maxCharge,
  priceUsage,
  readPrice,
} from "../../../src/money/pricing.ts"

const price = (entry: object = {}) => {
  const read = readPrice({ currency: "USD", input: "3", output: "15", ...entry })
  if (read === undefined) throw new Error("no price")
  return read
}
const counts = (some: Partial<Counts>): Counts => ({
  inTokens: 0,
  outTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  dims: {},
  ...some,
})
const cost = (entry: object, some: Partial<Counts>) => {
  const charge = priceUsage(price(entry), counts(some))
  return [formatAmount(charge.cost), formatAmount(charge.cacheNetSaving)]
}

describe("amounts", () => {
  it.each(["0", "1", "-1", "0.1", "99.99982", "123456789012345678.0123456789", "-0.0000000001"])(
    "%s reads and writes the same",
    (text) => {
      expect(formatAmount(parseAmount(text) ?? 7n)).toBe(text)
    },
  )
  it.each(["", "1e3", ".5", "1.", "0x1", "1.00000000001", "NaN", "1,5", " 1"])("%j is no amount", (text) => {
    expect(parseAmount(text)).toBeUndefined()
  })
  it.prop("what is written is read", [Schema.BigInt], ([amount]) => {
    const bounded = amount % 10n ** 29n
    expect(parseAmount(formatAmount(bounded))).toBe(bounded)
  })
})

describe("priceUsage", () => {
  it.each<[string, object, Partial<Counts>, string, string]>([
    ["input and output", {}, { inTokens: 1_000_000, outTokens: 1_000_000 }, "18", "0"],
    ["cache reads at their price", { cacheRead: "0.3" }, { cacheReadTokens: 1_000_000 }, "0.3", "2.7"],
    ["cache reads at full price without one", {}, { cacheReadTokens: 1_000_000 }, "3", "0"],
    ["cache writes with their premium", { cacheWrite: "3.75" }, { cacheWriteTokens: 1_000_000 }, "3.75", "-0.75"],
    [
      "one-hour cache writes within the total",
      { cacheWrite: "3.75", cacheWrite1h: "6" },
      { cacheWriteTokens: 1_000_000, dims: { cache_write_1h: 400_000 } },
      "4.65",
      "-1.65",
    ],
    [
      "reads less writes",
      { cacheRead: "0.3", cacheWrite: "3.75" },
      { cacheReadTokens: 1_000_000, cacheWriteTokens: 1_000_000 },
      "4.05",
      "1.95",
    ],
    ["reasoning as output without a price of its own", {}, { outTokens: 100, dims: { reasoning: 60 } }, "0.0015", "0"],
    [
      "reasoning at its own price, taken out of the output",
      { dims: { reasoning: "20" } },
      { outTokens: 100, dims: { reasoning: 60 } },
      "0.0018",
      "0",
    ],
    [
      "a part that exceeds its whole",
      { dims: { audio_in: "100" } },
      { inTokens: 10, dims: { audio_in: 999 } },
      "0.001",
      "0",
    ],
    ["searches, a million for 10,000", { dims: { web_search: "10000" } }, { dims: { web_search: 2 } }, "0.02", "0"],
    ["observations never", {}, { dims: { obs_web_fetch: 99 } }, "0", "0"],
    ["a fraction below 10^-10, half up", { input: "0.00005" }, { inTokens: 1 }, "0.0000000001", "0"],
    ["less than half of 10^-10 as nothing", { input: "0.00004" }, { inTokens: 1 }, "0", "0"],
  ])("%s", (_what, entry, some, expected, saving) => {
    expect(cost(entry, some)).toEqual([expected, saving])
  })

  const Count = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 10_000_000 }))
  it.prop(
    "never costs more than the most that was held for it",
    [Count, Count, Count, Count, Count],
    ([input, read, write, output, searches]) => {
      const dims = { reasoning: "20", web_search: "10000" }
      const list = price({ cacheRead: "0.3", cacheWrite: "3.75", cacheWrite1h: "6", dims })
      const some = counts({
        inTokens: input,
        cacheReadTokens: read,
        cacheWriteTokens: write,
        outTokens: output,
        dims: { reasoning: output, cache_write_1h: write, web_search: searches },
      })
      expect(
        priceUsage(list, some).cost <=
          maxCharge(list, input + read + write, output, { units: ["web_search"], most: searches }),
      ).toBe(true)
    },
  )
})

describe("service tiers", () => {
  const tiers = { priority: "2", flex: "0.5" }
  it.each([
    ["none", {}, "0.045"],
    ["priority", { tier_priority: 1 }, "0.09"],
    ["flex", { tier_flex: 1 }, "0.0225"],
    ["one without a factor", { tier_scale: 1 }, "0.045"],
  ])("%s: tokens at the price's factor", (_name, dims, expected) => {
    expect(cost({ tiers }, { inTokens: 10_000, outTokens: 1000, dims })[0]).toBe(expected)
  })

  it("searches and other units cost what they cost", () => {
    const entry = { tiers, dims: { web_search: "10000", reasoning: "30" } }
    expect(cost(entry, { dims: { web_search: 1, tier_priority: 1 } })[0]).toBe("0.01")
    expect(cost(entry, { outTokens: 1000, dims: { reasoning: 1000, tier_priority: 1 } })[0]).toBe("0.06")
  })

  it("the lines of a bill say its prices, and the factors are sane", () => {
    const some = counts({ inTokens: 10_000, dims: { tier_priority: 1 } })
    const [line] = chargeLines(price({ tiers }), some)
    expect([line?.perMillion, line?.cost].map((amount) => formatAmount(amount ?? 0n))).toEqual(["6", "0.06"])
    expect(isSanePrice(price({ tiers: { free: "0" } }))).toBe(false)
    expect(isSanePrice(price({ tiers: { dear: "100.1" } }))).toBe(false)
    expect(readPrice({ currency: "USD", input: "1", output: "1", tiers: { odd: "x" } })).toBeUndefined()
  })
})

describe("prices above a number of input tokens", () => {
  /** Claude Sonnet 4.5 on Vertex AI, of Google's price list, with a second threshold. */
  const entry = {
    cacheRead: "0.3",
    cacheWrite: "3.75",
    cacheWrite1h: "6",
    dims: { web_search: "10000", reasoning: "15" },
    tiers: { batch: "0.5", priority: "2" },
    above: [
      { tokens: 200_000, input: "6", output: "22.5", cacheRead: "0.6", cacheWrite: "7.5", cacheWrite1h: "12" },
      { tokens: 500_000, input: "9", dims: { reasoning: "30" }, tiers: { priority: "1.5" } },
    ],
  }

  it.each<[string, Partial<Counts>, string]>([
    ["at the threshold the usual ones", { inTokens: 200_000, outTokens: 1000 }, "0.615"],
    ["one token above it the others, of the whole call", { inTokens: 200_001, outTokens: 1000 }, "1.222506"],
    [
      "what is read from a cache and written to one is input too",
      { inTokens: 1, cacheReadTokens: 150_000, cacheWriteTokens: 50_000, dims: { cache_write_1h: 20_000 } },
      // 1 × 6 + 150,000 × 0.6 + 30,000 × 7.5 + 20,000 × 12
      "0.555006",
    ],
    ["output alone is none", { inTokens: 10, outTokens: 900_000 }, "13.50003"],
    [
      "a second threshold changes what it states",
      { inTokens: 500_001, cacheReadTokens: 100_000, outTokens: 2000, dims: { reasoning: 1000 } },
      // 500,001 × 9 + 100,000 × 0.6 + 1,000 × 30 + 1,000 × 22.5
      "4.612509",
    ],
    ["a tier multiplies them", { inTokens: 300_000, outTokens: 1000, dims: { tier_batch: 1 } }, "0.91125"],
    ["a threshold may have factors of its own", { inTokens: 600_000, dims: { tier_priority: 1 } }, "8.1"],
    ["searches cost the same", { inTokens: 300_000, dims: { web_search: 2, tier_batch: 1 } }, "0.92"],
  ])("%s", (_what, some, expected) => {
    expect(cost(entry, some)[0]).toBe(expected)
  })

  it("the saving of a cache is against the price in force", () => {
    expect(cost(entry, { inTokens: 1, cacheReadTokens: 1_000_000 })[1]).toBe("8.4")
  })

  it("the lines of a bill say the prices in force", () => {
    const some = counts({ inTokens: 150_000, cacheReadTokens: 100_000, outTokens: 10 })
    const lines = chargeLines(price(entry), some).map(({ dimension, perMillion }) => [
      dimension,
      formatAmount(perMillion),
    ])
    expect(lines).toEqual([
      ["input", "6"],
      ["output", "22.5"],
      ["cache_read", "0.6"],
    ])
  })

  it("one that is out of range is refused", () => {
    expect(isSanePrice(price({ above: [{ tokens: 1, input: "1000000.1" }] }))).toBe(false)
    expect(isSanePrice(price({ tiers: { flex: "1" }, above: [{ tokens: 1, tiers: { flex: "0" } }] }))).toBe(false)
    expect(readPrice({ currency: "USD", input: "1", output: "1", above: [{ tokens: 1, input: "x" }] })).toBeUndefined()
  })

  it("a hold is at the dearest that may apply, and a threshold that cannot be reached counts for nothing", () => {
    const held = (inTokens: number, most?: number) =>
      formatAmount(maxCharge(price(entry), inTokens, 1000, undefined, most))
    // All input at the price of an hour's write.
    expect(held(200_000)).toBe("1.215")
    expect(held(200_001)).toBe("2.422512")
    expect(held(150_000, 200_000)).toBe("0.915")
    expect(held(150_000, 200_001)).toBe("1.8225")
    expect(held(150_000, 500_001)).toBe("1.83")
    // Above a threshold a call may be cheaper; it may stay below.
    const cheaper = price({ above: [{ tokens: 1000, input: "1", output: "1" }] })
    expect(formatAmount(maxCharge(cheaper, 2000, 1000))).toBe("0.021")
  })

  const Count = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1_000_000 }))
  const decimal = (tenths: number) => `${Math.floor(tenths / 10)}.${tenths % 10}`
  const Tenths = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 1000 }))
  const Tokens = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 500_000 }))

  it.prop(
    "no bill is above the hold, whatever the prices, the counts and the tier",
    [Schema.Struct({ first: Tokens, more: Tokens }), Schema.Array(Tenths), Count, Count, Count, Count],
    ([{ first, more }, tenths, input, read, write, output]) => {
      const [a = 1, b = 2, c = 3, d = 4, e = 5, f = 6, g = 7] = tenths
      const list = price({
        cacheRead: decimal(a),
        cacheWrite: decimal(b),
        cacheWrite1h: decimal(c),
        dims: { reasoning: decimal(d) },
        tiers: { priority: "2" },
        above: [
          { tokens: first, input: decimal(e), cacheRead: decimal(f) },
          { tokens: first + more, output: decimal(g), dims: { reasoning: decimal(a) }, cacheWrite1h: decimal(e) },
        ],
      })
      const inTokens = input + read + write
      for (const dims of [{}, { tier_priority: 1 }]) {
        const some = counts({
          inTokens: input,
          cacheReadTokens: read,
          cacheWriteTokens: write,
          outTokens: output,
          dims: { ...dims, reasoning: output, cache_write_1h: Math.floor(write / 2) },
        })
        const held = maxCharge("tier_priority" in dims ? atTier(list, "priority") : list, inTokens, output)
        const { cost } = priceUsage(list, some)
        expect(cost <= held).toBe(true)
        // The lines of the bill are the bill, but for the rounding of each.
        const sum = chargeLines(list, some).reduce((all, line) => all + line.cost, 0n)
        expect(sum - cost <= 5n && cost - sum <= 5n).toBe(true)
      }
    },
  )

  it.prop(
    "where prices rise with the input, so does the bill",
    [Tokens, Count, Count, Count],
    ([tokens, input, more, output]) => {
      const list = price({
        above: [
          { tokens, input: "6", output: "22.5" },
          { tokens: tokens * 2, input: "9" },
        ],
      })
      const bill = (inTokens: number) => priceUsage(list, counts({ inTokens, outTokens: output })).cost
      expect(bill(input) <= bill(input + more)).toBe(true)
    },
  )
})

describe("the price guard", () => {
  it("accepts amounts that can be charged and refuses others", () => {
    expect(isSanePrice(price())).toBe(true)
    expect(isSanePrice(price({ input: "1000000" }))).toBe(true)
    expect(isSanePrice(price({ input: "1000000.1" }))).toBe(false)
    expect(readPrice({ currency: "USD", input: "free", output: "1" })).toBeUndefined()
  })
})
