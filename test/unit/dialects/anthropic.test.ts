/** The dialect anthropic, by the vendor's documentation. */
import { Result } from "effect"
import { describe, expect, it } from "vitest"
import { anthropic } from "../../../src/dialects/anthropic/vendor.ts"
import type { VendorRequest } from "../../../src/dialects/chat-dialect.ts"
import { anthropicFrame } from "../../../src/testing/index.ts"
import { decodeText, fold } from "../../support/replay.ts"

const base: VendorRequest = {
  model: "claude",
  thread: [{ role: "user", blocks: [{ t: "text", v: "hi" }] }],
  tools: [],
  maxTokens: 4000,
  stop: [],
  canReason: true,
  cache: { enabled: false, skipWrite: false },
  stream: false,
}
const encode = (request: Partial<VendorRequest>) =>
  JSON.parse(Result.getOrThrow(anthropic.encode({ ...base, ...request })).body)

describe("encode", () => {
  it("takes system messages out, merges turns of one role, and gives reasoning back with its signature", () => {
    const body = encode({
      thread: [
        { role: "system", blocks: [{ t: "text", v: "be brief" }] },
        { role: "user", blocks: [{ t: "text", v: "weather?" }] },
        {
          role: "assistant",
          blocks: [
            { t: "reasoning", v: "hm", signature: "sig" },
            { t: "reasoning", v: "opaque", redacted: true },
            { t: "reasoning", v: "unsigned" },
            { t: "text", v: "" },
            { t: "tool_call", id: "a", name: "weather", input: { city: "Bern" } },
          ],
        },
        { role: "tool", blocks: [{ t: "tool_result", id: "a", v: "sun", isError: true }] },
        { role: "user", blocks: [{ t: "text", v: "and?" }] },
      ],
    })
    expect(body.system).toEqual([{ type: "text", text: "be brief" }])
    expect(body.messages).toEqual([
      { role: "user", content: [{ type: "text", text: "weather?" }] },
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: "hm", signature: "sig" },
          { type: "redacted_thinking", data: "opaque" },
          { type: "tool_use", id: "a", name: "weather", input: { city: "Bern" } },
        ],
      },
      {
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: "a", content: "sun", is_error: true },
          { type: "text", text: "and?" },
        ],
      },
    ])
  })

  it("writes images and files", () => {
    const blocks = [
      { t: "image", mime: "image/png", data: "AAAA" },
      { t: "image", mime: "image/png", url: "https://x.test/a.png" },
      { t: "file", mime: "application/pdf", name: "a.pdf", data: "BBBB" },
      { t: "file", mime: "text/plain", data: Buffer.from("héllo").toString("base64") },
    ] as const
    expect(encode({ thread: [{ role: "user", blocks }] }).messages[0].content).toEqual([
      { type: "image", source: { type: "base64", media_type: "image/png", data: "AAAA" } },
      { type: "image", source: { type: "url", url: "https://x.test/a.png" } },
      { type: "document", source: { type: "base64", media_type: "application/pdf", data: "BBBB" }, title: "a.pdf" },
      { type: "document", source: { type: "text", media_type: "text/plain", data: "héllo" } },
    ])
  })

  it.each([
    ["auto", { type: "auto" }],
    ["none", { type: "none" }],
    ["required", { type: "any" }],
    [{ name: "f" }, { type: "tool", name: "f" }],
  ] as const)("writes tool choice %j", (toolChoice, wire) => {
    const tools = [{ name: "f", inputSchema: { type: "object" } }]
    expect(encode({ tools, toolChoice })).toMatchObject({
      tool_choice: wire,
      tools: [{ name: "f", input_schema: { type: "object" } }],
    })
  })

  it("thinks within max_tokens, and then sends no sampling parameters", () => {
    const body = encode({ reasoning: "high", temperature: 0.5, topP: 0.5, stop: ["END"] })
    expect(body.thinking).toEqual({ type: "enabled", budget_tokens: 3999 })
    expect(body).not.toHaveProperty("temperature")
    expect(body).not.toHaveProperty("top_p")
    expect(body.stop_sequences).toEqual(["END"])
    expect(encode({ reasoning: "low", maxTokens: 1024 })).not.toHaveProperty("thinking")
    expect(encode({ reasoning: "off", temperature: 0.5 })).toMatchObject({ temperature: 0.5 })
  })

  it.each([
    ["claude-3-7-sonnet-20250219", { type: "enabled", budget_tokens: 2048 }, undefined],
    ["claude-opus-4-20250514", { type: "enabled", budget_tokens: 2048 }, undefined],
    ["claude-sonnet-4-5-20250929", { type: "enabled", budget_tokens: 2048 }, undefined],
    ["anthropic.claude-opus-4-6-v1", { type: "adaptive" }, { effort: "low" }],
    ["claude-opus-4-7", { type: "adaptive", display: "summarized" }, { effort: "low" }],
    ["claude-sonnet-5", { type: "adaptive", display: "summarized" }, { effort: "low" }],
    ["claude-fable-5-1", { type: "adaptive", display: "summarized" }, { effort: "low" }],
    ["claude-opus-10", { type: "adaptive", display: "summarized" }, { effort: "low" }],
  ])("%s is asked to think as %j", (model, thinking, output_config) => {
    const body = encode({ model, reasoning: "low" })
    expect(body.thinking).toEqual(thinking)
    expect(body.output_config).toEqual(output_config)
  })

  describe("cache breakpoints", () => {
    const marks = (request: Partial<VendorRequest>): ReadonlyArray<string> => {
      const { system = [], messages } = encode(request)
      const blocks = [...system, ...messages.flatMap((message: { content: ReadonlyArray<object> }) => message.content)]
      return blocks.filter((block) => "cache_control" in block).map(({ text }) => text)
    }
    const text = (v: string, cacheable = false) => ({ t: "text", v, cacheable }) as const
    const thread = [
      { role: "system", blocks: [text("rules", true)] },
      { role: "user", blocks: [text("a", true), text("b", true)] },
      { role: "assistant", blocks: [text("c", true)] },
      { role: "user", blocks: [text("tail")] },
    ] as const

    it("are placed at the message tail and at cacheable blocks, the last four of them", () => {
      expect(marks({ thread, cache: { enabled: true, skipWrite: false } })).toEqual(["a", "b", "c", "tail"])
    })
    it("leave the tail out with skipWrite", () => {
      expect(marks({ thread, cache: { enabled: true, skipWrite: true } })).toEqual(["rules", "a", "b", "c"])
    })
    it("are absent where the model has no cache", () => {
      expect(marks({ thread })).toEqual([])
    })
  })
})

