/**
 * Second forms of vendors' replies, as public reports show them: each is read, or is a fault, and none is dropped. The report is
 * named beside the form.
 */
import { describe, expect, it } from "vitest"
import { anthropic } from "../../../src/dialects/anthropic/vendor.ts"
import type { ChatDialect } from "../../../src/dialects/chat-dialect.ts"
import { gemini } from "../../../src/dialects/gemini/vendor.ts"
import { openaiChat } from "../../../src/dialects/openai-chat/vendor.ts"
import { openaiResponses } from "../../../src/dialects/openai-responses/vendor.ts"
import { anthropicFrame, bedrockFrame, openaiFrame } from "../../../src/testing/index.ts"
import { chatOf } from "../../support/chat-of.ts"
import { decodePieces, decodeText, fold } from "../../support/replay.ts"

const bedrock = chatOf({ dialect: "bedrock" })

const whole = (dialect: ChatDialect, body: object) => fold(dialect.decodeBody(JSON.stringify(body)))
const streamed = (dialect: ChatDialect, ...frames: ReadonlyArray<object | string>) =>
  fold(decodeText(dialect, frames.map((frame) => openaiFrame(frame)).join("")))
const named = (
  dialect: ChatDialect,
  ...frames: ReadonlyArray<{ readonly type: string; readonly [more: string]: unknown }>
) => fold(decodeText(dialect, frames.map((frame) => anthropicFrame(frame)).join("")))
const text = (v: string) => ({ t: "text", v, cacheable: false })

