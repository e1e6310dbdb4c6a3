/** Requests fitted to the model that they go to, carried and translated: the twin of its vendor refuses none of them. */
import { Record } from "effect"
import { describe, expect, it } from "vitest"
import {
  anthropicTwin,
  chatTwins,
  geminiTwin,
  newTestIds,
  repeating,
  responsesTwin,
  serveTwin,
  type Twin,
  testCatalogue,
} from "../../../src/testing/index.ts"
import { useGateway } from "../../support/gateway.ts"
import { type Api, askIn, serving } from "./served.ts"

const ids = newTestIds()

/** Vendors by their ids, with their twins. */
const vendors = {
  openai: chatTwins.openai,
  responses: responsesTwin,
  anthropic: anthropicTwin,
  gemini: geminiTwin,
  groq: chatTwins.groq,
  moonshot: chatTwins.moonshot,
  xai: chatTwins.xai,
  zai: chatTwins.zai,
  mistral: chatTwins.mistral,
} satisfies Readonly<Record<string, Twin>>
type Vendor = keyof typeof vendors

/** Models by their handles: the vendor, its own name, and the maker's where that is another. */
const models = {
  o3: ["openai", "o3"],
  gpt5: ["openai", "gpt-5-mini"],
  gpt51: ["openai", "gpt-5.1"],
  gpt4: ["openai", "gpt-4.1"],
  unknown: ["openai", "gpt-9"],
  deployed: ["openai", "prod-1", "o4-mini"],
  "resp-o3": ["responses", "o3"],
  "resp-51": ["responses", "gpt-5.1"],
  "resp-41": ["responses", "gpt-4.1"],
  sonnet45: ["anthropic", "claude-sonnet-4-5"],
  opus46: ["anthropic", "claude-opus-4-6"],
  opus47: ["anthropic", "claude-opus-4-7"],
  opus48: ["anthropic", "claude-opus-4-8"],
  opus5: ["anthropic", "claude-opus-5"],
  named: ["anthropic", "my-claude"],
  gem25: ["gemini", "gemini-2.5-pro"],
  flash25: ["gemini", "gemini-2.5-flash"],
  gem3: ["gemini", "gemini-3-pro-preview"],
  flash3: ["gemini", "gemini-3.5-flash"],
  kimi: ["moonshot", "kimi-k2.6"],
  grok: ["xai", "grok-4.5"],
  glm: ["zai", "glm-4.7"],
  llama: ["groq", "llama-3.3-70b-versatile"],
  large: ["mistral", "mistral-large-latest"],
} satisfies Readonly<Record<string, readonly [vendor: Vendor, model: string, family?: string]>>
type Handle = keyof typeof models

const compatible = ["groq", "moonshot", "xai", "zai", "mistral"] as const

const gateway = useGateway({
  ids,
  catalogue: (urls) =>
    serving(testCatalogue(urls, ids), {
      vendors: Object.fromEntries(
        compatible.map((id) => [id, `dialect: openai-chat, profile: ${id}, baseUrl: "${urls.vendor}/v1"`]),
      ),
      models: Record.map(models, (target: readonly [string, string, string?]) => {
        const [vendor, model, family] = target
        const named = family === undefined ? "" : `, family: ${family}`
        return `maxOutput: 20000, capabilities: [tools, images, reasoning, cache], targets: [{ vendor: ${vendor}, model: ${model}${named} }]`
      }),
    }),
})

const hello = { messages: [{ role: "user", content: "Hi" }] }
const bodies: Readonly<Record<Api, object>> = {
  chat: hello,
  responses: { input: "Hi" },
  messages: { ...hello, max_tokens: 9000 },
  generate: { contents: [{ role: "user", parts: [{ text: "Hi" }] }] },
  t1: { thread: [{ role: "user", blocks: [{ t: "text", v: "Hi" }] }] },
}

const post = (api: Api, model: Handle, more: object) => {
  const twin = serveTwin(vendors[models[model][0]], repeating)
  return askIn(gateway(), twin, api, model, { ...bodies[api], ...more })
}

const absent = (name: string) => ({ [name]: undefined })

/** The members of the request that its vendor gets, and the warning that its client gets. */
type Case = readonly [api: Api, model: Handle, asked: object, sent: object, warning: string | null]

const fits = (cases: ReadonlyArray<Case>) => {
  it.each(cases)("%s to %s: %j", async (api, model, asked, sent, warning) => {
    const reply = await post(api, model, asked)
    expect(reply, reply.text).toMatchObject({ status: 200, warning })
    for (const [name, value] of Object.entries(sent)) expect(reply.sent?.[name], name).toEqual(value)
  })
}

