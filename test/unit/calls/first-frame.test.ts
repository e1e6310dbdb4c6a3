/** Failover is possible until the first frame that a client could have used, for any frames before it. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Fiber, Result } from "effect"
import { TestClock } from "effect/testing"
import {
  anthropicFrame,
  bedrockFrame,
  hello,
  type MockReply,
  openaiChunk,
  openaiFrame,
  openaiFrames,
  parseEvents,
  startMockedExchange,
} from "../../../src/testing/index.ts"

/** The second target speaks OpenAI's API. */
const catalogueOf = (dialect: string) => `
version: 1
vendors:
  - { id: v, dialect: ${dialect}, baseUrl: "http://vendor.test" }
  - { id: w, dialect: openai-chat, baseUrl: "http://second.test" }
models: [{ handle: main, maxOutput: 100, targets: [{ vendor: v, model: m, tier: 1 }, { vendor: w, model: m, tier: 2 }] }]
prices: [{ model: main, currency: USD, input: "3", output: "15", from: 1970-01-01 }]
orgs: [{ id: org, name: O, currency: USD, models: [main] }]
apps: [{ id: app, org: org }]
`

/** Frames without content: the opening of a reply, a keep-alive, and a failure. */
interface Opening {
  readonly opening: string | Uint8Array
  readonly alive: string | Uint8Array
  readonly fault: string | Uint8Array
}

const openings: Readonly<Record<string, Opening>> = {
  "openai-chat": {
    opening: openaiFrame({ choices: [{ index: 0, delta: { role: "assistant", content: "" } }] }),
    alive: ": ping\n\n",
    fault: openaiFrame({ error: { code: "server_error", message: "x" } }),
  },
  "openai-responses": {
    opening:
      anthropicFrame({ type: "response.created", response: { status: "in_progress" } }) +
      anthropicFrame({ type: "response.in_progress", response: { status: "in_progress" } }) +
      anthropicFrame({ type: "response.output_item.added", output_index: 0, item: { type: "message", content: [] } }),
    alive: anthropicFrame({ type: "keepalive", sequence_number: 1 }),
    fault: anthropicFrame({ type: "error", error: { code: "insufficient_quota", message: "x" } }),
  },
  anthropic: {
    opening:
      anthropicFrame({ type: "message_start", message: { usage: { input_tokens: 5, output_tokens: 1 } } }) +
      anthropicFrame({ type: "content_block_start", index: 0, content_block: { type: "text", text: "" } }),
    alive: anthropicFrame({ type: "ping" }),
    fault: anthropicFrame({ type: "error", error: { type: "overloaded_error", message: "x" } }),
  },
  gemini: {
    opening: openaiFrame({
      candidates: [{ index: 0, content: { role: "model", parts: [{ text: "" }] } }],
      usageMetadata: { promptTokenCount: 5 },
    }),
    alive: openaiFrame({ usageMetadata: { promptTokenCount: 5 } }),
    fault: openaiFrame({ error: { code: 503, status: "UNAVAILABLE" } }),
  },
  cohere: {
    opening:
      anthropicFrame({ type: "message-start", delta: { message: { role: "assistant", content: [] } } }) +
      anthropicFrame({ type: "content-start", index: 0, delta: { message: { content: { type: "text", text: "" } } } }),
    alive: ": ping\n\n",
    fault: anthropicFrame({ type: "message-end", delta: { finish_reason: "ERROR" } }),
  },
  bedrock: {
    opening: bedrockFrame("messageStart", { role: "assistant" }),
    alive: bedrockFrame("contentBlockStart", { contentBlockIndex: 0, start: {} }),
    fault: bedrockFrame("serviceUnavailableException", { message: "x" }, "exception"),
  },
}

const streamOf = (dialect: string) => ({
  afterMs: 0,
  headers: {
    "content-type": dialect === "bedrock" ? "application/vnd.amazon.eventstream" : "text/event-stream",
  },
})

const answers: MockReply = {
  connectAfterMs: 0,
  head: streamOf("openai-chat"),
  reads: [{ afterMs: 0, bytes: openaiFrames({ words: ["second"], inTokens: 1, outTokens: 1 }).join("") }],
  endAfterMs: 0,
}

