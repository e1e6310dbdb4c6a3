/** Cohere's chat by its SDKs, unchanged, with vendors of any API. */
import { createCohere } from "@ai-sdk/cohere"
import { generateText, jsonSchema, streamText, tool } from "ai"
import { type Cohere, CohereClientV2 } from "cohere-ai"
import { describe, expect, it } from "vitest"
import { newTestIds, testCatalogue } from "../../../src/testing/gateway.ts"
import type { VendorScript } from "../../../src/testing/scripted-vendor.ts"
import { answering, openaiFrame } from "../../../src/testing/vendor-replies.ts"
import { useGateway } from "../../support/gateway.ts"
import { png } from "../../support/media-samples.ts"
import { python, runPython } from "./run-python.ts"
import { ask, serving, targetAt } from "./served.ts"
import { breaksOff, callsTools, thinks, vendorBodyOf } from "./vendors.ts"

const ids = newTestIds()
const gateway = useGateway({
  ids,
  catalogue: (urls) =>
    serving(testCatalogue(urls, ids), {
      vendors: { cohere: `dialect: cohere, baseUrl: "${urls.vendor}"` },
      models: {
        command: `capabilities: [tools, images, reasoning], maxOutput: 2000, ${targetAt("cohere", "command-a")}`,
      },
    }),
})
const answer = { words: ["Hello", " there"], inTokens: 10, outTokens: 2 }
const apiKey = () => `${gateway().keyId}~${gateway().key}`
const client = () => new CohereClientV2({ token: apiKey(), environment: `${gateway().baseUrl}/cohere`, maxRetries: 0 })
const hello: Array<Cohere.ChatMessageV2> = [{ role: "user", content: "Hello" }]
const chat = (request: Partial<Cohere.V2ChatRequest>) => client().chat({ model: "main", messages: hello, ...request })
const stream = async (request: Partial<Cohere.V2ChatStreamRequest>) => {
  const events: Array<Cohere.V2ChatStreamResponse> = []
  for await (const event of await client().chatStream({ model: "main", messages: hello, ...request })) {
    events.push(event)
  }
  return events
}
const weather: Cohere.ToolV2 = {
  type: "function",
  function: {
    name: "weather",
    description: "Weather of a city",
    parameters: {
      type: "object",
      properties: { city: { type: "string" } },
      required: ["city"],
      additionalProperties: false,
    },
  },
}
const sent = () => vendorBodyOf(gateway().vendor)

/** A plan, then a call, as a model without a field for its thoughts streams them. */
const plans: VendorScript = async ({ head, write, end }) => {
  head()
  const delta = (delta: object) => write(openaiFrame({ choices: [{ index: 0, delta, finish_reason: null }] }))
  await delta({ reasoning_content: "I look." })
  await delta({
    tool_calls: [{ index: 0, id: "call_1", type: "function", function: { name: "weather", arguments: "" } }],
  })
  await write(openaiFrame({ choices: [{ index: 0, delta: {}, finish_reason: "tool_calls" }] }))
  await write(openaiFrame("[DONE]"))
  end()
}

const cites: VendorScript = async ({ head, write, end, streaming }) => {
  const annotation = {
    type: "url_citation",
    url_citation: { url: "https://x.test/a", title: "A", start_index: 0, end_index: 5 },
  }
  const usage = { prompt_tokens: 10, completion_tokens: 2, total_tokens: 12 }
  if (!streaming) {
    head(200, { "content-type": "application/json" })
    const message = { role: "assistant", content: "Rivers flow.", annotations: [annotation] }
    return end(JSON.stringify({ choices: [{ index: 0, message, finish_reason: "stop" }], usage }))
  }
  head()
  await write(openaiFrame({ choices: [{ index: 0, delta: { content: "Rivers flow." } }] }))
  await write(openaiFrame({ choices: [{ index: 0, delta: { annotations: [annotation] }, finish_reason: "stop" }] }))
  await write(openaiFrame({ choices: [], usage }))
  await write(openaiFrame("[DONE]"))
  end()
}

