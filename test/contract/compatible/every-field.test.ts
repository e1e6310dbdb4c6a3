/** Parameters, blocks and routes that not every vendor has, through the APIs of clients and twp/1. */

import { Effect, Exit, Scope } from "effect"
import OpenAI from "openai"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { startSimulatedVendor } from "../../../src/development/simulated-vendor.ts"
import { type JsonObject, parseObject } from "../../../src/dialects/parse/json.ts"
import {
  answering,
  anthropicFrame,
  newTestIds,
  readEvents,
  type ScriptedVendor,
  testCatalogue,
  type VendorScript,
} from "../../../src/testing/index.ts"
import { errorOf, replyOf, useGateway } from "../../support/gateway.ts"
import { serving, targetAt } from "./served.ts"
import { message } from "./vendors.ts"

const scope = Scope.makeUnsafe()
let simulated: ScriptedVendor
beforeAll(async () => {
  simulated = await Effect.runPromise(Scope.provide(startSimulatedVendor(), scope))
})
afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))

const ids = newTestIds()
const gateway = useGateway(() => ({
  ids,
  catalogue: (urls) =>
    serving(testCatalogue(urls, ids), {
      org: "hostedTools: omit",
      vendors: { sim: `dialect: openai-chat, profile: generic, baseUrl: "${simulated.url}/v1"` },
      models: {
        any: `maxOutput: 1000, capabilities: [tools, images, files], ${targetAt("sim", "simulated-1")}`,
        tiered: `maxOutput: 1000, ${targetAt("openai", "m")}`,
        pair: `maxOutput: 1000, targets: [{ vendor: anthropic, model: claude, tier: 1 }, { vendor: sim, model: simulated-1, tier: 2 }]`,
        limited: `maxOutput: 1000, params: { seed: { strip: true }, temperature: { strip: true, default: 1 }, vendorOptions: { strip: true }, frequencyPenalty: { max: 0.5 }, n: { max: 2 } }, ${targetAt("sim", "simulated-1")}`,
        cinema: `maxOutput: 1000, capabilities: [videos, audio], ${targetAt("gemini", "gemini-3-test")}`,
        gem: `maxOutput: 1000, capabilities: [tools], ${targetAt("gemini", "gemini-3-test")}`,
        claude2: `maxOutput: 1000, capabilities: [tools], ${targetAt("anthropic", "claude")}`,
        resp: `maxOutput: 1000, capabilities: [tools], ${targetAt("responses", "gpt")}`,
      },
      price: () => `input: "3", output: "15", tiers: { priority: "2", flex: "0.5" }`,
    }),
}))

const client = () =>
  new OpenAI({
    baseURL: `${gateway().baseUrl}/openai/v1`,
    apiKey: `${gateway().keyId}~${gateway().key}`,
    maxRetries: 0,
  })
