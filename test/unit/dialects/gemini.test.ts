/** The dialect gemini, by the vendor's documentation. */
import { Result } from "effect"
import { describe, expect, it } from "vitest"
import type { VendorRequest } from "../../../src/dialects/chat-dialect.ts"
import { gemini } from "../../../src/dialects/gemini/vendor.ts"
import { openaiFrame as frame } from "../../../src/testing/index.ts"
import { decodeText, fold } from "../../support/replay.ts"

const base: VendorRequest = {
  model: "gemini-3-flash",
  thread: [{ role: "user", blocks: [{ t: "text", v: "hi" }] }],
  tools: [],
  maxTokens: 100,
  stop: [],
  canReason: true,
  cache: { enabled: true, skipWrite: false },
  stream: false,
}
const wire = (request: Partial<VendorRequest>) => Result.getOrThrow(gemini.encode({ ...base, ...request }))
const encode = (request: Partial<VendorRequest>) => JSON.parse(wire(request).body)

describe("encode", () => {
  it("puts model and mode into the path", () => {
    expect(wire({}).path).toBe("/v1beta/models/gemini-3-flash:generateContent")
    expect(wire({ stream: true }).path).toBe("/v1beta/models/gemini-3-flash:streamGenerateContent?alt=sse")
    expect(wire({ model: "../../x?y" }).path).toBe("/v1beta/models/..%2F..%2Fx%3Fy:generateContent")
  })

  it("puts thought signatures on the parts that they belong to", () => {
    const body = encode({
      thread: [
        { role: "system", blocks: [{ t: "text", v: "be brief" }] },
        { role: "user", blocks: [{ t: "text", v: "weather?" }] },
        {
          role: "assistant",
          blocks: [
            { t: "reasoning", v: "hm", signature: "gemini:first" },
            { t: "tool_call", id: "a", name: "weather", input: { city: "Bern" } },
            { t: "tool_call", id: "b", name: "time", input: {} },
            { t: "tool_call", id: "c", name: "time", input: {} },
            { t: "reasoning", v: "", signature: "foreign" },
            { t: "text", v: "so" },
            { t: "reasoning", v: "", signature: "gemini:last" },
          ],
        },
        {
          role: "tool",
          blocks: [
            { t: "tool_result", id: "a", v: `{"sky":"blue"}` },
            { t: "tool_result", id: "b", v: "noon" },
            { t: "tool_result", id: "c", v: "broken", isError: true },
          ],
        },
      ],
    })
    expect(body.systemInstruction).toEqual({ parts: [{ text: "be brief" }] })
    expect(body.contents).toEqual([
      { role: "user", parts: [{ text: "weather?" }] },
      {
        role: "model",
        parts: [
          { functionCall: { id: "a", name: "weather", args: { city: "Bern" } }, thoughtSignature: "first" },
          { functionCall: { id: "b", name: "time", args: {} } },
          { functionCall: { id: "c", name: "time", args: {} } },
          { text: "so" },
          { text: "", thoughtSignature: "last" },
        ],
      },
      {
        role: "user",
        parts: [
          { functionResponse: { id: "a", name: "weather", response: { output: `{"sky":"blue"}` } } },
          { functionResponse: { id: "b", name: "time", response: { output: "noon" } } },
          { functionResponse: { id: "c", name: "time", response: { error: "broken" } } },
        ],
      },
    ])
  })

  it("writes media, tools and parameters", () => {
    const blocks = [
      { t: "image", mime: "image/png", data: "AAAA" },
      { t: "file", mime: "application/pdf", url: "https://x.test/a" },
    ] as const
    const body = encode({
      thread: [{ role: "user", blocks }],
      tools: [{ name: "f", inputSchema: { type: "object" } }],
      toolChoice: { name: "f" },
      temperature: 0.5,
      topP: 0.9,
      stop: ["END"],
    })
    expect(body.contents[0].parts).toEqual([
      { inlineData: { mimeType: "image/png", data: "AAAA" } },
      { fileData: { mimeType: "application/pdf", fileUri: "https://x.test/a" } },
    ])
    expect(body.tools).toEqual([
      { functionDeclarations: [{ name: "f", description: "", parametersJsonSchema: { type: "object" } }] },
    ])
    expect(body.toolConfig).toEqual({ functionCallingConfig: { mode: "ANY", allowedFunctionNames: ["f"] } })
    expect(body.generationConfig).toEqual({ maxOutputTokens: 100, temperature: 0.5, topP: 0.9, stopSequences: ["END"] })
  })

  it.each([
    ["gemini-2.5-flash", "off", { thinkingBudget: 0, includeThoughts: false }],
    ["gemini-2.5-pro", "off", { thinkingBudget: 128, includeThoughts: false }],
    ["gemini-2.5-flash", "max", { thinkingBudget: 24_576, includeThoughts: true }],
    ["gemini-3-flash", "off", { thinkingLevel: "minimal", includeThoughts: false }],
    ["gemini-3-pro", "minimal", { thinkingLevel: "low", includeThoughts: true }],
    ["gemini-3-pro", "max", { thinkingLevel: "high", includeThoughts: true }],
  ] as const)("%s thinks at level %s as %j", (model, reasoning, thinking) => {
    expect(encode({ model, reasoning }).generationConfig.thinkingConfig).toEqual(thinking)
  })
})

const parts = (...content: ReadonlyArray<object>) => frame({ candidates: [{ content: { parts: content } }] })
const end = (finishReason: string, usageMetadata: object = { promptTokenCount: 3, candidatesTokenCount: 4 }) =>
  frame({ candidates: [{ content: { parts: [{ text: "" }] }, finishReason }], usageMetadata })

