/** Tool loops of the framework `ai`, unchanged, with vendors of each API: strict twins refuse none of its steps. */
import { createAnthropic } from "@ai-sdk/anthropic"
import { createGoogleGenerativeAI } from "@ai-sdk/google"
import { createOpenAI } from "@ai-sdk/openai"
import { createOpenAICompatible } from "@ai-sdk/openai-compatible"
import { generateText, jsonSchema, type LanguageModel, stepCountIs, streamText, tool } from "ai"
import { describe, expect, it } from "vitest"
import type { TwinScript } from "../../../src/testing/index.ts"
import { useGateway } from "../../support/gateway.ts"
import { answerBy, onTwins, type TwinModel, threeSteps, twinModels } from "./twin-vendors.ts"

// A loss of a provider is no fault of a gateway.
Object.assign(globalThis, { AI_SDK_LOG_WARNINGS: false })

const gateway = useGateway(onTwins)
const settings = (path: string) => ({
  baseURL: gateway().baseUrl + path,
  apiKey: `${gateway().keyId}~${gateway().key}`,
})

const unstored = { openai: { store: false } }

const providers: Readonly<Record<string, (model: string) => LanguageModel>> = {
  "openai, chat": (model) => createOpenAI(settings("/openai/v1")).chat(model),
  "openai, responses": (model) => createOpenAI(settings("/openai/v1")).responses(model),
  anthropic: (model) => createAnthropic(settings("/anthropic/v1"))(model),
  google: (model) => createGoogleGenerativeAI(settings("/gemini/v1beta"))(model),
  "openai-compatible": (model) =>
    createOpenAICompatible({ name: "weir", includeUsage: true, ...settings("/openai/v1") })(model),
}

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

const asked = (provider: string, model: TwinModel) => {
  const makeModel = providers[provider]
  if (makeModel === undefined) throw new Error(provider)
  return {
    model: makeModel(`twin-${model}`),
    system: "Be brief.",
    prompt: "Weather in Oslo, Rome and Bergen?",
    tools: { weather },
    stopWhen: stepCountIs(5),
    maxRetries: 0,
    maxOutputTokens: 4000,
    ...(provider === "openai, responses" && { providerOptions: unstored }),
  }
}

/** The text of a result at a vendor: the provider for Google wraps it. */
const resultOf = (provider: string, city: string): string => {
  const content = `12 degrees in ${city}`
  return provider === "google" ? JSON.stringify({ name: "weather", content }) : content
}

const pairs = Object.keys(providers).flatMap((provider) => twinModels.map((model) => [provider, model] as const))

describe.each(pairs)("ai with %s, served by %s", (provider, model) => {
  const cities = [["Oslo", "Rome"], ["Bergen"], []]
  const last = `It is ${resultOf(provider, "Bergen")}.`
  const inputs = (steps: ReadonlyArray<{ readonly toolCalls: ReadonlyArray<{ readonly input: unknown }> }>) =>
    steps.map(({ toolCalls }) => toolCalls.map(({ input }) => input))

  it("goes through three steps", async () => {
    answerBy(gateway().vendor, threeSteps)
    const { text, steps } = await generateText(asked(provider, model))
    expect(inputs(steps)).toEqual(cities.map((step) => step.map((city) => ({ city }))))
    expect(steps.map((step) => step.text)).toEqual(["Let me look. ", "One more. ", last])
    expect(text).toBe(last)
  })

  it("goes through them streamed", async () => {
    answerBy(gateway().vendor, threeSteps)
    const errors: Array<unknown> = []
    const stream = streamText({ ...asked(provider, model), onError: ({ error }) => void errors.push(error) })
    let text = ""
    for await (const piece of stream.textStream) text += piece
    expect(errors).toEqual([])
    expect(text).toBe(`Let me look. One more. ${last}`)
    expect(inputs(await stream.steps)).toEqual(cities.map((step) => step.map((city) => ({ city }))))
  })
})

describe("ai with openai's default options", () => {
  it.each(twinModels)("is told how to send what nobody stores, where it refers to it (%s)", async (model) => {
    answerBy(gateway().vendor, threeSteps)
    const { providerOptions: _, ...options } = asked("openai, responses", model)
    await expect(generateText(options)).rejects.toThrow("Items are not persisted when `store` is set to false.")
  })
})

describe("reasoning, text and calls that alternate", () => {
  const alternating: TwinScript = ({ calls, texts }) => {
    const call = (city: string, n: number) =>
      ({ t: "call", id: `call_${n}`, name: "weather", args: JSON.stringify({ city }) }) as const
    if (calls > 0) return { blocks: [{ t: "text", pieces: [`It is ${texts.join(", ")}.`] }] }
    return {
      blocks: [
        { t: "reasoning", pieces: ["r1 ", "r1"] },
        { t: "text", pieces: ["t1 ", "t1"] },
        { t: "reasoning", pieces: ["r2"] },
        call("Oslo", 1),
        { t: "text", pieces: ["t2"] },
        call("Rome", 2),
        { t: "reasoning", pieces: ["r3"] },
        { t: "text", pieces: ["t3"] },
      ],
    }
  }
  const readers = ["anthropic", "openai, responses", "openai, chat", "openai-compatible", "google"]
  const tried = readers.flatMap((provider) =>
    (["openai", "deepseek", "claude", "gemini"] as const).map((model) => [provider, model] as const),
  )
  it.each(tried)("reach ai with %s, served by %s, with no error and no lost text", async (provider, model) => {
    answerBy(gateway().vendor, alternating)
    const errors: Array<unknown> = []
    const stream = streamText({ ...asked(provider, model), onError: ({ error }) => void errors.push(error) })
    const [first, last] = await stream.steps
    expect(errors).toEqual([])
    expect(first?.text).toBe("t1 t1t2t3")
    if (provider !== "openai, chat") expect(first?.reasoningText?.replaceAll("\n", "")).toBe("r1 r1r2r3")
    expect(first?.toolCalls.map(({ input }) => input)).toEqual([{ city: "Oslo" }, { city: "Rome" }])
    expect(last?.text).toBe(`It is ${resultOf(provider, "Oslo")}, ${resultOf(provider, "Rome")}.`)
  })
})

describe("citations", () => {
  const citing = ["anthropic", "openai, responses", "openai, chat", "google"]
  const sources = citing.flatMap((provider) => twinModels.map((model) => [provider, model] as const))
  it.each(sources)("are sources of ai with %s, served by %s", async (provider, model) => {
    answerBy(gateway().vendor, threeSteps)
    const url = "https://example.com/weather"
    const whole = await generateText(asked(provider, model))
    expect(whole.sources).toMatchObject([{ sourceType: "url", url, title: "Weather" }])
    const stream = streamText(asked(provider, model))
    await stream.consumeStream()
    expect(await stream.sources).toMatchObject([{ sourceType: "url", url }])
  })
})
