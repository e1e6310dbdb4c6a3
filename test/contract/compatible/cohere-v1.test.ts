/** Cohere's API v1 by its SDK, unchanged, with vendors of any API. */
import { type Cohere, CohereClient } from "cohere-ai"
import { describe, expect, it } from "vitest"
import { answerWhole } from "../../../src/development/simulated-kinds.ts"
import { newTestIds, testCatalogue } from "../../../src/testing/gateway.ts"
import { answering } from "../../../src/testing/vendor-replies.ts"
import { useGateway } from "../../support/gateway.ts"
import { ask, modelsAt, serving } from "./served.ts"
import { breaksOff, callsTools, vendorBodyOf } from "./vendors.ts"

const ids = newTestIds()
const gateway = useGateway({
  ids,
  catalogue: (urls) =>
    serving(testCatalogue(urls, ids), {
      models: {
        ...modelsAt({ embed: "openai" }, "kind: embedding"),
        ...modelsAt({ ranker: "openai" }, "kind: rerank"),
      },
    }),
})
const answer = { words: ["Hello", " there"], inTokens: 10, outTokens: 2 }
const client = () =>
  new CohereClient({
    token: `${gateway().keyId}~${gateway().key}`,
    environment: `${gateway().baseUrl}/cohere`,
    maxRetries: 0,
  })
const chat = (request: Partial<Cohere.ChatRequest>) => client().chat({ model: "main", message: "Hello", ...request })
const stream = async (request: Partial<Cohere.ChatStreamRequest>) => {
  const events: Array<Cohere.StreamedChatResponse> = []
  for await (const event of await client().chatStream({ model: "main", message: "Hello", ...request })) {
    events.push(event)
  }
  return events
}
const weather: Cohere.Tool = {
  name: "weather",
  description: "Weather of a city",
  parameterDefinitions: {
    city: { description: "Its name", type: "str", required: true },
    days: { type: "List[int]" },
    more: { type: "Mood" },
  },
}
const sent = () => vendorBodyOf(gateway().vendor)
const body = () => gateway().vendor.calls.at(-1)?.body

describe("Cohere's chat v1", () => {
  it.each(["main", "claude", "responses", "gemini"])("%s answers, with its history", async (model) => {
    gateway().vendor.script(answering(answer))
    const reply = await chat({
      model,
      preamble: "Be short.",
      chatHistory: [
        { role: "USER", message: "Who?" },
        { role: "CHATBOT", message: "I." },
      ],
      maxTokens: 50,
    })
    expect(reply).toMatchObject({
      text: "Hello there",
      finishReason: "COMPLETE",
      meta: { apiVersion: { version: "1" }, billedUnits: { inputTokens: 10, outputTokens: 2 } },
      chatHistory: [
        { role: "USER", message: "Who?" },
        { role: "CHATBOT", message: "I." },
        { role: "USER", message: "Hello" },
        { role: "CHATBOT", message: "Hello there" },
      ],
    })
    for (const text of ["Be short.", "Who?", "I.", "Hello"]) expect(sent()).toContain(text)
  })

  it.each(["main", "claude"])("%s streams lines of JSON", async (model) => {
    gateway().vendor.script(answering(answer))
    const events = await stream({ model })
    expect(events.map(({ eventType }) => eventType)).toEqual([
      "stream-start",
      "text-generation",
      "text-generation",
      "stream-end",
    ])
    expect(events.at(-1)).toMatchObject({ finishReason: "COMPLETE", response: { text: "Hello there" } })
  })

  it("calls tools, and gets results for calls without ids", async () => {
    gateway().vendor.script(callsTools)
    const events = await stream({ message: "Weather?", tools: [weather] })
    const calls = [
      { name: "weather", parameters: { city: "Oslo" } },
      { name: "weather", parameters: { city: "Rome" } },
    ]
    expect(events.find(({ eventType }) => eventType === "tool-calls-generation")).toMatchObject({ toolCalls: calls })
    const last = events.at(-1)
    expect(last).toMatchObject({ eventType: "stream-end", response: { toolCalls: calls } })
    expect(body()).toMatchObject({
      tools: [
        {
          function: {
            parameters: {
              type: "object",
              properties: {
                city: { type: "string", description: "Its name" },
                days: { type: "array", items: { type: "integer" } },
                more: {},
              },
              required: ["city"],
            },
          },
        },
      ],
    })

    gateway().vendor.script(answering(answer))
    const chatHistory = last?.eventType === "stream-end" ? last.response.chatHistory : undefined
    const results = calls.toReversed().map((call) => ({ call, outputs: [{ of: call.parameters.city }] }))
    await chat({ message: "", tools: [weather], toolResults: results, ...(chatHistory && { chatHistory }) })
    expect(body()?.["messages"]).toMatchObject([
      { role: "user", content: "Weather?" },
      { role: "assistant", tool_calls: [{ id: "call_1" }, { id: "call_2" }] },
      { role: "tool", tool_call_id: "call_1", content: '[{"of":"Oslo"}]' },
      { role: "tool", tool_call_id: "call_2", content: '[{"of":"Rome"}]' },
    ])
  })

  it("gets results without a history: the calls come with them", async () => {
    gateway().vendor.script(answering(answer))
    const call = { name: "weather", parameters: { city: "Oslo" } }
    await chat({ message: "Weather?", tools: [weather], toolResults: [{ call, outputs: [{ degrees: 12 }] }] })
    expect(body()?.["messages"]).toMatchObject([
      { role: "user" },
      {
        role: "assistant",
        tool_calls: [{ id: "call_1", function: { name: "weather", arguments: '{"city":"Oslo"}' } }],
      },
      { role: "tool", tool_call_id: "call_1", content: '[{"degrees":12}]' },
    ])
  })

  it("shows documents without what they hide", async () => {
    gateway().vendor.script(answering(answer))
    // The SDK's type has texts alone as members.
    await ask(gateway(), "/cohere/v1/chat", {
      model: "main",
      message: "Hello",
      documents: [{ title: "Rivers", text: "They flow.", secret: "hidden", _excludes: ["secret"] }],
    })
    expect(sent()).toContain("They flow.")
    expect(sent()).not.toContain("hidden")
  })

  it("fails in a stream as its end, and refuses fields by name", async () => {
    gateway().vendor.script(breaksOff)
    expect((await stream({})).at(-1)).toMatchObject({ eventType: "stream-end", finishReason: "ERROR" })
    await expect(chat({ conversationId: "c" })).rejects.toMatchObject({
      statusCode: 400,
      body: { message: expect.stringMatching(/conversation_id.*chat_history/) },
    })
    await expect(chat({ connectors: [{ id: "web-search" }] })).rejects.toMatchObject({
      body: { message: expect.stringContaining("connectors") },
    })
  })

  it.each([
    [{ chat_history: [{ role: "BOT", message: "x" }] }, /chat_history\.0\.role/],
    [{ chat_history: [{ role: "TOOL", tool_results: [{ call: 1, outputs: [] }] }] }, /tool_results\.0\.call/],
    [{ tool_results: [{ call: { name: "a" }, outputs: 1 }] }, /tool_results\.0\.outputs/],
    [{ tools: [{ name: "a", parameter_definitions: { b: { type: 1 } } }] }, /parameter_definitions\.b\.type/],
    [{ message: 1 }, /message/],
  ])("%j is refused by name", async (body, reason) => {
    const sent = { model: "main", message: "Hello", ...body }
    const { status, text } = await ask(gateway(), "/cohere/v1/chat", sent)
    expect([status, text]).toEqual([400, expect.stringMatching(reason)])
  })
})

