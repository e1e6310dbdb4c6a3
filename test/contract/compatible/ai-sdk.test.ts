/** The framework `ai` with its providers, unchanged, against a whole gateway. */
import { createAnthropic } from "@ai-sdk/anthropic"
import { createGoogleGenerativeAI } from "@ai-sdk/google"
import { createOpenAI } from "@ai-sdk/openai"
import { createOpenAICompatible } from "@ai-sdk/openai-compatible"
import {
  generateText,
  jsonSchema,
  type LanguageModel,
  type ModelMessage,
  Output,
  stepCountIs,
  streamText,
  tool,
} from "ai"
import { describe, expect, it } from "vitest"
import { answering } from "../../../src/testing/vendor-replies.ts"
import { useGateway } from "../../support/gateway.ts"
import { breaksOff, callsTools, msUntilGone, thinks, vendorBodyOf } from "./vendors.ts"

const gateway = useGateway()
const apiKey = () => `${gateway().keyId}~${gateway().key}`

type Provider = (model?: string) => LanguageModel

const providers: Readonly<Record<string, Provider>> = {
  "openai, chat": (model = "main") =>
    createOpenAI({ baseURL: `${gateway().baseUrl}/openai/v1`, apiKey: apiKey() }).chat(model),
  "openai, responses": (model = "main") =>
    createOpenAI({ baseURL: `${gateway().baseUrl}/openai/v1`, apiKey: apiKey() }).responses(model),
  anthropic: (model = "main") =>
    createAnthropic({ baseURL: `${gateway().baseUrl}/anthropic/v1`, apiKey: apiKey() })(model),
  google: (model = "main") =>
    createGoogleGenerativeAI({ baseURL: `${gateway().baseUrl}/gemini/v1beta`, apiKey: apiKey() })(model),
  "openai-compatible": (model = "main") =>
    createOpenAICompatible({
      name: "weir",
      includeUsage: true,
      baseURL: `${gateway().baseUrl}/openai/v1`,
      apiKey: apiKey(),
    })(model),
}

const answer = { words: ["Hello", " ", "there"], inTokens: 1000, outTokens: 200, cachedTokens: 400 }
const weather = tool({
  description: "The weather of a city",
  inputSchema: jsonSchema<{ city: string }>({
    type: "object",
    properties: { city: { type: "string" } },
    required: ["city"],
    additionalProperties: false,
  }),
  execute: ({ city }) => Promise.resolve(`12 degrees in ${city}`),
})

describe.each(Object.entries(providers))("ai with %s", (_, model) => {
  it("generates and streams text, with its usage", async () => {
    gateway().vendor.script(answering(answer))
    const whole = await generateText({ model: model(), prompt: "Hello, river" })
    expect(whole.text).toBe("Hello there")
    expect(whole.usage).toMatchObject({ inputTokens: 1000, outputTokens: 200 })
    const stream = streamText({ model: model(), prompt: "Hello, river" })
    let text = ""
    for await (const part of stream.textStream) text += part
    expect(text).toBe("Hello there")
    expect(await stream.usage).toMatchObject({ inputTokens: 1000, outputTokens: 200 })
    expect(await stream.finishReason).toBe("stop")
  })

  it("calls two tools and answers with their results", async () => {
    let calls = 0
    gateway().vendor.script((call) => (calls++ === 0 ? callsTools(call) : answering(answer)(call)))
    const stream = streamText({
      model: model(),
      prompt: "Weather in Oslo and Rome?",
      tools: { weather },
      stopWhen: stepCountIs(3),
    })
    expect(await stream.text).toBe("Hello there")
    expect(vendorBodyOf(gateway().vendor)).toMatch(/12 degrees in Oslo.*12 degrees in Rome/s)
  })

  it("generates an object by its schema", async () => {
    gateway().vendor.script(answering({ ...answer, words: ['{"city":', '"Oslo"}'] }))
    const schema = jsonSchema<{ city: string }>({
      type: "object",
      properties: { city: { type: "string" } },
      required: ["city"],
      additionalProperties: false,
    })
    const { output } = await generateText({ model: model(), prompt: "Where?", output: Output.object({ schema }) })
    expect(output).toEqual({ city: "Oslo" })
  })

  it("sends an image", async () => {
    gateway().vendor.script(answering(answer))
    const image = Buffer.from("iVBORw0KGgo=", "base64")
    const content = [
      { type: "text", text: "What is it?" },
      { type: "image", image, mediaType: "image/png" },
    ] as const
    const { text } = await generateText({ model: model(), messages: [{ role: "user", content: [...content] }] })
    expect(text).toBe("Hello there")
    expect(vendorBodyOf(gateway().vendor)).toContain("iVBORw0KGgo=")
  })

  it("an answer that broke off is not taken for a whole one", async () => {
    gateway().vendor.script(breaksOff)
    const stream = streamText({ model: model(), prompt: "Hi", maxRetries: 0, onError: () => undefined })
    let text = ""
    for await (const part of stream.textStream) text += part
    expect(text).toBe("Hel")
    // The provider for Google ignores errors in a stream, and reports that it has no end.
    expect(["error", "other", "unknown"]).toContain(await stream.finishReason)
  })

  it("a retry with the same Idempotency-Key is the same reply, billed once", async () => {
    gateway().vendor.script(answering(answer))
    const before = gateway().vendor.calls.length
    const ask = { model: model(), prompt: "Hi", headers: { "Idempotency-Key": `retry-${Math.random()}` } }
    const first = await generateText(ask)
    expect((await generateText(ask)).text).toBe(first.text)
    expect(gateway().vendor.calls.length).toBe(before + 1)
  })

  it("an abort reaches the vendor within 100 ms", async () => {
    const ms = await msUntilGone(gateway().vendor, async () => {
      const aborting = new AbortController()
      const { textStream } = streamText({
        model: model(),
        prompt: "Hi",
        abortSignal: aborting.signal,
        onError: () => undefined,
      })
      await textStream[Symbol.asyncIterator]().next()
      return () => aborting.abort()
    })
    expect(ms).toBeLessThan(100)
  })

  it("an error is the API's", async () => {
    gateway().vendor.script(({ head, end }) => {
      head(400, { "content-type": "application/json" })
      end('{"error":{"message":"secret of the vendor"}}')
    })
    const asked = generateText({ model: model(), prompt: "Hi", maxRetries: 0 })
    await expect(asked).rejects.toThrow(/upstream/i)
    await expect(asked).rejects.not.toThrow(/secret of the vendor/)
  })
})

// Chat completions have no place for what a vendor signed.
const signing = Object.entries(providers).filter(([name]) => /responses|anthropic|google/.test(name))

describe.each(signing)("ai with %s, over two turns", (_, model) => {
  it("gives reasoning back to the vendor that signed it", async () => {
    gateway().vendor.script(thinks)
    const messages: Array<ModelMessage> = [{ role: "user", content: "Hi" }]
    const providerOptions = { openai: { store: false, include: ["reasoning.encrypted_content"] } }
    const stream = streamText({ model: model("claude"), messages, providerOptions })
    expect(await stream.text).toBe("Yes.")
    expect(await stream.reasoningText).toContain("Hm.")
    messages.push(...(await stream.response).messages, { role: "user", content: "Why?" })
    gateway().vendor.script(answering(answer))
    await generateText({ model: model("claude"), messages, providerOptions })
    expect(vendorBodyOf(gateway().vendor)).toContain('"signature":"c2lnbmVk"')
  })
})
