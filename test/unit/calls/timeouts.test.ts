/** The four tiers in both modes on the test clock: to the millisecond, at the real defaults. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Fiber, Result } from "effect"
import { TestClock } from "effect/testing"
import type { ReplyError } from "../../../src/calls/connection.ts"
import {
  hello,
  type MockReply,
  mockCatalogue,
  openaiChunk,
  parseEvents,
  startMockedExchange,
  vendorReplies,
} from "../../../src/testing/index.ts"

/** Runs an exchange against a scripted reply, and gives what its client had after each step of time. */
const run = (stream: boolean, reply: MockReply, steps: ReadonlyArray<number>) =>
  Effect.scoped(
    Effect.gen(function* () {
      const { client, vendor, hold } = yield* startMockedExchange({ ask: { ...hello, stream }, replies: [reply] })
      const ends: Array<boolean> = []
      for (const step of steps) {
        yield* TestClock.adjust(step)
        ends.push(client.pollUnsafe() !== undefined)
      }
      return { ends, error: errorIn(yield* Fiber.join(client)), aborted: vendor.aborted, hold: hold() }
    }),
  )

const errorIn = (outcome: Result.Result<string, ReplyError>) => {
  if (Result.isFailure(outcome)) return outcome.failure._tag === "ServiceError" ? outcome.failure : undefined
  const last = parseEvents(outcome.success).at(-1)
  return last?.event === "t.err" ? last.data : undefined
}

const dialectNames = ["openai-chat", "openai-responses", "anthropic", "gemini"] as const

const json = { "content-type": "application/json" }
const head = (stream: boolean) => ({ afterMs: 0, ...(stream ? {} : { headers: json }) })

describe.each([false, true])("stream: %s", (stream) => {
  it.effect("connect: 10 s to a connection", () =>
    Effect.gen(function* () {
      const { ends, error, aborted, hold } = yield* run(stream, {}, [9_999, 1])
      expect(ends).toEqual([false, true])
      expect(error).toMatchObject({ code: "upstream_connect_timeout", detail: { tier: "connect", timeoutMs: 10_000 } })
      expect(aborted).toBe(1)
      expect(hold?.state).toBe("released")
    }),
  )

  it.effect("ttfb: 120 s from the connection, whatever the connection took", () =>
    Effect.gen(function* () {
      const { ends, error, aborted, hold } = yield* run(stream, { connectAfterMs: 9_000 }, [9_000, 119_999, 1])
      expect(ends).toEqual([false, false, true])
      expect(error).toMatchObject({ code: "upstream_ttfb_timeout", detail: { tier: "ttfb", timeoutMs: 120_000 } })
      expect(aborted).toBe(1)
      expect(hold?.state).toBe("released")
    }),
  )

  it.effect("idle: 90 s of silence after the vendor began", () =>
    Effect.gen(function* () {
      const first = { afterMs: 10_000, bytes: stream ? openaiChunk("word") : `{"choices":` }
      const reply = { connectAfterMs: 0, head: head(stream), reads: [first] }
      const { ends, error, aborted, hold } = yield* run(stream, reply, [10_000, 89_999, 1])
      expect(ends).toEqual([false, false, true])
      expect(error).toMatchObject({ code: "upstream_idle_timeout", detail: { tier: "idle", timeoutMs: 90_000 } })
      expect(aborted).toBe(1)
      expect(hold?.state).toBe(stream ? "settled" : "released")
      expect(hold?.record?.estimatedReason).toBe(stream ? "upstream_timeout" : undefined)
    }),
  )
})

describe("total", () => {
  it.effect("never kills live frames before its hour, and then does", () =>
    Effect.gen(function* () {
      const reads = Array.from({ length: 100 }, () => ({ afterMs: 60_000, bytes: openaiChunk("tick") }))
      const reply = { connectAfterMs: 0, head: head(true), reads }
      const { ends, error, hold } = yield* run(true, reply, [3_599_999, 1])
      expect(ends).toEqual([false, true])
      expect(error).toMatchObject({ code: "upstream_total_timeout", detail: { tier: "total", timeoutMs: 3_600_000 } })
      expect(hold?.record?.counts.outTokens).toBeGreaterThan(0)
    }),
  )

  it.effect("not streaming: a body in drips ends with the first-frame tier, which bounds the whole body", () =>
    Effect.gen(function* () {
      const reads = Array.from({ length: 100 }, () => ({ afterMs: 60_000, bytes: " " }))
      const { ends, error } = yield* run(false, { connectAfterMs: 0, head: head(false), reads }, [119_999, 1])
      expect(ends).toEqual([false, true])
      expect(error).toMatchObject({ code: "upstream_ttfb_timeout" })
    }),
  )
})

describe("a client that is slower than the idle tier, and a vendor that has sent all", () => {
  const words = Array.from({ length: 4 }, () => "word ".repeat(60_000))
  const answer = { words, inTokens: 10, outTokens: 20 }

  it.effect.each(dialectNames)("%s: the stream ends whole", (dialect) =>
    Effect.gen(function* () {
      const frames = vendorReplies[dialect].frames(answer)
      const { client, hold } = yield* startMockedExchange({
        ask: { ...hello, stream: true },
        catalogue: mockCatalogue.replace("openai-chat", dialect),
        config: { outputTokenBytes: 100_000 },
        replies: [
          { connectAfterMs: 1, head: head(true), reads: frames.map((bytes) => ({ afterMs: 1, bytes })), endAfterMs: 1 },
        ],
        // Each event takes it longer than the idle tier of 90 s; it is never stalled.
        takesBytesPerS: 2000,
      })
      yield* TestClock.adjust("100 seconds")
      expect(client.pollUnsafe()).toBeUndefined()
      yield* TestClock.adjust("20 minutes")
      const outcome = yield* Fiber.join(client)
      const events = Result.isSuccess(outcome) ? parseEvents(outcome.success) : []
      expect(events.at(-1)).toMatchObject({ event: "t.close", data: { stop: "end" } })
      const text = events.flatMap(({ event, data }) => (event === "t.delta" && "v" in data ? [data.v] : [])).join("")
      expect(text).toBe(words.join(""))
      expect(hold()?.record).toMatchObject({ stop: "end", counts: { outTokens: 20 } })
      expect(hold()?.record?.estimatedReason).toBeUndefined()
    }).pipe(Effect.scoped),
  )
})
