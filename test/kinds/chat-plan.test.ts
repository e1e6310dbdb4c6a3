/** What an exchange holds, by the parameters that make it dearer. */
import { Result } from "effect"
import { describe, expect, it } from "vitest"
import { loadCatalogue } from "../../src/catalogue/load.ts"
import { makeSnapshot } from "../../src/catalogue/snapshot.ts"
import { chatRequestOf } from "../../src/kinds/chat/chat-request.ts"
import { makePlan } from "../../src/kinds/chat/plan.ts"
import { formatAmount } from "../../src/money/amount.ts"
import type { ExchangeParams } from "../../src/protocol/exchange.ts"
import { mockCaller, mockCatalogue } from "../../src/testing/index.ts"

const loaded = loadCatalogue(
  mockCatalogue.replace('output: "15",', 'output: "15", tiers: { priority: "2", flex: "0.5" },'),
)
if (Result.isFailure(loaded)) throw new Error("the catalogue is refused")
const catalogue = makeSnapshot(loaded.success.document, 1n, "static", () => undefined)

const planned = (params: ExchangeParams) => {
  const thread = [{ role: "user", blocks: [{ t: "text", v: "Hi" }] }] as const
  return makePlan(
    chatRequestOf({ model: "main", thread, params: { promptTokensEstimate: 1000, ...params } }),
    mockCaller,
    catalogue,
    Date.parse("2026-06-01"),
  )
}
const plan = (params: ExchangeParams) => Result.getOrThrow(planned(params))
const held = (params: ExchangeParams) => formatAmount(plan(params).holdAmount)

describe("what an exchange holds", () => {
  it("is the prompt once and each of its replies", () => {
    expect(held({})).toBe("0.0045")
    expect(held({ n: 3 })).toBe("0.0075")
    expect(plan({ n: 3 })).toMatchObject({ n: 3, outTokens: 300 })
  })

  it("is the dearer of the tier that is asked for and the usual one, which a vendor may serve", () => {
    expect(held({ serviceTier: "priority" })).toBe("0.009")
    expect(held({ serviceTier: "flex" })).toBe("0.0045")
  })

  it.each(["constructor", "toString"])("is nothing for the tier %s, which no price names", (serviceTier) => {
    expect(planned({ serviceTier })).toMatchObject({ _tag: "Failure", failure: { code: "bad_request" } })
  })

  it("counts what is predicted, which is billed where it is not said", () => {
    expect(plan({ prediction: "x".repeat(400) }).outTokens).toBeGreaterThan(200)
  })
})
