/** Embeddings, reranking and moderation: each has everything that an exchange has. */
import { Effect, Schema } from "effect"
import { beforeEach, describe, expect, it } from "vitest"
import { EmbeddingResponse } from "../../../src/protocol/kinds/embedding.ts"
import { ModerationResponse } from "../../../src/protocol/kinds/moderation.ts"
import { RerankResponse } from "../../../src/protocol/kinds/rerank.ts"
import { newTestIds, testCatalogue, type VendorCall, type VendorScript } from "../../../src/testing/index.ts"
import { balanceOf, errorOf, eventually, holdsOf, lastUsage, useGateway } from "../../support/gateway.ts"

const ids = newTestIds()

const price = (model: string, more: string) => `  - { model: ${model}, currency: USD, ${more}, from: 2026-01-01 }\n`

const catalogue = (urls: { readonly vendor: string; readonly second: string }) =>
  testCatalogue(urls, ids)
    .replace(
      "vendors:\n",
      `vendors:
  - { id: cohere, dialect: cohere, baseUrl: "${urls.vendor}", credential: "env:WEIR_TEST_VENDOR" }
  - { id: voyage, dialect: voyage, baseUrl: "${urls.second}/v1", credential: "env:WEIR_TEST_VENDOR" }
`,
    )
    .replace(
      "models:\n",
      `models:
  - { handle: embed, kind: embedding, targets: [{ vendor: openai, model: e, tier: 1 }, { vendor: voyage, model: v, tier: 2 }] }
  - { handle: small-parts, kind: embedding, targets: [{ vendor: cohere, model: c, tier: 1 }, { vendor: second, model: s, tier: 2 }] }
  - { handle: genai, kind: embedding, targets: [{ vendor: gemini, model: g }] }
  - { handle: rank, kind: rerank, targets: [{ vendor: cohere, model: r, tier: 1 }, { vendor: second, model: s, tier: 2 }] }
  - { handle: rank-by-tokens, kind: rerank, targets: [{ vendor: openai, model: r }] }
  - { handle: mod, kind: moderation, targets: [{ vendor: openai, model: m }] }
  - { handle: unpriced-rank, kind: rerank, targets: [{ vendor: openai, model: r }] }
`,
    )
    .replace(
      "prices:\n",
      `prices:\n${price("embed", 'input: "2"')}${price("small-parts", 'input: "2"')}${price("genai", 'input: "2"')}${price(
        "rank",
        'dims: { searches: "2000" }',
      )}${price("rank-by-tokens", 'input: "5"')}${price("mod", 'input: "0"')}`,
    )
    .replace(
      "orgs:\n",
      "policies:\n  - { id: words, direction: inbound, match: { keywords: [forbidden] }, reason: bad_word }\norgs:\n",
    )
    .replace(/(- \{ id: org_\w+, name: Test,)/, "$1 policies: [words],")
    .replace("models: [main,", "models: [embed, small-parts, genai, rank, rank-by-tokens, mod, unpriced-rank, main,")

const gateway = useGateway({ ids, catalogue })

const answer =
  (bodyOf: (sent: Record<string, unknown>, call: VendorCall) => unknown, status = 200): VendorScript =>
  (call) => {
    call.head(status, { "content-type": "application/json" })
    call.end(JSON.stringify(bodyOf(call.body, call)))
  }

const listOf = (value: unknown): ReadonlyArray<unknown> => (Array.isArray(value) ? value : [])

/** Embeds each text as `[its length, its place]`, in the format of the vendor that is asked. */
const embeds = (tokens: number): VendorScript =>
  answer((sent, { path }) => {
    if (path.endsWith("/v2/embed")) {
      const float = listOf(sent["texts"]).map((text, at) => [String(text).length, at])
      return { embeddings: { float }, meta: { billed_units: { input_tokens: tokens } } }
    }
    if (path.includes("batchEmbedContents")) {
      return {
        embeddings: listOf(sent["requests"]).map((_, at) => ({ values: [0.5, at] })),
        usageMetadata: { promptTokenCount: tokens },
      }
    }
    const data = listOf(sent["input"]).map((text, index) => ({ index, embedding: [String(text).length, index] }))
    return { data: data.reverse(), usage: { prompt_tokens: tokens, total_tokens: tokens } }
  })

beforeEach(() => {
  gateway().vendor.script(embeds(4))
  gateway().second.script(embeds(4))
})

const post = (path: string, body: object, headers: Record<string, string | undefined> = {}) =>
  gateway().call("POST", path, body, headers)
const embed = (more: object = {}) => post("/t1/embeddings", { model: "embed", input: ["a", "bcd"], ...more })
const jsonOf = async (response: Response): Promise<object> => Object(await response.json())
const readEmbedding = Schema.decodeUnknownSync(EmbeddingResponse, { onExcessProperty: "error" })
const readRerank = Schema.decodeUnknownSync(RerankResponse, { onExcessProperty: "error" })
const readModeration = Schema.decodeUnknownSync(ModerationResponse, { onExcessProperty: "error" })
const vectorsOf = async (response: Response) => readEmbedding(await response.json())

describe("embeddings", () => {
  it("keep the order of the input, and are billed by the tokens that the vendor counted", async () => {
    const before = await balanceOf(gateway())
    const response = await embed()
    const reply = await vectorsOf(response)
    expect([response.status, reply.vectors, reply.dimensions]).toEqual([
      200,
      [
        [1, 0],
        [3, 1],
      ],
      2,
    ])
    expect(reply.usage).toMatchObject({ inTokens: 4, outTokens: 0, cost: "0.000008", currency: "USD" })
    expect(response.headers.get("x-svc-cost")).toBe("0.000008")
    expect(before - (await balanceOf(gateway()))).toBe(80_000n)
    expect(await lastUsage(gateway())).toMatchObject({
      purpose: "embedding",
      model: "embed",
      in_tokens: 4n,
      vendor: "openai",
    })
  })

  it("are base64 of little-endian float32 where that is asked for, whatever the vendor sends", async () => {
    const { vectors } = await vectorsOf(await embed({ encoding: "base64" }))
    const floats = vectors.map((vector) => {
      const bytes = Buffer.from(String(vector), "base64")
      return [bytes.readFloatLE(0), bytes.readFloatLE(4)]
    })
    expect(floats).toEqual([
      [1, 0],
      [3, 1],
    ])
    const text = Buffer.from(new Float32Array([0.1, -2.5]).buffer).toString("base64")
    gateway().vendor.script(answer(() => ({ data: [{ index: 0, embedding: text }], usage: { prompt_tokens: 1 } })))
    const numbers = await vectorsOf(await embed({ input: ["a"] }))
    expect(numbers.vectors).toEqual([[0.1, -2.5]])
  })

  it("are asked for in parts where the vendor takes fewer, and billed once", async () => {
    const calls = gateway().vendor.calls.length
    const input = Array.from({ length: 200 }, (_, at) => "x".repeat(at + 1))
    const reply = await vectorsOf(await post("/t1/embeddings", { model: "small-parts", input }))
    expect(gateway().vendor.calls.length - calls).toBe(3)
    expect(reply.vectors.map((vector) => (Array.isArray(vector) ? vector[0] : vector))).toEqual(
      input.map(({ length }) => length),
    )
    expect(reply.usage.inTokens).toBe(12)
  })

  it("if a part fails, the next target is asked for all, and only that is billed", async () => {
    let asked = 0
    gateway().vendor.script((call) => {
      asked++
      if (asked < 2) return embeds(4)(call)
      call.head(503, { "content-type": "application/json" })
      call.end("{}")
    })
    const input = Array.from({ length: 100 }, () => "x")
    const response = await post("/t1/embeddings", { model: "small-parts", input })
    const reply = await vectorsOf(response)
    expect([reply.vectors.length, reply.usage.inTokens]).toEqual([100, 4])
    expect(response.headers.get("x-svc-warnings")).toBe("vendor_failover")
    expect(await lastUsage(gateway())).toMatchObject({ vendor: "second", in_tokens: 4n })
  })

  it("of a text that is asked twice with one request id are one call and one bill", async () => {
    const calls = gateway().vendor.calls.length
    const meta = { requestId: `embed-${ids.app}` }
    const first = await vectorsOf(await embed({ meta }))
    const balance = await balanceOf(gateway())
    const again = await embed({ meta })
    expect(again.headers.get("x-svc-idempotent-replay")).toBe("1")
    expect(await vectorsOf(again)).toEqual(first)
    expect(gateway().vendor.calls.length - calls).toBe(1)
    expect(await balanceOf(gateway())).toBe(balance)
    expect(await errorOf(await embed({ meta, input: ["other"] }))).toMatchObject({
      status: 409,
      code: "idempotency_conflict",
    })
  })

  it.each<[string, unknown]>([
    ["fewer vectors", { data: [{ index: 0, embedding: [1] }] }],
    ["more vectors", { data: [0, 1, 2].map((index) => ({ index, embedding: [1] })) }],
    ["one place twice", { data: [0, 0].map((index) => ({ index, embedding: [1] })) }],
    [
      "two lengths",
      {
        data: [
          { index: 0, embedding: [1] },
          { index: 1, embedding: [1, 2] },
        ],
      },
    ],
    ["no numbers", { data: [0, 1].map((index) => ({ index, embedding: [] })) }],
    ["a number as text", { data: [0, 1].map((index) => ({ index, embedding: ["1"] })) }],
    ["null for NaN", { data: [0, 1].map((index) => ({ index, embedding: [null] })) }],
    ["NaN in base64", { data: [0, 1].map((index) => ({ index, embedding: "AADAfw==" })) }],
    ["base64 of no floats", { data: [0, 1].map((index) => ({ index, embedding: "AAA=" })) }],
    ["a list", []],
    ["nothing", {}],
  ])("%s instead: never a wrong answer, and nothing is billed", async (_what, body) => {
    const usage = Array.isArray(body) ? body : { ...Object(body), usage: { prompt_tokens: 3 } }
    for (const vendor of [gateway().vendor, gateway().second]) vendor.script(answer(() => usage))
    const before = await balanceOf(gateway())
    expect(await errorOf(await embed())).toMatchObject({ status: 502, code: "upstream_error" })
    expect(await balanceOf(gateway())).toBe(before)
    expect((await holdsOf(gateway())).filter(({ state }) => state === "held")).toEqual([])
  })

  it.each([
    ["no usage", undefined, "upstream_usage_missing"],
    ["usage of nothing", { prompt_tokens: 0 }, "upstream_usage_missing"],
    ["usage as words", { prompt_tokens: "many" }, "upstream_usage_missing"],
    ["usage of 10^12", { prompt_tokens: 1e12 }, "upstream_usage_implausible"],
  ])("with %s are billed by our own count", async (_what, usage, reason) => {
    gateway().vendor.script(
      answer((sent) => ({ data: listOf(sent["input"]).map((_, index) => ({ index, embedding: [1] })), usage })),
    )
    const reply = await vectorsOf(await embed({ input: ["The river carries what it is given."] }))
    expect(reply.usage.estimatedReason).toBe(reason)
    expect(reply.usage.inTokens).toBeGreaterThan(6)
    expect(reply.usage.inTokens).toBeLessThan(16)
  })

  it("with dimensions that the vendor ignores are refused, not passed on", async () => {
    expect(await errorOf(await embed({ dimensions: 3 }))).toMatchObject({ status: 502, code: "upstream_error" })
    expect((await embed({ dimensions: 2 })).status).toBe(200)
  })

  it.each<[string, object, string]>([
    ["no input", { input: [] }, "input"],
    ["a text instead of a list", { input: "a" }, "input"],
    ["an empty text", { input: [""] }, "input.0"],
    ["2,049 texts", { input: Array.from({ length: 2049 }, () => "a") }, "input"],
    ["a number", { input: [1] }, "input.0"],
    ["no dimensions", { dimensions: 0 }, "dimensions"],
    ["half a dimension", { dimensions: 1.5 }, "dimensions"],
    ["another encoding", { encoding: "int8" }, "encoding"],
    ["another purpose", { inputType: "poem" }, "inputType"],
    ["an unknown field", { stream: true }, "stream"],
    ["truncate as text", { truncate: "yes" }, "truncate"],
    ["a requestId with NUL", { meta: { requestId: "a\u0000" } }, "meta.requestId"],
  ])("%s is refused with its place", async (_what, more, path) => {
    const error = await errorOf(await embed(more))
    expect([error.status, error.code]).toEqual([400, "bad_request"])
    expect(JSON.stringify(error.detail)).toContain(path)
  })

  it("of a model of another kind, or none, are refused alike", async () => {
    for (const model of ["main", "rank", "no-such"]) {
      expect(await errorOf(await embed({ model }))).toMatchObject({ status: 403, code: "model_not_authorized" })
    }
    expect(
      await errorOf(
        await gateway().exchange({ model: "embed", thread: [{ role: "user", blocks: [{ t: "text", v: "x" }] }] }),
      ),
    ).toMatchObject({
      code: "model_not_authorized",
    })
  })

  it("whose client leaves while the vendor thinks cost nothing", async () => {
    gateway().vendor.script((call) => call.wait(1000))
    const [before, calls] = [await balanceOf(gateway()), gateway().vendor.calls.length]
    const aborted = new AbortController()
    const { keyId, key, baseUrl } = gateway()
    const gone = fetch(`${baseUrl}/t1/embeddings`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-svc-key-id": keyId, "x-svc-key": key },
      body: JSON.stringify({ model: "embed", input: ["a"] }),
      signal: aborted.signal,
    }).catch(() => undefined)
    await eventually(() => gateway().vendor.calls.length > calls)
    aborted.abort()
    await gone
    await eventually(() => gateway().vendor.calls.at(-1)?.hungUpAt !== undefined)
    await eventually(async () => (await holdsOf(gateway())).every(({ state }) => state === "settled"))
    expect(await balanceOf(gateway())).toBe(before)
  })

  it("in Gemini's words", async () => {
    const reply = await vectorsOf(
      await post("/t1/embeddings", { model: "genai", input: ["a", "b"], inputType: "query" }),
    )
    expect(reply.vectors).toEqual([
      [0.5, 0],
      [0.5, 1],
    ])
    expect(listOf(gateway().vendor.calls.at(-1)?.body["requests"])[0]).toEqual({
      model: "models/g",
      content: { parts: [{ text: "a" }] },
      taskType: "RETRIEVAL_QUERY",
    })
  })
})

