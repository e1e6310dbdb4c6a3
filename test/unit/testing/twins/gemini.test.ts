/** The twin of Gemini refuses what Gemini refuses, and Weir's requests are none of it. */
import { type GenerateContentConfig, type GenerateContentResponse, GoogleGenAI } from "@google/genai"
import { Result } from "effect"
import { describe, expect, it } from "vitest"
import type { VendorRequest } from "../../../../src/dialects/chat-dialect.ts"
import { geminiRequirements } from "../../../../src/dialects/gemini/requirements.ts"
import { gemini } from "../../../../src/dialects/gemini/vendor.ts"
import { objectsAt } from "../../../../src/dialects/parse/json.ts"
import { geminiTwin } from "../../../../src/testing/index.ts"
import { asks, calls, jsonIn, refusalOf, results, testRequest } from "../../../support/twin-requests.ts"
import { saysAll, useTwin } from "./served.ts"

const path = (model: string) => `/v1beta/models/${model}:generateContent`
const user = (...parts: ReadonlyArray<object>) => ({ role: "user", parts })
const model = (...parts: ReadonlyArray<object>) => ({ role: "model", parts })
const hi = user({ text: "Hi" })
const thoughtSignature = "skip_thought_signature_validator"
const call = (name: string, more: object = { thoughtSignature }) => ({ functionCall: { name, args: {} }, ...more })
const told = (name: string, response: object = {}) => ({ functionResponse: { name, response } })
const tool = (name: string) => ({
  tools: [{ functionDeclarations: [{ name, parametersJsonSchema: { type: "object" } }] }],
})

/** The rule that a request breaks. */
const wrong: ReadonlyArray<readonly [rule: string, request: object, message: string, model?: string]> = [
  ["shape", { nonsense: 1 }, 'Unknown name "nonsense": Cannot find field.'],
  ["shape", { generationConfig: { hot: 1 } }, "Unknown name \"hot\" at 'generation_config': Cannot find field."],
  ["shape", { generation_config: { seed: 9_999_999_999 } }, "Invalid value at 'generation_config.seed'"],
  ["some contents", { contents: [] }, "contents is not specified"],
  ["some parts", { contents: [user()] }, "contents.parts must not be empty."],
  ["two roles", { contents: [{ role: "assistant", parts: [{ text: "A" }] }] }, "Please use a valid role: user, model."],
  ["the end of a thread", { contents: [hi, model({ text: "A" })] }, "ends with a user role or a function response"],
  ["calls after a user", { contents: [model(call("get")), user(told("get"))] }, "comes immediately after a user turn"],
  ["results of calls only", { contents: [user(told("get"))] }, "comes immediately after a function call turn"],
  [
    "as many results as calls",
    { contents: [hi, model(call("get"), call("get")), user(told("get"))] },
    "is equal to the number",
  ],
  [
    "results are not interpreted",
    { contents: [hi, model(call("get")), user(told("get", { a: { $ref: "#/b" } }))] },
    "does not match",
  ],
  ["signatures of calls", { contents: [hi, model(call("get", {})), user(told("get"))] }, "missing a thought_signature"],
  [
    "signatures are its own",
    { contents: [hi, model(call("get", { thoughtSignature: "YQ==" })), user(told("get"))] },
    "Corrupted",
  ],
  ["names of functions", tool("1st"), "Must start with a letter or an underscore."],
  [
    "names of functions differ",
    { tools: [...tool("get").tools, ...tool("get").tools] },
    "Duplicate function declaration found: get",
  ],
  ["a choice needs tools", { toolConfig: { functionCallingConfig: { mode: "ANY" } } }, "without function_declarations"],
  [
    "five stops",
    { generationConfig: { stopSequences: ["a", "b", "c", "d", "e", "f"] } },
    "exceeds the supported number of 5",
  ],
  ["a schema needs JSON", { generationConfig: { responseJsonSchema: {} } }, "response_mime_type is set"],
  [
    "a schema or functions",
    { ...tool("get"), generationConfig: { responseMimeType: "application/json" } },
    "'application/json' is unsupported",
    "gemini-2.5-flash",
  ],
  [
    "thinking of a model",
    { generationConfig: { thinkingConfig: { thinkingLevel: "low" } } },
    "not supported",
    "gemini-2.5-pro",
  ],
  [
    "thinking of a model",
    { generationConfig: { thinkingConfig: { thinkingLevel: "low", thinkingBudget: 9 } } },
    "only one of thinking budget and thinking level",
  ],
  [
    "thinking of a model",
    { generationConfig: { thinkingConfig: { thinkingBudget: 0 } } },
    "Budget 0 is invalid.",
    "gemini-2.5-pro",
  ],
  [
    "thinking of a model",
    { generationConfig: { thinkingConfig: { thinkingBudget: 99_999 } } },
    "choose a value between 1 and 24576",
    "gemini-2.5-flash",
  ],
  [
    "levels of a model",
    { generationConfig: { thinkingConfig: { thinkingLevel: "MEDIUM" } } },
    "Thinking level MEDIUM is not supported",
  ],
]

