/** A bug must not leave a client waiting: it gets an error, in the envelope or in the stream. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Result } from "effect"
import { TestClock } from "effect/testing"
import { Ledger } from "../../../src/money/ledger.ts"
import type { Settlement } from "../../../src/money/settlement.ts"
import { hello, openaiFrames, parseEvents, startMockedExchange } from "../../../src/testing/index.ts"

const whole = openaiFrames({ words: ["a"], inTokens: 1, outTokens: 1 })

/** A ledger with a bug: it throws on demand. */
const run = (stream: boolean, ledger: Partial<Ledger["Service"]>, frames: ReadonlyArray<string> = whole) => {
  const reply = {
    connectAfterMs: 0,
    head: { afterMs: 0, ...(stream ? {} : { headers: { "content-type": "application/json" } }) },
    reads: [{ afterMs: 0, bytes: stream ? frames.join("") : `{"choices":[{"message":{"content":"a"}}]}` }],
    endAfterMs: 0,
  }
  return Effect.scoped(
    Effect.gen(function* () {
      const { client } = yield* startMockedExchange({
        ask: { ...hello, stream },
        replies: [reply],
        ledger: Layer.mock(Ledger, {
          hold: ({ ref, orgId, currency, keyId, amount }) =>
            Effect.succeed({ ref, orgId, currency, keyId, amount, day: "2026-11-21", node: "n-1", balance: 1n }),
          parts: [],
          ...ledger,
        }),
      })
      yield* TestClock.adjust("1 second")
      const answer = yield* Fiber.join(client)
      if (Result.isFailure(answer)) return answer.failure
      return stream ? parseEvents(answer.success).at(-1) : answer.success
    }),
  )
}

describe("a bug", () => {
  it.effect("before the vendor is called is internal_error", () =>
    Effect.gen(function* () {
      expect(yield* run(true, { hold: () => Effect.die("bug") })).toMatchObject({ code: "internal_error" })
    }),
  )

  it.effect("at the settlement of a whole reply is internal_error", () =>
    Effect.gen(function* () {
      expect(yield* run(false, { settle: () => Effect.die("bug") })).toMatchObject({ code: "internal_error" })
    }),
  )

  it.effect("at the settlement holds nothing, and bills nothing twice: the same settlement is sent again", () =>
    Effect.gen(function* () {
      const settlements: Array<Settlement> = []
      const settle: Ledger["Service"]["settle"] = (settlement) =>
        settlements.push(settlement) === 1 ? Effect.die("bug") : Effect.succeed(1n)
      expect(yield* run(true, { settle })).toMatchObject({ data: { code: "internal_error" } })
      const [failed, settled] = settlements
      expect(settlements.length).toBe(2)
      expect(settled).toMatchObject({ hold: failed?.hold, record: { counts: { inTokens: 1 }, stop: "end" } })
      // The books know a settlement by its reference and its time.
      expect(settled?.atMs).toBe(failed?.atMs)
    }),
  )

  it.effect.each([
    ["before the books have it", () => Effect.die("bug")],
    ["after the books have it", (booked: () => void) => Effect.andThen(Effect.sync(booked), Effect.die("bug"))],
  ] as const)("at the settlement, %s, bills it once", ([, first]) =>
    Effect.gen(function* () {
      const booked = new Set<string>()
      let calls = 0
      const settle: Ledger["Service"]["settle"] = ({ hold: { ref }, atMs }) => {
        const book = () => void booked.add(`${ref} ${atMs}`)
        return calls++ === 0 ? first(book) : Effect.map(Effect.sync(book), () => 1n)
      }
      yield* run(true, { settle })
      expect(booked.size).toBe(1)
      expect(calls).toBe(2)
    }),
  )

  it.effect("at the release of a call that is not billed does not keep the client waiting", () =>
    Effect.gen(function* () {
      const answer = yield* run(true, { release: () => Effect.die("bug") }, [])
      expect(answer).toMatchObject({ code: "internal_error" })
    }),
  )

  it.effect("at the settlement of a stream is t.err, the last event", () =>
    Effect.gen(function* () {
      expect(yield* run(true, { settle: () => Effect.die("bug") })).toMatchObject({
        event: "t.err",
        data: { code: "internal_error", message: "The service could not complete the request" },
      })
    }),
  )
})