describe("rerank", () => {
  const documents = ["a", "b", "c"]
  const rank = (more: object = {}) => post("/t1/rerank", { model: "rank", query: "q", documents, ...more })
  const ranks = (scores: ReadonlyArray<readonly [index: unknown, score: unknown]>, more: object) =>
    answer(() => ({ results: scores.map(([index, relevance_score]) => ({ index, relevance_score })), ...more }))
  const units = (search_units: unknown) => ({ meta: { billed_units: { search_units } } })
  const all = [
    [0, 0.1],
    [1, 0.9],
    [2, 0.5],
  ] as const

  it("gives the best first, and is billed by the search", async () => {
    gateway().vendor.script(ranks(all, units(1)))
    const reply = readRerank(await (await rank()).json())
    expect(reply.results).toEqual([
      { index: 1, score: 0.9 },
      { index: 2, score: 0.5 },
      { index: 0, score: 0.1 },
    ])
    expect(reply.usage).toMatchObject({ cost: "0.002", dims: { searches: 1 } })
    const top = readRerank(await (await rank({ topN: 1 })).json())
    expect(top.results).toEqual([{ index: 1, score: 0.9 }])
  })

  it("is billed by tokens where these have the price", async () => {
    gateway().vendor.script(ranks(all, { usage: { total_tokens: 12 } }))
    const reply = readRerank(await (await rank({ model: "rank-by-tokens" })).json())
    expect(reply.usage).toMatchObject({ inTokens: 12, cost: "0.00006" })
  })

  it.each([
    ["no units", {}, "upstream_usage_missing"],
    ["units that cannot be", units(1e12), "upstream_usage_implausible"],
  ])("with %s costs one search", async (_what, more, estimatedReason) => {
    gateway().vendor.script(ranks(all, more))
    expect(readRerank(await (await rank()).json()).usage).toMatchObject({
      cost: "0.002",
      dims: { searches: 1 },
      estimatedReason,
    })
  })

  it.each<[string, ReadonlyArray<readonly [unknown, unknown]>]>([
    [
      "a document that was not sent",
      [
        [7, 1],
        [0, 1],
        [1, 1],
      ],
    ],
    [
      "a document twice",
      [
        [0, 1],
        [0, 1],
        [1, 1],
      ],
    ],
    [
      "a document less",
      [
        [0, 1],
        [1, 1],
      ],
    ],
    [
      "a score as text",
      [
        [0, "1"],
        [1, 1],
        [2, 1],
      ],
    ],
    [
      "no index",
      [
        [undefined, 1],
        [1, 1],
        [2, 1],
      ],
    ],
  ])("%s in a reply: nothing is billed", async (_what, scores) => {
    for (const vendor of [gateway().vendor, gateway().second]) vendor.script(ranks(scores, units(1)))
    const before = await balanceOf(gateway())
    expect(await errorOf(await rank())).toMatchObject({ status: 502, code: "upstream_error" })
    expect(await balanceOf(gateway())).toBe(before)
  })

  it("fails over, and without a price is refused before any vendor is called", async () => {
    gateway().vendor.script(answer(() => ({}), 500))
    gateway().second.script(ranks(all, { usage: { total_tokens: 3 } }))
    const response = await rank()
    expect([response.status, response.headers.get("x-svc-warnings")]).toEqual([200, "vendor_failover"])
    const calls = gateway().vendor.calls.length
    expect(await errorOf(await rank({ model: "unpriced-rank" }))).toMatchObject({
      status: 503,
      code: "pricing_guard_tripped",
    })
    expect(gateway().vendor.calls.length).toBe(calls)
  })

  it.each<[string, object, string]>([
    ["no documents", { documents: [] }, "documents"],
    ["1,001 documents", { documents: Array.from({ length: 1001 }, () => "d") }, "documents"],
    ["a document without text", { documents: [""] }, "documents.0"],
    ["no query", { query: "" }, "query"],
    ["no result", { topN: 0 }, "topN"],
    ["an unknown field", { top_n: 1 }, "top_n"],
  ])("%s is refused with its place", async (_what, more, path) => {
    const error = await errorOf(await rank(more))
    expect([error.status, error.code]).toEqual([400, "bad_request"])
    expect(JSON.stringify(error.detail)).toContain(path)
  })
})

