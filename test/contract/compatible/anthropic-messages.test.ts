/** Anthropic's own SDK, unchanged, against a whole gateway. */
import Anthropic from "@anthropic-ai/sdk"
import { describe, expect, it } from "vitest"
import { answering } from "../../../src/testing/vendor-replies.ts"
import { useGateway } from "../../support/gateway.ts"
import { onClouds, served } from "./clouds.ts"
import { breaksOff, callsTools, msUntilGone, thinks, thought, vendorBodyOf } from "./vendors.ts"

const gateway = useGateway(onClouds)

const client = (options: ConstructorParameters<typeof Anthropic>[0] = {}) =>
  new Anthropic({
    baseURL: `${gateway().baseUrl}/anthropic`,
    apiKey: `${gateway().keyId}~${gateway().key}`,
    ...options,
  })

const messages = (): Array<Anthropic.MessageParam> => [{ role: "user", content: "Hello, river" }]
const answer = { words: ["Hello", " ", "there"], inTokens: 1000, outTokens: 200, cachedTokens: 400 }
const weather: Anthropic.Tool = {
  name: "weather",
  description: "The weather of a city",
  input_schema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
}

describe.each(served)("messages served by %s", (model) => {
  it("answers whole, with the vendor's counts", async () => {
    gateway().vendor.script(answering(answer))
    const { data, response } = await client()
      .messages.create({ model, max_tokens: 100, messages: messages() })
      .withResponse()
    expect(data.content).toMatchObject([{ type: "text", text: "Hello there" }])
    expect(data).toMatchObject({ role: "assistant", stop_reason: "end_turn", model })
    expect(data.usage).toMatchObject({ input_tokens: 600, cache_read_input_tokens: 400, output_tokens: 200 })
    expect(response.headers.get("x-svc-cost")).toBe("0.00492")
    expect(response.headers.get("request-id")).toBe(response.headers.get("x-svc-request-id"))
  })

  it("streams what the SDK accumulates to the same reply", async () => {
    gateway().vendor.script(answering(answer))
    const stream = client().messages.stream({ model, max_tokens: 100, messages: messages() })
    const texts: Array<string> = []
    stream.on("text", (text) => texts.push(text))
    const message = await stream.finalMessage()
    expect(texts).toEqual(["Hello", " ", "there"])
    expect(message).toMatchObject({ content: [{ type: "text", text: "Hello there" }], stop_reason: "end_turn" })
    expect(message.usage).toMatchObject({ input_tokens: 600, cache_read_input_tokens: 400, output_tokens: 200 })
  })

  it("calls two tools at once, and takes their results", async () => {
    gateway().vendor.script(callsTools)
    const thread = messages()
    const body = { model, max_tokens: 100, messages: thread, tools: [weather] }
    const reply = await client().messages.stream(body).finalMessage()
    expect(reply.stop_reason).toBe("tool_use")
    const calls = reply.content.flatMap((block) => (block.type === "tool_use" ? [block] : []))
    expect(calls.map(({ name, input }) => [name, input])).toEqual([
      ["weather", { city: "Oslo" }],
      ["weather", { city: "Rome" }],
    ])
    thread.push(
      { role: "assistant", content: reply.content },
      {
        role: "user",
        content: calls.map(({ id }, at) => ({ type: "tool_result", tool_use_id: id, content: `${at} degrees` })),
      },
    )
    gateway().vendor.script(answering(answer))
    const last = await client().messages.create(body)
    expect(last.content).toMatchObject([{ type: "text", text: "Hello there" }])
    expect(vendorBodyOf(gateway().vendor)).toMatch(/0 degrees.*1 degrees/s)
  })

  it("asks for an answer by a JSON Schema, and carries an image", async () => {
    gateway().vendor.script(answering({ ...answer, words: ['{"city":', '"Oslo"}'] }))
    const schema = { type: "object", properties: { city: { type: "string" } }, required: ["city"] }
    const source = { type: "base64", media_type: "image/png", data: "iVBORw0KGgo=" } as const
    const reply = await client().messages.create({
      model,
      max_tokens: 100,
      messages: [
        {
          role: "user",
          content: [
            { type: "image", source },
            { type: "text", text: "Where is this?" },
          ],
        },
      ],
      output_config: { format: { type: "json_schema", schema } },
    })
    expect(reply.content).toMatchObject([{ type: "text", text: '{"city":"Oslo"}' }])
    expect(vendorBodyOf(gateway().vendor)).toContain('"required":["city"]')
    expect(vendorBodyOf(gateway().vendor)).toContain("iVBORw0KGgo=")
  })
})

