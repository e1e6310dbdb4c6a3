/**
 * Bills of long inputs, caches, service tiers and searches, computed by hand, in five dialects: streamed and whole, through a
 * gateway, from what scripted vendors report.
 */
import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import { formatAmount } from "../../src/money/amount.ts"
import {
  anthropicFrame,
  bedrockFrame,
  hello,
  newTestIds,
  openaiFrame,
  testCatalogue,
  type VendorCall,
} from "../../src/testing/index.ts"
import { eventually, holdsOf, useGateway } from "../support/gateway.ts"

const ids = newTestIds()
const models = ["main", "claude", "responses", "gemini", "bedrock"]
const price = `currency: USD, input: "3", output: "15", cacheRead: "0.3", cacheWrite: "3.75", cacheWrite1h: "6",
      dims: { web_search: "10000", reasoning: "20" }, tiers: { priority: "2", flex: "0.5" }, from: 2026-01-01,
      above: [{ tokens: 200000, input: "6", output: "22.5", cacheRead: "0.6", cacheWrite: "7.5", cacheWrite1h: "12", dims: { reasoning: "30" } }]`

const gateway = useGateway({
  ids,
  catalogue: (urls) =>
    testCatalogue(urls, ids)
      .replace("name: Test,", "name: Test, capabilities: { webSearch: true },")
      .replace("contextWindow: 10000", "contextWindow: 1000000")
      .replace("vendors:\n", `vendors:\n  - { id: aws, dialect: bedrock, baseUrl: "${urls.vendor}" }\n`)
      .replace("models:\n", `models:\n  - { handle: bedrock, maxOutput: 2000, targets: [{ vendor: aws, model: m }] }\n`)
      .replace("models: [main,", "models: [bedrock, main,")
      .replace(/ {2}- \{ model: (main|claude|responses|gemini), .*\n/g, "")
      .replace("prices:\n", `prices:\n${models.map((model) => `  - { model: ${model}, ${price} }\n`).join("")}`),
})

/** A vendor's report: `read` and `written` are beside `input`, `hour` is a part of `written`. */
interface Reported {
  readonly input: number
  readonly output: number
  readonly read?: number
  readonly written?: number
  readonly hour?: number
  readonly reasoning?: number
  readonly searches?: number
  readonly tier?: string
}

/** A reply in the format of one vendor, whole or as frames. */
type Reply = (reported: Reported) => { readonly body: object; readonly frames: ReadonlyArray<string | Uint8Array> }

const chat: Reply = ({ input, output, read = 0, written = 0, reasoning = 0, tier }) => {
  const total = input + read + written
  const usage = {
    prompt_tokens: total,
    completion_tokens: output,
    total_tokens: total + output,
    prompt_tokens_details: { cached_tokens: read, cache_write_tokens: written },
    completion_tokens_details: { reasoning_tokens: reasoning },
  }
  const served = tier === undefined ? {} : { service_tier: tier }
  return {
    body: { choices: [{ index: 0, message: { content: "Hi" }, finish_reason: "stop" }], usage, ...served },
    frames: [
      openaiFrame({ choices: [{ index: 0, delta: { content: "Hi" } }], ...served }),
      openaiFrame({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] }),
      openaiFrame({ choices: [], usage }),
      openaiFrame("[DONE]"),
    ],
  }
}

