/** Messages for refused input: the value, what is required with an example, and the name that was meant. */
import type { SchemaAST } from "effect"
import { describe, expect, it } from "vitest"
import { loadCatalogue } from "../../../src/catalogue/load.ts"
import { BudgetTerms } from "../../../src/protocol/catalogue/budget.ts"
import { CatalogueDocument } from "../../../src/protocol/catalogue/document.ts"
import { TopupRequest } from "../../../src/protocol/control/admin.ts"
import { ExchangeRequest } from "../../../src/protocol/exchange.ts"
import { refusedIn } from "../../../src/protocol/json/issues.ts"
import { EmbeddingRequest } from "../../../src/protocol/kinds/embedding.ts"
import { ImageRequest } from "../../../src/protocol/kinds/image.ts"
import { ModerationRequest } from "../../../src/protocol/kinds/moderation.ts"
import { RerankRequest } from "../../../src/protocol/kinds/rerank.ts"
import { SearchRequest } from "../../../src/protocol/kinds/search.ts"
import { SpeechRequest } from "../../../src/protocol/kinds/speech.ts"
import { VideoRequest } from "../../../src/protocol/kinds/video.ts"

type Schema = Parameters<typeof refusedIn>[0]

const linesOf = (schema: Schema, value: unknown): ReadonlyArray<string> =>
  refusedIn(schema, value).map(({ path, message }) => `${path}: ${message}`)

/** The issues of a catalogue, as `weir apply` prints them. */
const catalogueLines = (text: string): ReadonlyArray<string> => {
  const loaded = loadCatalogue(`version: 1\n${text}`)
  return loaded._tag === "Failure" ? loaded.failure.map(({ path, message }) => `${path}: ${message}`) : []
}

const thread = [{ role: "user", blocks: [{ t: "text", v: "Hello" }] }]
const exchange = { model: "main", thread }
const withParams = (params: object) => ({ ...exchange, params })
const withBlock = (block: object) => ({ ...exchange, thread: [{ role: "user", blocks: [block] }] })
const duration = "a duration such as 250ms, 10s, 2m or 1h"

describe("a catalogue", () => {
  it.each<[text: string, line: string]>([
    ["timeouts: { development: { ttfb: 2 } }", `timeouts.development.ttfb: 2 is not ${duration}`],
    ["timeouts: { development: { ttfb: soon } }", `timeouts.development.ttfb: "soon" is not ${duration}`],
    ["timeouts: { development: { ttfb: 0s } }", `timeouts.development.ttfb: "0s" is not ${duration}, from 1ms to 277h`],
    ["timeouts: { development: { tffb: 2s } }", "timeouts.development.tffb: is not known here; did you mean ttfb?"],
    ["timeouts: [1]", "timeouts: a list is not an object"],
    ["modles: []", "modles: is not known here; did you mean models?"],
    ["models: main", 'models: "main" is not a list'],
    ["models: [{ handle: main }]", "models[0].targets: at least one target is required"],
    [
      "models: [{ handle: main, kind: imge }]",
      'models[0].kind: "imge" is not "chat", "embedding", "rerank", "moderation", "image", "speech", "transcription", "video" or "realtime"; did you mean image?',
    ],
    ["models: [{ handle: main, contextWindow: 8k }]", 'models[0].contextWindow: "8k" is not an integer of at least 1'],
    ["models: [{ handle: main, tryNext: maybe }]", 'models[0].tryNext: "maybe" is not true or false'],
    ["vendors: [{ id: a, baseUrl: api.openai.com }]", 'vendors[0].baseUrl: "api.openai.com" is not an http(s) URL'],
    ["vendors: [{ dialect: openai-chat }]", "vendors[0].id: is required"],
    ["plans: [{ id: gold, concurrency: 1.5 }]", "plans[0].concurrency: 1.5 is not an integer from 1 to 1000000000"],
    ["orgs: [{ id: acme, name: A, currency: usd }]", 'orgs[0].currency: "usd" is not a currency such as USD'],
    ["users: [{ id: ann, email: ann }]", 'users[0].email: "ann" is not an e-mail address such as ann@example.com'],
  ])("%s", (text, line) => {
    expect(catalogueLines(text)).toContain(line)
  })

  it("a secret in the wrong place is not repeated, nor a URL's password", () => {
    const text = "vendors: [{ id: a, credential: sk-abc, baseUrl: 'https://ann:pw@api.example.com?x' }]"
    const lines = catalogueLines(text).join("\n")
    expect(lines).toContain("vendors[0].credential: env:NAME, file:PATH")
    expect(lines).toContain("vendors[0].baseUrl: an http(s) URL is required")
    expect(lines).not.toMatch(/sk-abc|pw@/)
  })
})