describe("decode", () => {
  it("reads thoughts, text and calls with their signatures, and sends them back unchanged", () => {
    const folded = fold(
      decodeText(
        gemini,
        parts({ text: "hm", thought: true }) +
          parts({ text: "so" }) +
          parts(
            { functionCall: { name: "f", args: { x: 1 } }, thoughtSignature: "sig" },
            { functionCall: { id: "own", name: "g" } },
          ) +
          end("STOP"),
      ),
    )
    expect(folded).toMatchObject({ stop: "tool_call", done: true })
    expect(folded.blocks).toEqual([
      { t: "reasoning", v: "hm" },
      { t: "text", v: "so", cacheable: false },
      { t: "reasoning", v: "", signature: "gemini:sig" },
      { t: "tool_call", id: "call_3", name: "f", input: { x: 1 } },
      { t: "tool_call", id: "own", name: "g", input: {} },
    ])
    const hi = { role: "user", blocks: [{ t: "text", v: "hi" }] } as const
    const [, turn] = encode({ thread: [hi, { role: "assistant", blocks: folded.blocks }, hi] }).contents
    expect(turn.parts).toEqual([
      { text: "so" },
      { functionCall: { id: "call_3", name: "f", args: { x: 1 } }, thoughtSignature: "sig" },
      { functionCall: { id: "own", name: "g", args: {} } },
    ])
  })

  it("a signature is placed after text that has begun, and before text of the same frame", () => {
    const after = fold(
      decodeText(gemini, parts({ text: "so" }) + parts({ text: "", thoughtSignature: "s" }) + end("STOP")),
    )
    expect(after.blocks.map(({ t }) => t)).toEqual(["text", "reasoning"])
    const before = fold(decodeText(gemini, parts({ text: "so", thoughtSignature: "s" }) + end("STOP")))
    expect(before.blocks.map(({ t }) => t)).toEqual(["reasoning", "text"])
  })

  it("joins arguments that arrive in parts, by path", () => {
    const piece = (jsonPath: string, value: object, more = true) =>
      parts({ functionCall: { partialArgs: [{ jsonPath, ...value }], ...(more && { willContinue: true }) } })
    const folded = fold(
      decodeText(
        gemini,
        parts({ functionCall: { name: "cook", willContinue: true } }) +
          piece("$.dish", { stringValue: "Las" }) +
          piece("$.dish", { stringValue: "agna" }) +
          piece("$.steps[0].minutes", { numberValue: 25 }) +
          piece("$.steps[1]['hot']", { boolValue: true }) +
          piece("$.steps[9]", { stringValue: "lists grow at their end" }) +
          piece("$.__proto__.polluted", { boolValue: true }) +
          piece("nonsense", { stringValue: "x" }) +
          piece("$.note", {}, false) +
          end("STOP"),
      ),
    )
    expect(JSON.stringify(folded.blocks[0])).toBe(
      `{"t":"tool_call","id":"call_0","name":"cook","input":{"dish":"Lasagna","steps":[{"minutes":25},{"hot":true}],"__proto__":{"polluted":true},"note":null}}`,
    )
    expect(Object.hasOwn(Object.prototype, "polluted")).toBe(false)
  })

  it.each([
    ["STOP", "end"],
    ["MAX_TOKENS", "max_tokens"],
    ["SAFETY", "filtered"],
    ["PROHIBITED_CONTENT", "filtered"],
    ["MALFORMED_FUNCTION_CALL", "malformed_call"],
    ["SOMETHING_NEW", "end"],
  ])("finish reason %s is stop %s", (reason, stop) => {
    expect(fold(decodeText(gemini, parts({ text: "x" }) + end(reason)))).toMatchObject({ stop, done: true })
  })

  it("a blocked prompt is a filtered reply without content", () => {
    const body = JSON.stringify({ promptFeedback: { blockReason: "SAFETY" }, usageMetadata: { promptTokenCount: 9 } })
    expect(fold(gemini.decodeBody(body))).toMatchObject({
      stop: "filtered",
      done: true,
      blocks: [],
      usage: { inTokens: 9, outTokens: 0 },
    })
  })

  it("a stream that ends without a reason is not whole", () => {
    expect(fold(decodeText(gemini, parts({ text: "x" })))).toMatchObject({ done: false, stop: undefined })
  })

  it("thoughts are output, a tool's findings are input, and what was cached counts once", () => {
    const usage = {
      promptTokenCount: 100,
      toolUsePromptTokenCount: 20,
      cachedContentTokenCount: 60,
      candidatesTokenCount: 10,
      thoughtsTokenCount: 5,
      totalTokenCount: 135,
      promptTokensDetails: [{ modality: "AUDIO", tokenCount: 80 }],
      cacheTokensDetails: [{ modality: "AUDIO", tokenCount: 50 }],
    }
    expect(fold(decodeText(gemini, end("STOP", usage))).usage).toEqual({
      inTokens: 60,
      outTokens: 15,
      cacheReadTokens: 60,
      cacheWriteTokens: 0,
      dims: { reasoning: 5, audio_in: 30, obs_tool_use_in: 20 },
    })
  })

  it("an error is a fault with its status, in a stream as in a body", () => {
    const error = { error: { code: 429, message: "secret", status: "RESOURCE_EXHAUSTED" } }
    expect(decodeText(gemini, frame(error)).at(-1)).toEqual({
      kind: "fault",
      fault: { status: 429, code: "resource_exhausted", blame: "moment" },
    })
    expect(gemini.decodeError(429, JSON.stringify(error))).toEqual({
      status: 429,
      code: "resource_exhausted",
      blame: "moment",
    })
  })
})
