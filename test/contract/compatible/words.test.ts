/** Words that two APIs have: a request that is translated from one to the other keeps what it says. */
import { Record } from "effect"
import { describe, expect, it } from "vitest"
import type { JsonObject } from "../../../src/dialects/parse/json.ts"
import { newTestIds, testCatalogue, type VendorScript } from "../../../src/testing/index.ts"
import { replyOf, useGateway } from "../../support/gateway.ts"
import { type Api, askIn, serving, targetAt } from "./served.ts"

const ids = newTestIds()
/** Models by their handles: the vendor, and the vendor's own name. */
const models = {
  chat: ["openai", "gpt-5.4"],
  router: ["openrouter", "anthropic/claude-opus-4.7"],
  deep: ["deepseek", "deepseek-chat"],
  local: ["lmstudio", "qwen3"],
  resp: ["responses", "gpt-5.4"],
  cl: ["anthropic", "claude-opus-4-7"],
  cl46: ["anthropic", "claude-opus-4-6"],
  opus45: ["anthropic", "claude-opus-4-5"],
  cl45: ["anthropic", "claude-sonnet-4-5"],
  gem: ["gemini", "gemini-3-pro"],
  gem2: ["gemini", "gemini-2.5-pro"],
} as const
type Handle = keyof typeof models | "blind" | "strips"

const gateway = useGateway({
  ids,
  catalogue: (urls) =>
    serving(testCatalogue(urls, ids), {
      vendors: Object.fromEntries(
        ["openrouter", "deepseek", "lmstudio"].map((id) => [
          id,
          `dialect: openai-chat, profile: ${id}, baseUrl: "${urls.vendor}/v1"`,
        ]),
      ),
      models: {
        ...Record.map(
          models,
          ([vendor, model]) =>
            `maxOutput: 10000, capabilities: [tools, images, files, reasoning, cache], ${targetAt(vendor, model)}`,
        ),
        blind: `maxOutput: 1000, capabilities: [tools], ${targetAt("openai")}`,
        strips: `maxOutput: 1000, capabilities: [reasoning], params: { reasoning: { strip: true } }, ${targetAt("openai")}`,
      },
      price: () => `input: "3", output: "15", cacheWrite: "3.75", cacheWrite1h: "6"`,
    }),
})

/** A vendor of every API, which says little. */
const says: VendorScript = (call) => {
  call.head(200, { "content-type": "application/json" })
  call.end(
    JSON.stringify({
      id: "x",
      model: "upstream",
      type: "message",
      role: "assistant",
      content: [{ type: "text", text: "A" }],
      stop_reason: "end_turn",
      usage: { input_tokens: 9, output_tokens: 1, prompt_tokens: 9, completion_tokens: 1, total_tokens: 10 },
      choices: [{ index: 0, message: { role: "assistant", content: "A" }, finish_reason: "stop" }],
      status: "completed",
      output: [
        { type: "message", id: "m", role: "assistant", content: [{ type: "output_text", text: "A", annotations: [] }] },
      ],
      candidates: [{ content: { role: "model", parts: [{ text: "A" }] }, finishReason: "STOP", index: 0 }],
      usageMetadata: { promptTokenCount: 9, candidatesTokenCount: 1, totalTokenCount: 10 },
    }),
  )
}

const post = (api: Api, model: Handle, body: object) =>
  askIn(gateway(), says, api, model, { ...(api === "messages" && { max_tokens: 9000 }), ...body })

type Case = readonly [what: string, api: Api, model: Handle, body: object, sent: JsonObject]

const keeps = (cases: ReadonlyArray<Case>) => {
  it.each(cases)("%s (%s to %s)", async (_what, api, model, body, sent) => {
    const reply = await post(api, model, body)
    expect(reply.text).not.toContain('"error":{')
    expect(reply).toMatchObject({ status: 200, sent })
  })
}

