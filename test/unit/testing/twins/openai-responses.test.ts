/** The twin of OpenAI's responses refuses what OpenAI refuses, and Weir's requests are none of it. */
import { Result } from "effect"
import OpenAI from "openai"
import { describe, expect, expectTypeOf, it } from "vitest"
import type { VendorRequest } from "../../../../src/dialects/chat-dialect.ts"
import { responsesRequirements } from "../../../../src/dialects/openai-responses/requirements.ts"
import { openaiResponses } from "../../../../src/dialects/openai-responses/vendor.ts"
import { objectsAt } from "../../../../src/dialects/parse/json.ts"
import { repeating, responsesTwin, type TwinScript } from "../../../../src/testing/index.ts"
import type { ResponsesBody } from "../../../../src/testing/twins/openai/responses-request.ts"
import { answers, asks, calls, jsonIn, refusalOf, testRequest } from "../../../support/twin-requests.ts"
import { saysAll, useTwin } from "./served.ts"

const call = (call_id: string) => ({ type: "function_call", call_id, name: "get", arguments: "{}" })
const told = (call_id: string) => ({ type: "function_call_output", call_id, output: "7" })
const open = { type: "object", properties: { a: { type: "string" } } }
const tool = (parameters: object, strict = false) => ({ type: "function", name: "get", parameters, strict })
const long = "x".repeat(65)
const format = (more: object) => ({ text: { format: more } })
const thought = { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "gAAAAABtwin" }

/** The rule that a request breaks. */
const wrong: ReadonlyArray<readonly [rule: string, request: object, message: string]> = [
  ["shape", { nonsense: 1 }, "Unknown parameter: 'nonsense'."],
  ["shape", { input: [{ role: "user", content: "Hi", bold: true }] }, "Unknown parameter: 'input[0].bold'."],
  ["shape", { reasoning: { effort: "huge" } }, "Invalid value for 'reasoning.effort'."],
  ["some input", { input: [] }, "must be provided"],
  ["ids of calls", { input: [call(long), told(long)] }, "maximum length 64, but got a string with length 65"],
  ["ids of calls differ", { input: [call("a"), call("a"), told("a")] }, "Duplicate item found"],
  ["results directly after their calls", { input: [call("a")] }, "No tool output found for function call a."],
  ["results of calls only", { input: [told("a")] }, "No tool call found for function call output with call_id a."],
  ["schemas of tools", { tools: [tool({ type: "object" })] }, "In context=(), object schema missing properties."],
  ["strict schemas of tools", { tools: [tool(open, true)] }, "'additionalProperties' is required"],
  ["128 tools", { tools: Array.from({ length: 129 }, () => tool(open)) }, "maximum length 128"],
  ["a choice needs tools", { tool_choice: "required" }, "must be specified with 'tools' parameter"],
  [
    "strict schemas of output",
    format({ type: "json_schema", name: "o", schema: open, strict: true }),
    "Invalid schema for",
  ],
  ["JSON mode says JSON", format({ type: "json_object" }), "must contain the word 'json'"],
  [
    "sealed reasoning is its own",
    { input: [{ ...thought, encrypted_content: "other" }, call("a"), told("a")] },
    "could not be verified",
  ],
  ["sealed reasoning is its own", { input: [{ type: "item_reference", id: "msg_1" }] }, "Items are not persisted"],
  [
    "levels of a model",
    { model: "gpt-5", reasoning: { effort: "none" } },
    "Supported values are: minimal, low, medium, high.",
  ],
  ["sampling of a model", { model: "o3", top_p: 0.5 }, "'top_p' is not supported with this model"],
  ["answers of a model", { model: "o3", top_logprobs: 2 }, "'top_logprobs' is not supported with this model"],
  ["reasoning leads to an item", { input: [thought] }, "without its required following item"],
]

describe("the twin refuses", () => {
  it.each(wrong)("%s: %j", (rule, request, message) => {
    const refusal = refusalOf(responsesTwin, { model: "upstream", input: "Hi", ...request })
    expect(refusal).toMatchObject({ rule, status: 400, body: { error: { type: "invalid_request_error" } } })
    expect(JSON.stringify(refusal?.body)).toContain(JSON.stringify(message).slice(1, -1))
  })

  it("by each of its rules, which the dialect meets", () => {
    const rules = responsesTwin.rules.map(({ name }) => name)
    const tried = new Set(wrong.map(([rule]) => rule))
    expect(rules.filter((name) => !tried.has(name))).toEqual([])
    expect(responsesRequirements.map(({ rule }) => rule).sort()).toEqual([...rules].sort())
  })
})

