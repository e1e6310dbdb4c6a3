/** An error of a vendor whose body is larger than any error: it is not read to its end. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Fiber, Result } from "effect"
import { TestClock } from "effect/testing"
import { hello, startMockedExchange } from "../../../src/testing/index.ts"

const kibibytes = (count: number) => "x".repeat(count * 1024)

describe("a vendor's error body", () => {
  it.effect("is read up to 64 KiB; then the call is torn down, whatever follows", () =>
    Effect.gen(function* () {
      const reads = Array.from({ length: 4 }, () => ({ afterMs: 10, bytes: kibibytes(20) }))
      const { client, vendor, hold } = yield* startMockedExchange({
        ask: { ...hello, stream: true },
        // It does not end.
        replies: [{ connectAfterMs: 1, head: { afterMs: 1, status: 500 }, reads }],
      })
      yield* TestClock.adjust(35)
      expect(client.pollUnsafe()).toBeUndefined()
      yield* TestClock.adjust(10)
      expect(client.pollUnsafe()).toBeDefined()
      const outcome = yield* Fiber.join(client)
      expect(Result.isFailure(outcome) ? outcome.failure : undefined).toMatchObject({ code: "upstream_error" })
      expect(vendor.aborted).toBe(1)
      expect(hold()?.state).toBe("released")
    }).pipe(Effect.scoped),
  )
})
