/** Official SDKs, unchanged, take replies from the cache as they take a vendor's; the other kinds are kept too. */
import Anthropic from "@anthropic-ai/sdk"
import { GoogleGenAI } from "@google/genai"
import OpenAI from "openai"
import { beforeEach, describe, expect, it } from "vitest"
import { answering, newTestIds, testCatalogue } from "../../../src/testing/index.ts"
import { useGateway } from "../../support/gateway.ts"
import { callsTools, thinks } from "./vendors.ts"

const ids = newTestIds()
const kept = "replyCache: { ttl: 10m },"
const gateway = useGateway({
  ids,
  // A slow test machine must not make misses.
  config: { replyCacheWaitMs: 30_000 },
  catalogue: (urls) =>
    testCatalogue(urls, ids)
      .replace("- handle: main\n", "- handle: main\n    replyCache: { ttl: 10m }\n")
      .replace("{ handle: claude,", `{ handle: claude, ${kept}`)
      .replace(
        "models:\n",
        `models:
  - { handle: embed, kind: embedding, ${kept} targets: [{ vendor: openai, model: e }] }
  - { handle: rank, kind: rerank, ${kept} targets: [{ vendor: openai, model: r }] }
  - { handle: mod, kind: moderation, ${kept} targets: [{ vendor: openai, model: m }] }
`,
      )
      .replace(
        "prices:\n",
        `prices:
${["embed", "rank", "mod"].map((model) => `  - { model: ${model}, currency: USD, input: "2", cachedReply: "0.5", from: 2026-01-01 }`).join("\n")}
`,
      )
      .replace("models: [main,", "models: [embed, rank, mod, main,"),
})

const answer = { words: ["Hello", " ", "there"], inTokens: 1000, outTokens: 200, cachedTokens: 400 }
beforeEach(() => gateway().vendor.script(answering(answer)))

const apiKey = () => `${gateway().keyId}~${gateway().key}`
const openai = () => new OpenAI({ baseURL: `${gateway().baseUrl}/openai/v1`, apiKey: apiKey(), maxRetries: 0 })
const anthropic = () => new Anthropic({ baseURL: `${gateway().baseUrl}/anthropic`, apiKey: apiKey(), maxRetries: 0 })
const google = () => new GoogleGenAI({ apiKey: apiKey(), httpOptions: { baseUrl: `${gateway().baseUrl}/gemini` } })

