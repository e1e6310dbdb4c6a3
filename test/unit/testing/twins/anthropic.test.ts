/** The twin of Anthropic's messages refuses what Anthropic refuses, and Weir's requests are none of it. */
import Anthropic from "@anthropic-ai/sdk"
import { Result } from "effect"
import { describe, expect, expectTypeOf, it } from "vitest"
import { anthropicRequirements } from "../../../../src/dialects/anthropic/requirements.ts"
import { anthropic } from "../../../../src/dialects/anthropic/vendor.ts"
import type { VendorRequest } from "../../../../src/dialects/chat-dialect.ts"
import { objectsAt, parseObject } from "../../../../src/dialects/parse/json.ts"
import { anthropicTwin } from "../../../../src/testing/index.ts"
import type { MessagesBody } from "../../../../src/testing/twins/anthropic/request.ts"
import { answers, asks, calls, callTo, refusalOf, testRequest } from "../../../support/twin-requests.ts"
import { saysAll, useTwin } from "./served.ts"

const user = (content: unknown) => ({ role: "user", content })
const system = (content: unknown) => ({ role: "system", content })
const assistant = (...content: ReadonlyArray<object>) => ({ role: "assistant", content })
const call = (id: string) => ({ type: "tool_use", id, name: "get", input: {} })
const result = (id: string) => ({ type: "tool_result", tool_use_id: id, content: "7" })
const picture = { type: "image", source: { type: "url", url: "https://example.com/a.png" } }
const thinks = { type: "enabled", budget_tokens: 2000 }
const tool = { name: "get", input_schema: { type: "object" } }
const loop = (...results: ReadonlyArray<object>) => [user("Hi"), assistant(call("a"), call("b")), user(results)]
const format = (schema: object) => ({ output_config: { format: { type: "json_schema", schema } } })

