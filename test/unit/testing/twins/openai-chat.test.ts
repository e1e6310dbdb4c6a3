/** The twins of chat completions refuse what their vendors refuse, and Weir's requests are none of it. */
import { Result } from "effect"
import OpenAI from "openai"
import { describe, expect, expectTypeOf, it } from "vitest"
import type { VendorRequest } from "../../../../src/dialects/chat-dialect.ts"
import { chatProfiles } from "../../../../src/dialects/openai-chat/profiles.ts"
import { chatRequirements } from "../../../../src/dialects/openai-chat/requirements.ts"
import { makeChatDialect } from "../../../../src/dialects/openai-chat/vendor.ts"
import { objectsAt } from "../../../../src/dialects/parse/json.ts"
import { chatTwins, openaiTwin, repeating, type TwinScript } from "../../../../src/testing/index.ts"
import type { ChatBody } from "../../../../src/testing/twins/openai/chat-request.ts"
import { answers, asks, calls, jsonIn, refusalOf, testRequest } from "../../../support/twin-requests.ts"
import { useTwin } from "./served.ts"

type Profile = keyof typeof chatTwins
const profiles = ["openai", "deepseek", "moonshot", "qwen", "groq", "xai", "zai", "mistral"] as const

const user = { role: "user", content: "Hi" }
const says = (...ids: ReadonlyArray<string>) => ({
  role: "assistant",
  content: null,
  tool_calls: ids.map((id) => ({ id, type: "function", function: { name: "get", arguments: "{}" } })),
})
const told = (id: string) => ({ role: "tool", tool_call_id: id, content: "7" })
const tool = (parameters: object, more: object = {}) => ({
  type: "function",
  function: { name: "get", parameters, ...more },
})
const noProperties = { type: "object" }
const open = { type: "object", properties: { a: { type: "string" } } }
const loop = [user, says("call_1"), told("call_1")]
const long = "x".repeat(41)