const refused = (cases: ReadonlyArray<readonly [api: Api, model: Handle, asked: object, named: string]>) => {
  it.each(cases)("%s to %s is refused by name: %j", async (api, model, asked, named) => {
    const reply = await post(api, model, asked)
    expect(reply).toMatchObject({ status: 400, sent: undefined, text: expect.stringContaining(named) })
  })
}

const tools = [{ type: "function", function: { name: "f", parameters: { type: "object", properties: {} } } }]

describe("models of OpenAI", () => {
  fits([
    [
      "chat",
      "o3",
      { temperature: 0.2, top_p: 0.5 },
      { ...absent("temperature"), ...absent("top_p") },
      "params_clamped=temperature,topP",
    ],
    [
      "chat",
      "gpt5",
      { temperature: 1, presence_penalty: 0 },
      { ...absent("temperature"), ...absent("presence_penalty") },
      null,
    ],
    ["chat", "gpt5", { presence_penalty: 1 }, absent("presence_penalty"), "params_clamped=presencePenalty"],
    ["chat", "gpt51", { temperature: 0.2 }, { temperature: 0.2 }, null],
    [
      "chat",
      "gpt51",
      { temperature: 0.2, reasoning_effort: "high" },
      absent("temperature"),
      "params_clamped=temperature",
    ],
    ["chat", "gpt51", { reasoning_effort: "minimal" }, { reasoning_effort: "low" }, "params_clamped=reasoning"],
    ["chat", "o3", { reasoning_effort: "xhigh" }, { reasoning_effort: "high" }, "params_clamped=reasoning"],
    ["chat", "gpt5", { reasoning_effort: "none" }, { reasoning_effort: "minimal" }, "params_clamped=reasoning"],
    [
      "chat",
      "gpt4",
      { reasoning_effort: "low", verbosity: "low" },
      { ...absent("reasoning_effort"), ...absent("verbosity") },
      "params_clamped=reasoning,verbosity",
    ],
    ["chat", "o3", { max_tokens: 900 }, { max_completion_tokens: 900, ...absent("max_tokens") }, null],
    ["chat", "gpt4", { max_tokens: 900, temperature: 0.2 }, { max_tokens: 900, temperature: 0.2 }, null],
    ["chat", "o3", { tools, parallel_tool_calls: true }, absent("parallel_tool_calls"), null],
    [
      "chat",
      "deployed",
      { temperature: 0.2, max_tokens: 900 },
      { ...absent("temperature"), max_completion_tokens: 900 },
      "params_clamped=temperature",
    ],
    [
      "chat",
      "unknown",
      { temperature: 0.2, reasoning_effort: "xhigh", stop: ["a"] },
      { temperature: 0.2, reasoning_effort: "xhigh", stop: ["a"] },
      null,
    ],
    [
      "responses",
      "resp-o3",
      { temperature: 0.2, top_p: 0.5 },
      { ...absent("temperature"), ...absent("top_p") },
      "params_clamped=temperature,topP",
    ],
    [
      "responses",
      "resp-51",
      { reasoning: { effort: "minimal", summary: "auto" } },
      { reasoning: { effort: "low", summary: "auto" } },
      "params_clamped=reasoning",
    ],
    ["responses", "resp-51", { temperature: 0.2 }, { temperature: 0.2 }, null],
    [
      "responses",
      "resp-41",
      { reasoning: { effort: "low", summary: "auto" } },
      absent("reasoning"),
      "params_clamped=reasoning",
    ],
    ["messages", "o3", { temperature: 0.2 }, absent("temperature"), "params_clamped=temperature"],
    [
      "messages",
      "resp-o3",
      { output_config: { effort: "xhigh" } },
      { reasoning: { effort: "high" } },
      "params_clamped=effort",
    ],
    ["t1", "gpt5", { params: { reasoning: "off" } }, { reasoning_effort: "minimal" }, "params_clamped=reasoning"],
  ])
  refused([
    ["chat", "o3", { stop: ["a"] }, "stop"],
    ["chat", "gpt5", { logprobs: true }, "logprobs"],
    ["chat", "gpt4", { stop: ["a", "b", "c", "d", "e"] }, "stops"],
    ["responses", "resp-o3", { include: ["message.output_text.logprobs"] }, "logprobs"],
  ])
})

