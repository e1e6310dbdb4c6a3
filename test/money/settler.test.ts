/** Settling while the database is away: the journal keeps what it was given, torn lines and all. */
import { appendFileSync, mkdtempSync, readdirSync, readFileSync, renameSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import { openJournal, readJournal } from "../../src/money/journal.ts"
import { Ledger, type Settlement } from "../../src/money/ledger.ts"
import { layerSettler, Settler } from "../../src/money/settler.ts"
import { StoreUnavailable } from "../../src/store/unavailable.ts"

const folder = () => mkdtempSync(join(tmpdir(), "weir-journal-"))
const settlement = (ref: string): Settlement => ({
  ref,
  cost: 12_345_678_901_234_567_890n,
  record: {
    appId: "app",
    sessionId: undefined,
    purpose: "exchange",
    model: "main",
    vendor: "v",
    counts: { inTokens: 1, outTokens: 2, cacheReadTokens: 3, cacheWriteTokens: 4, dims: { reasoning: 1 } },
    estimatedReason: undefined,
    stop: "end",
    cacheNetSaving: -5n,
  },
})
const ownFile = (path: string) => join(path, `${process.pid}.journal`)
const deadFile = (path: string) => join(path, "999999999.journal")

describe("the journal", () => {
  it.effect("keeps what it was given, on disk, readable by its owner alone", () =>
    Effect.gen(function* () {
      const path = folder()
      const { append, pending } = yield* openJournal(path)
      yield* append(settlement("a"))
      yield* append(settlement("b"))
      expect(pending()).toEqual([settlement("a"), settlement("b")])
      expect(readJournal(ownFile(path))).toMatchObject({ settlements: [{ ref: "a" }, { ref: "b" }], torn: 0 })
      expect(readJournal(ownFile(path)).settlements[0]).toEqual(settlement("a"))
      expect(statSync(ownFile(path)).mode & 0o777).toBe(0o600)
    }).pipe(Effect.scoped),
  )

  it.effect("is empty when the last settlement has landed", () =>
    Effect.gen(function* () {
      const path = folder()
      const { append, landed, pending } = yield* openJournal(path)
      yield* append(settlement("a"))
      yield* append(settlement("b"))
      yield* landed("a")
      yield* landed("b")
      expect(pending()).toEqual([])
      expect(readFileSync(ownFile(path), "utf8")).toBe("")
    }).pipe(Effect.scoped),
  )

  it.effect("takes over what a dead process left; a torn last line is known, the ones before it are kept", () =>
    Effect.gen(function* () {
      const path = folder()
      yield* Effect.scoped(
        Effect.gen(function* () {
          const { append } = yield* openJournal(path)
          yield* append(settlement("a"))
          yield* append(settlement("b"))
        }),
      )
      const whole = readFileSync(ownFile(path), "utf8")
      renameSync(ownFile(path), deadFile(path))
      appendFileSync(deadFile(path), whole.slice(0, 70))
      expect(readJournal(deadFile(path)).torn).toBe(1)
      const { pending } = yield* openJournal(path)
      expect(pending().map(({ ref }) => ref)).toEqual(["a", "b"])
      expect(readdirSync(path)).toEqual([`${process.pid}.journal`])
      expect(readJournal(ownFile(path))).toMatchObject({ settlements: [{ ref: "a" }, { ref: "b" }], torn: 0 })
    }).pipe(Effect.scoped),
  )

  it.effect("a line that was tampered with does not count", () =>
    Effect.gen(function* () {
      const path = folder()
      yield* Effect.scoped(Effect.flatMap(openJournal(path), ({ append }) => append(settlement("a"))))
      const line = readFileSync(ownFile(path), "utf8")
      appendFileSync(ownFile(path), line.replace(`"outTokens":2`, `"outTokens":1`))
      expect(readJournal(ownFile(path))).toMatchObject({ settlements: [{ ref: "a" }], torn: 1 })
    }),
  )
})

describe("the settler", () => {
  /** A ledger that can be taken away. */
  const setup = () => {
    const database = { away: true, settled: [] as string[], released: [] as string[] }
    const gone = Effect.fail(new StoreUnavailable({ store: "postgres", cause: "away" }))
    const ledger = Layer.mock(Ledger, {
      settle: ({ ref }) =>
        Effect.suspend(() => {
          if (database.away) return gone
          if (ref === "poison") return gone
          database.settled.push(ref)
          return Effect.succeed(7n)
        }),
      release: (ref) =>
        Effect.suspend(() => {
          if (database.away) return gone
          database.released.push(ref)
          return Effect.succeed(7n)
        }),
    })
    const path = folder()
    return { database, path, layer: layerSettler({ folder: path, patienceMs: 10_000 }).pipe(Layer.provide(ledger)) }
  }

  it.effect("retries for a while, and lands when the database comes back in time", () => {
    const { database, layer } = setup()
    return Effect.gen(function* () {
      const { settle, deferred } = yield* Settler
      const fiber = yield* Effect.forkChild(settle(settlement("a")))
      yield* TestClock.adjust("5 seconds")
      database.away = false
      yield* TestClock.adjust("10 seconds")
      expect(yield* Fiber.join(fiber)).toEqual({ _tag: "Landed", balance: 7n })
      expect(deferred()).toEqual([])
    }).pipe(Effect.provide(layer))
  })

  it.effect("defers to the journal after its patience, and lands once when the database is back", () => {
    const { database, path, layer } = setup()
    return Effect.gen(function* () {
      const { settle, deferred } = yield* Settler
      const fiber = yield* Effect.forkChild(settle(settlement("a")))
      yield* TestClock.adjust("30 seconds")
      expect(yield* Fiber.join(fiber)).toEqual({ _tag: "Deferred" })
      expect(deferred().map(({ ref }) => ref)).toEqual(["a"])
      expect(readJournal(ownFile(path)).settlements.length).toBe(1)
      database.away = false
      yield* TestClock.adjust("3 seconds")
      expect(deferred()).toEqual([])
      expect(database.settled).toEqual(["a"])
    }).pipe(Effect.provide(layer))
  })

  it.effect(
    "lesson 12: what a failed turn reserved is given back, even when the give-back fails the first time",
    () => {
      const { database, layer } = setup()
      return Effect.gen(function* () {
        const { release } = yield* Settler
        const fiber = yield* Effect.forkChild(release("a"))
        yield* TestClock.adjust("3 seconds")
        expect(database.released).toEqual([])
        database.away = false
        yield* TestClock.adjust("10 seconds")
        yield* Fiber.join(fiber)
        expect(database.released).toEqual(["a"])
      }).pipe(Effect.provide(layer))
    },
  )

  it.effect("one settlement that cannot land keeps no other from it", () => {
    const { database, layer } = setup()
    return Effect.gen(function* () {
      const { settle, deferred } = yield* Settler
      const fiber = yield* Effect.forkChild(
        Effect.all([settle(settlement("poison")), settle(settlement("b"))], { concurrency: 2 }),
      )
      yield* TestClock.adjust("30 seconds")
      yield* Fiber.join(fiber)
      database.away = false
      yield* TestClock.adjust("3 seconds")
      expect(database.settled).toEqual(["b"])
      expect(deferred().map(({ ref }) => ref)).toEqual(["poison"])
    }).pipe(Effect.provide(layer))
  })
})