describe("moderation", () => {
  const result = { flagged: true, categories: { hate: true, odd: null }, category_scores: { hate: 0.9, odd: null } }
  const moderates = answer((sent) => ({
    results: listOf(sent["input"]).every((part) => typeof part === "string")
      ? listOf(sent["input"]).map(() => result)
      : [result],
  }))
  const moderate = (input: unknown) => post("/t1/moderations", { model: "mod", input })

  it("judges texts one by one, and a picture with its texts", async () => {
    gateway().vendor.script(moderates)
    const texts = readModeration(await (await moderate(["a", "b"])).json())
    expect(texts.results).toEqual(
      Array.from({ length: 2 }, () => ({ flagged: true, categories: { hate: true }, scores: { hate: 0.9 } })),
    )
    expect(texts.usage.cost).toBe("0")
    const picture = readModeration(
      await (await moderate(["a", { t: "image", mime: "image/png", data: "AAAA" }])).json(),
    )
    expect(picture.results.length).toBe(1)
    expect(gateway().vendor.calls.at(-1)?.body["input"]).toEqual([
      { type: "text", text: "a" },
      { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } },
    ])
  })

  it.each([
    ["one result too few", { results: [result] }],
    ["no verdict", { results: [{}, {}] }],
  ])("%s is upstream_error", async (_what, body) => {
    gateway().vendor.script(answer(() => body))
    expect(await errorOf(await moderate(["a", "b"]))).toMatchObject({ status: 502, code: "upstream_error" })
  })

  it.each<[string, unknown]>([
    ["no input", []],
    ["an empty text", [""]],
    ["another block", [{ t: "text", v: "a" }]],
  ])("%s is refused", async (_what, input) => {
    expect(await errorOf(await moderate(input))).toMatchObject({ status: 400, code: "bad_request" })
  })
})

