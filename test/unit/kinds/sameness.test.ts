/**
 * The fields that can change the answer to a request: for each field of the schema a change of it alone asks for another answer,
 * or it is listed as one that cannot.
 */
import { Effect, Result, Schema } from "effect"
import { describe, expect, it } from "vitest"
import { loadCatalogue } from "../../../src/catalogue/load.ts"
import { makeSnapshot } from "../../../src/catalogue/snapshot.ts"
import { chatRequestOf } from "../../../src/kinds/chat/chat-request.ts"
import { makePlan } from "../../../src/kinds/chat/plan.ts"
import { samenessOf } from "../../../src/kinds/chat/sameness.ts"
import { withoutMeta } from "../../../src/kinds/whole/whole-task.ts"
import { ExchangeRequest } from "../../../src/protocol/exchange.ts"
import { EmbeddingRequest } from "../../../src/protocol/kinds/embedding.ts"
import { ModerationRequest } from "../../../src/protocol/kinds/moderation.ts"
import { RerankRequest } from "../../../src/protocol/kinds/rerank.ts"
import { canonicalJson } from "../../../src/protocol/values/canonical.ts"
import { mockCaller, mockCatalogue } from "../../../src/testing/index.ts"

const loaded = loadCatalogue(
  mockCatalogue
    .replace('output: "15",', 'output: "15", tiers: { priority: "2", flex: "0.5" },')
    .replace("handle: main,", "handle: main, capabilities: [tools, images, files, videos, audio, reasoning, cache],"),
)
if (Result.isFailure(loaded)) throw new Error(JSON.stringify(loaded.failure))
const catalogue = makeSnapshot(loaded.success.document, 1n, "static", () => undefined)

interface JsonSchema {
  readonly $ref?: string
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly items?: JsonSchema
  readonly anyOf?: ReadonlyArray<JsonSchema>
  readonly oneOf?: ReadonlyArray<JsonSchema>
  readonly allOf?: ReadonlyArray<JsonSchema>
}

/** The paths of all fields of a schema; lists are not numbered. */
const pathsOf = (schema: Schema.Top): ReadonlyArray<string> => {
  const document = Schema.toJsonSchemaDocument(schema)
  const definitions: Readonly<Record<string, unknown>> = document.definitions
  const found = new Set<string>()
  const walk = (node: JsonSchema, path: string, refs: ReadonlyArray<string>): void => {
    const { $ref } = node
    if ($ref !== undefined) {
      const target = definitions[$ref.split("/").at(-1) ?? ""]
      if (!refs.includes($ref) && isSchema(target)) walk(target, path, [...refs, $ref])
      return
    }
    for (const [name, property] of Object.entries(node.properties ?? {})) {
      const inner = path === "" ? name : `${path}.${name}`
      found.add(inner)
      walk(property, inner, refs)
    }
    if (node.items !== undefined) walk(node.items, path, refs)
    for (const member of [...(node.anyOf ?? []), ...(node.oneOf ?? []), ...(node.allOf ?? [])]) walk(member, path, refs)
  }
  if (isSchema(document.schema)) walk(document.schema, "", [])
  return [...found].sort()
}

const isSchema = (value: unknown): value is JsonSchema => typeof value === "object" && value !== null

/** The place of an exchange, without its caller and model. */
const exchangeKey = (request: object): string | undefined => {
  const decoded = Schema.decodeUnknownSync(ExchangeRequest, { onExcessProperty: "error" })(request)
  const asked = chatRequestOf(decoded)
  const { vendorRequest } = Result.getOrThrow(makePlan(asked, mockCaller, catalogue, Date.parse("2026-06-01")))
  const same = samenessOf(vendorRequest, Effect.runSync(asked.prompt.sameness))
  return same && canonicalJson(same)
}
const keyOf =
  <S extends Schema.Decoder<object>>(schema: S) =>
  (request: object): string =>
    canonicalJson(withoutMeta(Schema.decodeUnknownSync(schema, { onExcessProperty: "error" })(request)))