const messages: Reply = ({ input, output, read = 0, written = 0, hour = 0, reasoning = 0, searches = 0, tier }) => {
  const usage = {
    input_tokens: input,
    output_tokens: output,
    cache_read_input_tokens: read,
    cache_creation_input_tokens: written,
    cache_creation: { ephemeral_5m_input_tokens: written - hour, ephemeral_1h_input_tokens: hour },
    output_tokens_details: { thinking_tokens: reasoning },
    server_tool_use: { web_search_requests: searches },
    ...(tier !== undefined && { service_tier: tier }),
  }
  const message = { id: "msg_1", type: "message", role: "assistant", model: "m" }
  return {
    body: { ...message, content: [{ type: "text", text: "Hi" }], stop_reason: "end_turn", usage },
    frames: [
      // The count of the output comes at the end.
      anthropicFrame({
        type: "message_start",
        message: { ...message, content: [], usage: { ...usage, output_tokens: 1 } },
      }),
      anthropicFrame({ type: "content_block_start", index: 0, content_block: { type: "text", text: "" } }),
      anthropicFrame({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Hi" } }),
      anthropicFrame({ type: "content_block_stop", index: 0 }),
      anthropicFrame({ type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: output } }),
      anthropicFrame({ type: "message_stop" }),
    ],
  }
}

const responses: Reply = ({ input, output, read = 0, written = 0, reasoning = 0, searches = 0, tier }) => {
  const total = input + read + written
  const items = [
    ...Array.from({ length: searches }, (_, at) => ({
      type: "web_search_call",
      id: `ws_${at}`,
      status: "completed",
      action: { type: "search", query: "weather" },
    })),
    {
      type: "message",
      id: "msg_1",
      role: "assistant",
      content: [{ type: "output_text", text: "Hi", annotations: [] }],
    },
  ]
  const body = {
    id: "resp_1",
    object: "response",
    status: "completed",
    output: items,
    usage: {
      input_tokens: total,
      input_tokens_details: { cached_tokens: read, cache_write_tokens: written },
      output_tokens: output,
      output_tokens_details: { reasoning_tokens: reasoning },
      total_tokens: total + output,
    },
    ...(tier !== undefined && { service_tier: tier }),
  }
  return {
    body,
    frames: [
      ...items.map((item, output_index) => anthropicFrame({ type: "response.output_item.done", output_index, item })),
      anthropicFrame({ type: "response.completed", response: body }),
    ],
  }
}

const gemini: Reply = ({ input, output, read = 0, reasoning = 0, searches = 0 }) => {
  const queries = Array.from({ length: searches }, (_, at) => `query ${at}`)
  const body = {
    candidates: [
      {
        content: { role: "model", parts: [{ text: "Hi" }] },
        finishReason: "STOP",
        ...(searches > 0 && { groundingMetadata: { webSearchQueries: queries } }),
      },
    ],
    // Thoughts are beside the candidates, what was cached is in the prompt.
    usageMetadata: {
      promptTokenCount: input + read,
      cachedContentTokenCount: read,
      candidatesTokenCount: output - reasoning,
      thoughtsTokenCount: reasoning,
      totalTokenCount: input + read + output,
    },
  }
  return { body, frames: [openaiFrame(body)] }
}

const converse: Reply = ({ input, output, read = 0, written = 0, hour = 0 }) => {
  const usage = {
    inputTokens: input,
    outputTokens: output,
    cacheReadInputTokens: read,
    cacheWriteInputTokens: written,
    cacheDetails: [
      { ttl: "5m", inputTokens: written - hour },
      { ttl: "1h", inputTokens: hour },
    ].filter(({ inputTokens }) => inputTokens > 0),
    totalTokens: input + output + read + written,
  }
  return {
    body: { output: { message: { role: "assistant", content: [{ text: "Hi" }] } }, stopReason: "end_turn", usage },
    frames: [
      bedrockFrame("messageStart", { role: "assistant" }),
      bedrockFrame("contentBlockDelta", { contentBlockIndex: 0, delta: { text: "Hi" } }),
      bedrockFrame("contentBlockStop", { contentBlockIndex: 0 }),
      bedrockFrame("messageStop", { stopReason: "end_turn" }),
      bedrockFrame("metadata", { usage, metrics: { latencyMs: 1 } }),
    ],
  }
}

const replies: Readonly<Record<string, Reply>> = { main: chat, claude: messages, responses, gemini, bedrock: converse }

const answer = (model: string, reported: Reported) => async (call: VendorCall) => {
  const { body, frames } = replies[model]?.(reported) ?? chat(reported)
  if (!call.streaming) {
    call.head(200, { "content-type": "application/json" })
    call.end(JSON.stringify(body))
    return
  }
  call.head(200, { "content-type": model === "bedrock" ? "application/vnd.amazon.eventstream" : "text/event-stream" })
  for (const frame of frames) await call.write(frame)
  call.end()
}

const chargeOf = async (model: string, reported: Reported, path: string, body: object) => {
  gateway().vendor.script(answer(model, reported))
  const response = await gateway().call("POST", path, body, {
    "x-api-key": `${gateway().keyId}~${gateway().key}`,
  })
  expect([response.status, await response.text()]).toEqual([200, expect.any(String)])
  const { cost } = (await holdsOf(gateway())).at(-1) ?? {}
  return cost === undefined || cost === null ? cost : cost.replace(/\.?0+$/, "")
}

/** Words, what is reported, and the bill in US dollars. */
type Case = readonly [what: string, model: string, reported: Reported, usd: string]

const both = (cases: ReadonlyArray<Case>) =>
  cases.flatMap(([what, model, reported, usd]) =>
    [false, true].map((stream) => [stream ? `${what}, streamed` : what, model, reported, usd, stream] as const),
  )

describe("a bill", () => {
  it.each(
    both([
      // 200,000 × 3 + 1,000 × 15
      ...models.map((model): Case => ["at the threshold", model, { input: 200_000, output: 1000 }, "0.615"]),
      // 200,001 × 6 + 1,000 × 22.5
      ...models.map((model): Case => ["above it", model, { input: 200_001, output: 1000 }, "1.222506"]),
      // 10,000 × 6 + 240,000 × 0.6 + 500 × 22.5
      ...models.map(
        (model): Case => [
          "above it by its cached tokens",
          model,
          { input: 10_000, read: 240_000, output: 500 },
          "0.21525",
        ],
      ),
      // 20,000 × 3 + 100,000 × 0.3 + 500 × 15
      ...models.map(
        (model): Case => [
          "below it with cached tokens",
          model,
          { input: 20_000, read: 100_000, output: 500 },
          "0.0975",
        ],
      ),
      // 1,000 × 3 + 30,000 × 0.3 + 4,000 × 3.75 + 6,000 × 6 + 100 × 15
      ...["claude", "bedrock"].map(
        (model): Case => [
          "written for an hour",
          model,
          { input: 1000, read: 30_000, written: 10_000, hour: 6000, output: 100 },
          "0.0645",
        ],
      ),
      // 1,000 × 6 + 150,000 × 0.6 + 40,000 × 7.5 + 60,000 × 12 + 100 × 22.5
      ...["claude", "bedrock"].map(
        (model): Case => [
          "written for an hour above it",
          model,
          { input: 1000, read: 150_000, written: 100_000, hour: 60_000, output: 100 },
          "1.11825",
        ],
      ),
      // 100,000 × 6 + 150,000 × 7.5 + 100 × 22.5
      ...["main", "responses"].map(
        (model): Case => ["written above it", model, { input: 100_000, written: 150_000, output: 100 }, "1.72725"],
      ),
      // 1,000 × 3 + 400 × 15 + 600 × 20
      ...["main", "claude", "responses", "gemini"].map(
        (model): Case => ["of reasoning", model, { input: 1000, output: 1000, reasoning: 600 }, "0.021"],
      ),
      // 250,000 × 6 + 400 × 22.5 + 600 × 30
      ...["main", "claude", "responses", "gemini"].map(
        (model): Case => ["of reasoning above it", model, { input: 250_000, output: 1000, reasoning: 600 }, "1.527"],
      ),
    ]),
  )("%s of %s", async (_what, model, reported, usd, stream) => {
    const body = { ...hello, model, params: { maxTokens: 2000 }, stream }
    expect(await chargeOf(model, reported, "/t1/exchange", body)).toBe(usd)
  })

  it.each([
    // (250,000 × 6 + 1,000 × 22.5) × 2
    ["priority above the threshold", "priority", "priority", "3.045"],
    // (250,000 × 6 + 1,000 × 22.5) × 0.5
    ["flex above the threshold", "flex", "flex", "0.76125"],
    ["priority that was served at the usual tier", "priority", "default", "1.5225"],
  ])("%s", async (_what, serviceTier, tier, usd) => {
    for (const model of ["main", "responses"]) {
      for (const stream of [false, true]) {
        const body = { ...hello, model, params: { maxTokens: 2000, serviceTier }, stream }
        const reported = { input: 250_000, output: 1000, tier }
        expect(await chargeOf(model, reported, "/t1/exchange", body)).toBe(usd)
      }
    }
  })

  const asked = { model: "", max_tokens: 2000, messages: [{ role: "user", content: "Hi" }] }
  const search = { type: "web_search_20250305", name: "web_search", max_uses: 5 }
  it.each([
    // 10,000 × 3 + 100 × 15 + 3 × 0.01 a search
    ["below the threshold", { input: 10_000, output: 100, searches: 3 }, "0.0615"],
    // 250,000 × 6 + 100 × 22.5 + 3 × 0.01
    ["above it", { input: 250_000, output: 100, searches: 3 }, "1.53225"],
  ])("of hosted searches %s", async (_what, reported, usd) => {
    for (const model of ["claude", "responses", "gemini"]) {
      for (const stream of [false, true]) {
        const body = { ...asked, model, tools: [search], stream }
        expect(await chargeOf(model, reported, "/anthropic/v1/messages", body)).toBe(usd)
      }
    }
  })
})

describe("a hold", () => {
  const heldOf = async (bytes: number) => {
    let answered = () => {}
    const waiting = new Promise<void>((resolve) => {
      answered = resolve
    })
    gateway().vendor.script(async (call) => {
      await waiting
      await answer("main", { input: 10, output: 10 })(call)
    })
    const thread = [{ role: "user", blocks: [{ t: "text", v: "x".repeat(bytes) }] }]
    const calls = gateway().vendor.calls.length
    const response = gateway().exchange({ model: "main", thread, params: { maxTokens: 100 } })
    await eventually(() => gateway().vendor.calls.length > calls)
    const allotments = await Effect.runPromise(gateway().ledger.allotments)
    const held = allotments.filter(({ orgId, counter }) => orgId === gateway().orgId && counter === "USD")
    answered()
    expect((await response).status).toBe(200)
    return formatAmount(held.reduce((sum, each) => sum + each.held, 0n))
  }

  it("is at the usual price where a prompt cannot exceed the threshold", async () => {
    // 50,008 × 6, all written for an hour, + 100 × 20
    expect(await heldOf(150_000)).toBe("0.302048")
  })

  it("is at the higher price where it may, and what is billed is what the vendor reports", async () => {
    // 70,008 × 12 + 100 × 30
    expect(await heldOf(210_000)).toBe("0.843096")
    const [{ cost } = { cost: "" }] = (await holdsOf(gateway())).slice(-1)
    // 10 × 3 + 10 × 15
    expect(cost).toBe("0.0001800000")
  })
})