const data = "iVBORw0KGgo="
const url = `data:image/png;base64,${data}`
const t1 = (...blocks: ReadonlyArray<object>) => ({ thread: [{ role: "user", blocks }] })
const picture = { t: "image", mime: "image/png", data }

describe("how closely a picture is looked at", () => {
  const chat = (detail: string) => ({
    messages: [{ role: "user", content: [{ type: "image_url", image_url: { url, detail } }] }],
  })
  const responses = (detail: string) => ({
    input: [{ role: "user", content: [{ type: "input_image", image_url: url, detail }] }],
  })
  const generate = (level: string) => ({
    contents: [{ role: "user", parts: [{ inlineData: { mimeType: "image/png", data }, mediaResolution: { level } }] }],
  })
  const inChat = (detail: string) => ({ messages: [{ content: [{ image_url: { url, detail } }] }] })
  const inResponses = (detail: string) => ({ input: [{ content: [{ type: "input_image", image_url: url, detail }] }] })
  const inGenerate = (level: string) => ({ contents: [{ parts: [{ mediaResolution: { level } }] }] })
  keeps([
    ["low", "chat", "resp", chat("low"), inResponses("low")],
    ["low", "chat", "gem", chat("low"), inGenerate("MEDIA_RESOLUTION_LOW")],
    ["original", "responses", "chat", responses("original"), inChat("high")],
    ["original", "responses", "gem", responses("original"), inGenerate("MEDIA_RESOLUTION_ULTRA_HIGH")],
    ["high", "generate", "chat", generate("MEDIA_RESOLUTION_HIGH"), inChat("high")],
    ["low", "generate", "resp", generate("MEDIA_RESOLUTION_LOW"), inResponses("low")],
    ["low", "t1", "chat", t1({ ...picture, detail: "low" }), inChat("low")],
    ["original", "t1", "resp", t1({ ...picture, detail: "original" }), inResponses("original")],
    ["not said", "t1", "resp", t1(picture), inResponses("auto")],
  ])

  it("is left out where a model has no words for it, and told", async () => {
    const claude = await post("chat", "cl", chat("low"))
    expect(claude.warning).toBe("blocks_omitted=image.detail")
    expect((await post("chat", "gem2", chat("low"))).warning).toBe("blocks_omitted=image.detail")
    expect((await post("chat", "gem", chat("low"))).warning).toBeNull()
    expect((await post("chat", "cl", chat("auto"))).warning).toBeNull()
    expect(claude.sent).toMatchObject({ messages: [{ content: [{ type: "image", source: { data } }] }] })
    expect(JSON.stringify([claude.sent, (await post("chat", "gem2", chat("low"))).sent])).not.toMatch(
      /detail|resolution/i,
    )
  })

  it("is one of four words", async () => {
    expect(await post("t1", "chat", t1({ ...picture, detail: "most" }))).toMatchObject({ status: 400, sent: undefined })
  })
})

