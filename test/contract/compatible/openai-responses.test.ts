/** OpenAI's own SDK, unchanged, against a whole gateway: responses. */
import OpenAI from "openai"
import { describe, expect, it } from "vitest"
import { answering } from "../../../src/testing/vendor-replies.ts"
import { useGateway } from "../../support/gateway.ts"
import { onClouds, served } from "./clouds.ts"
import { breaksOff, callsTools, msUntilGone, thinks, thought, vendorBodyOf } from "./vendors.ts"

const gateway = useGateway(onClouds)

const client = (options: Partial<ConstructorParameters<typeof OpenAI>[0]> = {}) =>
  new OpenAI({
    baseURL: `${gateway().baseUrl}/openai/v1`,
    apiKey: `${gateway().keyId}~${gateway().key}`,
    ...options,
  })

const answer = { words: ["Hello", " ", "there"], inTokens: 1000, outTokens: 200, cachedTokens: 400 }
const weather: OpenAI.Responses.FunctionTool = {
  type: "function",
  name: "weather",
  strict: false,
  parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
}

/** A reply's items for the next turn. */
const toInput = (output: ReadonlyArray<OpenAI.Responses.ResponseOutputItem>) =>
  output.flatMap((item) =>
    item.type === "function_call" || item.type === "reasoning" || item.type === "message" ? [item] : [],
  )

describe.each(served)("responses served by %s", (model) => {
  it("answers whole, with the vendor's counts", async () => {
    gateway().vendor.script(answering(answer))
    const { data, response } = await client()
      .responses.create({ model, input: "Hello, river", instructions: "Be brief." })
      .withResponse()
    expect(data.output_text).toBe("Hello there")
    expect(data).toMatchObject({ status: "completed", model })
    expect(data.usage).toMatchObject({ input_tokens: 1000, output_tokens: 200, total_tokens: 1200 })
    expect(data.usage?.input_tokens_details.cached_tokens).toBe(400)
    expect(response.headers.get("x-svc-cost")).toBe("0.00492")
    expect(vendorBodyOf(gateway().vendor)).toContain("Be brief.")
  })

  it("streams what the SDK accumulates to the same reply", async () => {
    gateway().vendor.script(answering(answer))
    const stream = client().responses.stream({ model, input: "Hello, river" })
    const texts: Array<string> = []
    const kinds: Array<string> = []
    stream.on("event", ({ type }) => kinds.push(type))
    stream.on("response.output_text.delta", ({ delta }) => texts.push(delta))
    const response = await stream.finalResponse()
    expect(texts).toEqual(["Hello", " ", "there"])
    expect(response.output_text).toBe("Hello there")
    expect(response.usage).toMatchObject({ input_tokens: 1000, output_tokens: 200 })
    expect(kinds.filter((kind) => kind !== "response.output_text.delta")).toEqual([
      "response.created",
      "response.in_progress",
      "response.output_item.added",
      "response.content_part.added",
      "response.output_text.done",
      "response.content_part.done",
      "response.output_item.done",
      "response.completed",
    ])
  })

  it("calls two tools at once, and takes their results", async () => {
    gateway().vendor.script(callsTools)
    const input: OpenAI.Responses.ResponseInput = [{ role: "user", content: "Weather in Oslo and Rome?" }]
    const reply = await client()
      .responses.stream({ model, input, tools: [weather] })
      .finalResponse()
    const calls = reply.output.flatMap((item) => (item.type === "function_call" ? [item] : []))
    expect(calls.map((call) => [call.name, JSON.parse(call.arguments)])).toEqual([
      ["weather", { city: "Oslo" }],
      ["weather", { city: "Rome" }],
    ])
    input.push(...toInput(reply.output))
    for (const [at, { call_id }] of calls.entries()) {
      input.push({ type: "function_call_output", call_id, output: `${at} degrees` })
    }
    gateway().vendor.script(answering(answer))
    const last = await client().responses.create({ model, input, tools: [weather] })
    expect(last.output_text).toBe("Hello there")
    expect(vendorBodyOf(gateway().vendor)).toMatch(/0 degrees.*1 degrees/s)
  })

  it("asks for an answer by a JSON Schema, and carries an image", async () => {
    gateway().vendor.script(answering({ ...answer, words: ['{"city":', '"Oslo"}'] }))
    const schema = { type: "object", properties: { city: { type: "string" } }, required: ["city"] }
    const reply = await client().responses.create({
      model,
      input: [
        {
          role: "user",
          content: [
            { type: "input_text", text: "Where is this?" },
            { type: "input_image", image_url: "data:image/png;base64,iVBORw0KGgo=", detail: "auto" },
          ],
        },
      ],
      text: { format: { type: "json_schema", name: "place", schema, strict: true } },
    })
    expect(JSON.parse(reply.output_text)).toEqual({ city: "Oslo" })
    expect(vendorBodyOf(gateway().vendor)).toContain('"required":["city"]')
    expect(vendorBodyOf(gateway().vendor)).toContain("iVBORw0KGgo=")
  })
})