describe("chat completions", () => {
  const reply = (message: object, more: object = {}, rest: object = {}) => ({
    choices: [{ index: 0, message, finish_reason: "stop", ...more }],
    ...rest,
  })
  const chunk = (delta: object, more: object = {}) => ({ choices: [{ index: 0, delta, ...more }] })
  const used = (usage: object) => whole(openaiChat, reply({ content: "Hi" }, {}, { usage })).usage

  it.each([
    ["maximhq/bifrost#5425: the reason is an error", { finish_reason: "error" }, "error"],
    ["genkit-ai/genkit#6259: an error beside it", { finish_reason: "error", error: { code: 502 } }, "unknown"],
    ["an error without a reason", { finish_reason: null, error: { code: "overloaded" } }, "overloaded"],
    ["DeepSeek's lack of resources", { finish_reason: "insufficient_system_resource" }, "insufficient_system_resource"],
    ["Zhipu's network", { finish_reason: "network_error" }, "network_error"],
  ])("a choice that failed is a fault: %s", (_report, more, code) => {
    expect(whole(openaiChat, reply({ content: "par" }, more)).faults).toEqual([code])
    expect(streamed(openaiChat, chunk({ content: "par" }), chunk({}, more), "[DONE]").faults).toEqual([code])
  })

  it("an error beside a reason to stop that vendors document is none (genkit-ai/genkit#6259)", () => {
    expect(whole(openaiChat, reply({ content: "Hi" }, { error: { message: "x" } }))).toMatchObject({
      blocks: [text("Hi")],
      stop: "end",
      faults: [],
    })
  })

  it.each([
    ["a text", { error: "upstream is gone" }],
    ["vLLM's", { object: "error", message: "no", type: "BadRequestError", code: 400 }],
    [
      "an object beside no choices (diegosouzapw/OmniRoute#8210)",
      { choices: [], error: { code: 502, message: "full" } },
    ],
  ])("a failure that is %s is a fault, streamed and whole", (_form, failure) => {
    expect(whole(openaiChat, failure).faults).toHaveLength(1)
    expect(streamed(openaiChat, chunk({ content: "par" }), failure).faults).toHaveLength(1)
  })

  it("a call in the form before tool_calls is a call (QwenLM/qwen-code#6240)", () => {
    const call = { t: "tool_call", id: "call_0", name: "read_file", input: { path: "a" } }
    const function_call = { name: "read_file", arguments: '{"path":"a"}' }
    const finish_reason = "function_call"
    expect(whole(openaiChat, reply({ content: null, function_call }, { finish_reason }))).toMatchObject({
      blocks: [call],
      stop: "tool_call",
    })
    const frames = [
      chunk({ function_call: { name: "read_file", arguments: "" } }),
      chunk({ function_call: { arguments: '{"path"' } }),
      chunk({ function_call: { arguments: ':"a"}' } }),
      chunk({}, { finish_reason }),
      "[DONE]",
    ]
    expect(streamed(openaiChat, ...frames)).toMatchObject({ blocks: [call], stop: "tool_call" })
    // Some servers send both: MeetKai/functionary#156
    const tool_calls = [{ id: "call_0", type: "function", function: function_call }]
    expect(whole(openaiChat, reply({ content: null, function_call, tool_calls })).blocks).toMatchObject([call])
  })

  it("reasoning that is in its details alone is read (amiable-dev/llm-council#375)", () => {
    const reasoning_details = [
      { type: "reasoning.text", text: "First", index: 0 },
      { type: "reasoning.summary", summary: ", then", index: 1 },
    ]
    const blocks = [{ t: "reasoning", v: "First, then" }, text("Hi")]
    expect(whole(openaiChat, reply({ content: "Hi", reasoning_details })).blocks).toMatchObject(blocks)
    expect(
      streamed(openaiChat, chunk({ reasoning_details, reasoning: null }), chunk({ content: "Hi" }), "[DONE]").blocks,
    ).toMatchObject(blocks)
    const both = { content: "Hi", reasoning: "First, then", reasoning_details }
    expect(whole(openaiChat, reply(both)).blocks).toMatchObject(blocks)
  })

  it("parts with a summary, a thought or a refusal are read (mozilla-ai/any-llm#281, BerriAI/litellm#36931)", () => {
    const content = [
      { type: "reasoning", summary: [{ type: "summary_text", text: "Databricks thinks" }] },
      { type: "text", text: "Hi" },
    ]
    expect(whole(openaiChat, reply({ content })).blocks).toMatchObject([
      { t: "reasoning", v: "Databricks thinks" },
      text("Hi"),
    ])
    expect(whole(openaiChat, reply({ content: [{ type: "thinking", thinking: "Hm" }] })).blocks).toMatchObject([
      { t: "reasoning", v: "Hm" },
    ])
    expect(whole(openaiChat, reply({ content: [{ type: "refusal", refusal: "No" }] }))).toMatchObject({
      blocks: [text("No")],
      stop: "refusal",
    })
  })

  it("a stream without deltas is read", () => {
    const message = { role: "assistant", content: "Hi" }
    expect(streamed(openaiChat, reply(message), "[DONE]").blocks).toEqual([text("Hi")])
    expect(
      streamed(openaiChat, { choices: [{ index: 0, text: "Hi", finish_reason: "stop" }] }, "[DONE]").blocks,
    ).toEqual([text("Hi")])
  })

  it.each([
    ["sensitive", "filtered"],
    ["model_context_window_exceeded", "max_tokens"],
  ])("the reason %s is %s", (finish_reason, stop) => {
    expect(whole(openaiChat, reply({ content: "Hi" }, { finish_reason })).stop).toBe(stop)
  })

  it.each([
    [
      "Clarifai/clarifai-python#978: thoughts in the total alone",
      { prompt_tokens: 20, completion_tokens: 424, total_tokens: 1016 },
      { inTokens: 20, outTokens: 996, dims: { reasoning: 572 } },
    ],
    [
      "router-for-me/CLIProxyAPI#5733: all of the output is thoughts",
      {
        prompt_tokens: 21,
        completion_tokens: 0,
        total_tokens: 81,
        completion_tokens_details: { reasoning_tokens: 60 },
      },
      { inTokens: 21, outTokens: 60, dims: { reasoning: 60 } },
    ],
    [
      "a prompt without what the cache had",
      {
        prompt_tokens: 10,
        completion_tokens: 5,
        total_tokens: 115,
        prompt_tokens_details: { cached_tokens: 100 },
      },
      { inTokens: 10, outTokens: 5, cacheReadTokens: 100 },
    ],
    [
      "dashscope/dashscope-sdk-java#214: what was written to an explicit cache",
      {
        prompt_tokens: 1700,
        completion_tokens: 5,
        total_tokens: 1705,
        prompt_tokens_details: { cached_tokens: 0, cache_creation_input_tokens: 1605 },
      },
      { inTokens: 95, outTokens: 5, cacheWriteTokens: 1605 },
    ],
    [
      "xAI's pictures",
      {
        prompt_tokens: 300,
        completion_tokens: 5,
        total_tokens: 305,
        prompt_tokens_details: { text_tokens: 44, image_tokens: 256 },
      },
      { inTokens: 300, dims: { image_in: 256 } },
    ],
    [
      "the names of Responses",
      { input_tokens: 7, output_tokens: 3, total_tokens: 10 },
      { inTokens: 7, outTokens: 3, dims: {} },
    ],
    [
      "a total that is less",
      { prompt_tokens: 7, completion_tokens: 3, total_tokens: 0 },
      { inTokens: 7, outTokens: 3, dims: {} },
    ],
  ])("usage is counted whole: %s", (_report, usage, expected) => {
    expect(used(usage)).toMatchObject(expected)
    expect(used(usage)).not.toHaveProperty("missing")
  })
})