const hello = [{ role: "user", content: "Hello river" }] as const
const text = (v: string) => [{ role: "user", blocks: [{ t: "text", v }] }]
const short = { words: ["Yes"], inTokens: 10, outTokens: 1 }
/** A reply as JSON of a shape that the test looks at. */
const jsonOf = async (reply: Response): Promise<JsonObject> => parseObject(await reply.text()) ?? {}
const post = (path: string, body: object, headers: Record<string, string> = {}) => {
  const { baseUrl, keyId, key } = gateway()
  return fetch(`${baseUrl}${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-api-key": `${keyId}~${key}`, ...headers },
    body: JSON.stringify(body),
  })
}

describe("several replies", () => {
  it("are choices, billed as the replies of one prompt", async () => {
    const { data, response } = await client()
      .chat.completions.create({ model: "any", messages: [...hello], n: 3 })
      .withResponse()
    expect(data.choices.map(({ index, message, finish_reason }) => [index, message.content, finish_reason])).toEqual(
      [0, 1, 2].map((index) => [index, "You said: Hello river", "stop"]),
    )
    const { prompt_tokens: prompt = 0, completion_tokens: completion = 0 } = data.usage ?? {}
    expect(completion).toBe(12)
    expect(Number(response.headers.get("x-svc-cost"))).toBeCloseTo((prompt * 3 + completion * 15) / 1e6, 10)
  })

  it("stream side by side, each with its own end", async () => {
    const stream = await client().chat.completions.create({ model: "any", messages: [...hello], n: 3, stream: true })
    const texts = ["", "", ""]
    const ends: Array<unknown> = []
    for await (const { choices } of stream) {
      for (const { index, delta, finish_reason: finish } of choices) {
        texts[index] += delta.content ?? ""
        if (finish !== null) ends.push([index, finish])
      }
    }
    expect(texts).toEqual(["You said: Hello river", "You said: Hello river", "You said: Hello river"])
    expect(ends).toEqual([
      [0, "stop"],
      [1, "stop"],
      [2, "stop"],
    ])
  })

  it("are `replies` in twp/1, with the index in each delta", async () => {
    const whole = await replyOf(await gateway().exchange({ model: "any", thread: text("Hi"), params: { n: 2 } }))
    expect(whole.replies).toEqual([
      { blocks: whole.blocks, stop: "end" },
      { blocks: whole.blocks, stop: "end" },
    ])
    const streamed = await gateway().exchange({ model: "any", thread: text("Hi"), params: { n: 2 }, stream: true })
    const events = await readEvents(streamed)
    const deltas = events.filter(({ event }) => event === "t.delta").map(({ data }) => data)
    expect(deltas.filter((delta) => JSON.stringify(delta).includes('"reply":1'))).toHaveLength(deltas.length / 2)
    expect(events.at(-1)?.data).toMatchObject({ stop: "end", stops: ["end", "end"] })
  })

  it("are eight at most", async () => {
    expect(
      await errorOf(await gateway().exchange({ model: "any", thread: text("Hi"), params: { n: 9 } })),
    ).toMatchObject({
      status: 400,
      message: expect.stringContaining("params.n"),
    })
  })

  it("of a vendor that does not know them are refused by name, or go to the next target", async () => {
    const refused = client().chat.completions.create({ model: "claude2", messages: [...hello], n: 2 })
    await expect(refused).rejects.toMatchObject({ status: 400, param: "n" })
    const served = await client().chat.completions.create({ model: "pair", messages: [...hello], n: 2 })
    expect(served.choices).toHaveLength(2)
  })
})

describe("probabilities of tokens", () => {
  it("come whole and streamed", async () => {
    const asked = { model: "any", logprobs: true, top_logprobs: 2 }
    const whole = await client().chat.completions.create({ ...asked, messages: [...hello] })
    const tokens = whole.choices[0]?.logprobs?.content ?? []
    expect(tokens.map(({ token }) => token).join("")).toBe("You said: Hello river")
    expect(tokens[0]?.top_logprobs).toHaveLength(2)
    const streamed: Array<string> = []
    for await (const { choices } of await client().chat.completions.create({
      ...asked,
      messages: [...hello],
      stream: true,
    })) {
      for (const { token } of choices[0]?.logprobs?.content ?? []) streamed.push(token)
    }
    expect(streamed).toEqual(tokens.map(({ token }) => token))
  })

  it("come in the words of responses, of Gemini's API and of twp/1", async () => {
    const asked = { model: "any", input: "Hello", include: ["message.output_text.logprobs"], top_logprobs: 1 }
    expect(await jsonOf(await post("/openai/v1/responses", asked))).toMatchObject({
      output: [{ content: [{ logprobs: [{ token: "You ", logprob: -0.1 }, {}, {}] }] }],
    })
    const gemini = await post("/gemini/v1beta/models/any:generateContent", {
      contents: [{ role: "user", parts: [{ text: "Hello" }] }],
      generationConfig: { responseLogprobs: true, logprobs: 1 },
    })
    expect(await jsonOf(gemini)).toMatchObject({
      candidates: [{ logprobsResult: { chosenCandidates: [{ token: "You ", logProbability: -0.1 }, {}, {}] } }],
    })
    const twp = await replyOf(await gateway().exchange({ model: "any", thread: text("Hi"), params: { logprobs: 1 } }))
    expect(twp.blocks[0]).toMatchObject({
      t: "text",
      logprobs: [{ token: "You " }, { token: "said: " }, { token: "Hi" }],
    })
  })

  it("need to be asked for: alternatives alone are refused by name", async () => {
    const refused = client().chat.completions.create({ model: "any", messages: [...hello], top_logprobs: 2 })
    await expect(refused).rejects.toMatchObject({ status: 400, param: "top_logprobs" })
  })
})

describe("a service tier", () => {
  const costOf = async (model: string, params: object) => {
    const { usage } = await replyOf(await gateway().exchange({ model, thread: text("Hello, how are you?"), params }))
    return { cost: Number(usage.cost), tokens: usage.inTokens * 3 + usage.outTokens * 15, dims: usage.dims }
  }

  it("is billed by the price's factor", async () => {
    const fast = await costOf("any", { serviceTier: "priority" })
    expect(fast.cost).toBeCloseTo((fast.tokens * 2) / 1e6, 10)
    expect(fast.dims).toMatchObject({ tier_priority: 1 })
    const slow = await costOf("any", { serviceTier: "flex" })
    expect(slow.cost).toBeCloseTo((slow.tokens * 0.5) / 1e6, 10)
  })

  it("is not billed where the vendor says that it answered as usual", async () => {
    const usual: VendorScript = (call) => {
      call.head(200, { "content-type": "application/json" })
      const choices = [{ index: 0, message: { role: "assistant", content: "Hi" }, finish_reason: "stop" }]
      const usage = { prompt_tokens: 100, completion_tokens: 10 }
      call.end(JSON.stringify({ object: "chat.completion", service_tier: "default", choices, usage }))
    }
    gateway().vendor.script(usual)
    const { cost, tokens, dims } = await costOf("tiered", { serviceTier: "priority" })
    expect(cost).toBeCloseTo(tokens / 1e6, 10)
    expect(dims?.["tier_priority"]).toBeUndefined()
  })

  it("without a price is refused by its name; the usual one needs none", async () => {
    const refused = await errorOf(
      await gateway().exchange({ model: "main", thread: text("Hi"), params: { serviceTier: "priority" } }),
    )
    expect(refused).toMatchObject({ status: 400, detail: { capability: "serviceTier", serviceTier: "priority" } })
    const asked = client().chat.completions.create({ model: "main", messages: [...hello], service_tier: "priority" })
    await expect(asked).rejects.toMatchObject({ status: 400, param: "service_tier" })
    await client().chat.completions.create({ model: "main", messages: [...hello], service_tier: "auto" })
  })
})

describe("parameters", () => {
  const all = {
    seed: 7,
    frequency_penalty: 0.5,
    presence_penalty: 0.5,
    top_k: 40,
    min_p: 0.1,
    logit_bias: { "5": -100 },
    verbosity: "low",
    prediction: { type: "content", content: "Hello" },
    stop_token_ids: [7],
  }

  it("reach a vendor that has them", async () => {
    const reply = await post("/openai/v1/chat/completions", { model: "any", messages: hello, ...all })
    expect(reply.status).toBe(200)
    expect(simulated.calls.at(-1)?.body).toMatchObject(all)
  })

  it("with usual values are not sent, and serve everywhere", async () => {
    gateway().vendor.script(answering(short))
    const usual = {
      frequency_penalty: 0,
      presence_penalty: 0,
      n: 1,
      logit_bias: {},
      verbosity: "medium",
      service_tier: "default",
      logprobs: false,
    }
    const reply = await post("/openai/v1/chat/completions", { model: "claude2", messages: hello, ...usual })
    expect(reply.status).toBe(200)
    for (const name of Object.keys(usual)) expect(gateway().vendor.calls.at(-1)?.body).not.toHaveProperty(name)
  })

  it.each(Object.entries(all).filter(([name]) => name !== "top_k"))(
    "%s, which no target has, is refused by its name",
    async (name, value) => {
      const reply = await post("/openai/v1/chat/completions", { model: "claude2", messages: hello, [name]: value })
      expect(reply.status).toBe(400)
      const message = `${name}: this model does not support it`
      expect(await jsonOf(reply)).toMatchObject({ error: { param: name, code: "bad_request", message } })
      const next = await post("/openai/v1/chat/completions", { model: "pair", messages: hello, [name]: value })
      expect(next.status).toBe(200)
      expect(simulated.calls.at(-1)?.body).toMatchObject({ [name]: value })
    },
  )

  it("are clamped and stripped by the model's profile, and told", async () => {
    const vendorOptions = { openai: { promptCacheOptions: { mode: "implicit" } } }
    const params = { seed: 7, temperature: 0.5, frequencyPenalty: 1.5, n: 4, vendorOptions }
    const events = await readEvents(
      await gateway().exchange({ model: "limited", thread: text("Hi"), params, stream: true }),
    )
    const warning = events.find(({ event }) => event === "t.warn")
    expect(warning?.data).toMatchObject({
      code: "params_clamped",
      detail: { params: ["temperature", "frequencyPenalty", "n", "seed", "vendorOptions"] },
    })
    const { body } = simulated.calls.at(-1) ?? { body: {} }
    expect(body).toMatchObject({ frequency_penalty: 0.5, n: 2 })
    expect(body).not.toHaveProperty("seed")
    expect(body).not.toHaveProperty("temperature")
  })

  it("of hostile values are refused", async () => {
    for (const params of [
      { seed: 1.5 },
      { frequencyPenalty: 3 },
      { topK: 0 },
      { minP: 2 },
      { logprobs: 21 },
      { logitBias: { a: 1 } },
      { logitBias: { "1": 101 } },
      { verbosity: "loud" },
      { serviceTier: "A B" },
      { stopTokens: [-1] },
      { n: 0 },
      { vendorOptions: { nobody: {} } },
      { prediction: 1 },
    ]) {
      const { status } = await errorOf(await gateway().exchange({ model: "any", thread: text("Hi"), params }))
      expect(status, JSON.stringify(params)).toBe(400)
    }
  })
})

describe("moving pictures and sound", () => {
  const video = { t: "video", mime: "video/mp4", data: "AAAAIGZ0eXA=", clip: { from: 1, to: 2.5, fps: 2 } }
  const audio = { t: "audio", mime: "audio/wav", data: "UklGRiQAAAA=" }
  const thread = (block: object) => [{ role: "user", blocks: [{ t: "text", v: "What is it?" }, block] }]

  it("reach Gemini as its parts", async () => {
    gateway().vendor.script(answering(short))
    for (const block of [video, audio]) {
      expect((await gateway().exchange({ model: "cinema", thread: thread(block) })).status).toBe(200)
    }
    const [sawVideo, heard] = gateway()
      .vendor.calls.slice(-2)
      .map(({ body }) => JSON.stringify(body))
    expect(sawVideo).toContain('"videoMetadata":{"startOffset":"1s","endOffset":"2.5s","fps":2}')
    expect(heard).toContain('"inlineData":{"mimeType":"audio/wav","data":"UklGRiQAAAA="}')
  })

  it("are refused by models without the capability, and by vendors without words for them", async () => {
    expect(await errorOf(await gateway().exchange({ model: "gem", thread: thread(video) }))).toMatchObject({
      status: 400,
      detail: { capability: "videos" },
    })
    expect(await errorOf(await gateway().exchange({ model: "gem", thread: thread(audio) }))).toMatchObject({
      status: 400,
      detail: { capability: "audio" },
    })
    expect(await errorOf(await gateway().exchange({ model: "claude", thread: thread(video) }))).toMatchObject({
      status: 400,
      detail: { capability: "videos" },
    })
  })

  it("come from each client's API that has them", async () => {
    const parts = [
      { type: "text", text: "What?" },
      { type: "video_url", video_url: { url: "https://example.com/a.mp4" } },
      { type: "input_audio", input_audio: { data: "UklGRiQAAAA=", format: "wav" } },
    ]
    expect(
      (await post("/openai/v1/chat/completions", { model: "any", messages: [{ role: "user", content: parts }] }))
        .status,
    ).toBe(200)
    expect(simulated.calls.at(-1)?.body).toMatchObject({ messages: [{ content: parts }] })
  })

  it.each([
    ["gem", [{ type: "video_url", video_url: { url: "https://example.com/a.mp4" } }]],
    ["resp", [{ type: "file", file: { file_id: "file-1" } }]],
  ])("are refused by %s with the client's name of their field", async (model, content) => {
    const reply = await post("/openai/v1/chat/completions", { model, messages: [{ role: "user", content }] })
    expect([reply.status, await reply.json()]).toMatchObject([400, { error: { param: "messages" } }])
  })
})

describe("blocks of vendors' own tools", () => {
  const found = {
    type: "web_search_tool_result",
    tool_use_id: "s1",
    content: [
      { type: "web_search_result", title: "Rivers", url: "https://example.com/r", encrypted_content: "c2VhbGVk" },
    ],
  }
  const used = { type: "server_tool_use", id: "s1", name: "web_search", input: { query: "rivers" } }
  const searches: VendorScript = async (call) => {
    call.head()
    for (const frame of [
      { type: "message_start", message },
      { type: "content_block_start", index: 0, content_block: { ...used, input: {} } },
      { type: "content_block_delta", index: 0, delta: { type: "input_json_delta", partial_json: '{"query":' } },
      { type: "content_block_delta", index: 0, delta: { type: "input_json_delta", partial_json: '"rivers"}' } },
      { type: "content_block_stop", index: 0 },
      { type: "content_block_start", index: 1, content_block: found },
      { type: "content_block_stop", index: 1 },
      { type: "content_block_start", index: 2, content_block: { type: "text", text: "" } },
      { type: "content_block_delta", index: 2, delta: { type: "text_delta", text: "It flows." } },
      { type: "content_block_stop", index: 2 },
      { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 5 } },
      { type: "message_stop" },
    ])
      await call.write(anthropicFrame(frame))
    call.end()
  }

  it("go through three turns and two vendors", async () => {
    gateway().vendor.script(searches)
    const ask = { role: "user", content: "Where do rivers flow?" }
    const stream = await post("/anthropic/v1/messages", {
      model: "claude2",
      max_tokens: 100,
      stream: true,
      messages: [ask],
    })
    const frames = (await stream.text())
      .split("\n")
      .filter((line) => line.startsWith("data: "))
      .map((line) => JSON.parse(line.slice(6)))
    const starts = frames.filter(({ type }) => type === "content_block_start").map(({ content_block: block }) => block)
    expect(starts).toEqual([{ ...used, input: {} }, found, { type: "text", text: "" }])
    const pieces = frames.flatMap(({ delta }) => (delta?.type === "input_json_delta" ? [delta.partial_json] : []))
    expect(pieces.join("")).toBe('{"query":"rivers"}')

    // The second turn: the same vendor gets its blocks back as it made them.
    const said = { role: "assistant", content: [used, found, { type: "text", text: "It flows." }] }
    const again = {
      model: "claude2",
      max_tokens: 100,
      stream: true,
      messages: [ask, said, { role: "user", content: "And then?" }],
    }
    const second = await post("/anthropic/v1/messages", again)
    expect(second.headers.get("x-svc-warning")).toBeNull()
    await second.text()
    expect(gateway().vendor.calls.at(-1)?.body).toMatchObject({
      messages: [{}, { content: [used, found, { text: "It flows." }] }, {}],
    })

    // The third: another vendor reads what the user saw of the result; the call showed nothing.
    const third = await post("/anthropic/v1/messages", { ...again, model: "any", stream: false })
    expect(third.status).toBe(200)
    expect(third.headers.get("x-svc-warning")).toBe("blocks_omitted=server_tool_use")
    expect(simulated.calls.at(-1)?.body).toMatchObject({
      messages: [{}, { content: "Rivers\nhttps://example.com/rIt flows." }, {}],
    })
  })

  it("come back to OpenAI and to Gemini as they were", async () => {
    gateway().vendor.script(answering(short))
    const item = {
      type: "web_search_call",
      id: "ws_1",
      status: "completed",
      action: { type: "search", query: "rivers" },
    }
    const input = [{ role: "user", content: "Hi" }, item, { role: "user", content: "More" }]
    await post("/openai/v1/responses", { model: "resp", input })
    expect(gateway().vendor.calls.at(-1)?.body["input"]).toContainEqual(item)
    const part = { executableCode: { language: "PYTHON", code: "print(1)" } }
    const contents = [
      { role: "user", parts: [{ text: "Hi" }] },
      { role: "model", parts: [part, { codeExecutionResult: { outcome: "OUTCOME_OK", output: "1" } }] },
      { role: "user", parts: [{ text: "More" }] },
    ]
    await post("/gemini/v1beta/models/gem:generateContent", { contents })
    expect(JSON.stringify(gateway().vendor.calls.at(-1)?.body)).toContain(JSON.stringify(part))
    const other = await post("/gemini/v1beta/models/any:generateContent", { contents })
    expect(other.headers.get("x-svc-warning")).toBe("blocks_omitted=executableCode")
  })

  it("carry nothing else: a picture in a sealed block does not reach the vendor", async () => {
    gateway().vendor.script(answering(short))
    const smuggled = { type: "image", source: { type: "url", url: "https://example.com/a.png" } }
    const part = { executableCode: {}, inlineData: { mimeType: "image/png", data: "iVBORw0KGgo=" } }
    const asked = (model: string, dialect: string, made: object) =>
      gateway().exchange({
        model,
        thread: [
          ...text("Hi"),
          { role: "assistant", blocks: [{ t: "vendor", dialect, v: JSON.stringify(made) }] },
          ...text("So?"),
        ],
      })
    const reply = await asked("claude", "anthropic", smuggled)
    expect(reply.headers.get("x-svc-warning")).toBe("blocks_omitted=image")
    expect(JSON.stringify(gateway().vendor.calls.at(-1)?.body)).not.toContain("example.com")
    expect((await asked("resp", "openai", { type: "item_reference", id: "x" })).status).toBe(200)
    expect(JSON.stringify(gateway().vendor.calls.at(-1)?.body)).not.toContain("item_reference")
    expect((await asked("gem", "gemini", part)).status).toBe(200)
    expect(JSON.stringify(gateway().vendor.calls.at(-1)?.body)).not.toContain("inlineData")
  })

  it("and tools of hostile names are told in a header that stays a header", async () => {
    gateway().vendor.script(answering(short))
    const broken = String.fromCharCode(0xd800)
    const tools = [
      { type: broken },
      ...Array.from({ length: 500 }, (_, at) => ({ type: `tool ${at} ${"x".repeat(500)}` })),
    ]
    const reply = await post("/openai/v1/chat/completions", { model: "claude2", messages: hello, tools })
    expect(reply.status).toBe(200)
    expect(reply.headers.get("x-svc-warning")).toMatch(/^tools_omitted=%EF%BF%BD,tool%200%20x+,/)
    expect(reply.headers.get("x-svc-warning")?.length).toBeLessThan(2000)
    const deep = `{"type":"${"\\ud800"}","a":${"[".repeat(20_000)}${"]".repeat(20_000)}}`
    const thread = [
      ...text("Hi"),
      { role: "assistant", blocks: [{ t: "vendor", dialect: "openai", v: deep }] },
      ...text("So?"),
    ]
    expect((await gateway().exchange({ model: "claude", thread })).headers.get("x-svc-warning")).toBe(
      "blocks_omitted=unknown",
    )
  })

  it("files that a vendor keeps go to that vendor alone", async () => {
    const content = [
      { type: "document", source: { type: "file", file_id: "file_1" } },
      { type: "text", text: "Read" },
    ]
    const ask = { max_tokens: 10, messages: [{ role: "user", content }] }
    await post("/anthropic/v1/messages", { model: "claude", ...ask })
    const call = gateway().vendor.calls.at(-1)
    expect(JSON.stringify(call?.body)).toContain('"source":{"type":"file","file_id":"file_1"}')
    expect(call?.headers["anthropic-beta"]).toBe("files-api-2025-04-14")
    const other = await post("/anthropic/v1/messages", { model: "any", ...ask })
    expect(other.status).toBe(400)
    expect(await other.text()).toContain("file_id")
  })

  it("options of a vendor reach it, with the header that they need; others are not asked", async () => {
    const task_budget = { type: "tokens", total: 64_000 }
    const ask = { max_tokens: 10, messages: [{ role: "user", content: "Hi" }], output_config: { task_budget } }
    await post("/anthropic/v1/messages", { model: "claude2", ...ask })
    expect(gateway().vendor.calls.at(-1)?.body["output_config"]).toEqual({ task_budget })
    expect(gateway().vendor.calls.at(-1)?.headers["anthropic-beta"]).toBe("task-budgets-2026-03-13")
    expect((await post("/anthropic/v1/messages", { model: "any", ...ask })).status).toBe(200)
    const betas = await post(
      "/anthropic/v1/messages",
      { model: "any", max_tokens: 10, messages: ask.messages },
      { "anthropic-beta": "context-1m-2025-08-07, interleaved-thinking-2025-05-14" },
    )
    expect(betas.headers.get("x-svc-warning")).toBe("betas_omitted=context-1m-2025-08-07")
    const cached = { contents: [{ role: "user", parts: [{ text: "Hi" }] }], cachedContent: "cachedContents/1" }
    await post("/gemini/v1beta/models/gem:generateContent", cached)
    expect(gateway().vendor.calls.at(-1)?.body["cachedContent"]).toBe("cachedContents/1")
    expect((await post("/gemini/v1beta/models/any:generateContent", cached)).status).toBe(400)
  })
})

describe("more routes", () => {
  it("completions: whole and streamed, by OpenAI's SDK", async () => {
    const whole = await client().completions.create({ model: "any", prompt: "Hello river", n: 2, logprobs: 1 })
    expect(whole.choices.map(({ text, index, finish_reason }) => [text, index, finish_reason])).toEqual([
      ["You said: Hello river", 0, "stop"],
      ["You said: Hello river", 1, "stop"],
    ])
    expect(whole.choices[0]?.logprobs?.text_offset).toEqual([0, 4, 10, 16])
    expect(whole.usage?.completion_tokens).toBe(8)
    expect(simulated.calls.at(-1)?.body).toMatchObject({ max_tokens: 16 })
    let text = ""
    for await (const chunk of await client().completions.create({
      model: "any",
      prompt: "Hello river",
      stream: true,
    })) {
      text += chunk.choices[0]?.text ?? ""
    }
    expect(text).toBe("You said: Hello river")
    const echo = client().completions.create({ model: "any", prompt: "x", echo: true })
    await expect(echo).rejects.toMatchObject({ status: 400, param: "echo" })
    const suffix = client().completions.create({ model: "any", prompt: "x", suffix: "y" })
    await expect(suffix).rejects.toMatchObject({ status: 400, param: "suffix" })
    const two = client().completions.create({ model: "any", prompt: ["x", "y"] })
    await expect(two).rejects.toMatchObject({ status: 400, param: "prompt" })
  })

  it("the tokens of a response's input are counted", async () => {
    const count = await client().responses.inputTokens.count({ model: "any", input: "Hello river" })
    expect(count).toMatchObject({ object: "response.input_tokens" })
    expect(count.input_tokens).toBeGreaterThan(1)
  })

  it.each([
    ["/gemini/v1beta/interactions", /^\/gemini\/v1beta\/interactions is not supported: /],
    ["/gemini/v1beta/files:register", /^\/gemini\/v1beta\/files:register is not supported: upload the file/],
    ["/gemini/v1/models/main:computeTokens", /^:computeTokens is not supported: send the contents to :countTokens$/],
    [
      "/gemini/upload/v1/fileSearchStores/a:uploadToFileSearchStore",
      /fileSearchStores has no dialect here: .*passThrough/,
    ],
    ["/openai/v1/images/variations", /^\/openai\/v1\/images\/variations is not supported: .*images\/edits$/],
    ["/openai/v1/vector_stores/vs_1/files", /^\/openai\/v1\/vector_stores has no dialect here: .*passThrough/],
    ["/openai/v1/organization/users", /^\/openai\/v1\/organization is not supported: .*account of the vendor/],
    ["/anthropic/v1/skills?beta=true", /^\/anthropic\/v1\/skills has no dialect here: /],
    ["/vertex/v1/projects/p/locations/l/tuningJobs", /tuningJobs has no dialect here: /],
  ])("%s is refused by its name", async (path, message) => {
    const reply = await post(path, {})
    expect(reply.status).toBe(400)
    expect(await jsonOf(reply)).toMatchObject({ error: { message: expect.stringMatching(message) } })
  })
})