/** The rule that a request breaks. */
const wrong: ReadonlyArray<readonly [profile: Profile, rule: string, request: object, message: string]> = [
  ["openai", "shape", { nonsense: 1 }, "Unrecognized request argument supplied: nonsense"],
  ["openai", "shape", { messages: [{ ...user, bold: true }] }, "Unknown parameter: 'messages[0].bold'."],
  [
    "openai",
    "shape",
    { messages: [{ role: "user", content: [{ type: "image_url", image_url: { url: "u", size: 1 } }] }] },
    "Unknown parameter: 'messages[0].content[0].image_url.size'.",
  ],
  ["openai", "shape", { model: undefined }, "Missing required parameter: 'model'."],
  ["openai", "shape", { temperature: "hot" }, "Invalid type for 'temperature': got a string instead."],
  ["openai", "a message at least", { messages: [] }, "Invalid 'messages': empty array."],
  ["openai", "content or calls", { messages: [{ role: "assistant", content: null }] }, "expected a string, got null"],
  [
    "openai",
    "ids of calls",
    { messages: [user, says(long), told(long)] },
    "maximum length 40, but got a string with length 41",
  ],
  ["openai", "ids of calls differ", { messages: [user, says("a", "a"), told("a")] }, "Duplicate value"],
  [
    "openai",
    "results directly after their calls",
    { messages: [user, says("a"), user, told("a")] },
    "did not have response messages: a",
  ],
  ["openai", "results of calls only", { messages: [user, told("a")] }, "must be a response to a preceeding message"],
  ["openai", "schemas of tools", { tools: [tool(noProperties)] }, "In context=(), object schema missing properties."],
  ["openai", "schemas of tools", { tools: [tool({})] }, "got 'type: \"None\"'"],
  ["openai", "schemas of tools", { tools: [tool({ ...open, anyOf: [] })] }, "at the top level"],
  [
    "openai",
    "schemas of tools",
    { tools: [tool({ type: "object", properties: { a: { type: "array" } } })] },
    "In context=('properties', 'a'), array schema missing items.",
  ],
  [
    "openai",
    "strict schemas of tools",
    { tools: [tool(open, { strict: true })] },
    "'additionalProperties' is required",
  ],
  [
    "openai",
    "a choice needs tools",
    { tool_choice: "auto" },
    "'tool_choice' is only allowed when 'tools' are specified.",
  ],
  [
    "openai",
    "strict schemas of output",
    { response_format: { type: "json_schema", json_schema: { name: "o", schema: open, strict: true } } },
    "Invalid schema for response_format 'o'",
  ],
  ["openai", "JSON mode says JSON", { response_format: { type: "json_object" } }, "must contain the word 'json'"],
  ["openai", "128 tools", { tools: Array.from({ length: 129 }, () => tool(open)) }, "maximum length 128"],
  ["openai", "four stops", { stop: ["a", "b", "c", "d", "e"] }, "maximum length 4"],
  ["openai", "usage of streams", { stream_options: { include_usage: true } }, "only allowed when 'stream' is enabled"],
  [
    "openai",
    "levels of a model",
    { model: "gpt-5.1", reasoning_effort: "minimal" },
    "'minimal' is not supported with this model. Supported values are: none, low, medium, high.",
  ],
  ["openai", "sampling of a model", { model: "gpt-5", temperature: 0.2 }, "'temperature' is not supported"],
  ["openai", "answers of a model", { model: "o3", stop: "a" }, "'stop' is not supported"],
  ["openai", "limits of a model", { model: "o4-mini", max_tokens: 9 }, "Use 'max_completion_tokens' instead."],
  ["moonshot", "sampling of a model", { model: "kimi-k2.6", temperature: 0.6 }, "'temperature' is not supported"],
  ["moonshot", "stops of a vendor", { stop: ["a", "b", "c", "d", "e", "f"] }, "maximum length 5"],
  ["groq", "stops of a vendor", { stop: ["a", "b", "c", "d", "e"] }, "maximum length 4"],
  ["groq", "shape", { store: false }, "Unrecognized request argument supplied: store"],
  ["mistral", "shape", { user: "ada" }, "Unrecognized request argument supplied: user"],
  ["xai", "answers of a model", { model: "grok-4.5", stop: ["a"] }, "'stop' is not supported"],
  ["zai", "stops of a vendor", { stop: ["a", "b"] }, "maximum length 1"],
  ["zai", "no choice of tools", { tools: [tool(open)], tool_choice: "required" }, "supports auto only"],
  ["mistral", "ids of calls", { messages: loop }, "must be a-z, A-Z, 0-9, with a length of 9."],
  [
    "mistral",
    "the end of a thread",
    { messages: [user, { role: "assistant", content: "A" }] },
    "Expected last role User or Tool",
  ],
  [
    "deepseek",
    "JSON mode without a schema",
    { response_format: { type: "json_schema", json_schema: { name: "o", schema: open } } },
    "This response_format type is unavailable now",
  ],
  [
    "moonshot",
    "JSON mode without a schema",
    { response_format: { type: "json_schema", json_schema: { name: "o", schema: open } } },
    "invalid response_format",
  ],
  [
    "deepseek",
    "no forced tool beside thinking",
    { thinking: { type: "enabled" }, tools: [tool(open)], tool_choice: "required" },
    "does not support this tool_choice",
  ],
  [
    "qwen",
    "no forced tool beside thinking",
    { enable_thinking: true, tools: [tool(open)], tool_choice: "required" },
    "does not support being set to required",
  ],
  [
    "moonshot",
    "no forced tool beside thinking",
    { thinking: { type: "enabled" }, tools: [tool(open)], tool_choice: "required" },
    "tool_choice is incompatible with thinking enabled",
  ],
  [
    "deepseek",
    "a tool loop has its reasoning",
    { thinking: { type: "enabled" }, messages: loop },
    "Missing `reasoning_content` field in the assistant message at message index 1.",
  ],
  ["moonshot", "a tool loop has its reasoning", { thinking: { type: "enabled" }, messages: loop }, "at index 1"],
]

describe("the twins refuse", () => {
  it.each(wrong)("%s, %s: %j", (profile, rule, request, message) => {
    const refusal = refusalOf(chatTwins[profile], { model: "upstream", messages: [user], ...request })
    expect(refusal).toMatchObject({ rule, status: 400, body: { error: { type: "invalid_request_error" } } })
    expect(JSON.stringify(refusal?.body)).toContain(JSON.stringify(message).slice(1, -1))
  })

  it("by each of their rules", () => {
    const tried = new Set(wrong.map(([, rule]) => rule))
    const rules = profiles.flatMap((profile) => chatTwins[profile].rules.map(({ name }) => name))
    expect(rules.filter((name) => !tried.has(name))).toEqual([])
  })

  it.each(profiles)("by rules that the profile %s meets, each", (profile) => {
    const required = chatRequirements(chatProfiles[profile]).map(({ rule }) => rule)
    const rules = chatTwins[profile].rules.map(({ name }) => name)
    // Ids have a length that all vendors take.
    const others = profile === "openai" || profile === "mistral" ? [] : ["ids of calls"]
    expect([...rules, ...others].sort()).toEqual([...required].sort())
  })
})

