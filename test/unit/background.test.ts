/** Work beside requests: it survives what goes wrong in it, and an outage is logged twice. */

import { describe, expect, it } from "@effect/vitest"
import { Effect, Logger, Queue, References } from "effect"
import { TestClock } from "effect/testing"
import { BackgroundSpeed, lookForWork, runAfter, runEvery } from "../../src/background.ts"

/** Lines of the log. */
const recording = () => {
  const lines: Array<string> = []
  const logger = Logger.make(({ logLevel, message }) => {
    lines.push(`${logLevel} ${Array.isArray(message) ? message[0] : message}`)
  })
  return { lines, layer: Logger.layer([logger]) }
}

describe("lookForWork", () => {
  it.effect("looks each second, and more often while there is work, and for a while after it", () =>
    Effect.gen(function* () {
      let looks = 0
      let isThere = false
      yield* lookForWork(
        "250 millis",
        "A job",
        Effect.sync(() => {
          looks++
          return isThere
        }),
      )
      const inASecond = Effect.gen(function* () {
        const before = looks
        yield* TestClock.adjust("1 second")
        return looks - before
      })
      yield* TestClock.adjust("500 millis")
      expect([looks, yield* inASecond]).toEqual([1, 1])
      isThere = true
      yield* TestClock.adjust("500 millis")
      expect([yield* inASecond, yield* inASecond]).toEqual([4, 4])
      isThere = false
      expect([yield* inASecond, yield* inASecond]).toEqual([4, 4])
      yield* TestClock.adjust("10 seconds")
      expect([yield* inASecond, yield* inASecond]).toEqual([1, 1])
    }),
  )
})

describe("runEvery", () => {
  it.effect("runs at once, and an interval after each end, until the scope closes", () =>
    Effect.gen(function* () {
      const startedAtMs: Array<number> = []
      const job = Effect.andThen(
        Effect.clockWith((clock) => Effect.sync(() => startedAtMs.push(clock.currentTimeMillisUnsafe()))),
        Effect.sleep(300),
      )
      yield* Effect.scoped(Effect.andThen(runEvery("1 second", "A job", job), TestClock.adjust("3 seconds")))
      yield* TestClock.adjust("1 minute")
      expect(startedAtMs).toEqual([0, 1300, 2600])
    }),
  )

  it.effect("waits before the first time, where it is asked to", () =>
    Effect.gen(function* () {
      let runs = 0
      yield* runEvery(
        "1 hour",
        "A job",
        Effect.sync(() => runs++),
        { first: "1 minute" },
      )
      const counts: Array<number> = []
      for (const millis of [59_999, 1, 3_599_999, 1]) {
        yield* TestClock.adjust(millis)
        counts.push(runs)
      }
      expect(counts).toEqual([0, 1, 1, 2])
    }),
  )

  it.effect("comes more often for tests that wait for it", () =>
    Effect.gen(function* () {
      let runs = 0
      yield* runEvery(
        "10 seconds",
        "A job",
        Effect.sync(() => runs++),
      )
      yield* TestClock.adjust("4500 millis")
      expect(runs).toBe(5)
    }).pipe(Effect.provideService(BackgroundSpeed, 10)),
  )

  it.effect("goes on after failures and defects, which are logged once until it works again", () => {
    const { lines, layer } = recording()
    const outcomes = [Effect.void, Effect.fail("down"), Effect.die("a fault"), Effect.fail("down"), Effect.void]
    let runs = 0
    const job = Effect.suspend((): Effect.Effect<void, string> => outcomes[runs++] ?? Effect.void)
    return Effect.gen(function* () {
      yield* runEvery("1 second", "A job", job)
      yield* TestClock.adjust("10 seconds")
      expect(runs).toBe(11)
      expect(lines).toEqual(["Warn A job: failed, and will be tried again", "Info A job: works again"])
    }).pipe(Effect.provide(layer), Effect.provideService(References.MinimumLogLevel, "All"))
  })
})

describe("runAfter", () => {
  it.effect("runs once for each time that something has happened", () =>
    Effect.gen(function* () {
      const happened = yield* Queue.unbounded<void>()
      let runs = 0
      const job = Effect.suspend(() => (++runs === 1 ? Effect.fail("the first") : Effect.void))
      yield* runAfter(Queue.take(happened), "A job", job)
      yield* TestClock.adjust("1 second")
      expect(runs).toBe(0)
      for (let times = 1; times <= 3; times++) {
        yield* Queue.offer(happened, undefined)
        yield* TestClock.adjust("1 second")
        expect(runs).toBe(times)
      }
    }),
  )
})
