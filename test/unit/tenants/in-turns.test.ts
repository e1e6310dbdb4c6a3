/** Long lists let other work go on. */
import { Effect, Fiber } from "effect"
import { expect, it } from "vitest"
import { inTurns } from "../../../src/tenants/in-turns.ts"

it("other work has a turn every fifty entries", () =>
  Effect.runPromise(
    Effect.gen(function* () {
      let doneOf = 0
      const seen: Array<number> = []
      const watching = yield* Effect.forkChild(
        Effect.forever(
          Effect.andThen(
            Effect.sync(() => seen.push(doneOf)),
            Effect.yieldNow,
          ),
        ),
      )
      const items = Array.from({ length: 200 }, (_, at) => at)
      const each = (item: number, at: number) =>
        Effect.sync(() => {
          doneOf++
          return [item, at]
        })
      expect(yield* inTurns(items, each)).toEqual(items.map((at) => [at, at]))
      yield* Fiber.interrupt(watching)
      const between = seen.filter((done) => done > 0 && done < 200)
      expect(between.length).toBeGreaterThan(1)
      expect(between.filter((done) => done % 50 !== 49)).toEqual([])
    }),
  ))
