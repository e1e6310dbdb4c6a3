/** Embeddings of many texts: replies of many MiB, whose vectors are forwarded unchanged. */
import { randomUUID } from "node:crypto"
import { setTimeout as sleep } from "node:timers/promises"
import { Schema } from "effect"
import { beforeEach, describe, expect, it } from "vitest"
import { EmbeddingResponse } from "../../src/protocol/kinds/embedding.ts"
import { newTestIds, testCatalogue, type VendorScript } from "../../src/testing/index.ts"
import { balanceOf, errorOf, eventually, lastUsage, useGateway } from "../support/gateway.ts"

const ids = newTestIds()
const models = ["embed", "parts", "genai", "kept"]
const gateway = useGateway({
  ids,
  catalogue: (urls) =>
    testCatalogue(urls, ids)
      .replace(
        "vendors:\n",
        `vendors:
  - { id: cohere, dialect: cohere, baseUrl: "${urls.vendor}", credential: "env:WEIR_TEST_VENDOR" }
`,
      )
      .replace(
        "models:\n",
        `models:
  - { handle: embed, kind: embedding, targets: [{ vendor: openai, model: e, tier: 1 }, { vendor: second, model: v, tier: 2 }] }
  - { handle: parts, kind: embedding, targets: [{ vendor: cohere, model: c }] }
  - { handle: genai, kind: embedding, targets: [{ vendor: gemini, model: g }] }
  - { handle: kept, kind: embedding, replyCache: { ttl: 10m }, targets: [{ vendor: openai, model: k }] }
`,
      )
      .replace(
        "prices:\n",
        `prices:\n${models.map((model) => `  - { model: ${model}, currency: USD, input: "2", from: 2026-01-01 }\n`).join("")}`,
      )
      .replace("models: [main,", `models: [${models.join(", ")}, main,`),
})

/** The vector of a text, in numbers that are float32 and written in few digits. */
const vectorFor = (text: string, dimensions: number): ReadonlyArray<number> =>
  Array.from({ length: dimensions }, (_, at) => ((Number(text) * 31 + at * 7) % 256) / 256 - 0.5)

const inBase64 = (vector: ReadonlyArray<number>) => Buffer.from(Float32Array.from(vector).buffer).toString("base64")
const listOf = (value: unknown): ReadonlyArray<unknown> => (Array.isArray(value) ? value : [])

interface Embeds {
  readonly dimensions?: number
  /** The change of the vectors. */
  readonly change?: (vectors: ReadonlyArray<unknown>) => ReadonlyArray<unknown>
  /** The encoding of the answer, for any requested one. */
  readonly encoding?: "float" | "base64"
}

