/** Tools that take a text, and tools that a vendor defines, between APIs. Nothing of them is dropped. */
import { describe, expect, it } from "vitest"
import { isObject, type JsonObject, objectsAt, parseObject } from "../../../src/dialects/parse/json.ts"
import { newTestIds, testCatalogue, type VendorScript } from "../../../src/testing/index.ts"
import { anthropicFrame, openaiFrame } from "../../../src/testing/vendor-replies.ts"
import { useGateway } from "../../support/gateway.ts"
import { ask, modelsAt, serving } from "./served.ts"
import { message } from "./vendors.ts"

const ids = newTestIds()
const gateway = useGateway({
  ids,
  catalogue: (urls) =>
    serving(testCatalogue(urls, ids), {
      vendors: { mistral: `dialect: openai-chat, profile: mistral, baseUrl: "${urls.vendor}/v1"` },
      models: modelsAt(
        { chat: "openai", mistral: "mistral", resp: "responses", cl: "anthropic", gem: "gemini" },
        "maxOutput: 10000, capabilities: [tools, images]",
      ),
    }),
})

const post = (path: string, body: object) => ask(gateway(), path, body)
const sent = () => parseObject(gateway().vendor.calls.at(-1)?.sent.toString("utf8") ?? "") ?? {}

const patch = '*** Begin Patch\n*** Update File: a.ts\n-1\n+"2"\n*** End Patch'
const grammar = { syntax: "lark", definition: "start: /.+/" }
const args = JSON.stringify({ input: patch })
const frames =
  (...all: ReadonlyArray<string>): VendorScript =>
  (call) => {
    call.head(200, { "content-type": "text/event-stream" })
    for (const frame of all) call.write(frame)
    call.end()
  }
const whole =
  (body: object): VendorScript =>
  (call) => {
    call.head(200, { "content-type": "application/json" })
    call.end(JSON.stringify(body))
  }

/** A vendor that calls the function which stands for the tool. */
const calling: Readonly<Record<string, { readonly stream: VendorScript; readonly whole: VendorScript }>> = {
  mistral: {
    stream: frames(
      openaiFrame({ choices: [{ index: 0, delta: { content: "So." } }] }),
      ...[0, 10, 20].map((from, at) =>
        openaiFrame({
          choices: [
            {
              index: 0,
              delta: {
                tool_calls: [
                  {
                    index: 0,
                    ...(at === 0 && { id: "c1" }),
                    function: {
                      ...(at === 0 && { name: "apply_patch" }),
                      arguments: at === 2 ? args.slice(from) : args.slice(from, from + 10),
                    },
                  },
                ],
              },
            },
          ],
        }),
      ),
      openaiFrame({
        choices: [{ index: 0, delta: {}, finish_reason: "tool_calls" }],
        usage: { prompt_tokens: 9, completion_tokens: 9, total_tokens: 18 },
      }),
      openaiFrame("[DONE]"),
    ),
    whole: whole({
      choices: [
        {
          index: 0,
          message: {
            role: "assistant",
            content: "So.",
            tool_calls: [{ id: "c1", type: "function", function: { name: "apply_patch", arguments: args } }],
          },
          finish_reason: "tool_calls",
        },
      ],
      usage: { prompt_tokens: 9, completion_tokens: 9, total_tokens: 18 },
    }),
  },
  cl: {
    stream: frames(
      ...[
        { type: "message_start", message },
        { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
        { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "So." } },
        { type: "content_block_stop", index: 0 },
        {
          type: "content_block_start",
          index: 1,
          content_block: { type: "tool_use", id: "c1", name: "apply_patch", input: {} },
        },
        { type: "content_block_delta", index: 1, delta: { type: "input_json_delta", partial_json: args.slice(0, 7) } },
        { type: "content_block_delta", index: 1, delta: { type: "input_json_delta", partial_json: args.slice(7) } },
        { type: "content_block_stop", index: 1 },
        { type: "message_delta", delta: { stop_reason: "tool_use", stop_sequence: null }, usage: { output_tokens: 9 } },
        { type: "message_stop" },
      ].map(anthropicFrame),
    ),
    whole: whole({
      ...message,
      content: [
        { type: "text", text: "So." },
        { type: "tool_use", id: "c1", name: "apply_patch", input: { input: patch } },
      ],
      stop_reason: "tool_use",
    }),
  },
}