it("knows the fields of the SDK", () => {
  type Sdk = Exclude<keyof OpenAI.ChatCompletionCreateParamsNonStreaming, keyof typeof ChatBody.fields>
  expectTypeOf<Sdk>().toEqualTypeOf<never>()
})

const written = (profile: Profile, request: Partial<VendorRequest>) =>
  Result.map(makeChatDialect(chatProfiles[profile]).encode({ ...testRequest, ...request }), ({ body }) => jsonIn(body))

const accepted = (profile: Profile, request: Partial<VendorRequest>) => {
  const body = Result.getOrThrow(written(profile, request))
  expect(refusalOf(chatTwins[profile], body)).toBeUndefined()
  return body
}

const asksForJson = { role: "user", blocks: [{ t: "text", v: "Hi, in JSON" }] } as const
const offered = [{ name: "get", inputSchema: { type: "object" } }]

describe("a request of Weir", () => {
  it.each(profiles)("to %s has ids that fit, one for each call, and the same in their results", (profile) => {
    const id = "functions.get:0".repeat(6)
    const body = accepted(profile, { thread: [asks, calls(id, id), answers(id, id)] })
    const ids = objectsAt(body, "messages").flatMap((message) =>
      objectsAt(message, "tool_calls").map((call) => call["id"]),
    )
    expect(new Set(ids).size).toBe(2)
    expect(objectsAt(body, "messages").flatMap(({ tool_call_id }) => tool_call_id ?? [])).toEqual(ids)
  })

  it.each(profiles)("to %s has results directly after their calls, also if the thread was interrupted", (profile) => {
    const body = accepted(profile, {
      thread: [asks, calls("abcdefgh1"), calls("abcdefgh2"), asks, answers("abcdefgh2")],
    })
    expect(objectsAt(body, "messages")).toMatchObject([
      { role: "user" },
      { role: "assistant", tool_calls: [{ id: "abcdefgh1" }, { id: "abcdefgh2" }] },
      { role: "tool", tool_call_id: "abcdefgh1", content: "The call was interrupted. It has no result." },
      { role: "tool", tool_call_id: "abcdefgh2", content: "7" },
      { role: "user" },
    ])
    expect(written(profile, { thread: [asks, answers("x")] })).toMatchObject(
      Result.fail({ capability: "tool_results" }),
    )
  })

  it("has no message of a model that only thought, where its thoughts are not taken back", () => {
    const thread = [asks, { role: "assistant", blocks: [{ t: "reasoning", v: "Hm" }] } as const, asks]
    for (const profile of ["openai", "qwen", "mistral"] as const) {
      expect(objectsAt(accepted(profile, { thread }), "messages")).toMatchObject([{ role: "user" }, { role: "user" }])
    }
    const sealed = [
      asks,
      { role: "assistant", blocks: [{ t: "reasoning", v: "c2VhbA", redacted: true }] } as const,
      asks,
    ]
    expect(objectsAt(accepted("moonshot", { thread: sealed }), "messages")).toHaveLength(2)
    expect(objectsAt(accepted("deepseek", { thread }), "messages")).toMatchObject([{}, { reasoning_content: "Hm" }, {}])
  })

  it("has properties in each object of a tool's schema, and items in each list", () => {
    const inputSchema = { type: "object", properties: { a: { type: "array" }, b: { type: "object" } } }
    const body = accepted("openai", {
      tools: [...offered, { name: "set", inputSchema }, { name: "any", inputSchema: {} }],
    })
    expect(objectsAt(body, "tools").map((tool) => tool["function"])).toMatchObject([
      { parameters: { type: "object", properties: {} } },
      { parameters: { properties: { a: { items: {} }, b: { properties: {} } } } },
      { parameters: { type: "object", properties: {} } },
    ])
  })

  it("asks for any object as the vendor says it", () => {
    for (const profile of profiles) {
      for (const request of [{ thread: [asksForJson] }, {}]) {
        expect(accepted(profile, { ...request, anyJson: true })).toMatchObject({
          response_format: { type: "json_object" },
        })
      }
    }
    const output = { schema: { type: "object" } }
    expect(accepted("openai", { output })).toMatchObject({ response_format: { type: "json_schema" } })
    expect(written("deepseek", { output })).toMatchObject(Result.fail({ capability: "output" }))
    expect(written("deepseek", { output: { schema: open }, thread: [asksForJson] })).toMatchObject(
      Result.fail({ capability: "output" }),
    )
  })

  it("asks for a schema strictly where it can be followed so", () => {
    const closed = { ...open, required: ["a"], additionalProperties: false }
    const strict = (schema: typeof open) => accepted("openai", { output: { schema, strict: true } })["response_format"]
    expect(strict(closed)).toMatchObject({ json_schema: { strict: true } })
    expect(strict(open)).toMatchObject({ json_schema: { strict: false } })
  })

  it("does not think where a tool is forced, or where a loop lacks its reasoning", () => {
    const forced = { tools: offered, toolChoice: "required", reasoning: "high" } as const
    expect(accepted("qwen", forced)).toMatchObject({ enable_thinking: false, tool_choice: "required" })
    for (const profile of ["deepseek", "moonshot"] as const) {
      expect(accepted(profile, forced)).toMatchObject({ thinking: { type: "disabled" }, tool_choice: "required" })
      // They think if nothing is said.
      expect(accepted(profile, { ...forced, reasoning: undefined })).toMatchObject({ thinking: { type: "disabled" } })
    }
    const thread = [asks, calls("call_1"), answers("call_1")]
    for (const profile of ["deepseek", "moonshot"] as const) {
      expect(accepted(profile, { thread, tools: offered, reasoning: "high" })).toMatchObject({
        thinking: { type: "disabled" },
      })
    }
  })

  it("has the level of reasoning that its model has, or the nearest one", () => {
    const levels = ["off", "minimal", "medium", "xhigh", "max"] as const
    const words: ReadonlyArray<readonly [model: string, words: ReadonlyArray<string | undefined>]> = [
      ["o3-mini", ["low", "low", "medium", "high", "high"]],
      ["gpt-5-2025-08-07", ["minimal", "minimal", "medium", "high", "high"]],
      ["gpt-5-pro", ["high", "high", "high", "high", "high"]],
      ["gpt-5.1", ["none", "low", "medium", "high", "high"]],
      ["gpt-5.1-codex-max", ["low", "low", "medium", "xhigh", "xhigh"]],
      ["gpt-5.2-pro", ["medium", "medium", "medium", "xhigh", "xhigh"]],
      ["openai/gpt-5.4-mini", ["none", "low", "medium", "xhigh", "xhigh"]],
      ["gpt-5.6-sol", ["none", "low", "medium", "xhigh", "max"]],
      ["gpt-4.1", [undefined, undefined, undefined, undefined, undefined]],
      ["gpt-9", ["none", "minimal", "medium", "xhigh", "xhigh"]],
      ["deployment", ["none", "minimal", "medium", "xhigh", "xhigh"]],
    ]
    for (const [model, efforts] of words) {
      expect(levels.map((reasoning) => accepted("openai", { model, reasoning })["reasoning_effort"])).toEqual(efforts)
    }
    const named = { model: "deployment", family: "o3", reasoning: "xhigh" } as const
    expect(accepted("openai", named)).toMatchObject({ reasoning_effort: "high" })
  })

  it("has no way to sample that its model lacks, and goes elsewhere with what forms an answer", () => {
    const sampling = { temperature: 0.2, topP: 0.5, extras: { frequencyPenalty: 1, verbosity: "low" } } as const
    for (const model of ["o3", "gpt-5", "gpt-5.2-pro"]) {
      const body = accepted("openai", { model, ...sampling })
      for (const name of ["temperature", "top_p", "frequency_penalty"]) expect(body).not.toHaveProperty(name)
      expect(written("openai", { model, stop: ["a"] })).toMatchObject(Result.fail({ capability: "stop" }))
      expect(written("openai", { model, extras: { logprobs: 2 } })).toMatchObject(
        Result.fail({ capability: "logprobs" }),
      )
    }
    const whole = { temperature: 0.2, top_p: 0.5, frequency_penalty: 1 }
    expect(accepted("openai", { model: "gpt-5.2", ...sampling })).toMatchObject(whole)
    expect(accepted("openai", { model: "gpt-5.2", ...sampling, reasoning: "low" })).not.toHaveProperty("temperature")
    expect(accepted("openai", { model: "gpt-5.5", ...sampling })).not.toHaveProperty("temperature")
    expect(accepted("openai", { model: "gpt-5.5", ...sampling, reasoning: "off" })).toMatchObject(whole)
    expect(accepted("openai", { model: "gpt-9", ...sampling })).toMatchObject({ ...whole, verbosity: "low" })
    expect(accepted("openai", { model: "gpt-4o", extras: { verbosity: "low" } })).not.toHaveProperty("verbosity")
    expect(accepted("moonshot", { model: "kimi-k2.5", temperature: 0.6 })).not.toHaveProperty("temperature")
    expect(accepted("moonshot", { model: "kimi-k2-thinking", temperature: 0.6 })).toHaveProperty("temperature")
    const penalty = { extras: { presencePenalty: 1 } }
    expect(accepted("xai", { model: "grok-4.5", ...penalty })).not.toHaveProperty("presence_penalty")
    expect(accepted("xai", { model: "grok-4-fast-non-reasoning", ...penalty })).toHaveProperty("presence_penalty")
    expect(written("xai", { model: "grok-4", stop: ["a"] })).toMatchObject(Result.fail({ capability: "stop" }))
    expect(written("zai", { stop: ["a", "b"] })).toMatchObject(Result.fail({ capability: "stops" }))
    expect(accepted("zai", { stop: ["a"] })).toMatchObject({ stop: ["a"] })
  })

  it("has no more stops and tools than are taken, and ends with its user where it must", () => {
    expect(written("openai", { stop: ["a", "b", "c", "d", "e"] })).toMatchObject(Result.fail({ capability: "stops" }))
    const many = Array.from({ length: 129 }, (_, at) => ({ name: `t${at}`, inputSchema: open }))
    expect(written("openai", { tools: many })).toMatchObject(Result.fail({ capability: "tools" }))
    const thread = [asks, { role: "assistant", blocks: [{ t: "text", v: "A" }] } as const]
    expect(written("mistral", { thread })).toMatchObject(Result.fail({ capability: "prefill" }))
  })
})

