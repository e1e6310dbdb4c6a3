/** OpenAI's own SDK, unchanged, against a whole gateway: chat completions. */
import OpenAI from "openai"
import { describe, expect, it } from "vitest"
import { answering } from "../../../src/testing/vendor-replies.ts"
import { eventually, useGateway } from "../../support/gateway.ts"
import { onClouds, served } from "./clouds.ts"
import { breaksOff, callsTools, msUntilGone, vendorBodyOf } from "./vendors.ts"

const gateway = useGateway(onClouds)

const client = (options: Partial<ConstructorParameters<typeof OpenAI>[0]> = {}) =>
  new OpenAI({
    baseURL: `${gateway().baseUrl}/openai/v1`,
    apiKey: `${gateway().keyId}~${gateway().key}`,
    ...options,
  })

const hello = [{ role: "user", content: "Hello, river" }] as const
const answer = { words: ["Hello", " ", "there"], inTokens: 1000, outTokens: 200, cachedTokens: 400 }
const weather = {
  type: "function",
  function: {
    name: "weather",
    description: "The weather of a city",
    parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  },
} as const

describe.each(served)("chat completions served by %s", (model) => {
  it("answers whole, with the vendor's counts", async () => {
    gateway().vendor.script(answering(answer))
    const { data, response } = await client()
      .chat.completions.create({ model, messages: [...hello] })
      .withResponse()
    expect(data.choices[0]?.message.content).toBe("Hello there")
    expect(data.choices[0]?.finish_reason).toBe("stop")
    expect(data.model).toBe(model)
    expect(data.usage).toMatchObject({ prompt_tokens: 1000, completion_tokens: 200, total_tokens: 1200 })
    expect(data.usage?.prompt_tokens_details?.cached_tokens).toBe(400)
    expect(response.headers.get("x-svc-cost")).toBe("0.00492")
    expect(response.headers.get("x-svc-currency")).toBe("USD")
    expect(Number(response.headers.get("x-svc-balance"))).toBeLessThan(1000)
    expect(response.headers.get("x-request-id")).toBe(response.headers.get("x-svc-request-id"))
  })

  it("streams what the SDK accumulates to the same reply", async () => {
    gateway().vendor.script(answering(answer))
    const stream = client().chat.completions.stream({
      model,
      messages: [...hello],
      stream_options: { include_usage: true },
    })
    const texts: Array<string> = []
    stream.on("content", (text) => texts.push(text))
    const completion = await stream.finalChatCompletion()
    expect(texts).toEqual(["Hello", " ", "there"])
    expect(completion.choices[0]?.message.content).toBe("Hello there")
    expect(completion.usage).toMatchObject({ prompt_tokens: 1000, completion_tokens: 200 })
  })

  it("calls two tools at once, and takes their results", async () => {
    gateway().vendor.script(callsTools)
    const messages: Array<OpenAI.ChatCompletionMessageParam> = [{ role: "user", content: "Weather in Oslo and Rome?" }]
    const stream = client().chat.completions.stream({ model, messages, tools: [weather] })
    const { choices } = await stream.finalChatCompletion()
    expect(choices[0]?.finish_reason).toBe("tool_calls")
    const message = choices[0]?.message
    const calls = message?.tool_calls?.map((call) => (call.type === "function" ? call.function : undefined))
    expect(calls?.map((call) => [call?.name, JSON.parse(call?.arguments ?? "")])).toEqual([
      ["weather", { city: "Oslo" }],
      ["weather", { city: "Rome" }],
    ])
    if (message === undefined) throw new Error("no message")
    gateway().vendor.script(answering(answer))
    messages.push(
      message,
      ...(message.tool_calls ?? []).map(({ id }, at) => ({
        role: "tool" as const,
        tool_call_id: id,
        content: `${at} degrees`,
      })),
    )
    const last = await client().chat.completions.create({ model, messages, tools: [weather] })
    expect(last.choices[0]?.message.content).toBe("Hello there")
    expect(vendorBodyOf(gateway().vendor)).toMatch(/0 degrees.*1 degrees/s)
  })

  it("asks for an answer by a JSON Schema", async () => {
    gateway().vendor.script(answering({ ...answer, words: ['{"city":', '"Oslo"}'] }))
    const schema = { type: "object", properties: { city: { type: "string" } }, required: ["city"] }
    const reply = await client().chat.completions.create({
      model: model === "claude" ? "claude" : model,
      messages: [...hello],
      response_format: { type: "json_schema", json_schema: { name: "place", schema, strict: true } },
    })
    expect(JSON.parse(reply.choices[0]?.message.content ?? "")).toEqual({ city: "Oslo" })
    expect(vendorBodyOf(gateway().vendor)).toContain('"required":["city"]')
  })

  it("carries an image", async () => {
    gateway().vendor.script(answering(answer))
    const url = "data:image/png;base64,iVBORw0KGgo="
    await client().chat.completions.create({
      model,
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text: "What is this?" },
            { type: "image_url", image_url: { url } },
          ],
        },
      ],
    })
    expect(vendorBodyOf(gateway().vendor)).toContain("iVBORw0KGgo=")
  })
})