const eventsOf = (text: string): ReadonlyArray<JsonObject> =>
  text.split("\n\n").flatMap((frame) => {
    const data = frame.split("\n").find((line) => line.startsWith("data: "))
    const event = parseObject(data?.slice("data: ".length) ?? "")
    return event === undefined ? [] : [event]
  })

describe.each(Object.entries(calling))("a tool that takes a text, at a vendor that has none (%s)", (handle, vendor) => {
  const tools = [
    { type: "custom", name: "apply_patch", description: "Edits files", format: { type: "grammar", ...grammar } },
  ]
  const input = [
    { role: "user", content: "Hi" },
    { type: "custom_tool_call", call_id: "c0", name: "apply_patch", input: "a\nb" },
    { type: "custom_tool_call_output", call_id: "c0", output: "done" },
  ]

  it("is a function with one text, and its calls come back as they were asked for (responses)", async () => {
    gateway().vendor.script(vendor.whole)
    const reply = await post("/openai/v1/responses", {
      model: handle,
      input,
      tools,
      tool_choice: { type: "custom", name: "apply_patch" },
    })
    expect(reply).toMatchObject({ status: 200, warning: null })
    expect(parseObject(reply.text)?.["output"]).toMatchObject([
      { type: "message" },
      { type: "custom_tool_call", call_id: "c1", name: "apply_patch", input: patch },
    ])
    expect(JSON.stringify(sent()["tools"])).toContain("start: /.+/")
    expect(JSON.stringify(sent()["messages"])).toMatch(/a\\+nb/)
  })

  it("streams (responses)", async () => {
    gateway().vendor.script(vendor.stream)
    const { text } = await post("/openai/v1/responses", { model: handle, input, tools, stream: true })
    const events = eventsOf(text)
    const parts = events
      .filter(({ type }) => type === "response.custom_tool_call_input.delta")
      .map(({ delta }) => delta)
    expect(parts.join("")).toBe(patch)
    expect(events).toContainEqual(
      expect.objectContaining({ type: "response.custom_tool_call_input.done", input: patch }),
    )
    expect(text).not.toContain("function_call_arguments")
  })

  it("is the same in chat completions and in /t1", async () => {
    gateway().vendor.script(vendor.whole)
    const chat = await post("/openai/v1/chat/completions", {
      model: handle,
      messages: [{ role: "user", content: "Hi" }],
      tools: [{ type: "custom", custom: { name: "apply_patch", format: { type: "grammar", grammar } } }],
    })
    const [choice] = objectsAt(parseObject(chat.text), "choices")
    expect(choice).toMatchObject({
      message: { tool_calls: [{ id: "c1", type: "custom", custom: { name: "apply_patch", input: patch } }] },
    })
    const asked = {
      model: handle,
      thread: [{ role: "user", blocks: [{ t: "text", v: "Hi" }] }],
      tools: [{ kind: "text", name: "apply_patch", grammar }],
    }
    const own = await post("/t1/exchange", { ...asked, stream: false })
    const { blocks } = parseObject(own.text) ?? {}
    expect(blocks).toMatchObject([{ t: "text" }, { t: "tool_call", name: "apply_patch", input: {}, text: patch }])
    gateway().vendor.script(vendor.stream)
    const streamed = await post("/t1/exchange", { ...asked, stream: true })
    const deltas = eventsOf(streamed.text).filter(({ t }) => t === "tool_call")
    expect(deltas.map(({ text }) => text).join("")).toBe(patch)
    gateway().vendor.script(vendor.whole)
    const thread = [
      ...asked.thread,
      { role: "assistant", blocks },
      { role: "tool", blocks: [{ t: "tool_result", id: "c1", v: "done" }] },
    ]
    expect((await post("/t1/exchange", { ...asked, thread, stream: false })).status).toBe(200)
    expect(JSON.stringify(sent())).toContain("Begin Patch")
  })
})