const text = { t: "text", v: "Hi" }
const said = (...blocks: ReadonlyArray<object>) => ({ model: "main", thread: [{ role: "user", blocks }] })
const answered = (...blocks: ReadonlyArray<object>) => ({
  model: "main",
  thread: [
    { role: "user", blocks: [text] },
    { role: "assistant", blocks },
    { role: "user", blocks: [text] },
  ],
})
const phased = (phase: string) => ({
  model: "main",
  thread: [
    { role: "user", blocks: [text] },
    { role: "assistant", phase, blocks: [text] },
    { role: "user", blocks: [text] },
  ],
})
const called = { t: "tool_call", id: "a", name: "weather", input: { city: "Oslo" } }
const result = { t: "tool_result", id: "a", v: "1" }
const turn = (call: object, back: object) => ({
  model: "main",
  thread: [
    { role: "user", blocks: [text] },
    { role: "assistant", blocks: [{ ...called, ...call }] },
    { role: "tool", blocks: [{ ...result, ...back }] },
  ],
})
const params = (more: object) => ({ ...said(text), params: more })
const tool = { name: "weather", description: "of a city", inputSchema: { type: "object" } }
const tools = (more: object) => ({ ...said(text), tools: [{ ...tool, ...more }] })
const textTool = { kind: "text", name: "patch" }
const grammars = (...both: readonly [object, object]) =>
  [
    { ...said(text), tools: [{ ...textTool, grammar: both[0] }] },
    { ...said(text), tools: [{ ...textTool, grammar: both[1] }] },
  ] as const
const vendorTools = (...both: readonly [object, object]) =>
  [
    { ...said(text), tools: [{ kind: "vendor", dialect: "anthropic", v: "{}", ...both[0] }] },
    { ...said(text), tools: [{ kind: "vendor", dialect: "anthropic", v: "{}", ...both[1] }] },
  ] as const
const image = { t: "image", mime: "image/png", data: "aGk=" }
const file = { t: "file", mime: "application/pdf", data: "aGk=" }
const video = { t: "video", mime: "video/mp4", data: "aGk=" }
/** A result with blocks. */
const shown = (...blocks: ReadonlyArray<object>) => {
  const { thread, ...rest } = turn({}, {})
  return {
    ...rest,
    thread: [...thread.slice(0, -1), { role: "tool", blocks: [{ t: "tool_result", id: "a", blocks }] }],
  }
}

