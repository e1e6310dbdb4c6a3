/** Google's own SDK, unchanged, against a whole gateway. */
import { type Content, type FunctionDeclaration, GoogleGenAI, Type } from "@google/genai"
import { describe, expect, it } from "vitest"
import { answering, openaiFrame } from "../../../src/testing/vendor-replies.ts"
import { useGateway } from "../../support/gateway.ts"
import { onClouds, served } from "./clouds.ts"
import { breaksOff, callsTools, msUntilGone, vendorBodyOf } from "./vendors.ts"

const gateway = useGateway(onClouds)

const client = (apiKey = `${gateway().keyId}~${gateway().key}`, headers: Record<string, string> = {}) =>
  new GoogleGenAI({ apiKey, httpOptions: { baseUrl: `${gateway().baseUrl}/gemini`, headers } })

const answer = { words: ["Hello", " ", "there"], inTokens: 1000, outTokens: 200, cachedTokens: 400 }
const weather: FunctionDeclaration = {
  name: "weather",
  description: "The weather of a city",
  parameters: { type: Type.OBJECT, properties: { city: { type: Type.STRING } }, required: ["city"] },
}

describe.each(served)("generateContent served by %s", (model) => {
  it("answers whole, with the vendor's counts", async () => {
    gateway().vendor.script(answering(answer))
    const reply = await client().models.generateContent({
      model,
      contents: "Hello, river",
      config: { systemInstruction: "Be brief." },
    })
    expect(reply.text).toBe("Hello there")
    expect(reply.candidates?.[0]?.finishReason).toBe("STOP")
    expect(reply.modelVersion).toBe(model)
    expect(reply.usageMetadata).toMatchObject({
      promptTokenCount: 1000,
      candidatesTokenCount: 200,
      cachedContentTokenCount: 400,
      totalTokenCount: 1200,
    })
    expect(reply.sdkHttpResponse?.headers?.["x-svc-cost"]).toBe("0.00492")
    expect(vendorBodyOf(gateway().vendor)).toContain("Be brief.")
  })

  it("streams", async () => {
    gateway().vendor.script(answering(answer))
    const texts: Array<string | undefined> = []
    let last: unknown
    for await (const chunk of await client().models.generateContentStream({ model, contents: "Hello, river" })) {
      texts.push(chunk.text)
      last = chunk.usageMetadata
    }
    expect(texts.join("")).toBe("Hello there")
    expect(last).toMatchObject({ promptTokenCount: 1000, candidatesTokenCount: 200 })
  })

  it("calls two tools at once, and takes their results", async () => {
    gateway().vendor.script(callsTools)
    const contents: Array<Content> = [{ role: "user", parts: [{ text: "Weather in Oslo and Rome?" }] }]
    const config = { tools: [{ functionDeclarations: [weather] }] }
    const calls = []
    const said: Content = { role: "model", parts: [] }
    for await (const chunk of await client().models.generateContentStream({ model, contents, config })) {
      calls.push(...(chunk.functionCalls ?? []))
      said.parts?.push(...(chunk.candidates?.[0]?.content?.parts ?? []))
    }
    expect(calls.map(({ name, args }) => [name, args])).toEqual([
      ["weather", { city: "Oslo" }],
      ["weather", { city: "Rome" }],
    ])
    contents.push(said, {
      role: "user",
      parts: calls.map(({ name }, at) => ({
        functionResponse: { ...(name && { name }), response: { output: `${at} degrees` } },
      })),
    })
    gateway().vendor.script(answering(answer))
    const last = await client().models.generateContent({ model, contents, config })
    expect(last.text).toBe("Hello there")
    expect(vendorBodyOf(gateway().vendor)).toMatch(/0 degrees.*1 degrees/s)
  })

  it("asks for an answer by a schema, and carries an image", async () => {
    gateway().vendor.script(answering({ ...answer, words: ['{"city":', '"Oslo"}'] }))
    const reply = await client().models.generateContent({
      model,
      contents: [{ text: "Where is this?" }, { inlineData: { mimeType: "image/png", data: "iVBORw0KGgo=" } }],
      config: {
        responseMimeType: "application/json",
        responseSchema: { type: Type.OBJECT, properties: { city: { type: Type.STRING } }, required: ["city"] },
      },
    })
    expect(JSON.parse(reply.text ?? "")).toEqual({ city: "Oslo" })
    expect(vendorBodyOf(gateway().vendor)).toContain('"required":["city"]')
    expect(vendorBodyOf(gateway().vendor)).toMatch(/"type":"object"/i)
    expect(vendorBodyOf(gateway().vendor)).toContain("iVBORw0KGgo=")
  })
})

