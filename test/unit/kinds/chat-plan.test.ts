/** The hold of an exchange, by the parameters that make it dearer. */
import { Result } from "effect"
import { describe, expect, it } from "vitest"
import { loadCatalogue } from "../../../src/catalogue/load.ts"
import { makeSnapshot } from "../../../src/catalogue/snapshot.ts"
import { chatRequestOf } from "../../../src/kinds/chat/chat-request.ts"
import { makePlan } from "../../../src/kinds/chat/plan.ts"
import { formatAmount } from "../../../src/money/amount.ts"
import type { ExchangeParams } from "../../../src/protocol/exchange.ts"
import { mockCaller, mockCatalogue } from "../../../src/testing/index.ts"

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

it("an exchange holds the schema of its output, which a vendor counts as input", () => {
  const output = { schema: { description: "x".repeat(300_000) } }
  expect(plan({ output }).promptTokens).toBeGreaterThan(100_000)
})

it("an exchange holds the model's window where it names contents that its vendor keeps", () => {
  const vendorOptions = { gemini: { cachedContent: "cachedContents/1" } }
  expect(plan({ vendorOptions }).promptTokens).toBeGreaterThan(100_000)
  expect(plan({ vendorOptions: { gemini: {} } }).promptTokens).toBeLessThan(2000)
})

it("an exchange whose vendor may summarise its thread holds the summary, and the prompt once more", () => {
  const thread = [{ role: "user", blocks: [{ t: "text", v: "x".repeat(30_000) }] }] as const
  const holdOf = (compacts: boolean) => {
    const request = chatRequestOf({ model: "main", thread, params: { maxTokens: 1000 } })
    const carried = { api: "anthropic", endUsers: [], hosted: [], compacts } as const
    const { document } = Result.getOrThrow(loadCatalogue(mockCatalogue))
    const snapshot = makeSnapshot(document, 1n, "static", () => undefined)
    return Result.getOrThrow(makePlan({ ...request, carried }, mockCaller, snapshot, Date.parse("2026-06-01")))
  }
  const [without, withSummary] = [holdOf(false), holdOf(true)]
  expect(withSummary.outTokens - without.outTokens).toBe(20_000)
  expect(withSummary.holdAmount > without.holdAmount).toBe(true)
})

describe("what an exchange holds where long inputs cost more", () => {
  const text = mockCatalogue.replace(
    'output: "15",',
    'output: "15", tiers: { priority: "2" }, above: [{ tokens: 100000, input: "6", output: "30" }],',
  )
  const heldAt = (bytes: number, contextWindow?: number, params: ExchangeParams = {}) => {
    const { document } = Result.getOrThrow(loadCatalogue(text))
    const models = document.models?.map(({ contextWindow: _, ...model }) => ({
      ...model,
      ...(contextWindow !== undefined && { contextWindow }),
    }))
    const snapshot = makeSnapshot({ ...document, models: models ?? [] }, 1n, "static", () => undefined)
    const thread = [{ role: "user", blocks: [{ t: "text", v: "x".repeat(bytes) }] }] as const
    const request = chatRequestOf({ model: "main", thread, params: { maxTokens: 1000, ...params } })
    const { promptTokens, holdAmount } = Result.getOrThrow(
      makePlan(request, mockCaller, snapshot, Date.parse("2026-06-01")),
    )
    return [promptTokens, formatAmount(holdAmount)]
  }

  it("is at the higher price from where every byte of it can be a token", () => {
    // Per million, 3 of input and 15 of output below the threshold, 6 and 30 above it; 100 of output.
    const [below = 0] = heldAt(90_000)
    expect(heldAt(90_000)).toEqual([below, formatAmount(BigInt(below) * 30_000n + 15_000_000n)])
    const [above = 0] = heldAt(110_000)
    expect(heldAt(110_000)).toEqual([above, formatAmount(BigInt(above) * 60_000n + 30_000_000n)])
  })

  it("is at the usual one where the threshold is not within the model's window", () => {
    const [tokens = 0] = heldAt(270_000)
    expect(heldAt(270_000, 100_000)).toEqual([tokens, formatAmount(BigInt(tokens) * 30_000n + 15_000_000n)])
    expect(heldAt(270_000, 100_001)).toEqual([tokens, formatAmount(BigInt(tokens) * 60_000n + 30_000_000n)])
  })

  it("is multiplied by a tier's factor, and raised by what the caller expects", () => {
    const [tokens = 0] = heldAt(110_000)
    expect(heldAt(110_000, undefined, { serviceTier: "priority" })).toEqual([
      tokens,
      formatAmount(BigInt(tokens) * 120_000n + 60_000_000n),
    ])
    expect(heldAt(10, undefined, { promptTokensEstimate: 100_001 })).toEqual([100_001, "0.603006"])
  })
})

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

describe("a prompt that is clearly longer than the model's context window", () => {
  const plannedAt = (contextWindow: number, bytes: number, carried?: ReturnType<typeof chatRequestOf>["carried"]) => {
    const { document } = Result.getOrThrow(loadCatalogue(mockCatalogue))
    const models = (document.models ?? []).map((model) => ({ ...model, contextWindow }))
    const snapshot = makeSnapshot({ ...document, models }, 1n, "static", () => undefined)
    const thread = [{ role: "user", blocks: [{ t: "text", v: "x".repeat(bytes) }] }] as const
    const request = { ...chatRequestOf({ model: "main", thread, params: { maxTokens: 10 } }), carried }
    return makePlan(request, mockCaller, snapshot, Date.parse("2026-06-01"))
  }

  it("is refused with both numbers; one within the margin of the count is not", () => {
    expect(plannedAt(8000, 600_000)).toMatchObject({
      failure: {
        code: "bad_request",
        message: "The prompt has about 200008 tokens, and the model's context window has 8000",
        detail: { promptTokens: 200_008, contextWindow: 8000 },
      },
    })
    expect(plannedAt(8000, 95_000)).toMatchObject({ _tag: "Success" })
    expect(plannedAt(8000, 97_000)).toMatchObject({ _tag: "Failure" })
  })

  it("is not refused where its vendor may summarise it", () => {
    const carried = { api: "anthropic", endUsers: [], hosted: [], compacts: true } as const
    expect(plannedAt(8000, 600_000, carried)).toMatchObject({ _tag: "Success" })
  })
})