it("a tool that takes a text goes to OpenAI's other API as it is", async () => {
  gateway().vendor.script(
    whole({
      choices: [
        {
          index: 0,
          message: {
            role: "assistant",
            content: null,
            tool_calls: [{ id: "c1", type: "custom", custom: { name: "apply_patch", input: patch } }],
          },
          finish_reason: "tool_calls",
        },
      ],
      usage: { prompt_tokens: 9, completion_tokens: 9, total_tokens: 18 },
    }),
  )
  const tools = [{ type: "custom", name: "apply_patch", format: { type: "grammar", ...grammar } }]
  const reply = await post("/openai/v1/responses", {
    model: "chat",
    input: [
      { role: "user", content: "Hi" },
      { type: "custom_tool_call", call_id: "c0", name: "apply_patch", input: "a\nb" },
      { type: "custom_tool_call_output", call_id: "c0", output: "done" },
    ],
    tools,
    tool_choice: { type: "custom", name: "apply_patch" },
  })
  expect(sent()).toMatchObject({
    tools: [{ type: "custom", custom: { name: "apply_patch", format: { type: "grammar", grammar } } }],
    tool_choice: { type: "custom", custom: { name: "apply_patch" } },
    messages: [{}, { tool_calls: [{ type: "custom", custom: { input: "a\nb" } }] }, { role: "tool", content: "done" }],
  })
  expect(parseObject(reply.text)?.["output"]).toMatchObject([{ type: "custom_tool_call", input: patch }])
})

describe("a tool that a vendor defines", () => {
  const asked = { max_tokens: 50, messages: [{ role: "user", content: "Hi" }] }
  it.each([
    ["/anthropic/v1/messages", "cl", { ...asked, tools: [{ type: "bash_20250124", name: "bash" }] }],
    ["/openai/v1/responses", "resp", { input: "Hi", tools: [{ type: "local_shell" }] }],
    ["/openai/v1/responses", "resp", { input: "Hi", tools: [{ type: "apply_patch" }] }],
  ])("goes to that vendor from %s, and is refused by name elsewhere", async (path, own, body) => {
    gateway().vendor.script(
      own === "cl"
        ? (calling["cl"]?.whole ?? whole({}))
        : whole({ status: "completed", output: [], usage: { input_tokens: 1, output_tokens: 1 } }),
    )
    expect((await post(path, { model: own, ...body })).status).toBe(200)
    const { tools } = sent()
    expect(tools).toEqual(body.tools)
    const calls = gateway().vendor.calls.length
    const refused = await post(path, { model: "mistral", ...body })
    expect(refused.status).toBe(400)
    expect(refused.text).toContain(String(isObject(body.tools[0]) ? body.tools[0]["type"] : ""))
    expect(gateway().vendor.calls.length).toBe(calls)
  })

  it("is said in /t1 too", async () => {
    gateway().vendor.script(calling["cl"]?.whole ?? whole({}))
    const request = {
      thread: [{ role: "user", blocks: [{ t: "text", v: "Hi" }] }],
      tools: [
        { name: "f", inputSchema: { type: "object", properties: {} }, deferred: true },
        { kind: "vendor", dialect: "anthropic", v: '{"type":"tool_search_tool_bm25_20251119", "name":"find"}' },
      ],
      stream: false,
    }
    expect((await post("/t1/exchange", { ...request, model: "cl" })).status).toBe(200)
    expect(sent()["tools"]).toEqual([
      { name: "f", input_schema: { type: "object", properties: {} }, defer_loading: true },
      { type: "tool_search_tool_bm25_20251119", name: "find" },
    ])
    expect(await post("/t1/exchange", { ...request, model: "gem" })).toMatchObject({
      status: 400,
      text: expect.stringContaining("tool_search_tool_bm25_20251119"),
    })
  })
})

