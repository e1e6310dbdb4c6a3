/** What is billed of an exchange, by how far it got. Lessons 2, 8 and 11. */
import { describe, expect, it } from "vitest"
import { makeBill } from "../../src/exchange/bill.ts"

const usage = { inTokens: 70, outTokens: 9, cacheReadTokens: 30, cacheWriteTokens: 0, dims: {} }
const early = { ...usage, outTokens: 1 }
const nothing = { contentSeen: false, usage: undefined, usageIsFinal: false, done: false }
const content = { ...nothing, contentSeen: true }
const estimate = { inTokens: 500, outTokens: 10, cacheReadTokens: 0, cacheWriteTokens: 0, dims: {} }

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
    ["the final usage came, the terminal event did not", { ...content, usage, usageIsFinal: true }, { counts: usage }],
    ["content came, then a break", content, { counts: estimate, estimatedReason: "client_disconnected" }],
    [
      "content came after the input was told, then a break",
      { ...content, usage: early },
      { counts: { ...early, outTokens: 10 }, estimatedReason: "client_disconnected" },
    ],
  ])("when %s", (_what, seen, bill) => {
    expect(makeBill(seen, seen.done ? undefined : "client_disconnected", { promptTokens: 500, outTokens: 10 })).toEqual(
      bill,
    )
  })
})