describe("pictures and files in results", () => {
  const jpeg = { t: "image", mime: "image/jpeg", data }
  const pdf = { t: "file", mime: "application/pdf", name: "a.pdf", data: "JVBERi0=" }
  const source = { type: "base64", media_type: "image/png", data }
  const image = { type: "image", source }
  const use = (id: string) => ({ type: "tool_use", id, name: "f", input: {} })
  const document = {
    type: "document",
    title: "a.pdf",
    source: { ...source, media_type: "application/pdf", data: "JVBERi0=" },
  }
  const messages = {
    tools: [{ name: "f", input_schema: { type: "object" } }],
    messages: [
      { role: "user", content: "Hi" },
      { role: "assistant", content: [use("t1"), use("t2")] },
      {
        role: "user",
        content: [
          {
            type: "tool_result",
            tool_use_id: "t1",
            content: [{ type: "text", text: "a" }, image, { type: "text", text: "b" }],
          },
          { type: "tool_result", tool_use_id: "t2", content: [image, document] },
          { type: "text", text: "Go on" },
        ],
      },
    ],
  }
  const call = (id: string) => ({ type: "function_call", call_id: id, name: "f", arguments: "{}" })
  const inputImage = { type: "input_image", image_url: url, detail: "low" }
  const responses = {
    tools: [{ type: "function", name: "f", parameters: { type: "object", properties: {} } }],
    input: [
      { role: "user", content: "Hi" },
      call("t1"),
      call("t2"),
      { type: "function_call_output", call_id: "t1", output: [{ type: "input_text", text: "a" }, inputImage] },
      { type: "message", role: "user", content: [inputImage] },
      { type: "function_call_output", call_id: "t2", output: "b" },
    ],
  }
  const generate = {
    tools: [{ functionDeclarations: [{ name: "f" }] }],
    contents: [
      { role: "user", parts: [{ text: "Hi" }] },
      { role: "model", parts: [{ functionCall: { name: "f", args: {} }, thoughtSignature: "c2ln" }] },
      {
        role: "user",
        parts: [
          {
            functionResponse: {
              name: "f",
              response: { image: { $ref: "a.png" } },
              parts: [{ inlineData: { mimeType: "image/png", displayName: "a.png", data } }],
            },
          },
        ],
      },
    ],
  }
  const own = {
    tools: [{ name: "f", inputSchema: { type: "object" } }],
    thread: [
      { role: "user", blocks: [{ t: "text", v: "Hi" }] },
      { role: "assistant", blocks: [{ t: "tool_call", id: "t1", name: "f", input: {} }] },
      { role: "tool", blocks: [{ t: "tool_result", id: "t1", blocks: [{ t: "text", v: "a" }, jpeg, pdf] }] },
    ],
  }
  const png = { inlineData: { mimeType: "image/png", data } }
  keeps([
    [
      "stay in them, before what the user says",
      "messages",
      "resp",
      messages,
      {
        input: [
          {},
          {},
          {},
          {
            type: "function_call_output",
            call_id: "t1",
            output: [
              { type: "input_text", text: "a" },
              { type: "input_image", image_url: url },
              { type: "input_text", text: "b" },
            ],
          },
          { call_id: "t2", output: [{ image_url: url }, { type: "input_file", filename: "a.pdf" }] },
          { role: "user", content: [{ text: "Go on" }] },
        ],
      },
    ],
    [
      "stay in them",
      "messages",
      "gem",
      messages,
      {
        contents: [
          {},
          {},
          {
            parts: [
              { functionResponse: { name: "f", response: { output: "a\nb" }, parts: [png] } },
              {
                functionResponse: {
                  response: { output: "" },
                  parts: [png, { inlineData: { mimeType: "application/pdf", displayName: "a.pdf" } }],
                },
              },
              { text: "Go on" },
            ],
          },
        ],
      },
    ],
    [
      "follow them at models that take none there",
      "messages",
      "gem2",
      messages,
      {
        contents: [
          {},
          {},
          {
            parts: [
              { functionResponse: { response: { output: "a\nb" } } },
              { functionResponse: { response: { output: "" } } },
              png,
              png,
              { inlineData: { mimeType: "application/pdf" } },
              { text: "Go on" },
            ],
          },
        ],
      },
    ],
    [
      "follow them where results are text",
      "messages",
      "chat",
      messages,
      {
        messages: [
          {},
          {},
          { role: "tool", tool_call_id: "t1", content: "a\nb" },
          { role: "tool", tool_call_id: "t2", content: "" },
          {
            role: "user",
            content: [
              { image_url: { url } },
              { image_url: { url } },
              { type: "file", file: { filename: "a.pdf" } },
              { type: "text", text: "Go on" },
            ],
          },
        ],
      },
    ],
    [
      "stay in them, and results come first",
      "responses",
      "cl",
      responses,
      {
        messages: [
          {},
          { role: "assistant", content: [{ id: "t1" }, { id: "t2" }] },
          {
            role: "user",
            content: [
              { type: "tool_result", tool_use_id: "t1", content: [{ type: "text", text: "a" }, image] },
              { type: "tool_result", tool_use_id: "t2", content: "b" },
              image,
            ],
          },
        ],
      },
    ],
    [
      "follow them, as closely looked at",
      "responses",
      "chat",
      responses,
      {
        messages: [
          {},
          {},
          { role: "tool", tool_call_id: "t1", content: "a" },
          { role: "tool", tool_call_id: "t2", content: "b" },
          { role: "user", content: [{ image_url: { url, detail: "low" } }, { image_url: { url, detail: "low" } }] },
        ],
      },
    ],
    [
      "stay in a function's response",
      "generate",
      "cl",
      generate,
      {
        messages: [
          {},
          {},
          {
            content: [{ type: "tool_result", content: [{ type: "text", text: `{"image":{"$ref":"a.png"}}` }, image] }],
          },
        ],
      },
    ],
    [
      "stay in a function's response",
      "generate",
      "resp",
      generate,
      { input: [{}, {}, { output: [{ type: "input_text" }, { type: "input_image", image_url: url }] }] },
    ],
    [
      "are a word of twp/1",
      "t1",
      "cl",
      own,
      {
        messages: [
          {},
          {},
          { content: [{ content: [{ text: "a" }, { source: { media_type: "image/jpeg" } }, { type: "document" }] }] },
        ],
      },
    ],
  ])

  it("stand instead of text", async () => {
    const result = { t: "tool_result", id: "t1", v: "a", blocks: [jpeg] }
    const both = { ...own, thread: [...own.thread.slice(0, 2), { role: "tool", blocks: [result] }] }
    expect(await post("t1", "cl", both)).toMatchObject({
      status: 400,
      text: expect.stringContaining("exactly one of v and blocks"),
    })
  })

  it("need a model that takes them", async () => {
    expect(await post("t1", "blind", own)).toMatchObject({
      status: 400,
      text: expect.stringContaining("image_not_supported"),
    })
  })
})

