/** SDKs that embed, rank and moderate, unchanged, against a whole gateway. */
import { createCohere } from "@ai-sdk/cohere"
import { createOpenAI } from "@ai-sdk/openai"
import { GoogleGenAI } from "@google/genai"
import { embed, embedMany, rerank } from "ai"
import { CohereClientV2 } from "cohere-ai"
import OpenAI from "openai"
import { beforeEach, describe, expect, it } from "vitest"
import { answerWhole } from "../../../src/development/simulated-kinds.ts"
import { newTestIds, testCatalogue } from "../../../src/testing/index.ts"
import { useGateway } from "../../support/gateway.ts"
import { python, runPython } from "./run-python.ts"

const ids = newTestIds()
const kinds = ["embedding", "rerank", "moderation", "embedding"]

/** Handles as SDKs know the models, one of each kind, and one that is escaped in a path. */
const handles = ["text-embedding-3-small", "rerank-v3.5", "omni-moderation-latest", "openai/embed"]

const gateway = useGateway({
  ids,
  catalogue: (urls) =>
    testCatalogue(urls, ids)
      .replace(
        "models:\n",
        `models:\n${handles.map((handle, at) => `  - { handle: ${handle}, kind: ${kinds[at]}, targets: [{ vendor: openai, model: m }] }\n`).join("")}`,
      )
      .replace(
        "prices:\n",
        `prices:\n${handles.map((model) => `  - { model: ${model}, currency: USD, input: "1", from: 2026-01-01 }\n`).join("")}`,
      )
      .replace("models: [main,", `models: [${handles.join(", ")}, main,`),
})

beforeEach(() => {
  gateway().vendor.script((call) => {
    call.head(200, { "content-type": "application/json" })
    call.end(JSON.stringify(answerWhole(call)))
  })
})

const apiKey = () => `${gateway().keyId}~${gateway().key}`
const model = "text-embedding-3-small"
const length = (vector: ReadonlyArray<number>) => Math.hypot(...vector)
const encodingOfVendor = () => gateway().vendor.calls.at(-1)?.body["encoding_format"]

describe("openai", () => {
  const client = () => new OpenAI({ baseURL: `${gateway().baseUrl}/openai/v1`, apiKey: apiKey(), maxRetries: 0 })

  it("asks for base64 by itself, and gives numbers", async () => {
    const { data, usage } = await client().embeddings.create({ model, input: "a river" })
    expect(encodingOfVendor()).toBe("base64")
    expect(data[0]?.embedding.length).toBe(64)
    expect(length(data[0]?.embedding ?? [])).toBeCloseTo(1, 5)
    expect(usage).toMatchObject({ prompt_tokens: 3, total_tokens: 3 })
  })

  it("with dimensions, as numbers, and 2,048 inputs in their order", async () => {
    const { data } = await client().embeddings.create({
      model,
      input: ["a river", "a lake"],
      dimensions: 256,
      encoding_format: "float",
    })
    expect(data.map(({ embedding }) => embedding.length)).toEqual([256, 256])
    const input = Array.from({ length: 2048 }, (_, at) => `word${at}`)
    const many = await client().embeddings.create({ model, input })
    const one = await client().embeddings.create({ model, input: "word2047" })
    expect(many.data.length).toBe(2048)
    expect(many.data[2047]?.embedding).toEqual(one.data[0]?.embedding)
    await expect(client().embeddings.create({ model, input: [...input, "one more"] })).rejects.toMatchObject({
      status: 400,
      param: "input",
    })
  })

  it("moderates", async () => {
    const { results } = await client().moderations.create({ input: ["kill", "love"] })
    expect(results.map(({ flagged }) => flagged)).toEqual([true, false])
  })

  it("lists the models of each kind", async () => {
    const listed: Array<string> = []
    for await (const { id } of client().models.list()) listed.push(id)
    expect(listed).toEqual(expect.arrayContaining(handles))
  })

  it("refuses a model of another kind as its API does", async () => {
    await expect(client().embeddings.create({ model: "main", input: "a" })).rejects.toMatchObject({ status: 403 })
  })
})

