/** A bug of ours must not leave a client waiting: it is told, in the envelope or in the stream. */
import { mkdtempSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Layer, Result } from "effect"
import { TestClock } from "effect/testing"
import { WeirConfig } from "../../src/config.ts"
import { Exchanges } from "../../src/exchange/exchange.ts"
import { Ledger } from "../../src/money/ledger.ts"
import { layerSettler } from "../../src/money/settler.ts"
import { makeSealer } from "../../src/store/seal.ts"
import {
  hello,
  layerMemoryGate,
  layerMockVendorClient,
  layerPlainServices,
  layerStaticCatalogue,
  makeMockVendor,
  openaiFrames,
  parseEvents,
} from "../../src/testing/index.ts"
import { caller, catalogue, textOf } from "./fixture.ts"

/** A ledger with a bug: it throws where it is told to. */
const run = (stream: boolean, ledger: Partial<Ledger["Service"]>) => {
  const frames = openaiFrames({ words: ["a"], inTokens: 1, outTokens: 1 })
  const reply = {
    connectAfterMs: 0,
    head: { afterMs: 0, ...(stream ? {} : { headers: { "content-type": "application/json" } }) },
    reads: [{ afterMs: 0, bytes: stream ? frames.join("") : `{"choices":[{"message":{"content":"a"}}]}` }],
    endAfterMs: 0,
  }
  const services = Exchanges.layer.pipe(
    Layer.provide(layerSettler({ folder: mkdtempSync(join(tmpdir(), "weir-test-")), patienceMs: 1000 })),
    Layer.provide(
      Layer.mergeAll(
        layerPlainServices.pipe(
          Layer.provideMerge(layerMemoryGate({ idempotencyTtlMs: 60_000, sealer: makeSealer(undefined) })),
        ),
        layerMockVendorClient(makeMockVendor(), [reply]),
        Layer.mock(Ledger, { hold: () => Effect.succeed(1n), renew: () => Effect.void, ...ledger }),
        layerStaticCatalogue(catalogue),
        WeirConfig.layerWith({ env: "test" }),
      ),
    ),
  )
  return Effect.gen(function* () {
    const body = Buffer.from(JSON.stringify({ ...hello, stream }))
    const link = yield* (yield* Exchanges).start({ requestId: "req", caller, body }, { cut: () => undefined })
    yield* TestClock.adjust("1 second")
    const answer = yield* Effect.result(link.reply)
    if (Result.isFailure(answer)) return answer.failure
    if (answer.success._tag === "Json") return answer.success.body
    return parseEvents(yield* textOf(answer.success.events)).at(-1)
  }).pipe(Effect.provide(services))
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

  it.effect("at the settlement of a stream is t.err, the last event", () =>
    Effect.gen(function* () {
      expect(yield* run(true, { settle: () => Effect.die("bug") })).toMatchObject({
        event: "t.err",
        data: { code: "internal_error", message: "The service could not complete the request" },
      })
    }),
  )
})