it("pictures that a model made come back, and are told where they are left out", async () => {
  const drawn = { role: "assistant", content: "Look:", images: [{ type: "image_url", image_url: { url } }] }
  const messages = [{ role: "user", content: "Draw" }, drawn, { role: "user", content: "Again" }]
  const { status, warning } = await post("chat", "gem", { messages })
  expect([status, warning]).toEqual([200, "blocks_omitted=inlineData"])
  const own = await post("chat", "router", { messages })
  expect([own.status, own.sent]).toMatchObject([200, { messages }])
})

describe("how long a prefix is kept", () => {
  const mark = (ttl?: string) => ({ cache_control: { type: "ephemeral", ...(ttl !== undefined && { ttl }) } })
  const said = (text: string, ttl?: string) => ({ type: "text", text, ...(ttl !== undefined && mark(ttl)) })
  const messages = (ttl: string, other?: string) => ({
    system: [said("s", ttl)],
    messages: [{ role: "user", content: [said("Hi", other)] }],
  })
  const chat = (ttl: string, other?: string) => ({
    messages: [
      { role: "system", content: [said("s", ttl)] },
      { role: "user", content: [said("Hi", other)] },
    ],
  })
  const own = (system: unknown, user?: unknown) => ({
    thread: [
      { role: "system", blocks: [{ t: "text", v: "s", cacheable: system }] },
      { role: "user", blocks: [{ t: "text", v: "Hi", ...(user !== undefined && { cacheable: user }) }] },
    ],
  })
  const toClaude = (system: object, user: object) => ({
    system: [{ type: "text", text: "s", ...system }],
    messages: [{ content: [{ type: "text", text: "Hi", ...user }] }],
  })
  keeps([
    ["an hour", "chat", "cl", chat("1h"), toClaude(mark("1h"), mark("1h"))],
    ["an hour, then less", "chat", "cl", chat("1h", "5m"), toClaude(mark("1h"), mark("5m"))],
    ["an hour comes first", "chat", "cl", chat("5m", "1h"), toClaude(mark("1h"), mark("1h"))],
    ["an hour", "t1", "cl", own("1h"), toClaude(mark("1h"), mark("1h"))],
    ["as long as the vendor keeps it", "t1", "cl", own(true), toClaude(mark(), mark())],
    ["an hour", "messages", "router", messages("1h", "5m"), chat("1h", "5m")],
  ])

  it("is a word of a tool's result", async () => {
    const result = { type: "tool_result", tool_use_id: "t1", content: "7", ...mark("1h") }
    const use = { type: "tool_use", id: "t1", name: "f", input: {} }
    const thread = [
      { role: "user", content: "Hi" },
      { role: "assistant", content: [use] },
      { role: "user", content: [result] },
    ]
    const body = { tools: [{ name: "f", input_schema: { type: "object" } }], messages: thread }
    const routed = await post("messages", "router", body)
    const inChat = { role: "tool", tool_call_id: "t1", content: [{ type: "text", text: "7", ...mark("1h") }] }
    expect(routed.sent).toMatchObject({ messages: [{}, {}, inChat] })
    const back = await post("chat", "cl", { ...routed.sent, model: "cl" })
    expect(back.sent).toMatchObject({ messages: [{}, {}, { content: [result] }] })
  })

  it("is a word of a whole message, and of a call, as some providers of frameworks say it", async () => {
    const call = { id: "c1", type: "function", function: { name: "f", arguments: "{}" }, ...mark() }
    const picture = { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0KGgo=" } }
    const { sent } = await post("chat", "cl", {
      messages: [
        { role: "system", content: "s", ...mark("1h") },
        {
          role: "user",
          content: [
            { type: "text", text: "Hi" },
            { ...picture, ...mark() },
          ],
          ...mark(),
        },
        { role: "assistant", content: "So.", tool_calls: [call], ...mark() },
        { role: "tool", tool_call_id: "c1", content: "7", ...mark() },
      ],
      tools: [{ type: "function", function: { name: "f", parameters: { type: "object", properties: {} } } }],
    })
    expect(sent).toMatchObject({
      system: [{ type: "text", text: "s", ...mark("1h") }],
      messages: [
        {
          content: [
            { type: "text", text: "Hi" },
            { type: "image", ...mark() },
          ],
        },
        {
          content: [
            { type: "text", text: "So." },
            { type: "tool_use", ...mark() },
          ],
        },
        { content: [{ type: "tool_result", ...mark() }] },
      ],
    })
  })

  it("is told where the vendor has no such word, and kept where it has", async () => {
    const marked = {
      tools: [{ name: "f", input_schema: { type: "object", properties: {} }, ...mark() }],
      messages: [
        {
          role: "user",
          content: [{ type: "image", source: { type: "base64", media_type: "image/png", data }, ...mark() }],
        },
        { role: "assistant", content: [{ type: "tool_use", id: "t1", name: "f", input: {}, ...mark() }] },
        { role: "user", content: [{ type: "tool_result", tool_use_id: "t1", content: "7", ...mark() }] },
      ],
    }
    const kinds = ["tool", "image", "tool_call"].map((kind) => `${kind}.cacheable`)
    expect((await post("messages", "router", marked)).warning).toBe(`blocks_omitted=${kinds.join(",")}`)
    const all = [...kinds, "tool_result.cacheable"].join(",")
    expect((await post("messages", "chat", marked)).warning).toBe(`blocks_omitted=${all}`)
    expect((await post("messages", "gem", marked)).warning).toBe(`blocks_omitted=${all}`)
    expect((await post("messages", "cl", marked)).warning).toBeNull()
    expect(
      (await post("messages", "blind", { messages: [{ role: "user", content: [said("Hi", "5m")] }] })).warning,
    ).toBeNull()
  })

  it("is one of two", async () => {
    expect(await post("t1", "cl", own("2h"))).toMatchObject({ status: 400, sent: undefined })
  })

  it("is billed by what the vendor wrote", async () => {
    const { vendor, exchange } = gateway()
    vendor.script((call) => {
      call.head(200, { "content-type": "application/json" })
      const written = { ephemeral_5m_input_tokens: 1000, ephemeral_1h_input_tokens: 2000 }
      const usage = { input_tokens: 10, output_tokens: 1, cache_creation_input_tokens: 3000, cache_creation: written }
      const content = [{ type: "text", text: "A" }]
      call.end(
        JSON.stringify({
          id: "x",
          type: "message",
          role: "assistant",
          model: "m",
          content,
          stop_reason: "end_turn",
          usage,
        }),
      )
    })
    const reply = await replyOf(await exchange({ model: "cl", ...own("1h") }))
    // 10 at 3, 1 at 15, 1000 at 3.75 and 2000 at 6 per million.
    expect(reply.usage).toMatchObject({ cost: "0.015795", cacheWriteTokens: 3000 })
  })
})

describe("any JSON object", () => {
  const chat = (text = "Hi, in JSON") => ({
    messages: [{ role: "user", content: text }],
    response_format: { type: "json_object" },
  })
  const generate = {
    contents: [{ role: "user", parts: [{ text: "Hi" }] }],
    generationConfig: { responseMimeType: "application/json" },
  }
  const responses = { input: "Hi, in JSON", text: { format: { type: "json_object" } } }
  const own = (v = "Hi, in JSON") => ({ ...t1({ t: "text", v }), params: { output: "json" } })
  const instruction = expect.stringContaining("one JSON object")
  const jsonMode = { response_format: { type: "json_object" } }
  keeps([
    ["as the vendor says it", "responses", "chat", responses, jsonMode],
    ["as the vendor says it", "responses", "deep", responses, jsonMode],
    ["as the vendor says it", "chat", "resp", chat(), { text: { format: { type: "json_object" } } }],
    ["as the vendor says it", "chat", "gem", chat(), { generationConfig: { responseMimeType: "application/json" } }],
    ["as the vendor says it", "t1", "deep", own(), jsonMode],
    ["as the vendor says it", "t1", "local", own(), { response_format: { type: "json_schema" } }],
    [
      "and says so, where a vendor must read it",
      "generate",
      "chat",
      generate,
      {
        ...jsonMode,
        messages: [
          { role: "system", content: instruction },
          { role: "user", content: "Hi" },
        ],
      },
    ],
    [
      "and says so, where a vendor must read it",
      "t1",
      "resp",
      own("Hi"),
      { input: [{ role: "system", content: [{ text: instruction }] }, { role: "user" }] },
    ],
    ["as an instruction, at a vendor without words for it", "chat", "cl", chat(), { system: [{ text: instruction }] }],
  ])

  it("has no schema", async () => {
    for (const model of ["gem", "cl", "chat", "resp"] as const) {
      const { sent } = await post("t1", model, own())
      expect(JSON.stringify(sent)).not.toMatch(/schema/i)
    }
  })

  it("needs other words beside functions at Gemini 2.5", async () => {
    const tools = [{ name: "f", inputSchema: { type: "object" } }]
    expect(await post("t1", "gem2", { ...own(), tools })).toMatchObject({ status: 400, sent: undefined })
  })
})

describe("how much a model reasons and does", () => {
  const messages = (more: object) => ({ messages: [{ role: "user", content: "Hi" }], ...more })
  const effort = (word: string, more: object = {}) => messages({ output_config: { effort: word }, ...more })
  const chat = (word: string) => messages({ reasoning_effort: word })
  const responses = (reasoning: object) => ({ input: "Hi", reasoning })
  const generate = (thinkingConfig: object) => ({
    contents: [{ role: "user", parts: [{ text: "Hi" }] }],
    generationConfig: { thinkingConfig },
  })
  const own = (params: object) => ({ ...t1({ t: "text", v: "Hi" }), params })
  const adaptive = { type: "adaptive" }
  const toClaude = (word: string, thinking: object = { ...adaptive, display: "summarized" }) => ({
    thinking,
    output_config: { effort: word },
  })
  keeps([
    ["xhigh", "chat", "cl", chat("xhigh"), toClaude("xhigh")],
    ["high, where a model has no xhigh", "chat", "cl46", chat("xhigh"), toClaude("high", adaptive)],
    ["max", "chat", "cl46", chat("max"), toClaude("max", adaptive)],
    ["xhigh", "messages", "chat", effort("xhigh", { thinking: adaptive }), { reasoning_effort: "xhigh" }],
    ["xhigh", "responses", "router", responses({ effort: "xhigh" }), { reasoning: { effort: "xhigh" } }],
    [
      "high, where a model has no xhigh",
      "t1",
      "gem",
      own({ reasoning: "xhigh" }),
      { generationConfig: { thinkingConfig: { thinkingLevel: "high" } } },
    ],
    ["effort beside thinking", "t1", "cl", own({ effort: "low", reasoning: "high" }), toClaude("low")],
    ["effort without thinking", "t1", "cl", own({ effort: "low" }), { output_config: { effort: "low" } }],
    ["effort without thinking", "messages", "resp", effort("low"), { reasoning: { effort: "low" } }],
    ["effort without thinking", "messages", "chat", effort("low"), { reasoning_effort: "low" }],
    [
      "effort beside a budget",
      "t1",
      "opus45",
      own({ effort: "xhigh", reasoningBudget: 2000, maxTokens: 9000 }),
      { thinking: { type: "enabled", budget_tokens: 2000 }, output_config: { effort: "high" } },
    ],
    [
      "thinking that is not shown",
      "generate",
      "cl",
      generate({ thinkingLevel: "high", includeThoughts: false }),
      toClaude("high", { ...adaptive, display: "omitted" }),
    ],
    [
      "thinking that is not shown",
      "messages",
      "gem",
      messages({ thinking: { ...adaptive, display: "omitted" } }),
      { generationConfig: { thinkingConfig: { includeThoughts: false } } },
    ],
    [
      "thinking that is not shown",
      "messages",
      "router",
      messages({ thinking: { ...adaptive, display: "omitted" } }),
      { reasoning: { effort: "high", exclude: true } },
    ],
    [
      "thinking that is not shown",
      "chat",
      "cl45",
      messages({ reasoning: { max_tokens: 2000, exclude: true } }),
      { thinking: { type: "enabled", budget_tokens: 2000, display: "omitted" } },
    ],
  ])

  it("does not make a model think that is asked for effort alone", async () => {
    const { sent } = await post("t1", "cl", own({ effort: "low", temperature: 1 }))
    expect(sent).not.toHaveProperty("thinking")
    expect((await post("t1", "cl45", own({ effort: "low" }))).sent).not.toHaveProperty("output_config")
    expect((await post("t1", "deep", own({ effort: "low" }))).sent).not.toHaveProperty("thinking")
    expect((await post("messages", "resp", effort("low"))).sent).not.toHaveProperty("reasoning.summary")
  })

  it("is told where a model has no words for it", async () => {
    const hidden = own({ reasoning: "high", reasoningDisplay: "omitted", effort: "low" })
    expect((await post("t1", "gem", hidden)).warning).toBe("blocks_omitted=effort")
    expect((await post("t1", "deep", hidden)).warning).toBe("blocks_omitted=effort,reasoningDisplay")
    expect((await post("t1", "cl", hidden)).warning).toBeNull()
    expect((await post("messages", "chat", effort("low"))).warning).toBeNull()
  })

  it("asks for no summary where none is shown", async () => {
    const { sent } = await post("t1", "resp", own({ reasoning: "high", reasoningDisplay: "omitted" }))
    expect(sent?.["reasoning"]).toEqual({ effort: "high" })
  })

  it("is taken away by the model's profile", async () => {
    const told = await post("t1", "strips", { ...own({ effort: "low" }), stream: true })
    expect(told.sent).not.toHaveProperty("reasoning_effort")
    expect(told.text).toContain(`"code":"params_clamped"`)
  })
})