/** Two requests that differ in one field. */
const exchanges: Readonly<Record<string, readonly [object, object]>> = {
  thread: [said(text), said(text, text)],
  "thread.role": [
    said(text),
    {
      model: "main",
      thread: [
        { role: "system", blocks: [text] },
        { role: "user", blocks: [text] },
      ],
    },
  ],
  "thread.blocks": [said(text), said(text, text)],
  "thread.blocks.t": [said(image), said({ ...image, t: "file" })],
  "thread.blocks.v": [said(text), said({ t: "text", v: "Ho" })],
  "thread.phase": [answered(text), phased("commentary")],
  "thread.blocks.phase": [answered(text), answered({ ...text, phase: "commentary" })],
  "thread.blocks.signature": [
    answered({ t: "reasoning", v: "Hm", signature: "a" }),
    answered({ t: "reasoning", v: "Hm", signature: "b" }),
  ],
  "thread.blocks.redacted": [
    answered({ t: "reasoning", v: "Hm" }),
    answered({ t: "reasoning", v: "Hm", redacted: true }),
  ],
  "thread.blocks.id": [turn({}, {}), turn({ id: "b" }, { id: "b" })],
  "thread.blocks.name": [turn({}, {}), turn({ name: "time" }, {})],
  "thread.blocks.input": [turn({}, {}), turn({ input: { city: "Rome" } }, {})],
  "thread.blocks.json": [turn({}, {}), turn({ json: '{ "city":"Oslo"}' }, {})],
  "thread.blocks.isError": [turn({}, {}), turn({}, { isError: true })],
  "thread.blocks.blocks": [shown(image), shown(image, image)],
  "thread.blocks.blocks.t": [shown(image), shown({ ...image, t: "file" })],
  "thread.blocks.blocks.v": [shown(text), shown({ t: "text", v: "Ho" })],
  "thread.blocks.blocks.mime": [shown(image), shown({ ...image, mime: "image/jpeg" })],
  "thread.blocks.blocks.data": [shown(image), shown({ ...image, data: "aGhp" })],
  "thread.blocks.blocks.detail": [shown({ ...image, detail: "low" }), shown({ ...image, detail: "high" })],
  "thread.blocks.blocks.name": [shown({ ...file, name: "a" }), shown({ ...file, name: "b" })],
  "thread.blocks.mime": [said(image), said({ ...image, mime: "image/jpeg" })],
  "thread.blocks.data": [said(image), said({ ...image, data: "aGhp" })],
  "thread.blocks.detail": [said({ ...image, detail: "low" }), said({ ...image, detail: "high" })],
  "thread.blocks.clip": [said(video), said({ ...video, clip: { from: 1 } })],
  "thread.blocks.clip.from": [said({ ...video, clip: { from: 1 } }), said({ ...video, clip: { from: 2 } })],
  "thread.blocks.clip.to": [said({ ...video, clip: { to: 1 } }), said({ ...video, clip: { to: 2 } })],
  "thread.blocks.clip.fps": [said({ ...video, clip: { fps: 1 } }), said({ ...video, clip: { fps: 2 } })],
  "thread.blocks.dialect": [
    answered({ t: "vendor", dialect: "openai", v: "{}" }),
    answered({ t: "vendor", dialect: "gemini", v: "{}" }),
  ],
  "thread.blocks.text": [
    answered({ t: "vendor", dialect: "openai", v: "{}" }),
    answered({ t: "vendor", dialect: "openai", v: "{}", text: "x" }),
  ],
  tools: [said(text), tools({})],
  "tools.name": [tools({}), tools({ name: "time" })],
  "tools.description": [tools({}), tools({ description: "of a town" })],
  "tools.inputSchema": [tools({}), tools({ inputSchema: { type: "object", properties: {} } })],
  "tools.kind": [tools({}), { ...said(text), tools: [textTool] }],
  "tools.strict": [tools({}), tools({ strict: true })],
  "tools.deferred": [tools({}), tools({ deferred: true })],
  "tools.grammar": [
    { ...said(text), tools: [textTool] },
    { ...said(text), tools: [{ ...textTool, grammar: { syntax: "lark", definition: "a" } }] },
  ],
  "tools.grammar.syntax": grammars({ syntax: "lark", definition: "a" }, { syntax: "regex", definition: "a" }),
  "tools.grammar.definition": grammars({ syntax: "lark", definition: "a" }, { syntax: "lark", definition: "b" }),
  "tools.dialect": vendorTools({ dialect: "openai" }, { dialect: "gemini" }),
  "tools.v": vendorTools({ v: "{}" }, { v: '{"type":"bash_20250124"}' }),
  params: [said(text), params({ maxTokens: 7 })],
  "params.maxTokens": [params({ maxTokens: 7 }), params({ maxTokens: 8 })],
  "params.temperature": [params({ temperature: 0 }), params({ temperature: 0.5 })],
  "params.topP": [params({ topP: 0.1 }), params({ topP: 0.2 })],
  "params.stop": [params({ stop: ["a"] }), params({ stop: ["b"] })],
  "params.reasoning": [params({ reasoning: "low" }), params({ reasoning: "high" })],
  "params.reasoningBudget": [params({ reasoningBudget: 2000 }), params({ reasoningBudget: 2001 })],
  "params.effort": [params({ effort: "low" }), params({ effort: "high" })],
  "params.reasoningDisplay": [params({ reasoningDisplay: "summary" }), params({ reasoningDisplay: "omitted" })],
  "params.toolChoice": [params({ toolChoice: "auto" }), params({ toolChoice: "none" })],
  "params.toolChoice.name": [params({ toolChoice: { name: "a" } }), params({ toolChoice: { name: "b" } })],
  "params.parallelToolCalls": [params({ parallelToolCalls: true }), params({ parallelToolCalls: false })],
  "params.output": [params({}), params({ output: { schema: {} } })],
  "params.output of any object": [params({}), params({ output: "json" })],
  "params.output.name": [params({ output: { name: "a", schema: {} } }), params({ output: { name: "b", schema: {} } })],
  "params.output.schema": [params({ output: { schema: {} } }), params({ output: { schema: { type: "object" } } })],
  "params.output.strict": [
    params({ output: { schema: {}, strict: true } }),
    params({ output: { schema: {}, strict: false } }),
  ],
  "params.seed": [params({ seed: 1 }), params({ seed: 2 })],
  "params.frequencyPenalty": [params({ frequencyPenalty: 0 }), params({ frequencyPenalty: 1 })],
  "params.presencePenalty": [params({ presencePenalty: 0 }), params({ presencePenalty: 1 })],
  "params.topK": [params({ topK: 1 }), params({ topK: 2 })],
  "params.minP": [params({ minP: 0.1 }), params({ minP: 0.2 })],
  "params.logitBias": [params({ logitBias: { "1": 1 } }), params({ logitBias: { "1": 2 } })],
  "params.logprobs": [params({ logprobs: 1 }), params({ logprobs: 2 })],
  "params.n": [params({ n: 1 }), params({ n: 2 })],
  "params.verbosity": [params({ verbosity: "low" }), params({ verbosity: "high" })],
  "params.serviceTier": [params({ serviceTier: "flex" }), params({ serviceTier: "priority" })],
  "params.prediction": [params({ prediction: "a" }), params({ prediction: "b" })],
  "params.stopTokens": [params({ stopTokens: [1] }), params({ stopTokens: [2] })],
}