it("knows the fields of the SDK", () => {
  type Sdk = Exclude<keyof OpenAI.Responses.ResponseCreateParamsNonStreaming, keyof typeof ResponsesBody.fields>
  expectTypeOf<Sdk>().toEqualTypeOf<never>()
})

const accepted = (request: Partial<VendorRequest>) => {
  const body = jsonIn(Result.getOrThrow(openaiResponses.encode({ ...testRequest, ...request })).body)
  expect(refusalOf(responsesTwin, body)).toBeUndefined()
  return body
}

describe("a request of Weir", () => {
  it("has ids that fit, one for each call, and outputs directly after their calls", () => {
    const body = accepted({ thread: [asks, calls(long, long), asks, answers(long, long)] })
    const items = objectsAt(body, "input")
    expect(items.map(({ type }) => type)).toEqual([
      "message",
      "function_call",
      "function_call",
      "function_call_output",
      "function_call_output",
      "message",
    ])
    const ids = items.flatMap(({ call_id }) => call_id ?? [])
    expect(new Set(ids).size).toBe(2)
  })

  it("answers calls that were interrupted", () => {
    const body = accepted({ thread: [asks, calls("a"), asks] })
    expect(objectsAt(body, "input")[2]).toMatchObject({
      call_id: "a",
      output: "The call was interrupted. It has no result.",
    })
  })

  it("has properties in schemas, and asks for any object as OpenAI says it", () => {
    expect(accepted({ tools: [{ name: "get", inputSchema: { type: "object" } }] })).toMatchObject({
      tools: [{ parameters: { type: "object", properties: {} } }],
    })
    const output = { schema: { type: "object" } }
    expect(accepted({ output })).toMatchObject(format({ type: "json_schema" }))
    const thread = [{ role: "user", blocks: [{ t: "text", v: "In JSON" }] } as const]
    expect(accepted({ anyJson: true, thread })).toMatchObject(format({ type: "json_object" }))
    expect(accepted({ anyJson: true })).toMatchObject(format({ type: "json_object" }))
    expect(accepted({ output: { schema: open, strict: true } })).toMatchObject(format({ strict: false }))
  })
})

describe("the twin answers", () => {
  const sdkFor = (script: TwinScript) => {
    const url = useTwin(responsesTwin, script)
    return () => new OpenAI({ baseURL: `${url()}/v1`, apiKey: "none", maxRetries: 0 })
  }
  const client = sdkFor(saysAll)
  const repeater = sdkFor(repeating)

  it("whole and streamed the same, as the SDK reads it, and takes its reply back", async () => {
    const whole = await client().responses.create({ model: "m", input: "Hi", store: false })
    const streamed = await client().responses.stream({ model: "m", input: "Hi" }).finalResponse()
    expect(streamed.output).toMatchObject(whole.output)
    expect(streamed.usage).toEqual(whole.usage)
    expect(whole.output_text).toBe("You said: Hi")
    const results = whole.output.flatMap((item) => (item.type === "function_call" ? [item.call_id] : [])).map(told)
    const input = JSON.parse(JSON.stringify([{ role: "user", content: "Hi" }, ...whole.output, ...results]))
    expect((await client().responses.create({ model: "m", input })).status).toBe("completed")
  })

  it("calls a tool that takes a text with a text", async () => {
    const openai = repeater()
    const params = {
      model: "m",
      input: 'Call patch {"input": "a\\nb"}',
      tools: [{ type: "custom", name: "patch" } as const],
    }
    const whole = await openai.responses.create(params)
    const called = { type: "custom_tool_call", name: "patch", input: "a\nb" }
    expect(whole.output).toMatchObject([called])
    const stream = openai.responses.stream(params)
    let input = ""
    for await (const event of stream) if (event.type === "response.custom_tool_call_input.delta") input += event.delta
    expect(input).toBe("a\nb")
    expect((await stream.finalResponse()).output).toMatchObject([called])
  })
})
