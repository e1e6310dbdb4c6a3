/** The framework `ai` with its providers, unchanged, against a whole gateway. */
import { createAnthropic } from "@ai-sdk/anthropic"
import { createGoogleGenerativeAI } from "@ai-sdk/google"
import { createOpenAI } from "@ai-sdk/openai"
import { createOpenAICompatible } from "@ai-sdk/openai-compatible"
import { generateText, jsonSchema, type LanguageModel, Output, stepCountIs, streamText, tool } from "ai"
import { describe, expect, it } from "vitest"
import { answering } from "../../src/testing/vendor-replies.ts"
import { useGateway } from "../conformance/gateway.ts"
import { callsTools, vendorBodyOf } from "./vendors.ts"

const gateway = useGateway()
const apiKey = () => `${gateway().keyId}~${gateway().key}`

const providers: Readonly<Record<string, () => LanguageModel>> = {
  "openai, chat": () => createOpenAI({ baseURL: `${gateway().baseUrl}/openai/v1`, apiKey: apiKey() }).chat("main"),
  "openai, responses": () =>
    createOpenAI({ baseURL: `${gateway().baseUrl}/openai/v1`, apiKey: apiKey() }).responses("main"),
  anthropic: () => createAnthropic({ baseURL: `${gateway().baseUrl}/anthropic/v1`, apiKey: apiKey() })("main"),
  google: () => createGoogleGenerativeAI({ baseURL: `${gateway().baseUrl}/gemini/v1beta`, apiKey: apiKey() })("main"),
  "openai-compatible": () =>
    createOpenAICompatible({
      name: "weir",
      includeUsage: true,
      baseURL: `${gateway().baseUrl}/openai/v1`,
      apiKey: apiKey(),
    })("main"),
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
