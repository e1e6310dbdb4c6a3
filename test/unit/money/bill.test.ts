/** The bill of an exchange, by how far it got. */
import { describe, expect, it } from "vitest"
import { isImplausible, makeBill, needsEstimate } from "../../../src/kinds/chat/bill.ts"

const usage = { inTokens: 70, outTokens: 9, cacheReadTokens: 30, cacheWriteTokens: 0, dims: {} }
const early = { ...usage, outTokens: 1 }
const nothing = {
  contentSeen: false,
  textSeen: false,
  outputBytes: 0,
  usage: undefined,
  usageIsFinal: false,
  done: false,
}
const content = { ...nothing, contentSeen: true, textSeen: true, outputBytes: 30 }
const estimate = { inTokens: 500, outTokens: 10, cacheReadTokens: 0, cacheWriteTokens: 0, dims: {} }

const limits = { inTokens: 1000, outTokens: 50 }

describe("makeBill", () => {
  it.each([
    ["nothing came", nothing, undefined],
    ["only the input was told", { ...nothing, usage: early }, undefined],
    ["all came, with usage", { ...content, usage, usageIsFinal: true, done: true }, { counts: usage }],
    ["all came, without content, with usage", { ...nothing, usage, usageIsFinal: true, done: true }, { counts: usage }],
    [
      "all came, without usage",
      { ...content, done: true },
      { counts: estimate, estimatedReason: "upstream_usage_missing" },
    ],
    [
      "the end came, without content or usage",
      { ...nothing, done: true },
      { counts: estimate, estimatedReason: "upstream_usage_missing" },
    ],
    ["the final usage came, the terminal event did not", { ...content, usage, usageIsFinal: true }, { counts: usage }],
    ["content came, then a break", content, { counts: estimate, estimatedReason: "client_disconnected" }],
    [
      "content came after the input was told, then a break",
      { ...content, usage: early },
      { counts: { ...early, outTokens: 10 }, estimatedReason: "client_disconnected" },
    ],
  ])("when %s", (_what, seen, bill) => {
    const broken = seen.done ? undefined : "client_disconnected"
    expect(makeBill(seen, broken, { promptTokens: 500, outTokens: 10 }, limits)).toEqual(bill)
    // The gateway counts by itself what it estimates, and nothing else.
    expect(needsEstimate(seen, limits)).toBe(bill !== undefined && "estimatedReason" in bill)
  })

  const full = { ...content, usageIsFinal: true, done: true }
  const inputEstimated = { ...usage, inTokens: 500, cacheReadTokens: 0 }
  const missing = "upstream_usage_missing"
  const implausible = "upstream_usage_implausible"
  it.each([
    ["a malformed input", { ...usage, missing: ["input"] }, { ...inputEstimated }, missing],
    ["a malformed output", { ...usage, outTokens: 0, missing: ["output"] }, { ...usage, outTokens: 10 }, missing],
    ["no output beside content", { ...usage, outTokens: 0 }, { ...usage, outTokens: 10 }, missing],
    ["no input", { ...usage, inTokens: 0, cacheReadTokens: 0 }, inputEstimated, missing],
    ["zeros", { ...usage, inTokens: 0, cacheReadTokens: 0, outTokens: 0 }, estimate, missing],
    ["an input over the window", { ...usage, inTokens: 2_000_000_000 }, inputEstimated, implausible],
    ["cache reads over the window", { ...usage, cacheReadTokens: 931 }, inputEstimated, implausible],
    ["an output over what was asked for", { ...usage, outTokens: 51 }, { ...usage, outTokens: 10 }, implausible],
    [
      "parts over their totals",
      { ...usage, dims: { reasoning: 2 ** 53, audio_in: 2 ** 53, obs_x: 3 } },
      { ...usage, dims: { reasoning: 9, audio_in: 100, obs_x: 3 } },
      undefined,
    ],
    [
      "endless searches",
      { ...usage, dims: { web_search: 2_000_000_000 } },
      { ...usage, dims: { web_search: 100 } },
      implausible,
    ],
  ] as const)("estimates only what cannot be true of %s", (_what, reported, counts, estimatedReason) => {
    const seen = { ...full, usage: reported }
    const bill = makeBill(seen, undefined, { promptTokens: 500, outTokens: 10 }, limits)
    expect(bill).toEqual({ counts, ...(estimatedReason !== undefined && { estimatedReason }) })
    expect(isImplausible(seen, limits)).toBe(estimatedReason === implausible)
  })

  it("believes zeros beside tool calls alone", () => {
    const zeros = { ...usage, inTokens: 0, cacheReadTokens: 0, outTokens: 0 }
    const seen = { ...full, textSeen: false, usage: zeros }
    expect(makeBill(seen, undefined, { promptTokens: 500, outTokens: 10 }, limits)).toEqual({ counts: zeros })
  })

  it.each([
    ["reported", { ...full, outputBytes: 400, usage: { ...usage, outTokens: 100 } }, usage],
    ["not reported", { ...content, done: true, outputBytes: 400 }, { ...estimate, inTokens: 1000 }],
  ] as const)("bills no output, and no input, over the limits: %s", (_what, seen, counts) => {
    const bill = makeBill(seen, undefined, { promptTokens: 5000, outTokens: 90 }, limits)
    expect(bill).toMatchObject({ counts: { ...counts, outTokens: limits.outTokens } })
  })

  it("believes no input over the window of a stream that broke", () => {
    const seen = { ...content, usage: { ...early, inTokens: 2_000_000_000 } }
    expect(makeBill(seen, "upstream_timeout", { promptTokens: 500, outTokens: 10 }, limits)).toEqual({
      counts: { ...inputEstimated, outTokens: 10 },
      estimatedReason: implausible,
    })
  })
})
