/** The dialect openai-chat, by the vendor's documentation. */
import { Result } from "effect"
import { describe, expect, it } from "vitest"
import type { VendorRequest } from "../../../src/dialects/chat-dialect.ts"
import { openaiChat } from "../../../src/dialects/openai-chat/vendor.ts"
import { openaiFrame } from "../../../src/testing/index.ts"
import { decodeText, fold } from "../../support/replay.ts"

const base: VendorRequest = {
  model: "gpt",
  thread: [{ role: "user", blocks: [{ t: "text", v: "hi" }] }],
  tools: [],
  maxTokens: 100,
  stop: [],
  canReason: true,
  cache: { enabled: true, skipWrite: false },
  stream: false,
}
const encode = (request: Partial<VendorRequest>) =>
  JSON.parse(Result.getOrThrow(openaiChat.encode({ ...base, ...request })).body)

describe("encode", () => {
  it("writes messages of every role, parallel tool calls and their results", () => {
    const { messages } = encode({
      thread: [
        {
          role: "system",
          blocks: [
            { t: "text", v: "be " },
            { t: "text", v: "brief", cacheable: true },
          ],
        },
        { role: "user", blocks: [{ t: "text", v: "weather?" }] },
        {
          role: "assistant",
          blocks: [
            { t: "reasoning", v: "hm", signature: "s" },
            { t: "text", v: "let me look" },
            { t: "tool_call", id: "a", name: "weather", input: { city: "Bern" } },
            { t: "tool_call", id: "b", name: "weather", input: {} },
            { t: "tool_call", id: "c", name: "weather", input: {} },
          ],
        },
        {
          role: "tool",
          blocks: [
            { t: "tool_result", id: "a", v: "sun" },
            { t: "tool_result", id: "b", v: "rain", isError: true },
          ],
        },
        {
          role: "user",
          blocks: [
            { t: "tool_result", id: "c", v: "late" },
            { t: "text", v: "and?" },
          ],
        },
      ],
    })
    expect(messages).toEqual([
      { role: "system", content: "be brief" },
      { role: "user", content: "weather?" },
      {
        role: "assistant",
        content: "let me look",
        tool_calls: [
          { id: "a", type: "function", function: { name: "weather", arguments: `{"city":"Bern"}` } },
          { id: "b", type: "function", function: { name: "weather", arguments: "{}" } },
          { id: "c", type: "function", function: { name: "weather", arguments: "{}" } },
        ],
      },
      { role: "tool", tool_call_id: "a", content: "sun" },
      { role: "tool", tool_call_id: "b", content: "rain" },
      { role: "tool", tool_call_id: "c", content: "late" },
      { role: "user", content: "and?" },
    ])
  })

  it("writes images, files and audio as parts", () => {
    const blocks = [
      { t: "image", mime: "image/png", data: "AAAA" },
      { t: "image", mime: "image/png", url: "https://x.test/a.png" },
      { t: "file", mime: "application/pdf", name: "a.pdf", data: "BBBB" },
      { t: "file", mime: "audio/mpeg", data: "CCCC" },
    ] as const
    expect(encode({ thread: [{ role: "user", blocks }] }).messages[0].content).toEqual([
      { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } },
      { type: "image_url", image_url: { url: "https://x.test/a.png" } },
      { type: "file", file: { filename: "a.pdf", file_data: "data:application/pdf;base64,BBBB" } },
      { type: "input_audio", input_audio: { data: "CCCC", format: "mp3" } },
    ])
  })

  it.each([
    ["auto", "auto"],
    ["none", "none"],
    ["required", "required"],
    [{ name: "f" }, { type: "function", function: { name: "f" } }],
  ] as const)("writes tool choice %j", (toolChoice, wire) => {
    const tools = [{ name: "f", description: "d", inputSchema: { type: "object" } }]
    expect(encode({ tools, toolChoice })).toMatchObject({
      tool_choice: wire,
      tools: [{ type: "function", function: { name: "f", description: "d", parameters: { type: "object" } } }],
    })
  })

  it("writes parameters, the cache key and the request for usage", () => {
    expect(
      encode({
        stop: ["END"],
        temperature: 0.5,
        topP: 0.9,
        reasoning: "max",
        cache: { ...base.cache, key: "k" },
        stream: true,
      }),
    ).toMatchObject({
      max_completion_tokens: 100,
      stop: ["END"],
      temperature: 0.5,
      top_p: 0.9,
      reasoning_effort: "xhigh",
      prompt_cache_key: "k",
      stream: true,
      stream_options: { include_usage: true },
    })
  })

  it("refuses files by URL", () => {
    const thread = [
      { role: "user", blocks: [{ t: "file", mime: "application/pdf", url: "https://x.test/a" }] },
    ] as const
    expect(Result.isFailure(openaiChat.encode({ ...base, thread }))).toBe(true)
  })
})

