/** Times of engines, on a clock of the test's own: waits that they ask for, and the deadline of a long text. */
import { expect, it } from "@effect/vitest"
import { Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import { PolicyEngines } from "../../../../src/policies/engines/engines.ts"
import { webhook } from "../../../../src/policies/engines/webhook.ts"
import {
  layerMockVendorClient,
  type MockReply,
  type MockVendor,
  makeMockVendor,
} from "../../../../src/testing/mock-vendor-client.ts"
import { TargetHealth } from "../../../../src/upstream/health.ts"

const access = { secret: undefined, identity: undefined, network: undefined }
const engine = webhook({ kind: "webhook", url: "http://guard.test/judge", secret: "env:A" }, access)
const policy = { id: "guarded", check: { kind: "engine", engine, problem: undefined, timeoutMs: 3000 } } as const

const said = (
  status: number,
  body: string,
  headers: Readonly<Record<string, string>> = {},
  afterMs = 0,
): MockReply => ({
  connectAfterMs: 0,
  head: { afterMs, status, headers },
  reads: [{ afterMs: 0, bytes: body }],
  endAfterMs: 0,
})
const layerOf = (vendor: MockVendor, replies: ReadonlyArray<MockReply>) =>
  PolicyEngines.layer.pipe(Layer.provide(Layer.mergeAll(TargetHealth.layer, layerMockVendorClient(vendor, replies))))

it.effect.each<readonly [after: string, waitMs: number]>([
  ["2", 2000],
  ["3600", 60_000],
  ["Thu, 01 Jan 1970 01:00:00 GMT", 60_000],
])("that asks for %s is left alone for %d ms", ([after, waitMs]) => {
  const vendor = makeMockVendor()
  const replies = [said(429, "", { "retry-after": after }), said(200, '{"flagged":false}')]
  const layer = layerOf(vendor, replies)
  const ask = Effect.gen(function* () {
    const { review } = yield* PolicyEngines
    const asked = yield* Effect.forkChild(Effect.result(review(policy, { text: "Good morning", direction: "inbound" })))
    yield* TestClock.adjust(1)
    const answer = yield* Fiber.join(asked)
    return answer._tag === "Success" ? answer.success.isFlagged : answer.failure.reason
  })
  return Effect.gen(function* () {
    expect(yield* ask).toBe("busy")
    yield* TestClock.adjust(waitMs - 100)
    expect(yield* ask).toBe("cooling")
    expect(vendor.requests.length).toBe(1)
    yield* TestClock.adjust(200)
    expect(yield* ask).toBe(false)
  }).pipe(Effect.provide(layer))
})

it.effect(
  "a long text has one deadline; pieces that come too late cost no call, and do not make the engine unhealthy",
  () => {
    const vendor = makeMockVendor()
    const slow = said(200, '{"flagged":false}', {}, 2000)
    return Effect.gen(function* () {
      const { review } = yield* PolicyEngines
      const asking = (text: string) => Effect.forkChild(Effect.result(review(policy, { text, direction: "inbound" })))
      const long = yield* Effect.forEach([1, 2, 3], () => asking("river ".repeat(200_000)))
      yield* TestClock.adjust(3000)
      for (const answer of yield* Effect.forEach(long, Fiber.join)) {
        expect(answer).toMatchObject({ _tag: "Failure", failure: { reason: "timeout" } })
      }
      // Four pieces of each at a time: those that begin after two seconds have one left.
      expect(vendor.requests.length).toBe(3 * 4 * 2)
      const short = yield* asking("Good morning")
      yield* TestClock.adjust(2001)
      expect(yield* Fiber.join(short)).toMatchObject({ _tag: "Success", success: { isFlagged: false } })
    }).pipe(Effect.provide(layerOf(vendor, [slow])))
  },
)
