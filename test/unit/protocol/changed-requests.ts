/** Valid requests, and requests that are changed at random. */
import type { Schema } from "effect"
import { ExchangeRequest } from "../../../src/protocol/exchange.ts"
import { EmbeddingRequest } from "../../../src/protocol/kinds/embedding.ts"
import { ModerationRequest } from "../../../src/protocol/kinds/moderation.ts"
import { RerankRequest } from "../../../src/protocol/kinds/rerank.ts"
import { SearchRequest } from "../../../src/protocol/kinds/search.ts"

const text = { t: "text", v: "Hello, river", cacheable: true }
const image = { t: "image", mime: "image/png", data: "aGk=" }
const call = { t: "tool_call", id: "call_1", name: "weather", input: { city: "Oslo", deep: [{ a: null }] } }
/** Requests of each kind that their schema accepts. */
export const valid: ReadonlyArray<readonly [string, Schema.Decoder<unknown>, ReadonlyArray<object>]> = [
  [
    "an exchange",
    ExchangeRequest,
    [
      { model: "main", thread: [{ role: "user", blocks: [text] }] },
      {
        model: "main",
        thread: [
          { role: "system", blocks: [text] },
          {
            role: "user",
            blocks: [
              text,
              image,
              { t: "file", mime: "application/pdf", name: "a.pdf", url: "https://example.com/a.pdf" },
              { t: "video", mime: "video/mp4", data: "aGk=", clip: { from: 1, to: 2.5, fps: 1 } },
              { t: "audio", mime: "audio/mpeg", data: "aGk=" },
              { t: "image", mime: "image/png", kept: { dialect: "openai", id: "file_1" } },
            ],
          },
          {
            role: "assistant",
            blocks: [
              { t: "reasoning", v: "Hm", signature: "s", redacted: false },
              call,
              { t: "vendor", dialect: "gemini", v: "{}", text: "x" },
            ],
          },
          { role: "tool", blocks: [{ t: "tool_result", id: "call_1", v: "12", isError: false, cacheable: false }] },
        ],
        tools: [{ name: "weather", description: "of a city", inputSchema: { type: "object", properties: {} } }],
        params: {
          maxTokens: 100,
          temperature: 0.5,
          topP: 1,
          stop: ["a", "b"],
          reasoning: "high",
          reasoningBudget: 1024,
          toolChoice: { name: "weather" },
          parallelToolCalls: false,
          output: { name: "o", schema: { type: "object" }, strict: true },
          seed: 7,
          logitBias: { "12": -1 },
          verbosity: "low",
          n: 2,
          stopTokens: [1, 2],
          vendorOptions: { openai: { truncation: "auto" }, openrouter: { provider: { order: ["a"] } } },
          promptTokensEstimate: 10,
        },
        meta: { requestId: "01J", sessionId: "s", client: { name: "c", version: "1" }, purpose: "eval" },
        cache: { skipWrite: true, key: "k", reply: "off" },
        stream: true,
      },
    ],
  ],
  [
    "an embedding",
    EmbeddingRequest,
    [{ model: "e", input: ["a", "b"], inputType: "query", dimensions: 3, encoding: "base64" }],
  ],
  ["a ranking", RerankRequest, [{ model: "r", query: "q", documents: ["a", "b"], topN: 1, maxTokensPerDocument: 9 }]],
  ["a moderation", ModerationRequest, [{ model: "m", input: ["a", image] }]],
  ["a search", SearchRequest, [{ query: "river" }]],
]

const hostile: ReadonlyArray<unknown> = [
  null,
  true,
  0,
  -1,
  1e308,
  1.5,
  2 ** 53,
  "",
  "a",
  "\u0000",
  "\ud800",
  "x".repeat(300),
  "main",
  "text",
  "image",
  "system",
  "https://example.com",
  "aGk",
  [],
  [[]],
  {},
  { t: "text" },
  { t: "text", v: 1 },
  { t: "text", v: "x", extra: 1 },
  { role: "tool", blocks: [] },
  { constructor: 1 },
  JSON.parse('{"__proto__": {"a": 1}}'),
]

/** Changes one place of a value. */
export const mutate = (value: unknown, random: () => number): unknown => {
  const pick = <A>(list: ReadonlyArray<A>): A | undefined => list[Math.floor(random() * list.length)]
  if (typeof value !== "object" || value === null || random() < 0.15) return pick(hostile)
  if (Array.isArray(value)) {
    const at = Math.floor(random() * value.length)
    if (random() < 0.15) return [...value, pick(hostile)]
    if (random() < 0.1) return value.filter((_, index) => index !== at)
    return value.map((each, index) => (index === at ? mutate(each, random) : each))
  }
  const names = Object.keys(value)
  const name = pick(names)
  if (name === undefined || random() < 0.1)
    return { ...value, [pick(["extra", "t", "role", "toString", "v"]) ?? ""]: pick(hostile) }
  if (random() < 0.1) return Object.fromEntries(Object.entries(value).filter(([known]) => known !== name))
  return Object.fromEntries(
    Object.entries(value).map(([known, each]) => [known, known === name ? mutate(each, random) : each]),
  )
}
