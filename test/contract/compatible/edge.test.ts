/** The parts of compatible routes beside exchanges: models, counts, aliases, credentials, unknown paths. */
import Anthropic from "@anthropic-ai/sdk"
import { GoogleGenAI } from "@google/genai"
import { CohereClient } from "cohere-ai"
import { Schema } from "effect"
import OpenAI from "openai"
import { describe, expect, it } from "vitest"
import { newTestIds, testCatalogue } from "../../../src/testing/gateway.ts"
import { answering } from "../../../src/testing/vendor-replies.ts"
import { useGateway } from "../../support/gateway.ts"
import { vendorBodyOf } from "./vendors.ts"

const ids = newTestIds()
const gateway = useGateway({
  ids,
  catalogue: (urls) =>
    testCatalogue(urls, ids).replace(
      "unpriced] }",
      'unpriced], aliases: { claude-sonnet-4-5: main, "gpt-5*": claude, "gpt-5-mini*": plain } }',
    ),
})

const credential = () => `${gateway().keyId}~${gateway().key}`
const openai = () => new OpenAI({ baseURL: `${gateway().baseUrl}/openai/v1`, apiKey: credential() })
const anthropic = () => new Anthropic({ baseURL: `${gateway().baseUrl}/anthropic`, apiKey: credential() })
const google = () => new GoogleGenAI({ apiKey: credential(), httpOptions: { baseUrl: `${gateway().baseUrl}/gemini` } })
const answer = { words: ["Hello"], inTokens: 10, outTokens: 2 }

describe("models", () => {
  it("are listed in each API's form, without those that the caller may not use", async () => {
    const ofOpenai = (await openai().models.list()).data
    expect(ofOpenai.find(({ id }) => id === "main")).toMatchObject({
      object: "model",
      context_window: 10_000,
      max_output_tokens: 2000,
      capabilities: ["tools", "images", "files", "reasoning", "cache"],
    })
    expect(ofOpenai.some(({ id }) => id === "foreign" || id === "direct")).toBe(false)
    const ofAnthropic = await anthropic().models.list()
    expect(ofAnthropic.data.find(({ id }) => id === "main")).toMatchObject({
      type: "model",
      max_input_tokens: 10_000,
      max_tokens: 2000,
    })
    const names = []
    for await (const model of await google().models.list()) names.push(model.name)
    expect(names).toContain("models/main")
    expect(names).not.toContain("models/foreign")
  })

  it("are listed for Cohere's SDK", async () => {
    const client = new CohereClient({ token: credential(), environment: `${gateway().baseUrl}/cohere` })
    const { models } = await client.models.list()
    expect(models.find(({ name }) => name === "main")).toMatchObject({ contextLength: 10_000 })
    expect(models.some(({ name }) => name === "foreign")).toBe(false)
    expect(await client.models.get("main")).toMatchObject({ name: "main" })
    await expect(client.models.get("foreign")).rejects.toMatchObject({ statusCode: 404 })
  })

  it("are told one by one, also by an alias", async () => {
    expect(await openai().models.retrieve("main")).toMatchObject({ id: "main", context_window: 10_000 })
    expect(await anthropic().models.retrieve("claude-sonnet-4-5")).toMatchObject({ id: "main" })
    expect(await google().models.get({ model: "main" })).toMatchObject({ name: "models/main", inputTokenLimit: 10_000 })
    await expect(openai().models.retrieve("foreign")).rejects.toMatchObject({ status: 404, code: "not_found" })
  })
})

describe("aliases", () => {
  it.each([
    ["claude-sonnet-4-5", "upstream-main"],
    ["gpt-5", "upstream-claude"],
    ["gpt-5.2-codex", "upstream-claude"],
    ["gpt-5-mini-2025", "upstream-plain"],
    ["main", "upstream-main"],
  ])("%s is served as %s, and the reply names what was asked for", async (model, target) => {
    gateway().vendor.script(answering(answer))
    const reply = await openai().chat.completions.create({ model, messages: [{ role: "user", content: "Hi" }] })
    expect(reply.model).toBe(model)
    expect(vendorBodyOf(gateway().vendor)).toContain(`"model":"${target}"`)
  })
})

describe("counts of tokens", () => {
  it("are answered in the form of Anthropic and Google, without a call and without a price", async () => {
    const before = gateway().vendor.calls.length
    const messages = [{ role: "user", content: "Hello, river! ".repeat(100) }] as const
    const counted = await anthropic().messages.countTokens({ model: "main", messages: [...messages] })
    expect(counted.input_tokens).toBeGreaterThan(300)
    expect(counted.input_tokens).toBeLessThan(700)
    const { totalTokens } = await google().models.countTokens({ model: "main", contents: messages[0].content })
    expect(totalTokens).toBe(counted.input_tokens)
    expect(gateway().vendor.calls.length).toBe(before)
  })
})