describe("models of other vendors with its API", () => {
  fits([
    [
      "chat",
      "kimi",
      { temperature: 0.6, top_p: 1, frequency_penalty: 0 },
      { ...absent("temperature"), ...absent("top_p"), ...absent("frequency_penalty") },
      "params_clamped=temperature",
    ],
    ["t1", "kimi", { params: { temperature: 0.6 } }, absent("temperature"), "params_clamped=temperature"],
    [
      "chat",
      "grok",
      { presence_penalty: 0.5, temperature: 0.5 },
      { ...absent("presence_penalty"), temperature: 0.5 },
      "params_clamped=presencePenalty",
    ],
    [
      "chat",
      "glm",
      { stop: ["a"], frequency_penalty: 0, n: 1 },
      { stop: ["a"], ...absent("frequency_penalty"), ...absent("n") },
      null,
    ],
  ])
  fits([
    [
      "chat",
      "glm",
      { tools, tool_choice: "none", parallel_tool_calls: false },
      { ...absent("tools"), ...absent("parallel_tool_calls") },
      null,
    ],
  ])
  refused([
    ["chat", "kimi", { n: 2 }, "n"],
    ["chat", "grok", { stop: ["a"] }, "stop"],
    ["messages", "grok", { stop_sequences: ["a"] }, "stop"],
    ["chat", "glm", { stop: ["a", "b"] }, "stops"],
  ])
})

const enabled = (budget_tokens: number) => ({ thinking: { type: "enabled", budget_tokens } })
const adaptive = { thinking: { type: "adaptive" } }
const effort = (word: string) => ({ output_config: { effort: word } })

describe("models of Anthropic", () => {
  fits([
    ["messages", "sonnet45", effort("high"), absent("output_config"), "params_clamped=effort"],
    ["messages", "opus46", effort("xhigh"), effort("high"), "params_clamped=effort"],
    [
      "messages",
      "opus46",
      { ...adaptive, ...effort("xhigh") },
      { ...adaptive, ...effort("high") },
      "params_clamped=reasoning",
    ],
    ["messages", "opus47", { ...adaptive, ...effort("xhigh") }, { ...adaptive, ...effort("xhigh") }, null],
    [
      "messages",
      "opus5",
      { thinking: { type: "disabled" }, ...effort("max") },
      effort("high"),
      "params_clamped=effort",
    ],
    ["messages", "named", { ...enabled(2000), ...effort("max") }, { ...enabled(2000), ...effort("max") }, null],
    ["messages", "sonnet45", { ...adaptive, ...effort("low") }, { ...enabled(2048), ...absent("output_config") }, null],
    [
      "messages",
      "opus47",
      enabled(2000),
      { thinking: { type: "adaptive", display: "summarized" }, ...effort("low") },
      null,
    ],
    [
      "messages",
      "sonnet45",
      { ...enabled(50_000), max_tokens: 64_000 },
      { ...enabled(19_999), max_tokens: 20_000 },
      null,
    ],
    [
      "messages",
      "opus47",
      { temperature: 0.2, top_k: 4 },
      { ...absent("temperature"), ...absent("top_k") },
      "params_clamped=temperature,topK",
    ],
    ["messages", "opus47", { temperature: 1 }, absent("temperature"), null],
    [
      "messages",
      "sonnet45",
      { temperature: 0.2, top_p: 0.5 },
      { temperature: 0.2, ...absent("top_p") },
      "params_clamped=topP",
    ],
    [
      "messages",
      "sonnet45",
      { ...enabled(2000), temperature: 0.2 },
      { ...enabled(2000), ...absent("temperature") },
      "params_clamped=temperature",
    ],
    [
      "messages",
      "sonnet45",
      { ...enabled(2000), tools: [{ name: "f", input_schema: { type: "object" } }], tool_choice: { type: "any" } },
      absent("thinking"),
      "params_clamped=reasoning",
    ],
    ["chat", "opus47", { temperature: 0.2 }, absent("temperature"), "params_clamped=temperature"],
    ["t1", "sonnet45", { params: { effort: "low" } }, absent("output_config"), "params_clamped=effort"],
  ])
})

const thinks = (thinkingConfig: object) => ({ generationConfig: { thinkingConfig } })
const sentThinking = (thinkingConfig: object) => ({
  generationConfig: { thinkingConfig, maxOutputTokens: 20_000 },
})

