/** The twin of Cohere's chat refuses what Cohere refuses, and Weir's requests are none of it. */
import { Result } from "effect"
import { describe, expect, it } from "vitest"
import type { VendorRequest } from "../../../../src/dialects/chat-dialect.ts"
import { cohereRequirements } from "../../../../src/dialects/cohere/requirements.ts"
import { chatDialects } from "../../../../src/dialects/index.ts"
import { cohereTwin } from "../../../../src/testing/index.ts"
import { completed } from "../../../../src/testing/twins/twin.ts"
import { decodeText, fold } from "../../../support/replay.ts"
import { jsonIn, refusalOf, testRequest } from "../../../support/twin-requests.ts"

const user = { role: "user", content: "Hi" }
const says = (...ids: ReadonlyArray<string>) => ({
  role: "assistant",
  tool_calls: ids.map((id) => ({ id, type: "function", function: { name: "get", arguments: "{}" } })),
})
const told = (tool_call_id: string) => ({ role: "tool", tool_call_id, content: "7" })
const tools = (parameters: object) => ({ tools: [{ type: "function", function: { name: "get", parameters } }] })
const object = { type: "object" }

/** The rule that a request breaks. */
const wrong: ReadonlyArray<{ rule: string; request: object; message: string; status?: number }> = [
  { rule: "shape", request: { nonsense: 1 }, message: "parameter 'nonsense' is not a valid field", status: 422 },
  { rule: "shape", request: { p: 1 }, message: "parameter 'p' is invalid" },
  { rule: "a message at least", request: { messages: [] }, message: "at least 1 token long" },
  { rule: "content or calls", request: { messages: [user, { role: "assistant" }] }, message: "content or tool_calls" },
  { rule: "results directly after their calls", request: { messages: [user, says("a"), user] }, message: "IDs: a" },
  {
    rule: "results of calls only",
    request: { messages: [user, told("a")] },
    message: "cannot find tool call with ID a",
  },
  { rule: "ids of calls differ", request: { messages: [user, says("a", "a"), told("a")] }, message: "duplicate" },
  { rule: "schemas of tools", request: tools({}), message: "must be of type 'object'" },
  { rule: "a choice needs tools", request: { tool_choice: "REQUIRED" }, message: "only be specified if tools are" },
  { rule: "five stops", request: { stop_sequences: ["a", "b", "c", "d", "e", "f"] }, message: "maximum of 5" },
  {
    rule: "a schema or tools",
    request: { ...tools(object), response_format: { type: "json_object" } },
    message: "cannot specify both",
  },
  {
    rule: "schemas of output",
    request: { response_format: { type: "json_object", json_schema: object } },
    message: "must have a required field",
  },
]

describe("the twin refuses", () => {
  it.each(wrong)("$rule: $request", ({ rule, request, message, status = 400 }) => {
    const refusal = refusalOf(cohereTwin, { model: "command-a", messages: [user], ...request })
    expect(refusal).toMatchObject({ rule, status, body: { message: expect.stringContaining(message) } })
  })

  it("by each of its rules, which the dialect meets", () => {
    const rules = cohereTwin.rules.map(({ name }) => name)
    const tried = new Set(wrong.map(({ rule }) => rule))
    expect(rules.filter((name) => !tried.has(name))).toEqual([])
    expect(cohereRequirements.map(({ rule }) => rule).sort()).toEqual([...rules].sort())
  })
})

const written = (request: Partial<VendorRequest>) =>
  Result.map(chatDialects.cohere.encode({ ...testRequest, ...request }), ({ body }) => jsonIn(body))

const accepted = (request: Partial<VendorRequest>) => {
  const body = Result.getOrThrow(written(request))
  expect(refusalOf(cohereTwin, body)).toBeUndefined()
  return body
}

const asks = { role: "user", blocks: [{ t: "text", v: "Hi" }] } as const

describe("a request of Weir", () => {
  it("is taken whatever other vendors said in its thread", () => {
    const call = { t: "tool_call", id: "a", name: "get", input: {} } as const
    const sealed = { role: "assistant", blocks: [{ t: "reasoning", v: "sealed", redacted: true }] } as const
    const thread = [asks, sealed, asks, { role: "assistant", blocks: [call, call] } as const, asks]
    accepted({ thread, tools: [{ name: "get", inputSchema: {} }] })
  })

  it("asks for any object without a schema, and has ranges that are taken", () => {
    expect(accepted({ output: { schema: object } })).toMatchObject({ response_format: { type: "json_object" } })
    expect(accepted({ topP: 1 })).not.toHaveProperty("p")
    expect(written({ topP: 0 })).toMatchObject(Result.fail({ capability: "topP" }))
    expect(written({ extras: { presencePenalty: -1 } })).toMatchObject(Result.fail({ capability: "presencePenalty" }))
    const schema = { type: "object", properties: {} }
    expect(written({ output: { schema } })).toMatchObject(Result.fail({ capability: "output" }))
  })
})

it("answers whole and streamed the same", () => {
  const asked = cohereTwin.asked({ path: "/v2/chat", headers: {}, streaming: true, body: { messages: [] } })
  const reply = completed(asked, {
    blocks: [
      { t: "reasoning", pieces: ["I ", "think"] },
      { t: "text", pieces: ["You ", "said"] },
      { t: "call", name: "get", args: '{"city":"Oslo"}' },
    ],
  })
  const streamed = fold(decodeText(chatDialects.cohere, cohereTwin.frames(reply).join("")))
  expect(streamed).toMatchObject({ done: true, faults: [], stop: "tool_call" })
  expect(streamed).toEqual(fold(chatDialects.cohere.decodeBody(JSON.stringify(cohereTwin.whole(reply)))))
})