describe("credentials", () => {
  const body = JSON.stringify({ model: "main", messages: [{ role: "user", content: "Hi" }] })
  const ask = (headers: Record<string, string>) =>
    fetch(`${gateway().baseUrl}/openai/v1/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body,
    })

  it.each(["authorization", "x-api-key", "x-goog-api-key"])("a key in %s", async (header) => {
    gateway().vendor.script(answering(answer))
    const value = header === "authorization" ? `Bearer ${credential()}` : credential()
    expect((await ask({ [header]: value })).status).toBe(200)
  })

  it("a personal access token, and an end user's token", async () => {
    gateway().vendor.script(answering(answer))
    const minted = await gateway().call("POST", "/v1/app-tokens", { endUserId: "user-1", ttlSeconds: 300 })
    const { token } = Schema.decodeUnknownSync(Schema.Struct({ token: Schema.String }))(await minted.json())
    expect((await ask({ authorization: `Bearer ${token}` })).status).toBe(200)
    expect((await ask({ authorization: `Bearer ${token}x` })).status).toBe(401)
  })

  it.each(["", "~", "nobody", "a~b~c", "~secret", "a.b.c", "x".repeat(5000)])("%s is refused", async (wrong) => {
    const reply = await ask({ "x-api-key": wrong })
    expect(reply.status).toBe(401)
    expect(await reply.json()).toMatchObject({ error: { type: "authentication_error" } })
  })
})

describe("errors", () => {
  it("the base of Anthropic's API answers clients that look for it", async () => {
    expect((await fetch(`${gateway().baseUrl}/anthropic/`, { method: "HEAD" })).status).toBe(200)
    expect((await fetch(`${gateway().baseUrl}/anthropic`, { method: "HEAD" })).status).toBe(200)
  })

  it.each([
    ["POST", "/openai/v1/images/nothing", { error: { type: "not_found_error", code: "not_found" } }],
    ["GET", "/openai/nothing", { error: { type: "not_found_error" } }],
    ["POST", "/anthropic/v1/complete", { type: "error", error: { type: "not_found_error" } }],
    ["PUT", "/gemini/v1beta/models/main", { error: { code: 404, status: "NOT_FOUND" } }],
    ["POST", "/gemini/v1beta/models/main:generateAnswer", { error: { code: 404, status: "NOT_FOUND" } }],
    ["POST", "/gemini/v1beta/models/%E0%A4%A:generateContent", { error: { code: 404, status: "NOT_FOUND" } }],
  ])("%s %s is not found, in its API's shape", async (method, path, shape) => {
    const reply = await fetch(gateway().baseUrl + path, { method, headers: { "x-api-key": credential() } })
    expect(reply.status).toBe(404)
    expect(await reply.json()).toMatchObject(shape)
  })

  it("stored chat completions are refused by name, with an alternative", async () => {
    const { completions } = openai().chat
    const refused = { status: 400, message: expect.stringMatching(/not stored.*responses/) }
    await expect(completions.list()).rejects.toMatchObject(refused)
    await expect(completions.retrieve("chatcmpl-1")).rejects.toMatchObject(refused)
    await expect(completions.update("chatcmpl-1", { metadata: {} })).rejects.toMatchObject(refused)
    await expect(completions.delete("chatcmpl-1")).rejects.toMatchObject(refused)
    await expect(completions.messages.list("chatcmpl-1")).rejects.toMatchObject(refused)
  })

  it.each([
    ["not JSON", "{"],
    ["no object", "[]"],
    ["not UTF-8", new Uint8Array([0x7b, 0xff, 0x7d])],
    ["too deep", `${'{"a":'.repeat(100)}1${"}".repeat(100)}`],
    ["a NUL", JSON.stringify({ model: "ma\0in", messages: [{ role: "user", content: "Hi" }] })],
    ["a prototype", '{"model":"main","__proto__":{"n":1},"messages":[{"role":"user","content":"Hi"}]}'],
    ["messages of numbers", '{"model":"main","messages":[1,2]}'],
    ["no messages", '{"model":"main","messages":[]}'],
    ["a number too large", '{"model":"main","max_tokens":1e300,"messages":[{"role":"user","content":"Hi"}]}'],
  ])("%s is refused by every API", async (_, body) => {
    for (const path of [
      "/openai/v1/chat/completions",
      "/openai/v1/responses",
      "/anthropic/v1/messages",
      "/gemini/v1beta/models/main:generateContent",
    ]) {
      const reply = await fetch(gateway().baseUrl + path, {
        method: "POST",
        headers: { "content-type": "application/json", "x-api-key": credential() },
        body,
      })
      expect([400, 403]).toContain(reply.status)
      expect(await reply.json()).toHaveProperty("error.message")
      expect(reply.headers.get("x-should-retry")).toBe("false")
    }
  })
})
