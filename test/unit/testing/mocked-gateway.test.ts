/** The gateway in memory: a client over `fetch`, on Effect's clock. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Fiber, Stream } from "effect"
import { TestClock } from "effect/testing"
import { makeClient } from "../../../src/client/effect/index.ts"
import { connect } from "../../../src/client/index.ts"
import { hello, openaiChunk, openaiFrames, startMockedGateway } from "../../../src/testing/index.ts"

const answer = { words: ["Hello", " river"], inTokens: 10, outTokens: 5 }
const atOnce = { connectAfterMs: 0, head: { afterMs: 0 } }
const none = { times: 0 }

describe("a gateway in memory", () => {
  it.effect("answers a client, whole and streamed, and settles each call", () =>
    Effect.gen(function* () {
      const reads = openaiFrames(answer).map((bytes) => ({ afterMs: 60_000, bytes }))
      const gateway = yield* startMockedGateway({ replies: [{ ...atOnce, reads, endAfterMs: 0 }] })
      const client = makeClient({ ...gateway, retry: none })
      const events = yield* Effect.forkChild(Stream.runCollect(client.stream(hello)), { startImmediately: true })
      yield* gateway.received(1)
      yield* TestClock.adjust("10 minutes")
      expect((yield* Fiber.join(events)).map(({ event }) => event).at(-1)).toBe("t.close")
      expect(gateway.holds()).toMatchObject([{ ref: "req_1", state: "settled" }])
    }),
  )

  it.effect("refuses as the gateway does: a model that is not there, another route, no money", () =>
    Effect.gen(function* () {
      const gateway = yield* startMockedGateway({ replies: [], balance: 1n })
      const weir = connect({ ...gateway, retry: none })
      const codeOf = (call: Promise<unknown>) => Effect.promise(() => call.catch((error: unknown) => error))
      expect(yield* codeOf(weir.exchange({ ...hello, model: "other" }))).toMatchObject({ code: "model_not_authorized" })
      expect(yield* codeOf(weir.budgets())).toMatchObject({ code: "not_found", requestId: "req_2" })
      expect(yield* codeOf(weir.exchange(hello))).toMatchObject({ code: "insufficient_balance", status: 402 })
      expect(gateway.vendor.requests).toEqual([])
    }),
  )

  it.effect("a reader that leaves ends the call at the vendor", () =>
    Effect.gen(function* () {
      const reads = [{ afterMs: 0, bytes: openaiChunk("Hello") }]
      const gateway = yield* startMockedGateway({ replies: [{ ...atOnce, reads }] })
      const weir = connect({ ...gateway, retry: none })
      const reading = (async () => {
        for await (const piece of weir.text(hello)) return piece
      })()
      yield* gateway.received(1)
      yield* TestClock.adjust("1 second")
      expect(yield* Effect.promise(() => reading)).toBe("Hello")
      yield* TestClock.adjust("1 second")
      expect(gateway.vendor.aborted).toBe(1)
    }),
  )

  it.effect("a reader that takes nothing ends its stream, which is billed", () =>
    Effect.gen(function* () {
      const reads = Array.from({ length: 2000 }, () => ({ afterMs: 1, bytes: openaiChunk("x".repeat(1000)) }))
      const gateway = yield* startMockedGateway({
        replies: [{ ...atOnce, reads, endAfterMs: 0 }],
        config: { outputTokenBytes: 100_000 },
      })
      const body = JSON.stringify({ ...hello, stream: true })
      const asked = gateway.fetch(`${gateway.baseUrl}/t1/exchange`, { method: "POST", body })
      yield* gateway.received(1)
      yield* TestClock.adjust("1 minute")
      expect((yield* Effect.promise(() => asked)).headers.get("content-type")).toBe("text/event-stream")
      const [hold] = gateway.holds()
      expect(hold).toMatchObject({ state: "settled" })
      expect(JSON.stringify(hold?.record, (_, value) => (typeof value === "bigint" ? String(value) : value))).toContain(
        "stream_backpressure",
      )
    }),
  )
})