describe("responses", () => {
  it("reasoning keeps what its vendor signed over two turns", async () => {
    gateway().vendor.script(thinks)
    const input: OpenAI.Responses.ResponseInput = [{ role: "user", content: "Hi" }]
    const first = await client()
      .responses.stream({ model: "claude", input, reasoning: { effort: "high" }, store: false })
      .finalResponse()
    expect(first.output_text).toBe("Yes.")
    expect(first.output[0]).toMatchObject({ type: "reasoning", summary: [{ text: "Hm." }] })
    input.push(...toInput(first.output), { role: "user", content: "Why?" })
    gateway().vendor.script(answering(answer))
    await client().responses.create({ model: "claude", input })
    expect(gateway().vendor.calls.at(-1)?.body["messages"]).toMatchObject([
      { role: "user" },
      {
        role: "assistant",
        content: thought,
      },
      { role: "user" },
    ])
  })

  it("tools in a group are flattened for vendors and restored in calls", async () => {
    gateway().vendor.script(async ({ head, write, end }) => {
      head()
      const call = { index: 0, id: "c", type: "function", function: { name: "maps__find", arguments: "{}" } }
      await write(`data: ${JSON.stringify({ choices: [{ index: 0, delta: { tool_calls: [call] } }] })}\n\n`)
      await write('data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}\n\ndata: [DONE]\n\n')
      end()
    })
    const group = { type: "namespace", name: "maps", tools: [{ type: "function", name: "find", parameters: {} }] }
    const reply = await fetch(`${gateway().baseUrl}/openai/v1/responses`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${gateway().keyId}~${gateway().key}` },
      body: JSON.stringify({ model: "main", stream: true, input: "Find", tools: [group, { type: "web_search" }] }),
    })
    expect(reply.headers.get("x-svc-warning")).toBe("tools_omitted=web_search")
    expect(await reply.text()).toContain('"name":"find","namespace":"maps"')
    expect(vendorBodyOf(gateway().vendor)).toContain('"name":"maps__find"')
  })

  it("refuses what cannot be honoured, and names the field", async () => {
    const asked = client().responses.create({ model: "main", input: "Hi", previous_response_id: "resp_1" })
    await expect(asked).rejects.toMatchObject({ status: 400, param: "previous_response_id" })
    const item = { type: "item_reference", id: "x" } as const
    const referred = client().responses.create({ model: "main", input: [item] })
    await expect(referred).rejects.toMatchObject({ status: 400, param: "input" })
  })

  it("an error in the middle of a stream is thrown by the SDK", async () => {
    gateway().vendor.script(breaksOff)
    const stream = await client().responses.create({ model: "main", input: "Hi", stream: true })
    const kinds: Array<string> = []
    const read = async () => {
      for await (const event of stream) kinds.push(event.type)
    }
    await expect(read()).rejects.toThrow(/closed the connection/)
    expect(kinds.at(-1)).toBe("response.failed")
  })

  it("a retry with the same Idempotency-Key is the same reply, and an abort reaches the vendor", async () => {
    gateway().vendor.script(answering(answer))
    const before = gateway().vendor.calls.length
    const options = { headers: { "Idempotency-Key": `retry-${Math.random()}` } }
    const first = await client().responses.create({ model: "main", input: "Hi" }, options)
    const again = await client().responses.create({ model: "main", input: "Hi" }, options)
    expect(again.output_text).toEqual(first.output_text)
    expect(gateway().vendor.calls.length).toBe(before + 1)
    const ms = await msUntilGone(gateway().vendor, async () => {
      const stream = await client().responses.create({ model: "main", input: "Hi", stream: true })
      await stream[Symbol.asyncIterator]().next()
      return () => stream.controller.abort()
    })
    expect(ms).toBeLessThan(100)
  })
})
