/** The requests to each OpenAI-compatible vendor, and how its deviating answers are read. */
import { Result } from "effect"
import { describe, expect, it } from "vitest"
import type { VendorRequest } from "../../../src/dialects/chat-dialect.ts"
import { ChatProfileName } from "../../../src/protocol/catalogue/vendor.ts"
import { openaiFrame } from "../../../src/testing/index.ts"
import { chatOf } from "../../support/chat-of.ts"
import { decodeText, fold } from "../../support/replay.ts"

const request: VendorRequest = {
  model: "m",
  thread: [
    { role: "user", blocks: [{ t: "text", v: "hi", cacheable: true }] },
    {
      role: "assistant",
      blocks: [
        { t: "reasoning", v: "hm" },
        { t: "tool_call", id: "toolu_a-long-foreign-id", name: "f", input: {} },
      ],
    },
    { role: "tool", blocks: [{ t: "tool_result", id: "toolu_a-long-foreign-id", v: "1" }] },
  ],
  tools: [{ name: "f", inputSchema: {} }],
  toolChoice: "required",
  maxTokens: 100,
  stop: [],
  canReason: true,
  reasoning: "high",
  cache: { enabled: true, skipWrite: false, key: "k" },
  stream: true,
}

const encode = (profile: ChatProfileName, more: Partial<VendorRequest> = {}) =>
  JSON.parse(Result.getOrThrow(chatOf({ dialect: "openai-chat", profile }).encode({ ...request, ...more })).body)

/** The members that the request to each vendor has, and those that it lacks. */
const requests: Readonly<Record<ChatProfileName, readonly [present: object, absent: ReadonlyArray<string>]>> = {
  openai: [{ max_completion_tokens: 100, reasoning_effort: "high", prompt_cache_key: "k" }, ["max_tokens"]],
  azure: [{ max_completion_tokens: 100, reasoning_effort: "high" }, ["max_tokens"]],
  generic: [{ max_tokens: 100, stream_options: { include_usage: true } }, ["reasoning_effort", "prompt_cache_key"]],
  deepseek: [{ max_tokens: 100, thinking: { type: "enabled" }, reasoning_effort: "high" }, []],
  qwen: [{ enable_thinking: true, thinking_budget: 16_384 }, ["reasoning_effort"]],
  moonshot: [{ thinking: { type: "enabled" } }, []],
  mistral: [{ reasoning_effort: "high", tool_choice: "any", prompt_cache_key: "k" }, ["stream_options"]],
  groq: [{ reasoning_effort: "high", reasoning_format: "parsed" }, ["max_tokens"]],
  xai: [{ reasoning_effort: "high", max_completion_tokens: 100 }, []],
  openrouter: [{ reasoning: { effort: "high" } }, ["reasoning_effort", "prompt_cache_key"]],
  ollama: [{ reasoning_effort: "high", max_tokens: 100 }, ["prompt_cache_key"]],
  vllm: [{ chat_template_kwargs: { enable_thinking: true } }, ["reasoning_effort"]],
  zai: [{ thinking: { type: "enabled", clear_thinking: false } }, []],
  cerebras: [{ reasoning_effort: "high", max_completion_tokens: 100 }, []],
  perplexity: [{ max_tokens: 100 }, ["stream_options"]],
  together: [{ reasoning: { enabled: true }, reasoning_effort: "high" }, []],
  fireworks: [{ reasoning_effort: "high", max_tokens: 100 }, []],
  nvidia: [{ chat_template_kwargs: { enable_thinking: true, thinking: true } }, ["reasoning_effort"]],
  sambanova: [{ chat_template_kwargs: { enable_thinking: true } }, ["reasoning_effort"]],
  huggingface: [{ reasoning_effort: "high" }, []],
  github: [{ max_tokens: 100 }, ["reasoning_effort", "max_completion_tokens"]],
  cloudflare: [{ reasoning_effort: "high" }, []],
  novita: [{ enable_thinking: true, separate_reasoning: true }, ["reasoning_effort"]],
  lmstudio: [{ reasoning_effort: "high" }, []],
  llamacpp: [{ chat_template_kwargs: { enable_thinking: true } }, ["reasoning_effort"]],
  databricks: [{ reasoning_effort: "high" }, ["thinking"]],
  watsonx: [{ max_tokens: 100 }, ["reasoning_effort"]],
}