let asked = 0
/** Asks twice. @returns both, and how often a vendor was called */
const twice = async <A>(ask: (text: string) => Promise<A>): Promise<readonly [A, A, number]> => {
  const text = `SDK question ${asked++}`
  const before = gateway().vendor.calls.length
  return [await ask(text), await ask(text), gateway().vendor.calls.length - before]
}
/** A reply without its ids and times. */
const plain = (value: unknown): unknown =>
  JSON.parse(
    JSON.stringify(value)
      .replace(/"(id|created|created_at|completed_at|responseId|cost)":("[^"]*"|\d+)/g, '"$1":0')
      .replace(/req_[\w-]+/g, "req"),
  )

const tools = [
  {
    type: "function" as const,
    function: { name: "weather", parameters: { type: "object", properties: { city: { type: "string" } } } },
  },
]

describe("a reply from the cache in", () => {
  it("openai, chat: whole, streamed, with tool calls", async () => {
    const chat = (content: string, more: object = {}) =>
      openai().chat.completions.create({ model: "main", messages: [{ role: "user", content }], ...more })
    const [one, other, calls] = await twice((text) => chat(text))
    expect([plain(other), calls]).toEqual([plain(one), 1])
    const [streamed, again, streams] = await twice(async (content) => {
      const stream = openai().chat.completions.stream({ model: "main", messages: [{ role: "user", content }] })
      return stream.finalChatCompletion()
    })
    expect([plain(again), streams]).toEqual([plain(streamed), 1])
    gateway().vendor.script(callsTools)
    const [called, recalled, made] = await twice((text) => chat(text, { tools }))
    expect([plain(recalled), made]).toEqual([plain(called), 1])
  })

  it("openai, responses", async () => {
    const [one, other, calls] = await twice((input) =>
      openai().responses.create({ model: "main", input, store: false }),
    )
    expect([other.output_text, calls]).toEqual(["Hello there", 1])
    expect(plain(other.output)).toEqual(plain(one.output))
    const [streamed, again, streams] = await twice(async (input) => {
      const stream = await openai().responses.create({ model: "main", input, store: false, stream: true })
      const types: Array<string> = []
      for await (const event of stream) types.push(event.type)
      return types
    })
    expect([again, streams]).toEqual([streamed, 1])
  })

  it("anthropic, with thinking and its signature", async () => {
    gateway().vendor.script(thinks)
    const [one, other, calls] = await twice((content) =>
      anthropic()
        .messages.stream({
          model: "claude",
          max_tokens: 1500,
          thinking: { type: "enabled", budget_tokens: 1024 },
          messages: [{ role: "user", content }],
        })
        .finalMessage(),
    )
    expect([plain(other), calls]).toEqual([plain(one), 1])
    expect(other.content.map(({ type }) => type)).toContain("thinking")
  })

  it("@google/genai", async () => {
    const [one, other, calls] = await twice((contents) => google().models.generateContent({ model: "main", contents }))
    expect([other.text, calls]).toEqual(["Hello there", 1])
    expect(plain(other.candidates)).toEqual(plain(one.candidates))
    const [streamed, again, streams] = await twice(async (contents) => {
      const texts: Array<string | undefined> = []
      for await (const part of await google().models.generateContentStream({ model: "main", contents }))
        texts.push(part.text)
      return texts
    })
    expect([again, streams]).toEqual([streamed, 1])
  })
})

describe("the other kinds", () => {
  const json = (body: object) => {
    gateway().vendor.script((call) => {
      call.head(200, { "content-type": "application/json" })
      call.end(JSON.stringify(body))
    })
  }
  const post = async (path: string, body: object) => {
    const reply = await gateway().call("POST", path, body)
    const { requestId: _, usage, ...rest } = Object(await reply.json())
    const { cost, inTokens } = Object(usage)
    return { state: reply.headers.get("x-svc-cache"), cost, inTokens, rest }
  }

  it.each([
    [
      "/t1/embeddings",
      { data: [{ index: 0, embedding: [0.1, -0.25] }], usage: { prompt_tokens: 8 } },
      (text: string) => ({ model: "embed", input: [text] }),
    ],
    [
      "/t1/rerank",
      {
        results: [
          { index: 1, relevance_score: 0.9 },
          { index: 0, relevance_score: 0.1 },
        ],
        usage: { total_tokens: 8 },
      },
      (text: string) => ({ model: "rank", query: text, documents: ["a", "b"] }),
    ],
    [
      "/t1/moderations",
      {
        results: [{ flagged: true, categories: { hate: true }, category_scores: { hate: 0.5 } }],
        usage: { prompt_tokens: 8 },
      },
      (text: string) => ({ model: "mod", input: [text] }),
    ],
  ])("%s is kept, at its share of the price", async (path, answered, bodyOf) => {
    json(answered)
    const [one, other, calls] = await twice((text) => post(path, bodyOf(text)))
    expect(calls).toBe(1)
    expect([one.state, other.state]).toEqual(["miss", "hit"])
    expect(other.rest).toEqual(one.rest)
    expect([one.inTokens, other.inTokens]).toEqual([8, 8])
    expect([one.cost, other.cost]).toEqual(["0.000016", "0.000008"])
    const off = await post(path, { ...bodyOf("x"), cache: { reply: "off" } })
    expect(off.state).toBeNull()
  })

  it("an embedding in openai's words, as base64 and as numbers, is one for each", async () => {
    json({ data: [{ index: 0, embedding: [0.5, -0.25] }], usage: { prompt_tokens: 8 } })
    const [one, other, calls] = await twice((input) => openai().embeddings.create({ model: "embed", input }))
    expect([other.data, calls]).toEqual([one.data, 1])
    expect(other.data[0]?.embedding).toEqual([0.5, -0.25])
  })
})