describe("Cohere's chat", () => {
  it.each(["main", "claude", "responses", "gemini", "command"])("%s answers, with usage and reason", async (model) => {
    gateway().vendor.script(answering(answer))
    const reply = await chat({
      model,
      maxTokens: 50,
      temperature: 0.5,
      stopSequences: ["x"].slice(model === "responses" ? 1 : 0),
    })
    expect(reply.message).toEqual({ role: "assistant", content: [{ type: "text", text: "Hello there" }] })
    expect([reply.finishReason, reply.usage]).toMatchObject([
      "COMPLETE",
      { billedUnits: { inputTokens: 10, outputTokens: 2 }, tokens: { inputTokens: 10, outputTokens: 2 } },
    ])
    expect(sent()).toContain(`0.5`)
  })

  it.each(["main", "claude", "responses", "gemini", "command"])("%s streams its events in order", async (model) => {
    gateway().vendor.script(answering(answer))
    const events = await stream({ model })
    expect(events.map(({ type }) => type)).toEqual([
      "message-start",
      "content-start",
      "content-delta",
      "content-delta",
      "content-end",
      "message-end",
    ])
    const text = events.map((event) => (event.type === "content-delta" ? event.delta?.message?.content?.text : ""))
    expect(text.join("")).toBe("Hello there")
    expect(events.at(-1)).toMatchObject({
      delta: { finishReason: "COMPLETE", usage: { billedUnits: { inputTokens: 10, outputTokens: 2 } } },
    })
  })

  it("gives every parameter to its vendor under that vendor's name", async () => {
    gateway().vendor.script(answering(answer))
    await chat({
      p: 0.9,
      k: 0,
      seed: 7,
      frequencyPenalty: 0.5,
      presencePenalty: 0.25,
      logprobs: true,
      safetyMode: "OFF",
      citationOptions: { mode: "FAST" },
      strictTools: true,
      tools: [weather],
      toolChoice: "REQUIRED",
    })
    for (const part of [
      `"top_p":0.9`,
      `"seed":7`,
      `"frequency_penalty":0.5`,
      `"presence_penalty":0.25`,
      `"logprobs":true`,
      `"strict":true`,
      `"tool_choice":"required"`,
    ])
      expect(sent()).toContain(part)
    await chat({
      model: "gemini",
      k: 40,
      responseFormat: { type: "json_object", jsonSchema: { type: "object", properties: {} } },
    })
    expect(sent()).toContain(`"topK":40`)
    expect(sent()).toContain("application/json")
    const schema = { type: "object", properties: { river: { type: "string" } } }
    for (const named of [{ schema }, { json_schema: schema }]) {
      const asked = { messages: hello, response_format: { type: "json_object", ...named } }
      expect(await ask(gateway(), "/cohere/v2/chat", { model: "main", ...asked })).toMatchObject({ status: 200 })
      expect(sent()).toContain("river")
    }
    await chat({ model: "claude", thinking: { type: "enabled", tokenBudget: 1500 }, maxTokens: 2000 })
    expect(sent()).toContain(`"budget_tokens":1500`)
    await chat({ model: "command", thinking: { type: "disabled" } })
    expect(sent()).toContain(`"thinking":{"type":"disabled"}`)
  })

  it("gives pictures, system messages and documents to a vendor of another API", async () => {
    gateway().vendor.script(answering(answer))
    await chat({
      model: "claude",
      messages: [
        { role: "system", content: [{ type: "text", text: "Be short." }] },
        {
          role: "user",
          content: [
            { type: "text", text: "Look" },
            { type: "image_url", imageUrl: { url: `data:image/png;base64,${png.toString("base64")}`, detail: "auto" } },
          ],
        },
      ],
      documents: ["A river is long.", { id: "lake", data: { text: "A lake is wide.", title: "Lakes" } }],
    })
    expect(sent()).toContain("Be short.")
    expect(sent()).toContain(`"media_type":"image/png","data":"${png.toString("base64")}"`)
    expect(sent()).toContain("A river is long.")
    expect(sent()).toMatch(/lake.*A lake is wide\./)
  })

  it.each(["main", "claude", "command"])("%s calls tools, and gets their results", async (model) => {
    const user: Cohere.ChatMessageV2 = { role: "user", content: "Weather in Oslo and Rome?" }
    gateway().vendor.script(model === "command" ? answering(answer) : callsTools)
    if (model !== "command") {
      const events = await stream({ model, messages: [user], tools: [weather] })
      const starts = events.filter(({ type }) => type === "tool-call-start")
      expect(starts).toMatchObject([
        {
          index: 0,
          delta: { message: { toolCalls: { id: "call_1", type: "function", function: { name: "weather" } } } },
        },
        { index: 1, delta: { message: { toolCalls: { id: "call_2" } } } },
      ])
      const argumentsAt = (index: number) =>
        events
          .map((event) =>
            event.type === "tool-call-delta" && event.index === index
              ? event.delta?.message?.toolCalls?.function?.arguments
              : "",
          )
          .join("")
      expect([argumentsAt(0), argumentsAt(1)]).toEqual(['{"city":"Oslo"}', '{"city":"Rome"}'])
      expect(events.at(-1)).toMatchObject({ type: "message-end", delta: { finishReason: "TOOL_CALL" } })
    }
    gateway().vendor.script(answering(answer))
    await chat({
      model,
      messages: [
        user,
        {
          role: "assistant",
          toolPlan: "I look.",
          toolCalls: [{ id: "call_1", type: "function", function: { name: "weather", arguments: '{"city":"Oslo"}' } }],
        },
        {
          role: "tool",
          toolCallId: "call_1",
          content: [
            { type: "text", text: "12 degrees" },
            { type: "document", document: { id: "d", data: { wind: "north" } } },
          ],
        },
      ],
      tools: [weather],
    })
    expect(sent()).toContain("12 degrees")
    expect(sent()).toMatch(/wind\W+north/)
    expect(sent()).toContain("call_1")
  })

  it("streams a plan for its tools, and a call without arguments as {}", async () => {
    gateway().vendor.script(plans)
    const events = await stream({ tools: [weather] })
    expect(events.map(({ type }) => type)).toEqual([
      "message-start",
      "tool-plan-delta",
      "tool-call-start",
      "tool-call-delta",
      "tool-call-end",
      "message-end",
    ])
    expect(events[1]).toMatchObject({ delta: { message: { toolPlan: "I look." } } })
    expect(events[3]).toMatchObject({ delta: { message: { toolCalls: { function: { arguments: "{}" } } } } })
  })

  it("streams thoughts as a content of their own", async () => {
    gateway().vendor.script(thinks)
    const events = await stream({ model: "claude", thinking: { type: "enabled", tokenBudget: 1500 }, maxTokens: 2000 })
    expect(events.map((event) => [event.type, "index" in event ? event.index : undefined])).toEqual([
      ["message-start", undefined],
      ["content-start", 0],
      ["content-delta", 0],
      ["content-end", 0],
      ["content-start", 1],
      ["content-delta", 1],
      ["content-end", 1],
      ["message-end", undefined],
    ])
    expect(events[2]).toMatchObject({ delta: { message: { content: { thinking: "Hm." } } } })
  })

  it("cites, with the words that a source is for", async () => {
    gateway().vendor.script(cites)
    const citation = {
      start: 0,
      end: 5,
      text: "River",
      contentIndex: 0,
      type: "TEXT_CONTENT",
      sources: [{ type: "document", id: "https://x.test/a", document: { title: "A", url: "https://x.test/a" } }],
    }
    expect((await chat({})).message.citations).toMatchObject([citation])
    const events = await stream({})
    expect(events.find(({ type }) => type === "citation-start")).toMatchObject({
      delta: { message: { citations: citation } },
    })
  })

  it("gives the logprobs of a text, whole and streamed", async () => {
    const content = ["River", "s"].map((token) => ({ token, logprob: -0.5, bytes: null, top_logprobs: [] }))
    gateway().vendor.script(async ({ streaming, head, write, end }) => {
      const usage = { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 }
      head(200, { "content-type": streaming ? "text/event-stream" : "application/json" })
      const choice = { index: 0, finish_reason: "stop", logprobs: { content } }
      if (!streaming) {
        return end(
          JSON.stringify({ choices: [{ ...choice, message: { role: "assistant", content: "Rivers" } }], usage }),
        )
      }
      await write(openaiFrame({ choices: [{ ...choice, delta: { content: "Rivers" } }], usage }))
      end(openaiFrame("[DONE]"))
    })
    const logprobs = { text: "Rivers", tokenIds: [], logprobs: [-0.5, -0.5] }
    expect((await chat({ logprobs: true })).logprobs).toEqual([logprobs])
    const events = await stream({ logprobs: true })
    expect(events.find(({ type }) => type === "content-delta")).toMatchObject({ logprobs })
  })

  it("fails in a stream as its end, and before with the API's errors", async () => {
    gateway().vendor.script(breaksOff)
    expect((await stream({})).at(-1)).toMatchObject({ type: "message-end", delta: { finishReason: "ERROR" } })
    await expect(chat({ safetyMode: "STRICT" })).rejects.toMatchObject({
      statusCode: 400,
      body: { message: expect.stringContaining("safety_mode") },
    })
    await expect(chat({ p: 7 })).rejects.toMatchObject({ body: { message: expect.stringContaining("p:") } })
    await expect(chat({ model: "nobody" })).rejects.toMatchObject({ statusCode: 403 })
  })

  it.each([
    [{ messages: [{ role: "developer", content: "x" }] }, /messages\.0\.role/],
    [{ messages: [{ role: "user", content: [{ type: "document" }] }] }, /messages\.0\.content\.0\.type/],
    [{ messages: [{ role: "user", content: [1] }] }, /messages\.0\.content\.0/],
    [{ messages: [{ role: "user", content: "x" }], tools: [{ type: "web_search" }] }, /tools\.0\.type/],
    [{ messages: [{ role: "user", content: "x" }], response_format: { type: "xml" } }, /response_format\.type/],
    [{ messages: [{ role: "user", content: "x" }], documents: [{ data: 1 }] }, /documents\.0\.data/],
    [{ messages: [{ role: "system", content: "x" }], documents: ["x"] }, /documents/],
    [{ messages: [{ role: "user", content: "x" }], connectors: [] }, /connectors/],
    [{ messages: [{ role: "user", content: "x", __proto__x: 1 }] }, /__proto__x/],
    [{ messages: [] }, /messages/],
    [{}, /messages/],
  ])("%j is refused by name", async (body, reason) => {
    const { status, text } = await ask(gateway(), "/cohere/v2/chat", { model: "main", ...body })
    expect([status, text]).toEqual([400, expect.stringMatching(reason)])
  })

  it("keeps a large prompt whole", async () => {
    gateway().vendor.script(answering(answer))
    const text = "A river. ".repeat(60_000)
    await chat({ model: "claude", messages: [{ role: "user", content: text }] })
    expect(sent()).toContain(text)
  })
})

