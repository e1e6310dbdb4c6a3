/** The memory that a prompt keeps after it has been written for a target. */
import { Effect, Result } from "effect"
import { expect, it } from "vitest"
import { dialects } from "../../../src/dialects/index.ts"
import { OwnPrompt, type PromptContent, type PromptParams } from "../../../src/kinds/chat/prompt.ts"
import { tokensOfPrompt } from "../../../src/kinds/chat/prompt-tokens.ts"
import type { Block } from "../../../src/protocol/block.ts"

const params: PromptParams = {
  model: "m",
  toolChoice: undefined,
  maxTokens: 10,
  temperature: undefined,
  topP: undefined,
  stop: [],
  canReason: false,
  reasoning: undefined,
  reasoningBudget: undefined,
  parallelToolCalls: undefined,
  output: undefined,
  extras: undefined,
  cache: { enabled: false, skipWrite: false, key: undefined },
  stream: false,
  searches: undefined,
}
const content: PromptContent = {
  thread: [{ role: "user", blocks: [{ t: "text", v: "words" }] }],
  tools: [{ name: "f", description: "", inputSchema: {} }],
}
const encodedBy = (prompt: OwnPrompt) =>
  Result.map(prompt.encode({ dialect: dialects["openai-chat"] }, params).wire, ({ body }) => body)

it("a prompt that can be read again is read again after each time that it was written, and is the same", () => {
  let reads = 0
  const kept = new OwnPrompt(content)
  const readAgain = () => {
    reads++
    return structuredClone(content)
  }
  const prompt = new OwnPrompt(content, { readAgain })
  expect([prompt.tokens, prompt.hasTools, [...prompt.kinds]]).toEqual([kept.tokens, true, ["text"]])
  expect([encodedBy(prompt), reads]).toEqual([encodedBy(kept), 0])
  expect([encodedBy(prompt), reads]).toEqual([encodedBy(kept), 1])
  expect([Effect.runSync(prompt.parts), reads]).toEqual([Effect.runSync(kept.parts), 2])
  expect(Result.isSuccess(encodedBy(kept))).toBe(true)
})

it("a file of text has about as many tokens as the same text", () => {
  const text = "a1 b2 c3 ".repeat(10_000)
  const held = (block: Extract<Block, { readonly t: "text" | "file" }>) =>
    tokensOfPrompt([{ role: "user", blocks: [block] }], [])
  const asText = held({ t: "text", v: text, cacheable: false })
  const asFile = held({ t: "file", mime: "text/plain", data: Buffer.from(text).toString("base64") })
  expect(Math.abs(asFile - asText)).toBeLessThan(10)
})

it("a picture that is looked at without any reduction has the most tokens", () => {
  const tokens = (detail: "high" | "original") =>
    tokensOfPrompt([{ role: "user", blocks: [{ t: "image", mime: "image/png", data: "AAAA", detail }] }], [])
  expect(tokens("original") - tokens("high")).toBeGreaterThan(8000)
})