describe("a request", () => {
  it.each<[Schema, value: unknown, line: string]>([
    [ExchangeRequest, null, ": null is not an object"],
    [ExchangeRequest, { thread }, "model: is required"],
    [ExchangeRequest, { ...exchange, model: 5 }, "model: 5 is not text"],
    [ExchangeRequest, { ...exchange, stream: "yes" }, 'stream: "yes" is not true or false'],
    [ExchangeRequest, { ...exchange, thread: [] }, "thread: a list that is not empty is required"],
    [ExchangeRequest, { ...exchange, thread: "hello" }, 'thread: "hello" is not a list'],
    [
      ExchangeRequest,
      { ...exchange, purpose: "x" },
      "purpose: is not known here; known are model, thread, tools, params, meta, cache, stream, keep, after",
    ],
    [ExchangeRequest, withParams({ temperature: 9 }), "params.temperature: 9 is not a number from 0 to 2"],
    [
      ExchangeRequest,
      withParams({ maxTokens: "many" }),
      'params.maxTokens: "many" is not an integer from 1 to 100000000',
    ],
    [ExchangeRequest, withParams({ maxTokens: 1.5 }), "params.maxTokens: 1.5 is not an integer from 1 to 100000000"],
    [ExchangeRequest, withParams({ maxToken: 5 }), "params.maxToken: is not known here; did you mean maxTokens?"],
    [
      ExchangeRequest,
      { ...exchange, thread: [{ role: "usr", blocks: [] }] },
      'thread.0.role: "usr" is not "system", "user", "assistant" or "tool"; did you mean user?',
    ],
    [
      ExchangeRequest,
      withBlock({ t: "txt", v: "" }),
      'thread.0.blocks.0.t: "txt" is not "text", "image", "file", "video", "audio", "tool_result" or "vendor"; did you mean text?',
    ],
    [ExchangeRequest, withBlock({ t: "text", v: 1 }), "thread.0.blocks.0.v: 1 is not text"],
    [
      ExchangeRequest,
      withBlock({ t: "image", mime: "png", data: "aGk=" }),
      'thread.0.blocks.0.mime: "png" is not a media type such as image/png',
    ],
    [
      ExchangeRequest,
      { ...exchange, tools: [{ name: "get weather" }] },
      'tools.0.name: "get weather" is not 1 to 64 letters, digits, _ and -, such as get_weather',
    ],
    [EmbeddingRequest, { model: "e", input: [] }, "input: a list that is not empty is required"],
    [EmbeddingRequest, { model: "e", input: 5 }, "input: 5 is not a list"],
    [ImageRequest, { model: "i", prompt: "" }, "prompt: text that is not empty is required"],
    [ImageRequest, { model: "i", prompt: "a", n: 0 }, "n: 0 is not an integer from 1 to 10"],
    [
      ImageRequest,
      { model: "i", prompt: "a", size: "big" },
      'size: "big" is not a size such as 1024x1024, 2K, 16:9 or auto',
    ],
    [
      ImageRequest,
      { model: "i", prompt: "a", format: "jpg" },
      'format: "jpg" is not "png", "jpeg" or "webp"; did you mean jpeg?',
    ],
    [SpeechRequest, { model: "s", input: "a" }, "voice: is required"],
    [
      BudgetTerms,
      { scope: "org", unit: "money", period: "dayly", limit: "5" },
      'period: "dayly" is not "hour", "day", "week", "month", "quarter", "year" or "total"; did you mean day?',
    ],
    [
      BudgetTerms,
      { scope: "org", unit: "money", period: "day", limit: "5 USD" },
      'limit: "5 USD" is not an amount such as 12.50',
    ],
    [TopupRequest, { org: "acme", amount: "abc", id: "x" }, 'amount: "abc" is not an amount such as 12.50'],
    [TopupRequest, { org: "acme", amount: 5, id: "x" }, "amount: 5 is not an amount such as 12.50"],
  ])("%# %j", (schema, value, line) => {
    expect(linesOf(schema, value)).toContain(line)
  })

  it("a long value is not repeated", () => {
    expect(linesOf(ExchangeRequest, { ...exchange, stream: "y".repeat(100) })).toEqual([
      "stream: true or false is required",
    ])
  })
})

const schemas: ReadonlyArray<readonly [name: string, Schema]> = [
  ["a catalogue", CatalogueDocument],
  ["an exchange", ExchangeRequest],
  ["embeddings", EmbeddingRequest],
  ["pictures", ImageRequest],
  ["moderation", ModerationRequest],
  ["reranking", RerankRequest],
  ["search", SearchRequest],
  ["speech", SpeechRequest],
  ["a video", VideoRequest],
  ["a top-up", TopupRequest],
]

it.each(schemas)("each form of text in %s is described in words", (_, { ast }) => {
  const undescribed: Array<string> = []
  let forms = 0
  const seen = new Set<SchemaAST.AST>()
  const walk = (type: SchemaAST.AST): void => {
    if (seen.has(type)) return
    seen.add(type)
    for (const check of type.checks ?? []) {
      const { expected } = check.annotations ?? {}
      forms++
      if (typeof expected === "string" && expected.includes("RegExp")) undescribed.push(expected)
    }
    for (const link of type.encoding ?? []) walk(link.to)
    if (type._tag === "Suspend") walk(type.thunk())
    if (type._tag === "Union") type.types.forEach(walk)
    if (type._tag === "Arrays") [...type.elements, ...type.rest].forEach(walk)
    if (type._tag === "Objects") {
      for (const field of type.propertySignatures) walk(field.type)
      for (const { parameter, type: value } of type.indexSignatures) [parameter, value].forEach(walk)
    }
  }
  walk(ast)
  expect(undescribed).toEqual([])
  expect(forms).toBeGreaterThan(0)
})