const options = (vendor: string, one: object, other: object) =>
  [params({ vendorOptions: { [vendor]: one } }), params({ vendorOptions: { [vendor]: other } })] as const
const budget = { type: "tokens", total: 20_000, remaining: 10_000 }

/** The same for options of one vendor. */
const vendorOptions: typeof exchanges = {
  "anthropic.taskBudget": options("anthropic", {}, { taskBudget: budget }),
  "anthropic.taskBudget.total": options(
    "anthropic",
    { taskBudget: budget },
    { taskBudget: { ...budget, total: 30_000 } },
  ),
  "anthropic.taskBudget.remaining": options(
    "anthropic",
    { taskBudget: budget },
    { taskBudget: { ...budget, remaining: 1000 } },
  ),
  "gemini.cachedContent": options("gemini", {}, { cachedContent: "cachedContents/a" }),
  "gemini.mediaResolution": options("gemini", {}, { mediaResolution: "low" }),
  "groq.reasoningFormat": options("groq", { reasoningFormat: "raw" }, { reasoningFormat: "parsed" }),
  "groq.searchSettings": options("groq", {}, { searchSettings: {} }),
  "openai.promptCacheOptions": options("openai", {}, { promptCacheOptions: {} }),
  "openai.reasoningMode": options("openai", {}, { reasoningMode: "standard" }),
  "openai.truncation": options("openai", { truncation: "auto" }, { truncation: "disabled" }),
  "openrouter.provider": options("openrouter", {}, { provider: {} }),
}
const optionPath = "params.vendorOptions"

const notKept = "is of a reply with calls of tools, which is not kept"

/** The reasons why a field cannot change the answer, or is elsewhere in the place. */
const unchanging: Readonly<Record<string, string>> = {
  model: "is a part of the place",
  meta: "names the call",
  "meta.requestId": "names the call",
  "meta.sessionId": "names the call",
  "meta.client": "names the call",
  "meta.client.name": "names the call",
  "meta.client.version": "names the call",
  "meta.purpose": "names the call",
  "meta.tags": "names the call",
  cache: "steers caches",
  "cache.skipWrite": "steers the vendor's cache",
  "cache.key": "steers the vendor's cache",
  "cache.reply": "steers the cache of replies",
  stream: "is the form of the reply",
  keep: "is for later exchanges",
  after: "is replaced by the thread that it names",
  "params.promptTokensEstimate": "is for the hold",
  "params.maxRounds": notKept,
  "thread.blocks.approve": notKept,
  "thread.blocks.reason": notKept,
  "tools.server": notKept,
  "tools.allow": notKept,
  "tools.deny": notKept,
  "tools.approval": notKept,
  "tools.approval.always": notKept,
  "tools.approval.never": notKept,
  "thread.blocks.cacheable": "marks the vendor's cache",
  "thread.blocks.blocks.cacheable": "marks the vendor's cache",
  "tools.cacheable": "marks the vendor's cache",
}