describe("Anthropic's messages", () => {
  const usage = { input_tokens: 10, output_tokens: 5 }
  const stop = { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 5 } }

  it("blocks that are whole before the stream begins are read (langchain-ai/langchain#34445)", () => {
    const content = [
      { type: "text", text: "Hi" },
      { type: "tool_use", id: "t1", name: "run", input: { n: 1 } },
    ]
    expect(
      named(anthropic, { type: "message_start", message: { content, usage } }, stop, { type: "message_stop" }).blocks,
    ).toMatchObject([text("Hi"), { t: "tool_call", id: "t1", name: "run", input: { n: 1 } }])
  })

  it("text with which a block starts is read (earendil-works/pi#7283)", () => {
    const frames = [
      { type: "message_start", message: { content: [], usage } },
      { type: "content_block_start", index: 0, content_block: { type: "text", text: "H" } },
      { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "i" } },
      { type: "content_block_stop", index: 0 },
      stop,
      { type: "message_stop" },
    ]
    expect(named(anthropic, ...frames).blocks).toEqual([text("Hi")])
  })

  it("a compaction is billed beside the message, an advisor is observed (pydantic/pydantic-ai#5065, BerriAI/litellm#27065)", () => {
    const iterations = [
      {
        type: "compaction",
        input_tokens: 180,
        output_tokens: 35,
        cache_read_input_tokens: 7,
        cache_creation_input_tokens: 4,
        cache_creation: { ephemeral_1h_input_tokens: 3 },
      },
      { type: "advisor_message", model: "other", input_tokens: 90, output_tokens: 9 },
      // One that declined, and the one that answered: the vendor's counts have what it bills of them.
      { type: "message", input_tokens: 50, output_tokens: 0 },
      { type: "fallback_message", input_tokens: 10, output_tokens: 5 },
    ]
    expect(whole(anthropic, { content: [], usage: { ...usage, iterations } }).usage).toMatchObject({
      inTokens: 190,
      outTokens: 40,
      cacheReadTokens: 7,
      cacheWriteTokens: 4,
      dims: { cache_write_1h: 3, obs_advisor_in: 90, obs_advisor_out: 9 },
    })
  })

  it.each([
    ["", [{ type: "content_block_stop", index: 0 }]],
    [", also where its end is not told", []],
  ])("a streamed compaction keeps its content%s", (_where, ending) => {
    const frames = [
      { type: "message_start", message: { content: [], usage } },
      { type: "content_block_start", index: 0, content_block: { type: "compaction", content: null } },
      {
        type: "content_block_delta",
        index: 0,
        delta: { type: "compaction_delta", content: "So far: rain", encrypted_content: "x" },
      },
      ...ending,
      { type: "message_delta", delta: { stop_reason: "compaction" }, usage: { output_tokens: 5 } },
      { type: "message_stop" },
    ]
    const { blocks, stop } = named(anthropic, ...frames)
    const [block] = blocks
    expect(block?.t === "vendor" && JSON.parse(block.v)).toEqual({
      type: "compaction",
      content: "So far: rain",
      encrypted_content: "x",
    })
    expect(stop).toBe("pause")
  })

  it("a block of a kind that we do not know is kept as the vendor's", () => {
    const block = { type: "fallback", from: "a", to: "b" }
    expect(whole(anthropic, { content: [block], usage }).blocks).toEqual([
      { t: "vendor", dialect: "anthropic", v: JSON.stringify(block) },
    ])
  })
})