const start = (usage: object) => anthropicFrame({ type: "message_start", message: { usage } })
const open = (index: number, block: object) =>
  anthropicFrame({ type: "content_block_start", index, content_block: block })
const delta = (index: number, part: object) => anthropicFrame({ type: "content_block_delta", index, delta: part })
const end = (stop: string, usage: object) =>
  anthropicFrame({ type: "message_delta", delta: { stop_reason: stop }, usage }) +
  anthropicFrame({ type: "message_stop" })

describe("decode", () => {
  it("reads thinking with its signature, redacted thinking, text and parallel tool calls", () => {
    const folded = fold(
      decodeText(
        anthropic,
        start({ input_tokens: 10, output_tokens: 1 }) +
          open(0, { type: "thinking", thinking: "", signature: "" }) +
          delta(0, { type: "thinking_delta", thinking: "hm" }) +
          anthropicFrame({ type: "ping" }) +
          delta(0, { type: "signature_delta", signature: "sig" }) +
          open(1, { type: "redacted_thinking", data: "xx" }) +
          open(2, { type: "text", text: "" }) +
          delta(2, { type: "text_delta", text: "look" }) +
          open(3, { type: "tool_use", id: "a", name: "f", input: {} }) +
          delta(3, { type: "input_json_delta", partial_json: "" }) +
          delta(3, { type: "input_json_delta", partial_json: `{"x"` }) +
          delta(3, { type: "input_json_delta", partial_json: ":1}" }) +
          open(4, { type: "server_tool_use", id: "s", name: "web_search", input: {} }) +
          delta(4, { type: "input_json_delta", partial_json: `{"q":"secret"}` }) +
          open(5, { type: "tool_use", id: "b", name: "g", input: {} }) +
          end("tool_use", { output_tokens: 20 }),
      ),
    )
    expect(folded.blocks).toEqual([
      { t: "reasoning", v: "hm", signature: "sig" },
      { t: "reasoning", v: "xx", redacted: true },
      { t: "text", v: "look", cacheable: false },
      { t: "tool_call", id: "a", name: "f", input: { x: 1 } },
      { t: "tool_call", id: "b", name: "g", input: {} },
      {
        t: "vendor",
        dialect: "anthropic",
        v: JSON.stringify({ type: "server_tool_use", id: "s", name: "web_search", input: { q: "secret" } }),
      },
    ])
    expect(folded).toMatchObject({ stop: "tool_call", done: true, usage: { inTokens: 10, outTokens: 20 } })
  })

  it.each([
    ["end_turn", "end"],
    ["max_tokens", "max_tokens"],
    ["model_context_window_exceeded", "max_tokens"],
    ["stop_sequence", "stop_sequence"],
    ["tool_use", "tool_call"],
    ["refusal", "refusal"],
    ["pause_turn", "pause"],
    ["something new", "end"],
  ])("stop reason %s is stop %s", (reason, stop) => {
    expect(fold(decodeText(anthropic, end(reason, {}))).stop).toBe(stop)
  })

  it("lesson 10: the final cache-write total rules, the first breakdown refines, the rest is at the default", () => {
    const first = {
      input_tokens: 5,
      cache_creation_input_tokens: 100,
      cache_creation: { ephemeral_1h_input_tokens: 100 },
      output_tokens: 1,
    }
    const { usage } = fold(
      decodeText(anthropic, start(first) + end("end_turn", { cache_creation_input_tokens: 250, output_tokens: 9 })),
    )
    expect(usage).toEqual({
      inTokens: 5,
      outTokens: 9,
      cacheReadTokens: 0,
      cacheWriteTokens: 250,
      dims: { cache_write_1h: 100 },
    })
  })

  it("members that a later report omits are kept, and null is ignored", () => {
    const { usage } = fold(
      decodeText(
        anthropic,
        start({ input_tokens: 7, cache_read_input_tokens: 90 }) +
          end("end_turn", { input_tokens: null, output_tokens: 3 }),
      ),
    )
    expect(usage).toMatchObject({ inTokens: 7, cacheReadTokens: 90, outTokens: 3 })
  })

  it("an error frame is a fault with the status of its type", () => {
    const frame = anthropicFrame({ type: "error", error: { type: "overloaded_error", message: "m" } })
    expect(decodeText(anthropic, frame)).toEqual([
      { kind: "fault", fault: { status: 529, code: "overloaded_error", blame: "moment" } },
    ])
  })

  it.each(["", "null", "[]", "{}", `{"content":1}`])("a body %j is malformed", (body) => {
    expect(fold(anthropic.decodeBody(body)).faults).toEqual(["malformed_reply"])
  })
})