describe("Cohere's other calls of v1", () => {
  it("ranks objects by their fields, and returns them", async () => {
    gateway().vendor.script((call) => {
      call.head(200, { "content-type": "application/json" })
      call.end(JSON.stringify(answerWhole(call)))
    })
    const ranked = await client().rerank({
      model: "ranker",
      query: "a river",
      documents: [
        { title: "a lake", text: "a hill" },
        { title: "a river", text: "a road" },
      ],
      rankFields: ["title"],
      returnDocuments: true,
      topN: 1,
    })
    expect(gateway().vendor.calls.at(-1)?.body["documents"]).toEqual(["a lake", "a river"])
    expect(ranked.results).toMatchObject([{ index: 1, document: { text: "a road" } }])
    const { embeddings, meta } = await client().embed({ model: "embed", texts: ["a"], inputType: "search_query" })
    expect([Array.isArray(embeddings), meta?.apiVersion?.version]).toEqual([true, "1"])
    const wrong = ask(gateway(), "/cohere/v1/rerank", { model: "ranker", query: "x", documents: [{ title: "a" }] })
    expect(await wrong).toMatchObject({ status: 400, text: expect.stringContaining("documents.0") })
  })

  it("checks a key", async () => {
    expect(await client().checkApiKey()).toMatchObject({ valid: true })
    const stranger = new CohereClient({ token: "a~b", environment: `${gateway().baseUrl}/cohere`, maxRetries: 0 })
    await expect(stranger.checkApiKey()).rejects.toMatchObject({ statusCode: 401 })
  })

  it("refuses what it lacks, with an alternative", async () => {
    await expect(client().tokenize({ model: "main", text: "a" })).rejects.toMatchObject({
      statusCode: 400,
      body: { message: expect.stringContaining("tokenize") },
    })
    await expect(client().classify({ model: "main", inputs: ["a"] })).rejects.toMatchObject({ statusCode: 400 })
    await expect(client().detokenize({ model: "main", tokens: [1] })).rejects.toMatchObject({ statusCode: 400 })
    await expect(client().summarize({ text: "a" })).rejects.toMatchObject({ statusCode: 400 })
    await expect(client().datasets.list()).rejects.toMatchObject({ statusCode: 400 })
  })
})
