/** The twin of Converse refuses what Bedrock refuses, and Weir's requests are none of it. */
import { Result } from "effect"
import { describe, expect, it } from "vitest"
import { bedrockRequirements } from "../../../../src/dialects/bedrock/requirements.ts"
import { bedrockChat } from "../../../../src/dialects/bedrock/vendor.ts"
import type { VendorRequest } from "../../../../src/dialects/chat-dialect.ts"
import { objectAt } from "../../../../src/dialects/parse/json.ts"
import { bedrockTwin } from "../../../../src/testing/index.ts"
import { completed } from "../../../../src/testing/twins/twin.ts"
import { decodePieces, fold } from "../../../support/replay.ts"
import { jsonIn, refusalOf, testRequest } from "../../../support/twin-requests.ts"

const path = (model: string) => `/model/${encodeURIComponent(model)}/converse`
const sonnet = "anthropic.claude-sonnet-4-5-v1:0"
const user = (...content: ReadonlyArray<object>) => ({ role: "user", content })
const assistant = (...content: ReadonlyArray<object>) => ({ role: "assistant", content })
const hi = user({ text: "Hi" })
const call = (toolUseId: string) => ({ toolUse: { toolUseId, name: "get", input: {} } })
const told = (toolUseId: string) => ({ toolResult: { toolUseId, content: [{ text: "7" }] } })
const tools = (json: object, more: object = {}) => ({
  toolConfig: { tools: [{ toolSpec: { name: "get", inputSchema: { json } } }], ...more },
})
const object = { type: "object" }
const thinking = { additionalModelRequestFields: { thinking: { type: "enabled", budget_tokens: 1024 } } }

/** The rule that a request breaks. */
const wrong: ReadonlyArray<{ rule: string; request: object; message: string; model?: string }> = [
  { rule: "shape", request: { nonsense: 1 }, message: "extraneous key [nonsense] is not permitted" },
  { rule: "shape", request: { messages: [hi, assistant(call("a b"))] }, message: "failed to satisfy constraint" },
  {
    rule: "a user begins",
    request: { messages: [assistant({ text: "A" })] },
    message: "must start with a user message",
  },
  { rule: "turns alternate", request: { messages: [hi, hi] }, message: "must alternate" },
  { rule: "no blank text", request: { messages: [user({ text: " " })] }, message: "is blank" },
  {
    rule: "ids of calls differ",
    request: { messages: [hi, assistant(call("a"), call("a")), user(told("a"))], ...tools(object) },
    message: "must be unique",
  },
  {
    rule: "results directly after their calls",
    request: { messages: [hi, assistant(call("a")), hi], ...tools(object) },
    message: "Expected toolResult blocks at messages.2.content for the following Ids: a",
  },
  {
    rule: "results of calls only",
    request: { messages: [user(told("a"))], ...tools(object) },
    message: "exceeds the number",
  },
  {
    rule: "calls need tools",
    request: { messages: [hi, assistant(call("a")), user(told("a"))] },
    message: "The toolConfig field must be defined",
  },
  { rule: "schemas of tools", request: tools({}), message: "must be one of the following: object." },
  {
    rule: "choices of a model",
    model: "meta.llama3-3-70b-instruct-v1:0",
    request: tools(object, { toolChoice: { any: {} } }),
    message: "This model doesn't support the toolConfig.toolChoice.any field.",
  },
  {
    rule: "efforts of a model",
    request: { additionalModelRequestFields: { output_config: { effort: "high" } } },
    message: "This model does not support the effort parameter.",
  },
  {
    rule: "sampling beside thinking",
    request: { ...thinking, inferenceConfig: { temperature: 0.5 } },
    message: "may only be set to 1",
  },
  {
    rule: "no forced tool beside a thinking budget",
    request: { ...tools(object, { toolChoice: { any: {} } }), ...thinking },
    message: "Thinking may not be enabled when tool_choice forces tool use.",
  },
  {
    rule: "a tool loop begins with its thinking",
    request: { messages: [hi, assistant(call("a")), user(told("a"))], ...tools(object), ...thinking },
    message: "Expected `thinking`",
  },
  {
    rule: "signatures of thinking",
    request: { messages: [hi, assistant({ reasoningContent: { reasoningText: { text: "x", signature: "y" } } }), hi] },
    message: "Invalid `signature`",
  },
  {
    rule: "no sampling from 4.7 on",
    request: { inferenceConfig: { temperature: 1 } },
    message: "is deprecated for this model",
    model: "anthropic.claude-opus-4-7-v1:0",
  },
  {
    rule: "temperature or top_p",
    request: { inferenceConfig: { temperature: 1, topP: 1 } },
    message: "cannot both be",
  },
]