/** The rule that a request breaks. */
const wrong: ReadonlyArray<readonly [rule: string, request: object, message: string]> = [
  ["shape", { nonsense: 1 }, "nonsense: Extra inputs are not permitted"],
  ["shape", { thinking: { ...thinks, effort: 1 } }, "thinking.effort: Extra inputs are not permitted"],
  [
    "shape",
    { messages: [user([{ type: "text", text: "Hi", bold: true }])] },
    "messages.0.content.0.text.bold: Extra inputs are not permitted",
  ],
  ["shape", { max_tokens: undefined }, "max_tokens: Field required"],
  ["a message at least", { messages: [] }, "messages: at least one message is required"],
  ["no blank text", { messages: [user([{ type: "text", text: "" }])] }, "text content blocks must be non-empty"],
  ["no blank text", { messages: [user([{ type: "text", text: " " }])] }, "must contain non-whitespace text"],
  [
    "the end of a thread",
    { model: "claude-opus-4-7", messages: [user("Hi"), assistant({ type: "text", text: "A" })] },
    "does not support assistant message prefill",
  ],
  [
    "no blank end",
    { messages: [user("Hi"), assistant({ type: "text", text: "A " })] },
    "cannot end with trailing whitespace",
  ],
  [
    "ids of calls",
    { messages: [user("Hi"), assistant(call("get:0")), user([result("get:0")])] },
    "messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
  ],
  ["ids of calls differ", { messages: [user("Hi"), assistant(call("a"), call("a")), user([result("a")])] }, "unique"],
  ["results directly after their calls", { messages: loop(result("a")) }, "immediately after: b."],
  [
    "results directly after their calls",
    { messages: loop(result("a"), picture, result("b")) },
    "immediately after: b.",
  ],
  ["results of calls only", { messages: [user([result("x")])] }, "unexpected `tool_use_id` found"],
  ["results of calls only", { messages: loop(result("a"), result("b"), result("b")) }, "must have a single result"],
  [
    "schemas of tools",
    { tools: [{ name: "get", input_schema: {} }] },
    "tools.0.custom.input_schema.type: Field required",
  ],
  [
    "schemas of tools",
    { tools: [{ name: "get", input_schema: { type: "object", anyOf: [] } }] },
    "input_schema does not support oneOf, allOf, or anyOf at the top level",
  ],
  ["names of tools differ", { tools: [tool, tool] }, "Tool names must be unique."],
  ["a choice needs tools", { tool_choice: { type: "any" } }, "while providing tools"],
  [
    "schemas of output",
    format({ type: "object", properties: { a: { type: "integer", minimum: 1 } }, additionalProperties: false }),
    "For 'integer' type, property 'minimum' is not supported",
  ],
  ["schemas of output", format({ type: "object" }), "must be explicitly set to false"],
  [
    "no forced tool beside a thinking budget",
    { thinking: thinks, tools: [tool], tool_choice: { type: "any" } },
    "Thinking may not be enabled when tool_choice forces tool use.",
  ],
  [
    "a tool loop begins with its thinking",
    { thinking: thinks, messages: loop(result("a"), result("b")) },
    "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`.",
  ],
  ["thinking budgets", { thinking: { type: "enabled", budget_tokens: 100 } }, "greater than or equal to 1024"],
  ["thinking budgets", { thinking: { type: "enabled", budget_tokens: 4000 } }, "must be greater than"],
  ["modes of thinking", { model: "claude-opus-4-7", thinking: thinks }, "is not supported for this model"],
  ["sampling beside thinking", { thinking: thinks, temperature: 0.5 }, "may only be set to 1"],
  ["instructions in a thread", { messages: [user("Hi"), system("B")] }, "role 'system' is not supported on this model"],
  [
    "instructions in a thread",
    { model: "claude-opus-4-8", messages: [system("B"), user("Hi")] },
    "messages.0: use the top-level 'system' parameter",
  ],
  [
    "instructions in a thread",
    { model: "claude-opus-4-8", messages: [user("Hi"), system("B"), user("C")] },
    "messages.1: a 'system' message must follow a user turn",
  ],
  [
    "efforts of a model",
    { model: "claude-haiku-4-5", output_config: { effort: "high" } },
    "This model does not support the effort parameter.",
  ],
  [
    "efforts of a model",
    { model: "claude-opus-4-6", output_config: { effort: "xhigh" } },
    "does not support effort level 'xhigh'",
  ],
  [
    "efforts of a model",
    { model: "claude-opus-5", thinking: { type: "disabled" }, output_config: { effort: "max" } },
    "needs thinking on this model",
  ],
  ["no sampling from 4.7 on", { model: "claude-opus-4-7", temperature: 1 }, "`temperature` is deprecated"],
  ["temperature or top_p", { model: "claude-sonnet-4-5", temperature: 1, top_p: 1 }, "cannot both be specified"],
  [
    "cache breakpoints",
    {
      messages: [
        user(Array.from({ length: 5 }, () => ({ type: "text", text: "a", cache_control: { type: "ephemeral" } }))),
      ],
    },
    "A maximum of 4 blocks",
  ],
  [
    "signatures of thinking",
    { messages: [user("Hi"), assistant({ type: "thinking", thinking: "x", signature: "of another" }), user("Hi")] },
    "Invalid `signature`",
  ],
]

const base = { model: "claude-sonnet-4-0", max_tokens: 4000, messages: [user("Hi")] }

describe("the twin refuses", () => {
  it.each(wrong)("%s: %j", (rule, request, message) => {
    const refusal = refusalOf(anthropicTwin, { ...base, ...request })
    expect(refusal).toMatchObject({ rule, status: 400, body: { error: { type: "invalid_request_error" } } })
    expect(JSON.stringify(refusal?.body)).toContain(JSON.stringify(message).slice(1, -1))
  })

  it("by each of its rules", () => {
    const tried = new Set(wrong.map(([rule]) => rule))
    expect(anthropicTwin.rules.filter(({ name }) => !tried.has(name))).toEqual([])
  })

  it("nothing else", () => {
    expect(
      refusalOf(anthropicTwin, { ...base, messages: loop(result("a"), result("b"), picture), tools: [tool] }),
    ).toBeUndefined()
  })

  it("by rules that the dialect meets, each", () => {
    const required = new Set(anthropicRequirements.map(({ rule }) => rule))
    expect([...required].sort()).toEqual(anthropicTwin.rules.map(({ name }) => name).sort())
  })
})