describe("encode", () => {
  it.each(ChatProfileName.literals)("asks %s as its vendor wants it", (profile) => {
    const [present, absent] = requests[profile]
    // Some models think only where they choose their tools.
    const isFree = ["deepseek", "qwen", "moonshot", "zai"].includes(profile)
    const body = encode(profile, isFree ? { toolChoice: "auto" } : {})
    expect(body).toMatchObject(present)
    for (const field of absent) expect(body).not.toHaveProperty(field)
  })

  it.each<[ChatProfileName, boolean]>([
    ["deepseek", true],
    ["moonshot", true],
    ["vllm", true],
    ["zai", true],
    ["fireworks", true],
    ["llamacpp", true],
    ["openai", false],
    ["groq", false],
  ])("gives reasoning back to %s: %s", (profile, back) => {
    expect(encode(profile, { toolChoice: "auto" }).messages[1].reasoning_content).toBe(back ? "hm" : undefined)
  })

  it.each(ChatProfileName.literals)("turns reasoning off for %s without asking for a level", (profile) => {
    expect(JSON.stringify(encode(profile, { reasoning: "off", toolChoice: "auto" }))).not.toContain(`"high"`)
  })

  it.each([
    ["off", { thinking: { type: "disabled" } }],
    ["minimal", { thinking: { type: "enabled" }, reasoning_effort: "low" }],
    ["medium", { thinking: { type: "enabled" }, reasoning_effort: "high" }],
    ["xhigh", { thinking: { type: "enabled" }, reasoning_effort: "high" }],
    ["max", { thinking: { type: "enabled" }, reasoning_effort: "max" }],
  ] as const)("tells DeepSeek how hard to think: %s", (reasoning, words) => {
    const { thinking, reasoning_effort } = encode("deepseek", { reasoning, toolChoice: "auto" })
    expect({ thinking, reasoning_effort }).toEqual({ reasoning_effort: undefined, ...words })
  })

  it("does not make a model call a tool that chooses its tools itself", () => {
    const chat = chatOf({ dialect: "openai-chat", profile: "zai" })
    const capability = "tool_choice"
    expect(chat.encode(request)).toMatchObject(Result.fail({ capability }))
    expect(chat.encode({ ...request, toolChoice: { name: "f" } })).toMatchObject(Result.fail({ capability }))
    expect(encode("zai", { toolChoice: "none" })).not.toHaveProperty("tools")
    expect(encode("zai", { toolChoice: "auto" })).toMatchObject({ tool_choice: "auto" })
  })

  it.each([
    ["grok-3-mini", [undefined, "low", "low", "high"]],
    ["grok-4-0709", [undefined, undefined, undefined, undefined]],
    ["grok-4-1-fast-reasoning", [undefined, undefined, undefined, undefined]],
    ["grok-4.20-0309-reasoning", [undefined, undefined, undefined, undefined]],
    ["grok-4.20-multi-agent", [undefined, "low", "medium", "xhigh"]],
    ["grok-4.3", ["none", "low", "medium", "high"]],
    ["grok-4.5", [undefined, "low", "medium", "high"]],
    ["grok-4.6", [undefined, "low", "medium", "xhigh"]],
    ["grok-latest", [undefined, "low", "low", "high"]],
  ])("asks %s for efforts that it takes", (model, efforts) => {
    const levels = ["off", "minimal", "medium", "max"] as const
    expect(levels.map((reasoning) => encode("xai", { model, reasoning }).reasoning_effort)).toEqual(efforts)
  })

  it("marks what OpenRouter may cache, where the model has a cache", () => {
    const marked = [{ type: "text", text: "hi", cache_control: { type: "ephemeral" } }]
    expect(encode("openrouter").messages[0].content).toEqual(marked)
    expect(encode("openrouter", { cache: { enabled: false, skipWrite: false } }).messages[0].content).toBe("hi")
  })

  it("gives Mistral call ids in its own form, the same for a call and its result", () => {
    const [, assistant, result] = encode("mistral").messages
    expect(assistant.tool_calls[0].id).toMatch(/^[a-zA-Z0-9]{9}$/)
    expect(result.tool_call_id).toBe(assistant.tool_calls[0].id)
  })

  it("gives Mistral documents by URL, and refuses them elsewhere", () => {
    const thread = [
      { role: "user", blocks: [{ t: "file", mime: "application/pdf", url: "https://x.test/a" }] },
    ] as const
    expect(encode("mistral", { thread }).messages[0].content).toEqual([
      { type: "document_url", document_url: "https://x.test/a" },
    ])
    const refused = chatOf({ dialect: "openai-chat", profile: "groq" }).encode({ ...request, thread })
    expect(Result.isFailure(refused)).toBe(true)
  })

  it.each([
    ["openai-chat", "2024-10-21", "/openai/deployments/my%20gpt/chat/completions?api-version=2024-10-21"],
    ["openai-chat", undefined, "/openai/v1/chat/completions"],
    ["openai-responses", "2025-04-01-preview", "/openai/responses?api-version=2025-04-01-preview"],
    ["openai-responses", undefined, "/openai/v1/responses"],
  ] as const)("goes to Azure as %s under version %s at %s", (dialect, apiVersion, path) => {
    const azure = chatOf({ dialect, profile: "azure", ...(apiVersion !== undefined && { apiVersion }) })
    expect(Result.getOrThrow(azure.encode({ ...request, model: "my gpt" })).path).toBe(path)
    expect(azure.authorize("secret")).toEqual({ "api-key": "secret" })
  })
})