/** Embeds in the format of the vendor that is asked. */
const embeds =
  ({ dimensions = 300, change = (vectors) => vectors, encoding }: Embeds = {}): VendorScript =>
  ({ body, path, head, end }) => {
    head(200, { "content-type": "application/json" })
    const of = (texts: unknown) => listOf(texts).map((text) => vectorFor(String(text), dimensions))
    if (path.endsWith("/v2/embed")) {
      const float = change(of(body["texts"]))
      return end(JSON.stringify({ embeddings: { float }, meta: { billed_units: { input_tokens: 4 } } }))
    }
    if (path.includes("batchEmbedContents")) {
      const texts = listOf(body["requests"]).map((request) =>
        JSON.stringify(request).replace(/\D+(\d+)"\}\]\}.*/, "$1"),
      )
      return end(JSON.stringify({ embeddings: change(of(texts)).map((values) => ({ values })) }))
    }
    const isBase64 = (encoding ?? body["encoding_format"]) === "base64"
    const vectors = change(of(body["input"]).map((vector) => (isBase64 ? inBase64(vector) : vector)))
    const data = vectors.map((embedding, index) => ({ object: "embedding", index, embedding }))
    end(JSON.stringify({ object: "list", data: data.reverse(), usage: { prompt_tokens: 4, total_tokens: 4 } }))
  }

beforeEach(() => {
  gateway().vendor.script(embeds())
  gateway().second.script(embeds())
})

const texts = (count: number) => Array.from({ length: count }, (_, at) => String(at))
const input = texts(400)
const expected = input.map((text) => vectorFor(text, 300))
const post = (path: string, body: object, headers: Record<string, string> = {}) =>
  gateway().call("POST", path, body, headers)
const readEmbedding = Schema.decodeUnknownSync(EmbeddingResponse, { onExcessProperty: "error" })
const embed = (more: object = {}) => post("/t1/embeddings", { model: "embed", input, ...more })
const vectorsOf = async (response: Response) => readEmbedding(await response.json())

const OpenAi = Schema.Struct({ data: Schema.Array(Schema.Struct({ index: Schema.Int, embedding: Schema.Json })) })
const Gemini = Schema.Struct({ embeddings: Schema.Array(Schema.Struct({ values: Schema.Json })) })
const Cohere = Schema.Struct({ embeddings: Schema.Struct({ float: Schema.Json }) })

describe("a long reply of embeddings", () => {
  it.each([
    ["numbers", "float", undefined],
    ["base64", "base64", undefined],
    ["numbers where the vendor sends base64", "float", "base64"],
    ["base64 where the vendor sends numbers", "base64", "float"],
  ] as const)("has its vectors in order, as %s, and is billed once", async (_, encoding, sent) => {
    gateway().vendor.script(embeds(sent && { encoding: sent }))
    const before = await balanceOf(gateway())
    const reply = await embed({ encoding })
    expect(reply.headers.get("content-length")).toMatch(/^\d{6,}$/)
    const { vectors, dimensions, usage } = await vectorsOf(reply)
    expect(vectors).toEqual(encoding === "base64" ? expected.map(inBase64) : expected)
    expect([dimensions, usage.inTokens, before - (await balanceOf(gateway()))]).toEqual([300, 4, 80_000n])
  })

  it("is the same through OpenAI's, Gemini's and Cohere's routes, and of vendors that take fewer at once", async () => {
    const openAi = Schema.decodeUnknownSync(OpenAi)
    for (const encoding_format of ["float", "base64"]) {
      const reply = await post("/openai/v1/embeddings", { model: "embed", input, encoding_format })
      const { data } = openAi(await reply.json())
      expect(data.map(({ index }) => index)).toEqual(input.map(Number))
      expect(data.map(({ embedding }) => embedding)).toEqual(
        encoding_format === "base64" ? expected.map(inBase64) : expected,
      )
    }
    const requests = input.map((text) => ({ model: "models/genai", content: { parts: [{ text }] } }))
    const gemini = await post("/gemini/v1beta/models/genai:batchEmbedContents", { requests })
    const { embeddings } = Schema.decodeUnknownSync(Gemini)(await gemini.json())
    expect(embeddings.map(({ values }) => values)).toEqual(expected)
    const cohere = {
      model: "parts",
      texts: input.slice(0, 200),
      input_type: "search_document",
      embedding_types: ["float"],
    }
    const byTypes = Schema.decodeUnknownSync(Cohere)(await (await post("/cohere/v2/embed", cohere)).json())
    expect(byTypes.embeddings.float).toEqual(expected.slice(0, 200))
    // The last of its parts is short, and is read whole.
    expect((await vectorsOf(await post("/t1/embeddings", { model: "parts", input }))).vectors).toEqual(expected)
  })

  it("of 2,048 texts is given whole", { timeout: 60_000 }, async () => {
    gateway().vendor.script(embeds({ dimensions: 2048 }))
    const reply = await embed({ input: texts(2048) })
    const { vectors } = await vectorsOf(reply)
    expect(Number(reply.headers.get("content-length"))).toBeGreaterThan(32 * 1024 * 1024)
    expect([vectors.length, vectors[2047]]).toEqual([2048, vectorFor("2047", 2048)])
  })

  it.each([
    ["fewer vectors", (vectors: ReadonlyArray<unknown>) => vectors.slice(1)],
    ["a vector of another length", (vectors: ReadonlyArray<unknown>) => [...vectors.slice(1), [1, 2]]],
    [
      "a vector with null in it",
      (vectors: ReadonlyArray<unknown>) => [...vectors.slice(1), [...vectorFor("1", 299), null]],
    ],
    [
      "a vector of text",
      (vectors: ReadonlyArray<unknown>) => [
        ...vectors.slice(1),
        "no vector at all, however long it is, and it is long",
      ],
    ],
    ["a mark of its own", (vectors: ReadonlyArray<unknown>) => [...vectors.slice(1), `${"0".repeat(32)}00000001`]],
  ])("with %s is refused, and the next target is asked", async (_, change) => {
    gateway().vendor.script(embeds({ change }))
    const { vectors } = await vectorsOf(await embed())
    expect(vectors).toEqual(expected)
    expect(await lastUsage(gateway())).toMatchObject({ vendor: "second" })
    gateway().second.script(embeds({ change }))
    const before = await balanceOf(gateway())
    expect(await errorOf(await embed())).toMatchObject({ status: 502, code: "upstream_error" })
    expect(await balanceOf(gateway())).toBe(before)
  })

  it("is kept for its request id if the client's reply is short, however long the vendor's was", async () => {
    const ask = { input: texts(150), encoding: "base64", meta: { requestId: randomUUID() } }
    gateway().vendor.script(embeds({ encoding: "float" }))
    const first = await vectorsOf(await embed(ask))
    const again = await embed(ask)
    expect([again.status, again.headers.get("x-svc-idempotent-replay")]).toEqual([200, "1"])
    expect((await vectorsOf(again)).vectors).toEqual(first.vectors)
    expect(first.vectors).toEqual(expected.slice(0, 150).map(inBase64))
  })

  it("is not kept for its request id: a repetition is told so", async () => {
    const meta = { requestId: randomUUID() }
    expect((await embed({ meta })).status).toBe(200)
    expect(await errorOf(await embed({ meta }))).toMatchObject({ status: 409, detail: { replayable: false } })
  })

  it("is found in the reply cache if it is small enough, and is made again if it is not", async () => {
    for (const [count, states] of [
      [150, ["miss", "hit"]],
      [400, ["miss", "miss"]],
    ] as const) {
      for (const state of states) {
        const reply = await post("/t1/embeddings", { model: "kept", input: texts(count) })
        expect([reply.headers.get("x-svc-cache"), (await vectorsOf(reply)).vectors]).toEqual([
          state,
          expected.slice(0, count),
        ])
        await sleep(100)
      }
    }
  })

  it("is given to all who ask the same at once, of one call", async () => {
    const calls = gateway().vendor.calls.length
    const ask = () => post("/t1/embeddings", { model: "kept", input: texts(401) })
    const replies = await Promise.all(Array.from({ length: 4 }, ask))
    const all = [...expected, vectorFor("400", 300)]
    for (const reply of replies) expect((await vectorsOf(reply)).vectors).toEqual(all)
    expect(gateway().vendor.calls.length).toBe(calls + 1)
  })

  it("has been paid by a client that leaves while it comes", async () => {
    const before = await balanceOf(gateway())
    const leaving = new AbortController()
    const reply = await fetch(`${gateway().baseUrl}/t1/embeddings`, {
      method: "POST",
      signal: leaving.signal,
      headers: { "content-type": "application/json", "x-svc-key-id": gateway().keyId, "x-svc-key": gateway().key },
      body: JSON.stringify({ model: "embed", input: texts(2048) }),
    })
    expect(reply.status).toBe(200)
    leaving.abort()
    await eventually(async () => before - (await balanceOf(gateway())) === 80_000n)
    expect((await embed()).status).toBe(200)
  })
})