it("knows the fields of the SDK", () => {
  type Known = keyof typeof MessagesBody.fields
  type Sdk = Exclude<keyof Anthropic.MessageCreateParamsNonStreaming, Known>
  expectTypeOf<Sdk>().toEqualTypeOf<never>()
})

const written = (request: Partial<VendorRequest>) =>
  Result.map(
    anthropic.encode({ ...testRequest, model: "claude-sonnet-4-0", ...request }),
    ({ body }) => parseObject(body) ?? {},
  )

const accepted = (request: Partial<VendorRequest>) => {
  const body = Result.getOrThrow(written(request))
  expect(anthropicTwin.refuse(callTo(body))).toBeUndefined()
  return body
}

describe("a request of Weir", () => {
  it("has ids of calls that fit, one for each, and the same in their results", () => {
    const body = accepted({ thread: [asks, calls("get:0", "get:0"), answers("get:0", "get:0")] })
    const blocks = objectsAt(body, "messages").flatMap((message) => objectsAt(message, "content"))
    const ids = blocks.flatMap(({ id }) => id ?? [])
    expect(new Set(ids).size).toBe(2)
    expect(blocks.flatMap(({ tool_use_id }) => tool_use_id ?? [])).toEqual(ids)
  })

  it("has results directly after their calls, also if a thread was interrupted", () => {
    expect(accepted({ thread: [asks, calls("a", "b"), asks, answers("b")] })["messages"]).toMatchObject([
      { role: "user" },
      { role: "assistant" },
      {
        role: "user",
        content: [
          { tool_use_id: "a", is_error: true },
          { tool_use_id: "b", content: "7" },
          { type: "text", text: "Hi" },
        ],
      },
    ])
  })

  it("has no result without a call", () => {
    expect(written({ thread: [asks, answers("x")] })).toMatchObject(Result.fail({ capability: "tool_results" }))
  })

  it("has schemas of tools that are objects without choices on top", () => {
    const inputSchema = {
      anyOf: [{ properties: { a: { type: "string" } }, required: ["a"] }, { properties: { b: {} } }],
    }
    const tools = [
      { name: "a", inputSchema: {} },
      { name: "b", inputSchema },
    ]
    expect(accepted({ tools })["tools"]).toMatchObject([
      { input_schema: { type: "object" } },
      { input_schema: { type: "object", properties: { a: { type: "string" }, b: {} } } },
    ])
  })

  it("has schemas of output without keywords that are refused", () => {
    const score = { type: "integer", minimum: 1, maximum: 5 }
    const schema = {
      type: "object",
      properties: { score, tags: { type: "array", minItems: 2, items: { type: "string" } } },
    }
    expect(accepted({ model: "claude-sonnet-4-5", output: { schema } })["output_config"]).toEqual({
      format: {
        type: "json_schema",
        schema: {
          type: "object",
          properties: {
            score: { type: "integer", description: "{minimum: 1, maximum: 5}" },
            tags: { type: "array", items: { type: "string" }, description: "{minItems: 2}" },
          },
          additionalProperties: false,
        },
      },
    })
    expect(written({ model: "claude-sonnet-4-5", output: { schema: { type: "object" } } })).toMatchObject(
      Result.fail({ capability: "output" }),
    )
  })

  it("does not think where a tool is forced, or where a loop has no thinking of Claude's", () => {
    const tools = [{ name: "get", inputSchema: { type: "object" } }]
    expect(accepted({ reasoning: "low", tools, toolChoice: "required" })).not.toHaveProperty("thinking")
    const thread = [asks, calls("a"), answers("a")]
    expect(accepted({ reasoning: "low", tools, thread })).not.toHaveProperty("thinking")
    expect(accepted({ reasoning: "low", tools })).toHaveProperty("thinking")
    expect(accepted({ reasoning: "low", tools, thread, model: "claude-opus-4-7" })).toHaveProperty("thinking")
  })

  it("keeps instructions in the thread where the model takes them, and has them before it elsewhere", () => {
    const text = (v: string) => [{ t: "text" as const, v }]
    const says = (v: string) => ({ role: "assistant", blocks: text(v) }) as const
    const instructs = (v: string) => ({ role: "system", blocks: text(v) }) as const
    const rolesOf = (model: string, ...thread: VendorRequest["thread"]) => {
      const body = accepted({ model, thread })
      return [objectsAt(body, "system").length, objectsAt(body, "messages").map(({ role }) => role)]
    }
    const thread = [instructs("A"), asks, instructs("B"), says("C"), asks] as const
    const kept = [1, ["user", "system", "assistant", "user"]]
    const moved = [2, ["user", "assistant", "user"]]
    for (const model of ["claude-opus-4-8", "claude-opus-5", "claude-sonnet-5-5", "claude-fable-5-1"]) {
      expect(rolesOf(model, ...thread), model).toEqual(kept)
    }
    for (const model of ["claude-sonnet-4-5", "claude-opus-4-7", "claude-sonnet-5", "claude"]) {
      expect(rolesOf(model, ...thread), model).toEqual(moved)
    }
    expect(rolesOf("claude-opus-4-8", asks, instructs("B"), asks)).toEqual([1, ["user"]])
    expect(rolesOf("claude-opus-4-8", asks, instructs("B"))).toEqual([0, ["user", "system"]])
    expect(rolesOf("claude-opus-4-8", asks, says("A"), instructs("B"))).toEqual([0, ["user", "assistant", "user"]])
  })

  it("samples by one parameter, or by none", () => {
    const model = "claude-sonnet-4-5"
    expect(accepted({ model, temperature: 0.7, topP: 1 })).toMatchObject({ temperature: 0.7 })
    expect(accepted({ model, temperature: 1, topP: 0.5 })).toMatchObject({ top_p: 0.5 })
    expect(accepted({ model, temperature: 0.7, topP: 0.5 })).toMatchObject({ temperature: 0.7 })
    accepted({ model: "claude-opus-4-7", temperature: 1, topP: 1 })
    expect(accepted({ model: "claude-opus-4-7", temperature: 0.7, extras: { topK: 5 } })).not.toHaveProperty(
      "temperature",
    )
    expect(accepted({ model: "claude", family: "claude-opus-4-7", topP: 0.5 })).not.toHaveProperty("top_p")
    expect(accepted({ temperature: 0.7, topP: 0.5 })).toMatchObject({ temperature: 0.7, top_p: 0.5 })
  })
})