const chunk = (delta: object, more: object = {}) =>
  openaiFrame({ choices: [{ index: 0, delta, ...more }], ...(more as { usage?: object }) })
const read = (...chunks: ReadonlyArray<string>) =>
  fold(decodeText(chatOf({ dialect: "openai-chat" }), chunks.join("") + openaiFrame("[DONE]")))
const usage = (fields: object) => read(openaiFrame({ choices: [], usage: { prompt_tokens: 10, ...fields } })).usage

describe("decode", () => {
  it.each([
    ["DeepSeek", { prompt_cache_hit_tokens: 6, prompt_cache_miss_tokens: 4 }],
    ["Moonshot", { cached_tokens: 6 }],
    ["Mistral", { num_cached_tokens: 6 }],
    ["OpenAI", { prompt_tokens_details: { cached_tokens: 6 } }],
  ])("reads what %s had cached", (_vendor, fields) => {
    expect(usage(fields)).toMatchObject({ inTokens: 4, cacheReadTokens: 6 })
  })

  it("reads Groq's usage in x_groq", () => {
    const frame = openaiFrame({ choices: [], x_groq: { usage: { prompt_tokens: 3, completion_tokens: 4 } } })
    expect(read(frame).usage).toMatchObject({ inTokens: 3, outTokens: 4 })
  })

  it("counts xAI's reasoning, which is not part of the completion, and OpenAI's once", () => {
    const details = { completion_tokens_details: { reasoning_tokens: 30 } }
    expect(usage({ completion_tokens: 2, total_tokens: 42, ...details })).toMatchObject({ outTokens: 32 })
    expect(usage({ completion_tokens: 32, total_tokens: 42, ...details })).toMatchObject({ outTokens: 32 })
  })

  it("reads Mistral's thinking in parts of the content", () => {
    const { blocks } = read(
      chunk({ content: [{ type: "thinking", thinking: [{ type: "text", text: "hm" }] }] }),
      chunk({ content: [{ type: "text", text: "4" }] }),
    )
    expect(blocks).toEqual([
      { t: "reasoning", v: "hm" },
      { t: "text", v: "4", cacheable: false },
    ])
  })

  it("keeps OpenRouter's reasoning details, and gives them back whole", () => {
    const detail = (piece: object) => chunk({ reasoning: "", reasoning_details: [piece] })
    const { blocks } = read(
      detail({ type: "reasoning.text", index: 0, text: "so " }),
      detail({ type: "reasoning.text", index: 0, text: "then", signature: "sig" }),
      chunk({ content: "yes" }, { finish_reason: "stop" }),
    )
    const thread = [{ role: "assistant", blocks }] as const
    expect(encode("openrouter", { thread }).messages[0].reasoning_details).toEqual([
      { type: "reasoning.text", index: 0, text: "so then", signature: "sig" },
    ])
    // They are not sent to another vendor.
    expect(JSON.stringify(encode("openai", { thread }))).not.toContain("sig")
  })
})