describe("in the words of other APIs", () => {
  const as = (path: string, body: object, headers = {}) =>
    post(path, body, {
      "x-svc-key-id": undefined,
      "x-svc-key": undefined,
      authorization: `Bearer ${gateway().keyId}~${gateway().key}`,
      ...headers,
    })

  it("OpenAI's embeddings, as numbers and as base64, of one text, many, and tokens", async () => {
    const one = await as("/openai/v1/embeddings", { model: "embed", input: "abc", user: "u" })
    expect([one.status, await one.json()]).toMatchObject([
      200,
      {
        object: "list",
        data: [{ object: "embedding", index: 0, embedding: [3, 0] }],
        model: "embed",
        usage: { prompt_tokens: 4, total_tokens: 4 },
      },
    ])
    expect(one.headers.get("x-request-id")).toMatch(/^req_/)
    const many = await as("/openai/v1/embeddings", { model: "embed", input: ["a", "b"], encoding_format: "base64" })
    expect(await jsonOf(many)).toMatchObject({
      data: [{ embedding: Buffer.from(new Float32Array([1, 0]).buffer).toString("base64") }, {}],
    })
    // "hello world" in cl100k.
    await as("/openai/v1/embeddings", { model: "embed", input: [[15339, 1917]] })
    expect(gateway().vendor.calls.at(-1)?.body["input"]).toEqual(["hello world"])
    const refused = await as("/openai/v1/embeddings", { model: "embed", input: ["a"], encoding_format: "int8" })
    expect([refused.status, await refused.json()]).toMatchObject([
      400,
      { error: { param: "encoding_format", code: "bad_request" } },
    ])
    const unknown = await as("/openai/v1/embeddings", { model: "embed", input: ["a"], rank: 1 })
    expect([unknown.status, await unknown.json()]).toMatchObject([400, { error: { param: "rank" } }])
  })

  it("OpenAI's embeddings again, by Idempotency-Key", async () => {
    const key = { "idempotency-key": `compat-${ids.app}` }
    const first = await (await as("/openai/v1/embeddings", { model: "embed", input: "abc" }, key)).json()
    const again = await as("/openai/v1/embeddings", { model: "embed", input: "abc" }, key)
    expect(again.headers.get("x-svc-idempotent-replay")).toBe("1")
    expect(await again.json()).toEqual(first)
  })

  it("Gemini's embedContent and batchEmbedContents", async () => {
    const content = (text: string) => ({ content: { parts: [{ text }] }, taskType: "RETRIEVAL_QUERY" })
    const one = await as("/gemini/v1beta/models/embed:embedContent", content("abcd"))
    expect([one.status, await one.json()]).toEqual([
      200,
      { embedding: { values: [4, 0] }, usageMetadata: { promptTokenCount: 4 } },
    ])
    const many = await as("/gemini/v1beta/models/embed:batchEmbedContents", {
      requests: ["a", "bc"].map((text) => ({ model: "models/embed", ...content(text) })),
    })
    expect(await jsonOf(many)).toHaveProperty("embeddings", [{ values: [1, 0] }, { values: [2, 1] }])
    const mixed = await as("/gemini/v1beta/models/embed:batchEmbedContents", {
      requests: [content("a"), { content: { parts: [{ text: "b" }] } }],
    })
    expect([mixed.status, JSON.stringify(await mixed.json())]).toEqual([400, expect.stringContaining("requests.1")])
  })

  it("Cohere's embed and rerank", async () => {
    const embedded = await as("/cohere/v2/embed", {
      model: "small-parts",
      texts: ["a", "bc"],
      input_type: "search_query",
      embedding_types: ["float"],
    })
    expect([embedded.status, await embedded.json()]).toMatchObject([
      200,
      {
        embeddings: {
          float: [
            [1, 0],
            [2, 1],
          ],
        },
        texts: ["a", "bc"],
        meta: { billed_units: { input_tokens: 4 } },
      },
    ])
    expect(gateway().vendor.calls.at(-1)?.body).toMatchObject({
      input_type: "search_query",
      truncate: "END",
    })
    const first = await as("/cohere/v1/embed", { model: "small-parts", texts: ["abc"] })
    expect(await first.json()).toMatchObject({ response_type: "embeddings_floats", embeddings: [[3, 0]] })
    gateway().vendor.script(
      answer(() => ({ results: [{ index: 0, relevance_score: 0.5 }], meta: { billed_units: { search_units: 1 } } })),
    )
    const ranked = await as("/cohere/v2/rerank", { model: "rank", query: "q", documents: ["a"], top_n: 1 })
    expect(await ranked.json()).toMatchObject({
      results: [{ index: 0, relevance_score: 0.5 }],
      meta: { billed_units: { search_units: 1 } },
    })
    const refused = await as("/cohere/v2/embed", { model: "small-parts", texts: ["a"], images: ["x"] })
    expect([refused.status, await refused.json()]).toMatchObject([400, { message: expect.stringMatching(/^images: /) }])
  })

  it("rerank as Jina and vLLM have it, and OpenAI's moderations", async () => {
    gateway().vendor.script(
      answer(() => ({ results: [{ index: 1, relevance_score: 0.5 }], usage: { total_tokens: 5 } })),
    )
    const ranked = await as("/openai/v1/rerank", {
      model: "rank-by-tokens",
      query: "q",
      documents: ["a", { text: "b" }],
      top_n: 1,
      return_documents: true,
    })
    expect(await ranked.json()).toMatchObject({
      results: [{ index: 1, relevance_score: 0.5, document: { text: "b" } }],
      usage: { total_tokens: 5 },
    })
    gateway().vendor.script(
      answer(() => ({ results: [{ flagged: false, categories: { hate: false }, category_scores: { hate: 0.1 } }] })),
    )
    const moderated = await as("/openai/v1/moderations", { model: "mod", input: "a" })
    expect(await moderated.json()).toMatchObject({
      id: expect.stringMatching(/^modr-/),
      results: [{ flagged: false, category_scores: { hate: 0.1 } }],
    })
  })

  it("nothing else below Cohere's base answers, in its words", async () => {
    const response = await as("/cohere/v2/nothing", {})
    expect([response.status, await response.json()]).toMatchObject([404, { message: expect.any(String) }])
  })
})