const run = (dialect: string, first: MockReply, steps: ReadonlyArray<number>) =>
  Effect.gen(function* () {
    const { client, vendor, hold } = yield* startMockedExchange({
      ask: { ...hello, stream: true },
      catalogue: catalogueOf(dialect),
      replies: [{ connectAfterMs: 0, head: streamOf(dialect), ...first }, answers],
    })
    const asked: Array<number> = []
    for (const step of steps) {
      yield* TestClock.adjust(step)
      asked.push(vendor.requests.length)
    }
    const outcome = yield* Fiber.join(client)
    const events = Result.isSuccess(outcome) ? parseEvents(outcome.success) : []
    return { asked, events, hold: hold() }
  }).pipe(Effect.scoped)

const isSecond = (events: ReadonlyArray<{ readonly event: string; readonly data: object }>) => {
  expect(events.map(({ event }) => event).filter((event) => event !== "t.warn")).toEqual([
    "t.open",
    "t.delta",
    "t.usage",
    "t.close",
  ])
  expect(events.find(({ event }) => event === "t.delta")).toMatchObject({ data: { v: "second" } })
}

describe.each(Object.entries(openings))("%s", (dialect, { opening, alive, fault }) => {
  it.effect("that begins and says nothing is followed by the next target after the first-frame tier", () =>
    Effect.gen(function* () {
      const { asked, events } = yield* run(dialect, { reads: [{ afterMs: 10, bytes: opening }] }, [119_999, 1])
      expect(asked).toEqual([1, 2])
      isSecond(events)
    }),
  )

  it.effect("that is only kept alive is followed by the next target after the same tier", () =>
    Effect.gen(function* () {
      const pings = Array.from({ length: 400 }, () => ({ afterMs: 400, bytes: alive }))
      const reads = [{ afterMs: 10, bytes: opening }, ...pings]
      const { asked, events } = yield* run(dialect, { reads }, [119_999, 1])
      expect(asked).toEqual([1, 2])
      isSecond(events)
    }),
  )

  it.effect.each([0, 300])("that fails %i ms after its opening is followed by the next target", (afterMs) =>
    Effect.gen(function* () {
      const reads = [
        { afterMs: 10, bytes: opening },
        { afterMs, bytes: fault },
      ]
      const { asked, events, hold } = yield* run(dialect, { reads }, [10 + afterMs])
      expect(asked).toEqual([2])
      isSecond(events)
      // The first vendor's counts are not billed.
      expect(hold?.record?.counts).toMatchObject({ inTokens: 1, outTokens: 1 })
    }),
  )

  it.effect("that closes after its opening is followed by the next target", () =>
    Effect.gen(function* () {
      const first = { reads: [{ afterMs: 10, bytes: opening }], endAfterMs: 300 }
      isSecond((yield* run(dialect, first, [310])).events)
    }),
  )
})

describe("after the first frame", () => {
  const first = { afterMs: 10, bytes: openaiChunk("word") }

  it.effect("what says nothing keeps the idle tier alive for twice its limit at most", () =>
    Effect.gen(function* () {
      const reads = [first, ...Array.from({ length: 1000 }, () => ({ afterMs: 400, bytes: ": ping\n\n" }))]
      const { asked, events } = yield* run("openai-chat", { reads }, [10, 179_999, 1])
      expect(asked).toEqual([1, 1, 1])
      expect(events.at(-1)).toMatchObject({ event: "t.err", data: { code: "upstream_idle_timeout" } })
    }),
  )

  it.effect("each word begins it anew", () =>
    Effect.gen(function* () {
      const pings = Array.from({ length: 300 }, () => ({ afterMs: 400, bytes: ": ping\n\n" }))
      const reads = [first, ...pings, { afterMs: 1, bytes: openaiChunk("more") }, ...pings]
      const rest = openaiFrames({ words: ["end"], inTokens: 1, outTokens: 1 }).join("")
      const reply = { reads: [...reads, { afterMs: 1, bytes: rest }], endAfterMs: 1 }
      const { events } = yield* run("openai-chat", reply, [250_000])
      expect(events.at(-1)).toMatchObject({ event: "t.close" })
    }),
  )
})