describe("an exchange", () => {
  it("has each of its fields in one of the two lists, or under one that is", () => {
    const ofVendors = Object.keys(vendorOptions).map((path) => `${optionPath}.${path}`)
    const listed = [...Object.keys(exchanges), ...Object.keys(unchanging), ...ofVendors, ...elsewhere]
    const missing = pathsOf(ExchangeRequest).filter(
      (path) => !listed.some((each) => path === each || below(path, each)),
    )
    expect(missing).toEqual([])
  })

  it.each(Object.entries({ ...exchanges, ...vendorOptions }))(
    "asks for another answer with another %s",
    (_, [one, other]) => {
      expect(exchangeKey(one)).toBeDefined()
      expect(exchangeKey(other)).not.toBe(exchangeKey(one))
    },
  )

  it.each([
    { meta: { requestId: "a", sessionId: "b", client: { name: "c", version: "d" }, purpose: "eval" } },
    { cache: { skipWrite: true, key: "a", reply: "refresh" } },
    { stream: true },
    { params: { promptTokensEstimate: 5 } },
    { params: {} },
    { tools: [] },
    { thread: [{ role: "user", blocks: [{ ...text, cacheable: true }] }] },
    { thread: [{ role: "user", blocks: [{ ...text, cacheable: "1h" }] }] },
    { thread: [{ blocks: [{ v: "Hi", t: "text" }], role: "user" }] },
  ])("asks for the same with %j", (more) => {
    expect(exchangeKey({ ...said(text), ...more })).toBe(exchangeKey(said(text)))
  })

  it.each([
    { ...image, data: undefined, url: "https://example.com/a.png" },
    { ...file, data: undefined, url: "https://example.com/a.pdf" },
    { ...video, data: undefined, url: "https://example.com/a.mp4" },
    { t: "audio", mime: "audio/mpeg", url: "https://example.com/a.mp3" },
    { ...file, data: undefined, kept: { dialect: "openai", id: "file_1" } },
    { t: "tool_result", id: "a", blocks: [{ ...image, data: undefined, url: "https://example.com/a.png" }] },
  ])("with $t at %j is not kept", (block) => {
    expect(exchangeKey(said(JSON.parse(JSON.stringify(block))))).toBeUndefined()
  })
})

/** Fields of blocks with which a request is not kept at all, and free forms. */
const elsewhere = [
  "thread.blocks.url",
  "thread.blocks.kept",
  "thread.blocks.blocks.url",
  "thread.blocks.blocks.kept",
  "thread.blocks.citations",
  "thread.blocks.logprobs",
  // The fields within these are listed.
  optionPath,
  ...["anthropic", "gemini", "groq", "openai", "openrouter"].map((vendor) => `${optionPath}.${vendor}`),
  `${optionPath}.anthropic.taskBudget.type`,
]
const freeForms = [
  "thread.blocks.citations",
  "thread.blocks.logprobs",
  "thread.blocks.kept",
  "thread.blocks.blocks.kept",
]
const below = (path: string, each: string): boolean => freeForms.includes(each) && path.startsWith(`${each}.`)

const embed = { model: "e", input: ["a"] }
const rank = { model: "r", query: "q", documents: ["a", "b"] }
const judge = { model: "m", input: ["a"] }

describe.each([
  [
    "an embedding",
    EmbeddingRequest,
    keyOf(EmbeddingRequest),
    embed,
    { input: ["b"], inputType: "query", dimensions: 2, encoding: "base64", truncate: true, model: "f" },
  ],
  [
    "a ranking",
    RerankRequest,
    keyOf(RerankRequest),
    rank,
    { query: "p", documents: ["a"], topN: 1, maxTokensPerDocument: 9, model: "f" },
  ],
  ["a moderation", ModerationRequest, keyOf(ModerationRequest), judge, { input: ["b"], model: "f" }],
] as const)("%s", (_, schema, key, base, changes) => {
  it("asks for another answer with each of its fields, but for its name and its caches", () => {
    const names = pathsOf(schema).filter((path) => !path.includes("."))
    expect(names.filter((name) => !(name in changes))).toEqual(["cache", "meta"])
    const keys = Object.entries(changes).map(([name, value]) => key({ ...base, [name]: value }))
    expect(new Set([...keys, key(base)]).size).toBe(keys.length + 1)
    expect(key({ ...base, meta: { requestId: "x" }, cache: { reply: "off" } })).toBe(key(base))
  })
})
