/** The time for which an engine is left alone: it asks for one, and there is a limit. */
import { expect, it } from "@effect/vitest"
import { Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import { PolicyEngines } from "../../../../src/policies/engines/engines.ts"
import { webhook } from "../../../../src/policies/engines/webhook.ts"
import { layerMockVendorClient, makeMockVendor } from "../../../../src/testing/mock-vendor-client.ts"
import { TargetHealth } from "../../../../src/upstream/health.ts"

const access = { secret: undefined, identity: undefined, network: undefined }
const engine = webhook({ kind: "webhook", url: "http://guard.test/judge", secret: "env:A" }, access)
const policy = { id: "guarded", check: { kind: "engine", engine, problem: undefined, timeoutMs: 3000 } } as const

it.effect.each<readonly [after: string, waitMs: number]>([
  ["2", 2000],
  ["3600", 60_000],
  ["Thu, 01 Jan 1970 01:00:00 GMT", 60_000],
])("that asks for %s is left alone for %d ms", ([after, waitMs]) => {
  const vendor = makeMockVendor()
  const said = (status: number, body: string, headers: Readonly<Record<string, string>> = {}) => ({
    connectAfterMs: 0,
    head: { afterMs: 0, status, headers },
    reads: [{ afterMs: 0, bytes: body }],
    endAfterMs: 0,
  })
  const replies = [said(429, "", { "retry-after": after }), said(200, '{"flagged":false}')]
  const layer = PolicyEngines.layer.pipe(
    Layer.provide(Layer.mergeAll(TargetHealth.layer, layerMockVendorClient(vendor, replies))),
  )
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