describe("the twin refuses", () => {
  it.each(wrong)("$rule: $request", ({ rule, request, message, model = sonnet }) => {
    const refusal = refusalOf(bedrockTwin, { messages: [hi], ...request }, path(model))
    expect(refusal).toMatchObject({ rule, status: 400, body: { message: expect.stringContaining(message) } })
  })

  it("by each of its rules, which the dialect meets", () => {
    const rules = bedrockTwin.rules.map(({ name }) => name)
    const tried = new Set(wrong.map(({ rule }) => rule))
    expect(rules.filter((name) => !tried.has(name))).toEqual([])
    expect(bedrockRequirements.map(({ rule }) => rule).sort()).toEqual([...rules].sort())
  })
})

const accepted = (request: Partial<VendorRequest>) => {
  const wire = Result.getOrThrow(bedrockChat.encode({ ...testRequest, model: sonnet, ...request }))
  expect(refusalOf(bedrockTwin, jsonIn(wire.body), wire.path)).toBeUndefined()
  return jsonIn(wire.body)
}

it("takes a request of Weir whose thread other vendors made", () => {
  const asks = { role: "user", blocks: [{ t: "text", v: "Hi" }] } as const
  const made = { t: "tool_call", id: "functions get:0", name: "get", input: {} } as const
  const results = { role: "tool", blocks: [{ t: "tool_result", id: made.id, v: "7" }] } as const
  const thread = [asks, { role: "assistant", blocks: [made, made] } as const, asks, results]
  const offered = [{ name: "get", inputSchema: {} }]
  const body = accepted({ thread, tools: offered, reasoning: "low", temperature: 0.5, topP: 1 })
  expect(body).not.toHaveProperty("additionalModelRequestFields")
  expect(body["inferenceConfig"]).toMatchObject({ temperature: 0.5 })
})

it("has a choice of tools that its model takes, or goes elsewhere", () => {
  const offered = [{ name: "get", inputSchema: {} }]
  const named = { tools: offered, toolChoice: { name: "get" } } as const
  const any = { tools: offered, toolChoice: "required" } as const
  const choiceOf = (model: string, more: Partial<VendorRequest>) => {
    const encoded = bedrockChat.encode({ ...testRequest, model, ...more })
    if (Result.isFailure(encoded)) return encoded.failure.capability
    expect(refusalOf(bedrockTwin, jsonIn(encoded.success.body), path(model))).toBeUndefined()
    return objectAt(objectAt(jsonIn(encoded.success.body), "toolConfig"), "toolChoice")
  }
  const llama = "us.meta.llama3-3-70b-instruct-v1:0"
  const large = "mistral.mistral-large-2407-v1:0"
  expect(choiceOf(llama, any)).toBe("tool_choice")
  expect(choiceOf(llama, named)).toBe("tool_choice")
  expect(choiceOf(llama, { ...any, toolChoice: "auto" })).toEqual({ auto: {} })
  expect(choiceOf(large, any)).toEqual({ any: {} })
  expect(choiceOf(large, named)).toEqual({ any: {} })
  expect(choiceOf(large, { ...named, tools: [...offered, { name: "set", inputSchema: {} }] })).toBe("tool_choice")
  for (const model of [sonnet, "amazon.nova-pro-v1:0", "newcomer.model-v1", "arn:aws:bedrock:eu:1:prompt-router/x"]) {
    expect(choiceOf(model, named)).toEqual({ tool: { name: "get" } })
    expect(choiceOf(model, any)).toEqual({ any: {} })
  }
  const profile = { model: "arn:aws:bedrock:eu:1:application-inference-profile/x", family: "meta.llama3-3" }
  expect(choiceOf(profile.model, { ...any, ...profile })).toBe("tool_choice")
})

it("answers whole and streamed the same", () => {
  const asked = bedrockTwin.asked({ path: path(sonnet), headers: {}, streaming: true, body: { messages: [] } })
  const reply = completed(asked, {
    blocks: [
      { t: "reasoning", pieces: ["I ", "think"] },
      { t: "text", pieces: ["You ", "said"] },
      { t: "call", name: "get", args: '{"city":"Oslo"}' },
      { t: "call", name: "get", args: "{}" },
    ],
  })
  const frames = bedrockTwin.frames(reply).map((frame) => Buffer.from(frame))
  const streamed = fold(decodePieces(bedrockChat, frames))
  expect(streamed).toMatchObject({ done: true, faults: [], stop: "tool_call" })
  expect(streamed).toEqual(fold(bedrockChat.decodeBody(JSON.stringify(bedrockTwin.whole(reply)))))
})
