import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { describe, expect, it } from "vitest"
import { collectUnlessUsed } from "../../../src/cli/serve/collect-after-start.ts"

/** The times of the collections within some seconds. @param usedAtMs when the first call comes */
const collectionsOf = (usedAtMs: number): Promise<ReadonlyArray<number>> =>
  Effect.gen(function* () {
    const collections: Array<number> = []
    let nowMs = 100
    yield* Effect.forkChild(
      collectUnlessUsed(
        () => nowMs >= usedAtMs,
        () => collections.push(nowMs),
      ),
    )
    for (; nowMs < 5000; nowMs += 100) yield* TestClock.adjust("100 millis")
    return collections
  }).pipe(Effect.provide(TestClock.layer()), Effect.runPromise)

describe("the memory that a start took", () => {
  it("is given back once, when no call has come", async () => {
    expect(await collectionsOf(Number.POSITIVE_INFINITY)).toEqual([1000])
    expect(await collectionsOf(1500)).toEqual([1000])
  })

  it("is left to V8 when one has: a collection would stop calls, now or later", async () => {
    expect(await collectionsOf(100)).toEqual([])
    expect(await collectionsOf(500)).toEqual([])
  })
})