describe("Gemini's replies", () => {
  const reply = (parts: ReadonlyArray<object>, more: object = {}, rest: object = {}) => ({
    candidates: [{ content: { role: "model", parts }, finishReason: "STOP", ...more }],
    usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, ...rest },
  })

  it.each([
    ["a picture", { inlineData: { mimeType: "image/png", data: "AA==" } }],
    ["a file", { fileData: { mimeType: "image/png", fileUri: "gs://x" } }],
    ["a kind that we do not know", { hologram: { data: "AA==" } }],
  ])(
    "%s is kept as the vendor's (maximhq/bifrost#7032, mozilla-ai/any-llm#1295, agentgateway/agentgateway#3438)",
    (_kind, part) => {
      const blocks = [text("Here"), { t: "vendor", dialect: "gemini", v: JSON.stringify(part) }]
      expect(whole(gemini, reply([{ text: "Here" }, part])).blocks).toEqual(blocks)
      expect(streamed(gemini, reply([{ text: "Here" }, part])).blocks).toEqual(blocks)
    },
  )

  it.each(["citationSources", "citations"])("works that a text repeats, in %s, are citations", (name) => {
    const citationMetadata = { [name]: [{ startIndex: 0, endIndex: 4, uri: "https://a.test", license: "mit" }] }
    expect(whole(gemini, reply([{ text: "Here" }], { citationMetadata })).blocks).toMatchObject([
      { t: "text", v: "Here", citations: [{ url: "https://a.test", start: 0, end: 4 }] },
    ])
  })

  it("a signature without text is read", () => {
    const { blocks } = whole(gemini, reply([{ text: "Hi" }, { thoughtSignature: "c2ln" }]))
    expect(blocks).toMatchObject([text("Hi"), { t: "reasoning", signature: expect.any(String) }])
  })

  it.each([
    ["OTHER", "interrupted"],
    ["NO_IMAGE", "interrupted"],
    ["IMAGE_RECITATION", "filtered"],
    ["MALFORMED_RESPONSE", "malformed_call"],
    ["CONTINUATION", "pause"],
  ])("the reason %s is no good end (use-brian/use-brian#258): %s", (finishReason, stop) => {
    expect(whole(gemini, reply([{ text: "Hi" }], { finishReason })).stop).toBe(stop)
  })

  it.each([
    [{ serviceTier: "priority" }, "priority"],
    [{ serviceTier: "FLEX" }, "flex"],
    [{ trafficType: "ON_DEMAND_PRIORITY" }, "priority"],
    [{ trafficType: "ON_DEMAND" }, "standard"],
    [{ trafficType: "PROVISIONED_THROUGHPUT" }, undefined],
  ])("the tier that served is told: %j", (usage, tier) => {
    const events = gemini.decodeBody(JSON.stringify(reply([{ text: "Hi" }], {}, usage)))
    expect(events.flatMap((event) => (event.kind === "tier" ? [event.tier] : []))).toEqual(
      tier === undefined ? [] : [tier],
    )
  })
})