describe("the twin refuses", () => {
  it.each(wrong.map(([rule, request, message, name = "gemini-3-pro"]) => ({ rule, request, message, name })))(
    "$rule: $request",
    ({ rule, request, message, name }) => {
      const refusal = refusalOf(geminiTwin, { contents: [hi], ...request }, path(name))
      expect(refusal).toMatchObject({ rule, status: 400, body: { error: { code: 400, status: "INVALID_ARGUMENT" } } })
      expect(JSON.stringify(refusal?.body)).toContain(JSON.stringify(message).slice(1, -1))
    },
  )

  it("by each of its rules, which the dialect meets", () => {
    const rules = geminiTwin.rules.map(({ name }) => name)
    const tried = new Set(wrong.map(([rule]) => rule))
    expect(rules.filter((name) => !tried.has(name))).toEqual([])
    expect(geminiRequirements.map(({ rule }) => rule).sort()).toEqual([...rules].sort())
  })

  it("no signature that is missing before Gemini 3", () => {
    const contents = [hi, model(call("get", {})), user(told("get"))]
    expect(refusalOf(geminiTwin, { contents }, path("gemini-2.5-flash"))).toBeUndefined()
  })

  it("no step that comes in several contents, as Google's SDKs send the pieces of a stream", () => {
    const step = [model({ text: "A" }), model(call("get")), model(call("get", {})), model({ text: "" })]
    const contents = [hi, ...step, user(told("get"), told("get"))]
    expect(refusalOf(geminiTwin, { contents }, path("gemini-3-pro"))).toBeUndefined()
    const one = [hi, ...step, user(told("get"))]
    expect(refusalOf(geminiTwin, { contents: one }, path("gemini-3-pro"))).toMatchObject({ status: 400 })
  })
})

const written = (request: Partial<VendorRequest>) =>
  gemini.encode({ ...testRequest, model: "gemini-3-pro", ...request })

const accepted = (request: Partial<VendorRequest>) => {
  const wire = Result.getOrThrow(written(request))
  expect(refusalOf(geminiTwin, jsonIn(wire.body), wire.path)).toBeUndefined()
  return jsonIn(wire.body)
}

describe("a request of Weir", () => {
  it("says that calls of other vendors have no signature, once for each step", () => {
    const thread = [asks, calls("a", "b"), results(["a", "1"], ["b", "2"]), calls("c"), results(["c", "3"])]
    const parts = objectsAt(accepted({ thread }), "contents").flatMap((content) => objectsAt(content, "parts"))
    const signed = parts.filter((part) => "functionCall" in part).map((part) => part["thoughtSignature"])
    expect(signed).toEqual([thoughtSignature, undefined, thoughtSignature])
    const old = jsonIn(Result.getOrThrow(written({ thread, model: "gemini-2.5-pro" })).body)
    expect(JSON.stringify(old)).not.toContain("thoughtSignature")
  })

  it("gives results with references as text, and as many results as calls", () => {
    const body = accepted({ thread: [asks, calls("a", "b"), results(["b", '{"schema":{"$ref":"#/$defs/A"}}']), asks] })
    expect(objectsAt(body, "contents")[2]).toMatchObject({
      parts: [
        { functionResponse: { id: "a", response: { error: "The call was interrupted. It has no result." } } },
        { functionResponse: { id: "b", response: { output: '{"schema":{"$ref":"#/$defs/A"}}' } } },
        { text: "Hi" },
      ],
    })
  })

  it.each<readonly [string, Partial<VendorRequest>]>([
    ["prefill", { thread: [asks, { role: "assistant", blocks: [{ t: "text", v: "A" }] }] }],
    ["thread", { thread: [calls("a"), results(["a", "1"])] }],
    ["thread", { thread: [{ role: "system", blocks: [{ t: "text", v: "A" }] }] }],
    ["tools", { tools: [{ name: "1st", inputSchema: {} }] }],
    ["stops", { stop: ["a", "b", "c", "d", "e", "f"] }],
    ["seed", { extras: { seed: 9_999_999_999 } }],
    ["output", { model: "gemini-2.5-pro", output: { schema: {} }, tools: [{ name: "get", inputSchema: {} }] }],
  ])("is not written for lack of %s: %j", (capability, request) => {
    expect(written(request)).toMatchObject(Result.fail({ capability }))
  })
})

describe("the twin answers", () => {
  const url = useTwin(geminiTwin, saysAll)

  it("whole and streamed the same, as the SDK reads it, and takes its reply back", async () => {
    const client = new GoogleGenAI({ apiKey: "none", httpOptions: { baseUrl: url() } })
    const config: GenerateContentConfig = {}
    const asked = { model: "gemini-3-pro", contents: "Hi", config }
    const whole = await client.models.generateContent(asked)
    const chunks: Array<GenerateContentResponse> = []
    for await (const chunk of await client.models.generateContentStream(asked)) chunks.push(chunk)
    expect(chunks.map(({ text }) => text ?? "").join("")).toBe(whole.text)
    expect(chunks.flatMap(({ functionCalls }) => functionCalls ?? [])).toEqual(whole.functionCalls)
    expect(chunks.at(-1)?.usageMetadata).toEqual(whole.usageMetadata)
    const results = (whole.functionCalls ?? []).map(({ id = "", name = "" }) => ({
      functionResponse: { id, name, response: { output: "7" } },
    }))
    const contents = [
      { role: "user", parts: [{ text: "Hi" }] },
      ...(whole.candidates ?? []).flatMap(({ content }) => content ?? []),
      { role: "user", parts: results },
    ]
    expect((await client.models.generateContent({ ...asked, contents })).text).toBe("You said: 77")
  })
})