describe("the twin answers", () => {
  const url = useTwin(anthropicTwin, saysAll)
  const client = () => new Anthropic({ baseURL: url(), apiKey: "none", maxRetries: 0 })
  const asked = { model: "claude-sonnet-4-0", max_tokens: 4000, messages: [{ role: "user", content: "Hi" }] } as const

  it("whole and streamed the same, as the SDK reads it", async () => {
    const params = { ...asked, messages: [...asked.messages] }
    const { usage, ...whole } = await client().messages.create(params)
    const { usage: streamedUsage, ...streamed } = await client().messages.stream(params).finalMessage()
    expect(streamed).toMatchObject(whole)
    expect(streamedUsage).toMatchObject(usage)
    expect(whole).toMatchObject({
      stop_reason: "tool_use",
      content: [
        { type: "thinking", thinking: "I think" },
        { type: "text", text: "You said: Hi" },
        { type: "tool_use", input: { city: "Oslo" } },
        { type: "tool_use", input: {} },
      ],
    })
    const turn = [...params.messages, { role: "assistant" as const, content: whole.content }]
    const ids = whole.content.flatMap((block) => (block.type === "tool_use" ? [block.id] : []))
    const results = ids.map((id) => ({ type: "tool_result" as const, tool_use_id: id, content: "7" }))
    const thinking = { type: "enabled" as const, budget_tokens: 2000 }
    await client().messages.create({ ...params, thinking, messages: [...turn, { role: "user", content: results }] })
  })

  it("with an error that the SDK reads", async () => {
    const error = await client()
      .messages.create({ ...asked, messages: [] })
      .catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(Anthropic.BadRequestError)
    expect(error).toMatchObject({ message: expect.stringContaining("messages: at least one message is required") })
  })
})