describe("@google/genai", () => {
  const client = () => new GoogleGenAI({ apiKey: apiKey(), httpOptions: { baseUrl: `${gateway().baseUrl}/gemini` } })

  it("embeds one text and many", async () => {
    const one = await client().models.embedContent({ model, contents: "a river" })
    expect(one.embeddings?.map(({ values }) => values?.length)).toEqual([64])
    const many = await client().models.embedContent({
      model,
      contents: ["a river", "a lake"],
      config: { taskType: "RETRIEVAL_DOCUMENT", outputDimensionality: 32 },
    })
    expect(many.embeddings?.map(({ values }) => values?.length)).toEqual([32, 32])
  })

  it.each(["openai%2Fembed", "text%2Dembedding-3-small"])("or any other client embeds with %s", async (escaped) => {
    const response = await fetch(`${gateway().baseUrl}/gemini/v1beta/models/${escaped}:embedContent`, {
      method: "POST",
      headers: { "x-goog-api-key": apiKey(), "content-type": "application/json" },
      body: JSON.stringify({ content: { parts: [{ text: "a river" }] } }),
    })
    expect(response.status).toBe(200)
  })
})

describe("cohere-ai", () => {
  const client = () => new CohereClientV2({ token: apiKey(), environment: `${gateway().baseUrl}/cohere` })

  it("embeds and ranks", async () => {
    const embedded = await client().embed({
      model,
      texts: ["a river", "a lake"],
      inputType: "search_document",
      embeddingTypes: ["float"],
    })
    expect(embedded.embeddings.float?.map((vector) => vector.length)).toEqual([64, 64])
    const ranked = await client().rerank({
      model: "rerank-v3.5",
      query: "a river",
      documents: ["a lake", "a river"],
      topN: 1,
    })
    expect(ranked.results).toEqual([{ index: 1, relevanceScore: 1 }])
  })

  it("is told what it did wrong in its own way", async () => {
    const wrong = client().rerank({ model: "rerank-v3.5", query: "", documents: ["a"] })
    await expect(wrong).rejects.toMatchObject({ statusCode: 400, body: { message: expect.stringContaining("query") } })
  })
})

describe("ai", () => {
  const openai = () => createOpenAI({ baseURL: `${gateway().baseUrl}/openai/v1`, apiKey: apiKey() })
  const cohere = () => createCohere({ baseURL: `${gateway().baseUrl}/cohere/v2`, apiKey: apiKey() })

  it("embeds one, and many in batches", async () => {
    const { embedding, usage } = await embed({ model: openai().textEmbeddingModel(model), value: "a river" })
    expect([embedding.length, usage.tokens]).toEqual([64, 3])
    const values = Array.from({ length: 3000 }, (_, at) => `word${at}`)
    const many = await embedMany({ model: openai().textEmbeddingModel(model), values })
    expect(many.embeddings.length).toBe(3000)
    const byCohere = await embedMany({ model: cohere().textEmbeddingModel(model), values: ["a", "b"] })
    expect(byCohere.embeddings.length).toBe(2)
  })

  it("ranks", async () => {
    const { ranking } = await rerank({
      model: cohere().reranking("rerank-v3.5"),
      query: "a river",
      documents: ["a lake", "a river", "hills"],
      topN: 2,
    })
    expect(ranking.map(({ originalIndex }) => originalIndex)).toEqual([1, 0])
  })
})

describe("Python", () => {
  it.skipIf(python === undefined)(
    "the SDKs of OpenAI and Cohere, and LangChain's embeddings and reranker",
    async () => {
      const { code, out, errors } = await runPython("embeddings.py", { BASE_URL: gateway().baseUrl, API_KEY: apiKey() })
      expect(errors).toBe("")
      expect(code).toBe(0)
      expect(JSON.parse(out)).toHaveLength(10)
    },
    60_000,
  )
})