describe("models of Gemini", () => {
  fits([
    [
      "generate",
      "gem25",
      thinks({ thinkingLevel: "HIGH", includeThoughts: true }),
      sentThinking({ includeThoughts: true, thinkingBudget: 16_384 }),
      null,
    ],
    [
      "generate",
      "gem25",
      thinks({ thinkingBudget: 0 }),
      sentThinking({ thinkingBudget: 128 }),
      "params_clamped=reasoningBudget",
    ],
    ["generate", "flash25", thinks({ thinkingBudget: 0 }), sentThinking({ thinkingBudget: 0 }), null],
    ["generate", "flash25", thinks({ thinkingBudget: -1 }), sentThinking({ thinkingBudget: -1 }), null],
    [
      "generate",
      "flash25",
      thinks({ thinkingBudget: 30_000 }),
      sentThinking({ thinkingBudget: 24_576 }),
      "params_clamped=reasoningBudget",
    ],
    [
      "generate",
      "gem3",
      thinks({ thinkingLevel: "MEDIUM" }),
      sentThinking({ thinkingLevel: "low" }),
      "params_clamped=reasoning",
    ],
    [
      "generate",
      "gem3",
      thinks({ thinkingLevel: "LOW", thinkingBudget: 900 }),
      sentThinking({ thinkingLevel: "LOW" }),
      null,
    ],
    [
      "generate",
      "gem3",
      thinks({ thinkingBudget: 0 }),
      sentThinking({ thinkingLevel: "low" }),
      "params_clamped=reasoning",
    ],
    ["generate", "gem3", thinks({ thinkingBudget: 900 }), sentThinking({ thinkingBudget: 900 }), null],
    ["generate", "flash3", thinks({ thinkingLevel: "MINIMAL" }), sentThinking({ thinkingLevel: "MINIMAL" }), null],
    [
      "chat",
      "gem3",
      { reasoning_effort: "none" },
      sentThinking({ thinkingLevel: "low", includeThoughts: false }),
      "params_clamped=reasoning",
    ],
    [
      "chat",
      "gem25",
      { reasoning_effort: "high" },
      sentThinking({ thinkingBudget: 16_384, includeThoughts: true }),
      null,
    ],
  ])
})

describe("vendors that refuse members of OpenAI's requests", () => {
  const labelled = {
    store: false,
    metadata: { app: "a" },
    user: "ada",
    safety_identifier: "ada",
    service_tier: "default",
    modalities: ["text"],
    prompt_cache_retention: "24h",
    logprobs: false,
    n: 1,
    stream_options: null,
    tools,
    parallel_tool_calls: true,
  }
  fits([
    ["chat", "llama", labelled, { ...absent("store"), parallel_tool_calls: true, tools }, null],
    ["chat", "large", labelled, { ...absent("user"), ...absent("metadata"), parallel_tool_calls: true, tools }, null],
    ["chat", "llama", { store: true }, absent("store"), null],
    ["chat", "large", { stream: true, stream_options: { include_usage: true } }, absent("stream_options"), null],
    ["chat", "gpt4", { store: false, metadata: { app: "a" } }, { store: false, metadata: { app: "a" } }, null],
  ])
  refused([
    ["chat", "llama", { n: 2 }, "n"],
    ["chat", "large", { logprobs: true }, "logprobs"],
  ])
})

describe("instructions in a thread of Anthropic's", () => {
  const said = (role: string, content: unknown) => ({ role, content })
  const marked = { type: "text", text: "B", cache_control: { type: "ephemeral" } }
  const text = (words: string) => ({ type: "text", text: words })
  const asked = said("user", "Hi")
  const thread = [asked, said("system", [marked]), said("assistant", "A"), said("user", "C")]
  const without = [asked, said("assistant", "A"), said("user", "C")]
  fits([
    ["messages", "opus48", { system: "S", messages: thread }, { system: "S", messages: thread }, null],
    ["messages", "opus47", { system: "S", messages: thread }, { system: [text("S"), marked], messages: without }, null],
    ["messages", "sonnet45", { messages: thread }, { system: [marked], messages: without }, null],
    ["messages", "named", { messages: thread }, { messages: thread, ...absent("system") }, null],
    [
      "messages",
      "opus48",
      { messages: [said("system", "S"), asked] },
      { system: [text("S")], messages: [asked] },
      null,
    ],
    [
      "messages",
      "opus48",
      { messages: [asked, said("system", "B"), asked] },
      { system: [text("B")], messages: [asked, asked] },
      null,
    ],
    [
      "messages",
      "opus47",
      { messages: [asked, said("assistant", "A"), said("system", "B")] },
      { messages: [asked, said("assistant", "A"), said("user", "B")] },
      null,
    ],
    [
      "chat",
      "opus48",
      { messages: [said("system", "S"), asked, said("system", "B")] },
      { system: [text("S")], messages: [said("user", [text("Hi")]), said("system", [marked])] },
      null,
    ],
    [
      "chat",
      "opus47",
      { messages: [said("system", "S"), asked, said("system", "B")] },
      { system: [text("S"), text("B")] },
      null,
    ],
  ])
})