describe("OpenAI's responses", () => {
  const message = { type: "message", id: "m", role: "assistant", content: [{ type: "output_text", text: "Hi" }] }
  const usage = { input_tokens: 1, output_tokens: 1 }

  it.each(["response.completed", "response.done"])(
    "content that is in the last event alone, %s, is read (TanStack/ai#937)",
    (type) => {
      const call = { type: "function_call", id: "f", call_id: "c", name: "run", arguments: '{"n":1}' }
      const response = { status: "completed", output: [message, call], usage }
      expect(named(openaiResponses, { type, response })).toMatchObject({
        blocks: [text("Hi"), { t: "tool_call", id: "c", name: "run", input: { n: 1 } }],
        stop: "tool_call",
        done: true,
      })
    },
  )

  it("text without deltas is read once (Sophomoresty/gemini-web2api#57)", () => {
    const frames = [
      { type: "response.created", response: {} },
      { type: "response.output_text.done", output_index: 0, content_index: 0, text: "Hi" },
      { type: "response.completed", response: { status: "completed", output: [message], usage } },
    ]
    expect(named(openaiResponses, ...frames).blocks).toEqual([text("Hi")])
  })

  it("items that were told are not told again", () => {
    const reasoning = { type: "reasoning", id: "r", summary: [{ type: "summary_text", text: "Hm" }] }
    const search = { type: "web_search_call", id: "w", status: "completed", action: { type: "search" } }
    const output = [reasoning, search, message]
    const frames = [
      ...output.map((item, output_index) => ({ type: "response.output_item.done", output_index, item })),
      { type: "response.completed", response: { status: "completed", output, usage } },
    ]
    const { blocks, usage: counted } = named(openaiResponses, ...frames)
    expect(blocks).toMatchObject([{ t: "reasoning", v: "Hm" }, { t: "vendor", v: JSON.stringify(search) }, text("Hi")])
    expect(counted?.dims).toEqual({ web_search: 1 })
  })

  it("an item of a kind that we do not know is kept as the vendor's", () => {
    const item = { type: "hologram_call", id: "h" }
    expect(whole(openaiResponses, { status: "completed", output: [item], usage }).blocks).toEqual([
      { t: "vendor", dialect: "openai", v: JSON.stringify(item) },
    ])
  })
})

describe("Bedrock's replies", () => {
  const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 }

  it("the tier that served is told (BerriAI/litellm#21171)", () => {
    const tiersIn = (events: ReturnType<ChatDialect["decodeBody"]>) =>
      events.flatMap((event) => (event.kind === "tier" ? [event.tier] : []))
    const serviceTier = { type: "flex" }
    const body = { output: { message: { content: [{ text: "Hi" }] } }, stopReason: "end_turn", usage, serviceTier }
    expect(tiersIn(bedrock.decodeBody(JSON.stringify(body)))).toEqual(["flex"])
    const frames = [
      bedrockFrame("messageStop", { stopReason: "end_turn" }),
      bedrockFrame("metadata", { usage, serviceTier }),
    ]
    expect(tiersIn(decodePieces(bedrock, frames))).toEqual(["flex"])
  })

  it("media for which chat has no words are a fault", () => {
    const image = { format: "png", source: { bytes: "AA==" } }
    const body = { output: { message: { content: [{ image }] } }, stopReason: "end_turn", usage }
    expect(whole(bedrock, body).faults).toHaveLength(1)
    const frames = [bedrockFrame("contentBlockStart", { contentBlockIndex: 0, start: { image: { format: "png" } } })]
    expect(fold(decodePieces(bedrock, frames)).faults).toHaveLength(1)
  })
})