describe("generateContent", () => {
  it("thoughts keep their signature over two turns", async () => {
    gateway().vendor.script(async ({ head, write, end }) => {
      head()
      const parts = [
        { text: "Hm.", thought: true },
        { text: "Yes.", thoughtSignature: "c2lnbmVk" },
      ]
      await write(
        openaiFrame({
          candidates: [{ content: { role: "model", parts }, finishReason: "STOP" }],
          usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 15 },
        }),
      )
      end()
    })
    const contents: Array<Content> = [{ role: "user", parts: [{ text: "Hi" }] }]
    const config = { thinkingConfig: { thinkingBudget: 2048, includeThoughts: true } }
    const said: Content = { role: "model", parts: [] }
    for await (const chunk of await client().models.generateContentStream({ model: "gemini", contents, config })) {
      said.parts?.push(...(chunk.candidates?.[0]?.content?.parts ?? []))
    }
    expect(said.parts).toEqual([
      { text: "Hm.", thought: true },
      { text: "Yes.", thoughtSignature: "c2lnbmVk" },
    ])
    contents.push(said, { role: "user", parts: [{ text: "Why?" }] })
    gateway().vendor.script(answering(answer))
    await client().models.generateContent({ model: "gemini", contents, config })
    expect(gateway().vendor.calls.at(-1)?.body["contents"]).toMatchObject([
      { role: "user" },
      { role: "model", parts: said.parts },
      { role: "user" },
    ])
  })

  it("without alt=sse a stream is an array of JSON", async () => {
    gateway().vendor.script(answering(answer))
    const reply = await fetch(
      `${gateway().baseUrl}/gemini/v1beta/models/main:streamGenerateContent?key=${gateway().keyId}~${gateway().key}`,
      {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ contents: [{ parts: [{ text: "Hi" }] }], generation_config: { max_output_tokens: 20 } }),
      },
    )
    expect(reply.headers.get("content-type")).toBe("application/json")
    const chunks: unknown = await reply.json()
    expect(chunks).toMatchObject([
      { candidates: [{ content: { parts: [{ text: "Hello" }] } }] },
      {},
      {},
      { x_svc: { currency: "USD" } },
    ])
  })

  it("refuses what cannot be honoured, a wrong key and an unknown model", async () => {
    const ask = { model: "main", contents: "Hi" }
    await expect(client().models.generateContent({ ...ask, config: { topK: 0 } })).rejects.toThrow(
      /generationConfig.topK/,
    )
    await expect(client("nobody~wrong").models.generateContent(ask)).rejects.toMatchObject({ status: 401 })
    await expect(client().models.generateContent({ ...ask, model: "unknown" })).rejects.toMatchObject({ status: 403 })
  })

  it("an error in the middle of a stream is thrown by the SDK", async () => {
    gateway().vendor.script(breaksOff)
    const read = async () => {
      const stream = await client().models.generateContentStream({ model: "main", contents: "Hi" })
      for await (const _ of stream);
    }
    await expect(read()).rejects.toThrow(/closed the connection/)
  })

  it("a retry with the same Idempotency-Key is the same reply, and an abort reaches the vendor", async () => {
    gateway().vendor.script(answering(answer))
    const before = gateway().vendor.calls.length
    const repeating = client(undefined, { "Idempotency-Key": `retry-${Math.random()}` })
    const first = await repeating.models.generateContent({ model: "main", contents: "Hi" })
    const again = await repeating.models.generateContent({ model: "main", contents: "Hi" })
    expect(again.text).toEqual(first.text)
    expect(gateway().vendor.calls.length).toBe(before + 1)
    const ms = await msUntilGone(gateway().vendor, async () => {
      const aborting = new AbortController()
      const config = { abortSignal: aborting.signal }
      const stream = await client().models.generateContentStream({ model: "main", contents: "Hi", config })
      await stream.next()
      return () => aborting.abort()
    })
    expect(ms).toBeLessThan(100)
  })
})