describe("messages", () => {
  it("thinking keeps its signature over two turns", async () => {
    gateway().vendor.script(thinks)
    const thread = messages()
    const body = {
      model: "claude",
      max_tokens: 2000,
      messages: thread,
      thinking: { type: "enabled", budget_tokens: 1500 },
    } as const
    const reply = await client().messages.stream(body).finalMessage()
    expect(reply.content).toMatchObject(thought)
    thread.push({ role: "assistant", content: reply.content }, { role: "user", content: "Why?" })
    gateway().vendor.script(answering(answer))
    await client().messages.create(body)
    const sent = gateway().vendor.calls.at(-1)?.body
    expect(sent?.["messages"]).toMatchObject([{}, { role: "assistant", content: thought }, {}])
    expect(sent?.["thinking"]).toEqual({ type: "enabled", budget_tokens: 1500 })
  })

  it("refuses what cannot be honoured, and names the field", async () => {
    const parted = { max_tokens: 10, messages: messages() }
    const body = { ...parted, model: "main", top_k: 5, container: "c", foo: 1 }
    const asked = client().messages.create(body)
    await expect(asked).rejects.toThrow(/foo/)
    await expect(asked).rejects.toThrow(Anthropic.BadRequestError)
    const one = { type: "auto", disable_parallel_tool_use: true } as const
    const apart = client().messages.create({ ...parted, model: "gemini", tools: [weather], tool_choice: one })
    await expect(apart).rejects.toThrow(/tool_choice\.disable_parallel_tool_use/)
  })

  it("a wrong key is an authentication error, an unknown model a permission error", async () => {
    const body = { model: "main", max_tokens: 10, messages: messages() }
    await expect(client({ apiKey: "nobody~wrong" }).messages.create(body)).rejects.toThrow(
      Anthropic.AuthenticationError,
    )
    const unknown = client().messages.create({ ...body, model: "unknown" })
    await expect(unknown).rejects.toThrow(Anthropic.PermissionDeniedError)
  })

  it("an error in the middle of a stream is thrown by the SDK", async () => {
    gateway().vendor.script(breaksOff)
    const stream = client().messages.stream({ model: "main", max_tokens: 10, messages: messages() })
    await expect(stream.finalMessage()).rejects.toThrow(/upstream_disconnected/)
  })

  it("a retry with the same Idempotency-Key is the same reply, billed once", async () => {
    gateway().vendor.script(answering(answer))
    const before = gateway().vendor.calls.length
    const options = { headers: { "Idempotency-Key": `retry-${Math.random()}` } }
    const body = { model: "main", max_tokens: 10, messages: messages() }
    const first = await client().messages.create(body, options)
    const again = await client().messages.create(body, options)
    expect(again.content).toEqual(first.content)
    expect(gateway().vendor.calls.length).toBe(before + 1)
  })

  it("an abort in mid-stream reaches the vendor within 100 ms", async () => {
    const ms = await msUntilGone(gateway().vendor, async () => {
      const stream = client().messages.stream({ model: "main", max_tokens: 10, messages: messages() })
      stream.once("abort", () => undefined)
      await new Promise((resolve) => stream.once("text", resolve))
      return () => stream.abort()
    })
    expect(ms).toBeLessThan(100)
  })
})
