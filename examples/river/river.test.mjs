// Two ways to test an application against Weir: a whole gateway with a scripted vendor, and mocks on Effect's clock.

import { hello, openaiChunk, openaiFrames, parseEvents, startGateway, startMockedExchange } from "@weir-gateway/testing"
import { Effect, Fiber, Result } from "effect"
import { TestClock } from "effect/testing"
import { expect, test } from "vitest"
import { answerTo } from "./river.mjs"

/** Runs a test that has resources, and lets go of them. */
const run = (effect) => Effect.runPromise(Effect.scoped(effect))

const answer = { words: ["A weir ", "regulates ", "a river."], inTokens: 12, outTokens: 6 }

test("the application prints what the vendor said, and it was paid for once", () =>
  run(
    Effect.gen(function* () {
      const gateway = yield* startGateway()
      gateway.vendor.script(async (call) => {
        call.head()
        for (const frame of openaiFrames(answer)) await call.write(frame)
        call.end()
      })
      const { baseUrl, keyId, key, orgId, ledger } = gateway
      const before = yield* ledger.balance(orgId, "USD")
      const said = yield* Effect.promise(async () => {
        let text = ""
        for await (const piece of answerTo({ baseUrl, credentials: { keyId, key } }, "What is a weir?")) text += piece
        return text
      })
      expect(said).toBe("A weir regulates a river.")
      expect(gateway.vendor.calls).toHaveLength(1)
      expect(yield* ledger.balance(orgId, "USD")).toBeLessThan(before)
    }),
  ))

test("a vendor that hangs up in mid-stream is a typed error", () =>
  run(
    Effect.gen(function* () {
      const gateway = yield* startGateway()
      gateway.vendor.script(async (call) => {
        call.head()
        await call.write(openaiChunk("A weir "))
        call.reset()
      })
      const { baseUrl, keyId, key } = gateway
      const options = { baseUrl, credentials: { keyId, key } }
      const failure = yield* Effect.promise(async () => {
        try {
          for await (const _ of answerTo(options, "What is a weir?"));
        } catch (error) {
          return error
        }
      })
      expect(failure).toMatchObject({ _tag: "WeirRefused", code: "upstream_disconnected", advice: "retry" })
    }),
  ))

test("ninety seconds of silence end a stream, and what was seen is billed: without waiting for any of them", () =>
  run(
    Effect.gen(function* () {
      const { client, hold } = yield* startMockedExchange({
        ask: { ...hello, stream: true },
        replies: [{ connectAfterMs: 0, head: { afterMs: 0 }, reads: [{ afterMs: 10, bytes: openaiChunk("A weir ") }] }],
      })
      yield* TestClock.adjust("2 minutes")
      const events = parseEvents(Result.getOrThrow(yield* Fiber.join(client)))
      expect(events.at(-1)).toMatchObject({ event: "t.err", data: { code: "upstream_idle_timeout" } })
      expect(hold()).toMatchObject({ state: "settled" })
    }).pipe(Effect.provide(TestClock.layer())),
  ))