describe("ai", () => {
  const model = (name: string) => createCohere({ baseURL: `${gateway().baseUrl}/cohere/v2`, apiKey: apiKey() })(name)

  it.each(["main", "claude"])("%s answers and streams", async (name) => {
    gateway().vendor.script(answering(answer))
    const { text, usage } = await generateText({ model: model(name), prompt: "Hello" })
    expect([text, usage.inputTokens, usage.outputTokens]).toEqual(["Hello there", 10, 2])
    const streamed = streamText({ model: model(name), prompt: "Hello" })
    expect(await streamed.text).toBe("Hello there")
    expect(await streamed.finishReason).toBe("stop")
  })

  it("calls tools and goes on with their results", async () => {
    gateway().vendor.script((call) =>
      JSON.stringify(call.body["messages"]).includes('"role":"tool"') ? answering(answer)(call) : callsTools(call),
    )
    const streamed = streamText({
      model: model("main"),
      prompt: "Weather?",
      tools: {
        weather: tool({
          inputSchema: jsonSchema<{ city: string }>({ type: "object", properties: { city: { type: "string" } } }),
          execute: async ({ city }) => `${city}: 12 degrees`,
        }),
      },
      stopWhen: ({ steps }) => steps.length === 2,
    })
    expect(await streamed.text).toBe("Hello there")
    expect(sent()).toContain("Rome: 12 degrees")
  })

  it("reads citations", async () => {
    gateway().vendor.script(cites)
    const { sources } = await generateText({ model: model("main"), prompt: "Hello" })
    expect(sources).toMatchObject([{ title: "A" }])
  })
})

describe("Python", () => {
  it.skipIf(python === undefined)(
    "Cohere's SDK chats, streams, and calls tools",
    async () => {
      gateway().vendor.script((call) => {
        const text = JSON.stringify(call.body["messages"])
        return text.includes("Weather") && !text.includes("12 degrees") && call.streaming
          ? callsTools(call)
          : answering(answer)(call)
      })
      const { code, out, errors } = await runPython("cohere_chat.py", {
        BASE_URL: gateway().baseUrl,
        API_KEY: apiKey(),
      })
      expect(errors).toBe("")
      expect(code).toBe(0)
      expect(JSON.parse(out).length).toBeGreaterThan(4)
    },
    60_000,
  )
})
