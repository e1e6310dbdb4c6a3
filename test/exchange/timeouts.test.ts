/** The four tiers in both modes on the test clock: to the millisecond, at the real defaults. */
import { mkdtempSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Result } from "effect"
import { TestClock } from "effect/testing"
import { WeirConfig } from "../../src/config.ts"
import type { ReplyError } from "../../src/exchange/client-link.ts"
import { Exchanges } from "../../src/exchange/exchange.ts"
import { defaultTimeouts, resolveTimeouts } from "../../src/exchange/tiers.ts"
import { layerSettler } from "../../src/money/settler.ts"
import { makeSealer } from "../../src/store/seal.ts"
import {
  hello,
  layerMemoryGate,
  layerMemoryLedger,
  layerMockVendorClient,
  layerPlainServices,
  layerStaticCatalogue,
  type MockReply,
  makeLedgerBook,
  makeMockVendor,
  openaiChunk,
  parseEvents,
} from "../../src/testing/index.ts"
import { caller, catalogue, textOf } from "./fixture.ts"

/** Runs an exchange against a scripted reply, and gives what its client had after each step of time. */
const run = (stream: boolean, reply: MockReply, steps: ReadonlyArray<number>) => {
  const vendor = makeMockVendor()
  const book = makeLedgerBook({ org: 10n ** 12n })
  const services = Exchanges.layer.pipe(
    Layer.provide(layerSettler({ folder: mkdtempSync(join(tmpdir(), "weir-test-")), patienceMs: 10_000 })),
    Layer.provide(
      Layer.mergeAll(
        layerPlainServices.pipe(
          Layer.provideMerge(layerMemoryGate({ idempotencyTtlMs: 60_000, sealer: makeSealer(undefined) })),
        ),
        layerMockVendorClient(vendor, [reply]),
        layerMemoryLedger(book),
        layerStaticCatalogue(catalogue),
        WeirConfig.layerWith({ env: "test" }),
      ),
    ),
  )
  return Effect.gen(function* () {
    const exchanges = yield* Exchanges
    const body = Buffer.from(JSON.stringify({ ...hello, stream }))
    const link = yield* exchanges.start({ requestId: "req", caller, body }, { cut: () => undefined })
    const client = yield* Effect.forkChild(
      Effect.flatMap(link.reply, (reply) =>
        reply._tag === "Json" ? Effect.succeed(reply.body) : textOf(reply.events),
      ).pipe(Effect.result),
    )
    const ends: Array<boolean> = []
    for (const step of steps) {
      yield* TestClock.adjust(step)
      ends.push(client.pollUnsafe() !== undefined)
    }
    const outcome = yield* Fiber.join(client)
    return { ends, error: errorIn(outcome), aborted: vendor.aborted, hold: book.holds.get("req") }
  }).pipe(Effect.provide(services))
}

const errorIn = (outcome: Result.Result<string, ReplyError>) => {
  if (Result.isFailure(outcome)) return outcome.failure._tag === "ServiceError" ? outcome.failure : undefined
  const last = parseEvents(outcome.success).at(-1)
  return last?.event === "t.err" ? last.data : undefined
}

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

describe("the tiers of a call", () => {
  const none = { profile: {}, variables: undefined, vendor: undefined, model: undefined }
  it.each([
    ["defaults", none, defaultTimeouts.idle],
    ["the environment's profile over them", { ...none, profile: { idle: 1 } }, 1],
    ["a variable over the profile", { ...none, profile: { idle: 1 }, variables: { idle: 2 } }, 2],
    ["the vendor over a variable", { ...none, variables: { idle: 2 }, vendor: { idle: 3 } }, 3],
    ["the model over the vendor", { ...none, vendor: { idle: 3 }, model: { idle: 4 } }, 4],
  ])("%s", (_what, layers, idle) => {
    expect(resolveTimeouts(layers)).toEqual({ ...defaultTimeouts, idle })
  })
})