describe("chat completions", () => {
  it("refuses what would change the answer and cannot be honoured, and names the field", async () => {
    const asked = client().chat.completions.create({ model: "main", messages: [...hello], n: 9 })
    await expect(asked).rejects.toMatchObject({ status: 400, code: "bad_request", param: "n" })
    const unknown = { model: "claude", messages: [...hello], foo: 1 }
    await expect(client().chat.completions.create(unknown)).rejects.toMatchObject({ status: 400, param: "foo" })
    const stops = { model: "responses", messages: [...hello], stop: ["END"] }
    await expect(client().chat.completions.create(stops)).rejects.toMatchObject({ status: 400, param: "stop" })
    const tooHot = { model: "main", messages: [...hello], temperature: 9 }
    await expect(client().chat.completions.create(tooHot)).rejects.toMatchObject({ status: 400, param: "temperature" })
  })

  it("a wrong key is an authentication error", async () => {
    const asked = client({ apiKey: `${gateway().keyId}~wrong` }).chat.completions.create({
      model: "main",
      messages: [...hello],
    })
    await expect(asked).rejects.toThrow(OpenAI.AuthenticationError)
  })

  it("an error in the middle of a stream is thrown by the SDK", async () => {
    gateway().vendor.script(breaksOff)
    const stream = await client().chat.completions.create({ model: "main", messages: [...hello], stream: true })
    const read = async () => {
      let text = ""
      for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? ""
      return text
    }
    await expect(read()).rejects.toMatchObject({ code: "upstream_disconnected" })
  })

  it("a retry with the same Idempotency-Key is the same reply, billed once", async () => {
    gateway().vendor.script(answering(answer))
    const before = gateway().vendor.calls.length
    const options = { headers: { "Idempotency-Key": `retry-${Math.random()}` } }
    const first = await client().chat.completions.create({ model: "main", messages: [...hello] }, options)
    await eventually(async () => {
      const again = await client().chat.completions.create({ model: "main", messages: [...hello] }, options)
      return again.choices[0]?.message.content === first.choices[0]?.message.content
    })
    expect(gateway().vendor.calls.length).toBe(before + 1)
    const other = client({ maxRetries: 0 }).chat.completions.create({ model: "main", messages: [] }, options)
    await expect(other).rejects.toMatchObject({ status: 400 })
    const streamed = { headers: { "Idempotency-Key": `retry-${Math.random()}` } }
    const body = { model: "main", messages: [...hello] }
    await client().chat.completions.stream(body, streamed).finalChatCompletion()
    // A stream is not kept: it is never billed twice, and the SDK does not try again.
    const again = client().chat.completions.stream(body, streamed).finalChatCompletion()
    await expect(again).rejects.toMatchObject({ status: 409, code: "idempotency_conflict" })
    expect(gateway().vendor.calls.length).toBe(before + 2)
  })

  it("an abort in mid-stream reaches the vendor within 100 ms", async () => {
    const ms = await msUntilGone(gateway().vendor, async () => {
      const stream = await client().chat.completions.create({ model: "main", messages: [...hello], stream: true })
      await stream[Symbol.asyncIterator]().next()
      return () => stream.controller.abort()
    })
    expect(ms).toBeLessThan(100)
  })

  it("reasoning comes as reasoning_content, and goes back in the next turn", async () => {
    gateway().vendor.script(answering(answer))
    const messages = [
      { role: "user", content: "Hi" },
      { role: "assistant", content: "Hello", reasoning_content: "They greet." },
      { role: "user", content: "Why?" },
    ]
    const reply = await fetch(`${gateway().baseUrl}/openai/v1/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${gateway().keyId}~${gateway().key}` },
      body: JSON.stringify({ model: "main", messages, reasoning_effort: "high" }),
    })
    expect(reply.status).toBe(200)
    expect(vendorBodyOf(gateway().vendor)).toContain('"reasoning_effort":"high"')
  })

  it("a hosted tool that cannot be had is left out, and told", async () => {
    gateway().vendor.script(answering(answer))
    const reply = await fetch(`${gateway().baseUrl}/openai/v1/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-api-key": `${gateway().keyId}~${gateway().key}` },
      body: JSON.stringify({ model: "main", messages: hello, tools: [{ type: "code_interpreter" }] }),
    })
    expect(reply.status).toBe(200)
    expect(reply.headers.get("x-svc-warning")).toBe("tools_omitted=code_interpreter")
  })
})
