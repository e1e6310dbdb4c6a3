/** The hold of one response of a realtime session, where long inputs cost more. */
import { describe, expect, it } from "vitest"
import { openaiRates } from "../../../src/dialects/openai-realtime/audio.ts"
import { needOf } from "../../../src/kinds/realtime/plan.ts"
import { formatAmount } from "../../../src/money/amount.ts"
import { readPrice } from "../../../src/money/pricing.ts"

const above = [{ tokens: 32_000, input: "8", output: "32" }]
const price = readPrice({ currency: "USD", input: "4", output: "16", above })
if (price === undefined) throw new Error("no price")

const need = (conversationTokens: number, contextWindow = 128_000, isOwn = false) => {
  const { amount, tokens } = needOf({ price, contextWindow, isOwn, rates: openaiRates }, conversationTokens, 1000, 0)
  return { inTokens: tokens - 1000, amount: formatAmount(amount) }
}
const at = (inTokens: number, input: bigint, output: bigint) =>
  formatAmount(BigInt(inTokens) * input * 10_000n + 1000n * output * 10_000n)

describe("a response of a session holds", () => {
  it("the usual price where its conversation cannot exceed the threshold", () => {
    const { inTokens, amount } = need(5000)
    expect(amount).toBe(at(inTokens, 4n, 16n))
  })

  it("the higher one where it may, unless the model's window is smaller", () => {
    const { inTokens, amount } = need(40_000)
    expect(amount).toBe(at(inTokens, 8n, 32n))
    const small = need(40_000, 32_000)
    expect(small).toEqual({ inTokens: 32_000, amount: at(32_000, 4n, 16n) })
  })

  it("nothing with the organisation's own key", () => {
    expect(need(40_000, 128_000, true).amount).toBe("0")
  })
})