const chunk = (delta: object, more: object = {}) => openaiFrame({ choices: [{ index: 0, delta, ...more }] })
const done = openaiFrame("[DONE]")

describe("decode", () => {
  it("joins fragmented arguments of parallel tool calls", () => {
    const call = (index: number, fn: object, more: object = {}) =>
      chunk({ tool_calls: [{ index, function: fn, ...more }] })
    const { blocks, stop } = fold(
      decodeText(
        openaiChat,
        chunk({ role: "assistant", content: null }) +
          call(0, { name: "f", arguments: "" }, { id: "a" }) +
          call(0, { arguments: `{"x":` }) +
          call(1, { name: "g", arguments: "" }, { id: "b" }) +
          call(0, { arguments: "1}" }) +
          call(1, { arguments: "nonsense" }) +
          chunk({}, { finish_reason: "tool_calls" }) +
          done,
      ),
    )
    expect(blocks).toEqual([
      { t: "tool_call", id: "a", name: "f", input: { x: 1 } },
      { t: "tool_call", id: "b", name: "g", input: { $raw: "nonsense" } },
    ])
    expect(stop).toBe("tool_call")
  })

  it.each([
    ["stop", "end"],
    ["length", "max_tokens"],
    ["tool_calls", "end"],
    ["function_call", "end"],
    ["content_filter", "filtered"],
    ["something new", "end"],
  ])("finish reason %s of a text is stop %s", (reason, stop) => {
    expect(fold(decodeText(openaiChat, chunk({ content: "x" }, { finish_reason: reason }) + done)).stop).toBe(stop)
  })

  it("a refusal is text, and a stop of its own", () => {
    const folded = fold(
      decodeText(openaiChat, chunk({ refusal: "I will not" }) + chunk({}, { finish_reason: "stop" }) + done),
    )
    expect(folded).toMatchObject({ stop: "refusal", blocks: [{ t: "text", v: "I will not" }] })
  })

  it("reasoning is a block of its own, before the text", () => {
    const folded = fold(decodeText(openaiChat, chunk({ reasoning_content: "hm" }) + chunk({ content: "yes" }) + done))
    expect(folded.blocks).toEqual([
      { t: "reasoning", v: "hm" },
      { t: "text", v: "yes", cacheable: false },
    ])
  })

  const usage = {
    prompt_tokens: 1000,
    completion_tokens: 50,
    prompt_tokens_details: { cached_tokens: 600, cache_write_tokens: 100, audio_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: 20, accepted_prediction_tokens: 3 },
  }
  const expected = {
    inTokens: 300,
    outTokens: 50,
    cacheReadTokens: 600,
    cacheWriteTokens: 100,
    dims: { reasoning: 20, obs_accepted_prediction: 3 },
  }

  it.each([
    ["after the choices", chunk({}, { finish_reason: "stop" }) + openaiFrame({ choices: [], usage })],
    [
      "beside the choices of the last chunk",
      openaiFrame({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }], usage }),
    ],
    ["inside a choice", chunk({}, { finish_reason: "stop", usage })],
    [
      "in every chunk: the last one wins",
      openaiFrame({ choices: [], usage: { prompt_tokens: 1 } }) + openaiFrame({ choices: [], usage }),
    ],
  ])("lesson 8: usage is read %s, and cached counts survive", (_where, frames) => {
    expect(fold(decodeText(openaiChat, chunk({ content: "x" }) + frames + done)).usage).toEqual(expected)
  })

  it("usage that is missing, null or nonsense is no usage", () => {
    expect(fold(decodeText(openaiChat, openaiFrame({ choices: [], usage: null }) + done)).usage).toBeUndefined()
  })

  it("CRLF, comments, multi-line data and a missing last line break are read", () => {
    const stream = `: keep-alive\r\n\r\nevent: message\r\ndata: {"choices":[{"index":0,\r\ndata: "delta":{"content":"hi"}}]}\r\n\r\ndata: [DONE]`
    expect(fold(decodeText(openaiChat, stream))).toMatchObject({ done: true, blocks: [{ v: "hi" }] })
  })

  it("an error frame is a fault with its status", () => {
    const fault = decodeText(openaiChat, openaiFrame({ error: { message: "m", code: 429 } })).at(-1)
    expect(fault).toEqual({ kind: "fault", fault: { status: 429, code: "unknown", blame: "moment" } })
  })

  it.each(["", "null", "[]", "{}", "{nonsense"])("a body %j is malformed", (body) => {
    expect(fold(openaiChat.decodeBody(body)).faults).toEqual(["malformed_reply"])
  })

  it("an error body gives its machine code, never its text", () => {
    const body = JSON.stringify({ error: { message: "secret", type: "t", code: "model_not_found" } })
    expect(openaiChat.decodeError(404, body)).toMatchObject({ status: 404, code: "model_not_found" })
    expect(openaiChat.decodeError(502, "<html>")).toMatchObject({ status: 502, code: "unknown" })
  })
})