describe("the twin answers", () => {
  const sdkFor = (script: TwinScript) => {
    const url = useTwin(openaiTwin, script)
    return () => new OpenAI({ baseURL: `${url()}/v1`, apiKey: "none", maxRetries: 0 })
  }
  const client = sdkFor(({ texts }) => ({
    blocks: [
      { t: "text", pieces: ["You said: ", ...texts] },
      { t: "call", name: "get", args: '{"city":"Oslo"}' },
      { t: "call", name: "get", args: "{}" },
    ],
  }))
  const repeater = sdkFor(repeating)

  it("whole and streamed the same, as the SDK reads it", async () => {
    const messages: Array<OpenAI.ChatCompletionMessageParam> = [{ role: "user", content: "Hi" }]
    const whole = await client().chat.completions.create({ model: "m", messages })
    const params = { model: "m", messages, stream_options: { include_usage: true } }
    const streamed = await client().chat.completions.stream(params).finalChatCompletion()
    expect(streamed.choices[0]?.message).toMatchObject(whole.choices[0]?.message ?? {})
    expect(streamed.usage).toEqual(whole.usage)
    expect(whole.choices).toMatchObject([
      {
        finish_reason: "tool_calls",
        message: {
          content: "You said: Hi",
          tool_calls: [{ function: { arguments: '{"city":"Oslo"}' } }, { function: { arguments: "{}" } }],
        },
      },
    ])
  })

  it("calls a tool that takes a text with a text", async () => {
    const openai = repeater()
    const messages: Array<OpenAI.ChatCompletionMessageParam> = [
      { role: "user", content: 'Call patch {"input": "a\\nb"}' },
    ]
    const params = { model: "m", messages, tools: [{ type: "custom", custom: { name: "patch" } } as const] }
    const [choice] = (await openai.chat.completions.create(params)).choices
    expect(choice).toMatchObject({
      finish_reason: "tool_calls",
      message: { tool_calls: [{ type: "custom", custom: { name: "patch", input: "a\nb" } }] },
    })
    const pieces: Array<unknown> = []
    for await (const chunk of await openai.chat.completions.create({ ...params, stream: true })) {
      pieces.push(...(chunk.choices[0]?.delta.tool_calls ?? []))
    }
    expect(pieces).toMatchObject([
      { index: 0, type: "custom", custom: { name: "patch", input: "" } },
      { index: 0, custom: { input: "a\n" } },
      { index: 0, custom: { input: "b" } },
    ])
  })

  it("with an error that the SDK reads", async () => {
    const error = await client()
      .chat.completions.create({ model: "m", messages: [] })
      .catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(OpenAI.BadRequestError)
    expect(error).toMatchObject({ param: "messages", type: "invalid_request_error" })
  })
})
