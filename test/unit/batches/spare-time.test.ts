/** Requests of batches begin one after the other: calls that arrive meanwhile are served between them. */
import { setImmediate } from "node:timers/promises"
import { Effect } from "effect"
import { expect, it } from "vitest"
import { makeSpareTime } from "../../../src/batches/spare-time.ts"

it("requests that wait together do not begin in one turn of the event loop", async () => {
  const spareTime = makeSpareTime()
  let begun = 0
  let mostInTurn = 0
  const all = Effect.runPromise(
    Effect.forEach(
      Array.from({ length: 16 }),
      () =>
        Effect.andThen(
          spareTime,
          Effect.sync(() => {
            begun++
          }),
        ),
      { concurrency: "unbounded", discard: true },
    ),
  )
  for (let before = 0; before < 16; ) {
    mostInTurn = Math.max(mostInTurn, begun - before)
    before = begun
    await setImmediate()
  }
  await all
  // The turns that are looked at begin between two of them.
  expect(mostInTurn).toBeLessThanOrEqual(2)
})