it.each([
  ["anthropic", "cl", '{"type":"web_search_20250305","name":"web_search","max_uses":100}'],
  ["anthropic", "cl", '{"type":"bash_20250124","name":"bash","type":"web_search_20250305"}'],
  ["anthropic", "cl", '["bash"]'],
  ["openai", "resp", '{"type":"web_search"}'],
  ["openai", "resp", '{"type":"shell","environment":{"type":"container_auto"}}'],
  ["gemini", "gem", '{"computerUse":{},"googleSearch":{}}'],
  ["gemini", "gem", '{"googleSearch":{}}'],
])("no tool that its vendor bills passes as one that a client runs (%s, %s, %s)", async (dialect, model, v) => {
  const calls = gateway().vendor.calls.length
  const thread = [{ role: "user", blocks: [{ t: "text", v: "Hi" }] }]
  const reply = await post("/t1/exchange", { model, thread, tools: [{ kind: "vendor", dialect, v }], stream: false })
  expect(reply.status).toBe(400)
  expect(reply.text).toContain("this model has no tool ")
  expect(gateway().vendor.calls.length).toBe(calls)
})

it("Gemini's tool is refused by its name where no target has it", async () => {
  const contents = [{ role: "user", parts: [{ text: "Hi" }] }]
  const asked = { contents, tools: [{ computerUse: { environment: "ENVIRONMENT_BROWSER" } }] }
  const reply = await post("/gemini/v1beta/models/mistral:generateContent", asked)
  expect(reply).toMatchObject({ status: 400, text: expect.stringContaining("this model has no tool computerUse: ") })
})

describe("what is reviewed and counted is what a vendor reads", () => {
  const user = { role: "user", blocks: [{ t: "text", v: "Hi" }] }
  const thread = (block: object) => [user, { role: "assistant", blocks: [block] }, user]

  it.each([{ input: { a: "secret" } }, { input: {}, json: "{}" }])("a call with a text has no %j", async (more) => {
    const call = { t: "tool_call", id: "c1", name: "f", text: "x", ...more }
    const reply = await post("/t1/exchange", { model: "cl", thread: thread(call), stream: false })
    expect(reply).toMatchObject({ status: 400, text: expect.stringContaining("empty input") })
  })

  it("a vendor's block that names a member twice is not sent", async () => {
    gateway().vendor.script(calling["cl"]?.whole ?? whole({}))
    const v = '{"type":"text","text":"secret","type":"server_tool_use","id":"a","name":"s","input":{}}'
    const block = { t: "vendor", dialect: "anthropic", v }
    const reply = await post("/t1/exchange", { model: "cl", thread: thread(block), stream: false })
    expect(reply.status).toBe(200)
    expect(JSON.stringify(sent())).not.toContain("secret")
    expect(sent()["messages"]).not.toContainEqual(expect.objectContaining({ role: "assistant" }))
  })
})

it("strict tools are strict at vendors that promise it", async () => {
  const tool = (strict: boolean) => ({
    name: "f",
    strict,
    input_schema: {
      type: "object",
      properties: { a: { type: "string" } },
      required: ["a"],
      additionalProperties: false,
    },
  })
  const ask = async (strict: boolean) => {
    gateway().vendor.script(calling["mistral"]?.whole ?? whole({}))
    const body = { model: "chat", max_tokens: 50, messages: [{ role: "user", content: "Hi" }], tools: [tool(strict)] }
    expect((await post("/anthropic/v1/messages", body)).status).toBe(200)
    return JSON.stringify(sent()["tools"])
  }
  expect(await ask(true)).toContain('"strict":true')
  expect(await ask(false)).not.toContain("strict")
})