describe("what each kind has of every call", () => {
  it("policies read what is sent: nothing is called, nothing is billed", async () => {
    const calls = gateway().vendor.calls.length
    const before = await balanceOf(gateway())
    const secret = "the forbidden word"
    for (const [path, body] of [
      ["/t1/embeddings", { model: "embed", input: ["fine", secret] }],
      ["/t1/rerank", { model: "rank", query: "q", documents: [secret] }],
      ["/t1/moderations", { model: "mod", input: [secret] }],
    ] as const) {
      expect(await errorOf(await post(path, body))).toMatchObject({ status: 403, code: "content_blocked" })
    }
    expect(gateway().vendor.calls.length).toBe(calls)
    expect(await balanceOf(gateway())).toBe(before)
  })

  it("the bundle lists handles by kind, and chat's alone as models", async () => {
    const { models, platformModels } = Object(await (await gateway().call("GET", "/t1/config")).json())
    expect(platformModels).toMatchObject({ embedding: ["embed", "small-parts", "genai"], moderation: ["mod"] })
    expect(listOf(models).map((model) => Object(model).handle)).not.toContain("embed")
  })
})

describe("the test of a vendor", () => {
  it("asks it for what its models are for", async () => {
    const test = (vendor: string, body: object) =>
      post(`/v1/admin/vendors/${vendor}/test`, body, { "x-svc-admin-key": gateway().adminKey })
    expect(await (await test("voyage", {})).json()).toMatchObject({ ok: true, model: "v" })
    expect(gateway().second.calls.at(-1)?.path).toBe("/v1/embeddings")
    expect(await (await test("openai", { model: "e" })).json()).toMatchObject({ ok: true, model: "e" })
    gateway().second.script(answer(() => ({ data: [] })))
    expect(await (await test("voyage", {})).json()).toMatchObject({ ok: false, error: { code: "upstream_error" } })
  })
})

describe("a catalogue", () => {
  it("is refused with a target that cannot do its model's kind, and with a price that is missing", async () => {
    const wrong = (text: string) => Effect.runPromise(Effect.flip(gateway().catalogue.apply(text)))
    const base = catalogue({ vendor: "http://127.0.0.1:1", second: "http://127.0.0.1:1" })
    expect(
      JSON.stringify(await wrong(base.replace("{ vendor: gemini, model: g }", "{ vendor: anthropic, model: g }"))),
    ).toContain("dialect anthropic has no embedding")
    expect(
      JSON.stringify(
        await wrong(
          base.replace('model: genai, currency: USD, input: "2"', 'model: genai, currency: USD, output: "2"'),
        ),
      ),
    ).toContain("needs input")
  })
})
