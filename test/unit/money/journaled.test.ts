/** Replies after the journal: they say the balance that is booked later, and nothing is lent twice meanwhile. */
import fs, { mkdtempSync, readdirSync, rmSync } from "node:fs"
import { syncBuiltinESMExports } from "node:module"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, describe, expect, it } from "@effect/vitest"
import { Clock, Context, Effect, Exit, Fiber, Layer, Scope } from "effect"
import { TestClock } from "effect/testing"
import { readJournal } from "../../../src/money/journal/read-journal.ts"
import { Ledger } from "../../../src/money/ledger.ts"
import { LedgerStore } from "../../../src/money/ledger-store.ts"
import type { Settlement } from "../../../src/money/settlement.ts"
import { Settler } from "../../../src/money/settler.ts"
import { StoreUnavailable } from "../../../src/store/unavailable.ts"
import { MemoryBooks, makeStore } from "../../../src/testing/ledger-store-memory.ts"
import { layerTestConfig } from "../../../src/testing/stores.ts"
import { holdOf, keptResponse, ledgerOver, settlementOf, unit } from "../../support/books.ts"

const orgId = "org"
const folders: Array<string> = []
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
})

/** A node whose books can be slow, away, or ready. */
const startNode = Effect.gen(function* () {
  const dataDir = mkdtempSync(join(tmpdir(), "weir-journaled-"))
  folders.push(dataDir)
  const books = new MemoryBooks()
  const state = { isAway: false, slowMs: 0 }
  const store = makeStore(books, Clock.currentTimeMillis)
  const ledger = yield* ledgerOver(
    LedgerStore.of({
      ...store,
      settle: (settlement, mayBeOpen) =>
        Effect.suspend(() =>
          state.isAway
            ? Effect.fail(new StoreUnavailable({ store: "postgres", cause: "away" }))
            : Effect.delay(store.settle(settlement, mayBeOpen), state.slowMs),
        ),
    }),
  )
  const scope = yield* Scope.make()
  const settler = yield* Settler.layer.pipe(
    Layer.provide([Layer.succeed(Ledger, ledger), layerTestConfig({ dataDir, replyAfter: "journaled" })]),
    Layer.buildWithScope(scope),
    Effect.map(Context.get(Settler)),
  )
  yield* ledger.topup({ id: "start", orgId, currency: "USD", amount: 100n * unit })
  const onDisk = () => {
    const folder = join(dataDir, "journal")
    return readdirSync(folder)
      .filter((name) => name.endsWith(".journal"))
      .flatMap((name) => readJournal(join(folder, name)).settlements)
  }
  return { books, state, ledger, settler, onDisk, stop: Scope.close(scope, Exit.void), dataDir }
})

const failing = (done: unknown): void => {
  if (typeof done === "function") setImmediate(() => done(new Error("EIO: i/o error, write")))
}

const withReply = (settlement: Settlement): Settlement => ({ ...settlement, reply: { sealed: "AAAA" } })
const balanceOf = (books: MemoryBooks) => books.balance(orgId, "USD")

describe("a reply after the journal", () => {
  it.effect("tells the balance that the books have later, one after the other, and keeps it with the reply", () =>
    Effect.gen(function* () {
      const { books, state, ledger, settler, onDisk } = yield* startNode
      const holds = [
        yield* ledger.hold(holdOf(orgId, 5n * unit, "first")),
        yield* ledger.hold(holdOf(orgId, 5n * unit, "second")),
      ]
      state.slowMs = 1000
      const told: Array<bigint> = []
      for (const hold of holds) {
        const settled = yield* settler.settle(withReply(settlementOf(hold, 2n * unit)))
        if (settled._tag === "Settled") told.push(settled.balance)
      }
      expect(told).toEqual([98n * unit, 96n * unit])
      expect(balanceOf(books)).toBe(100n * unit)
      expect(onDisk().map(({ hold }) => hold.requestId)).toEqual(["first", "second"])
      // They are on their way: nothing is wrong.
      expect(settler.deferred()).toEqual([])
      yield* TestClock.adjust("2 seconds")
      expect(balanceOf(books)).toBe(96n * unit)
      const kept = yield* Effect.forEach(["first", "second"], (id) => ledger.requestState(orgId, "key", id))
      expect(kept).toMatchObject(told.map((balance) => ({ _tag: "Billed", reply: { balance } })))
    }).pipe(Effect.scoped),
  )

  it.effect("frees what was held beyond the cost at once, and gives nothing back that is spent", () =>
    Effect.gen(function* () {
      const { books, state, ledger, settler } = yield* startNode
      const hold = yield* ledger.hold(holdOf(orgId, 80n * unit))
      state.isAway = true
      yield* settler.settle(settlementOf(hold, 30n * unit))
      // 70 are left: the books know of none of it.
      const next = yield* ledger.hold(holdOf(orgId, 70n * unit))
      expect((yield* Effect.exit(ledger.hold(holdOf(orgId, 1n * unit))))._tag).toBe("Failure")
      yield* ledger.release(next)
      const [own] = yield* ledger.allotments
      expect(own).toMatchObject({ held: 30n * unit })
      yield* TestClock.adjust("10 seconds")
      yield* ledger.returnIdle
      yield* TestClock.adjust("90 seconds")
      yield* ledger.returnIdle
      const left = [...books.allotments.values()].filter(({ counter }) => counter === "USD")
      expect(left).toMatchObject([{ granted: 30n * unit, spent: 0n }])
      state.isAway = false
      yield* TestClock.adjust("10 seconds")
      expect(balanceOf(books)).toBe(70n * unit)
      const [after] = (yield* ledger.allotments).filter(({ counter }) => counter === "USD")
      expect((after?.free ?? 0n) + (after?.held ?? 0n)).toBe(0n)
    }).pipe(Effect.scoped),
  )

  it.effect("gets its money back if another exchange has spent its request id", () =>
    Effect.gen(function* () {
      const { books, ledger, settler } = yield* startNode
      const [one, other] = [
        yield* ledger.hold(holdOf(orgId, 5n * unit, "twice")),
        yield* ledger.hold(holdOf(orgId, 5n * unit, "twice")),
      ]
      yield* settler.settle(settlementOf(one, 5n * unit))
      yield* settler.settle(settlementOf(other, 5n * unit))
      yield* TestClock.adjust("1 second")
      expect(balanceOf(books)).toBe(95n * unit)
      const [own] = (yield* ledger.allotments).filter(({ counter }) => counter === "USD")
      const row = [...books.allotments.values()].find(({ counter }) => counter === "USD")
      expect((own?.free ?? 0n) + (own?.held ?? 0n)).toBe((row?.granted ?? 0n) - (row?.spent ?? 0n))
      expect(own?.held).toBe(0n)
    }).pipe(Effect.scoped),
  )

  it.effect("comes after the books if its client will ask them for more: a job, a response that is kept, a batch", () =>
    Effect.gen(function* () {
      const { state, ledger, settler, onDisk } = yield* startNode
      const hold = yield* ledger.hold(holdOf(orgId, 5n * unit))
      const job = {
        id: "job",
        kind: "video",
        targetModel: "m",
        vendorJob: "v",
        isOwn: false,
        view: {},
        timeoutMs: 1000,
      }
      const plain = settlementOf(hold, unit)
      state.slowMs = 1000
      for (const settlement of [
        { ...plain, kept: keptResponse },
        { ...plain, job },
        { ...plain, hold: { ...hold, node: "batch:b" } },
      ]) {
        const settling = yield* Effect.forkChild(settler.settle(settlement), { startImmediately: true })
        yield* TestClock.adjust(500)
        expect(settling.pollUnsafe()).toBeUndefined()
        expect(onDisk()).toEqual([])
        yield* TestClock.adjust(1000)
        yield* Fiber.join(settling)
      }
    }).pipe(Effect.scoped),
  )

  it.effect("comes after the books while more than a thousand others have not reached them", () =>
    Effect.gen(function* () {
      const { state, ledger, settler } = yield* startNode
      const holds = yield* Effect.forEach(Array.from({ length: 1025 }), () => ledger.hold(holdOf(orgId, 1n)))
      state.slowMs = 1000
      const settling = yield* Effect.forEach(holds, (hold) =>
        Effect.forkChild(settler.settle(settlementOf(hold, 1n)), { startImmediately: true }),
      )
      // The disk is real, and the clock is not.
      yield* Effect.promise(async () => {
        while (settling.filter((each) => each.pollUnsafe() !== undefined).length < 1024) {
          await new Promise((resolve) => setTimeout(resolve, 5))
        }
      })
      expect(settling.filter((each) => each.pollUnsafe() === undefined)).toHaveLength(1)
      yield* TestClock.adjust("3 seconds")
      yield* Effect.forEach(settling, Fiber.join)
    }).pipe(Effect.scoped),
  )

  it.effect(
    "comes after the books if the disk hangs, or cannot be written, with the balance that is kept with it",
    () =>
      Effect.gen(function* () {
        const { books, ledger, settler } = yield* startNode
        const [first, second] = [
          yield* ledger.hold(holdOf(orgId, 5n * unit, "hangs")),
          yield* ledger.hold(holdOf(orgId, 5n * unit, "fails")),
        ]
        // The books know more than this node.
        yield* ledger.topup({ id: "more", orgId, currency: "USD", amount: 50n * unit })
        const { fdatasync, write } = fs
        const told: Array<unknown> = []
        try {
          Object.assign(fs, { write: (...args: ReadonlyArray<unknown>) => failing(args.at(-1)) })
          syncBuiltinESMExports()
          told.push(yield* settler.settle(withReply(settlementOf(second, 2n * unit))))
          Object.assign(fs, { write, fdatasync: () => {} })
          syncBuiltinESMExports()
          told.push(yield* settler.settle(withReply(settlementOf(first, 2n * unit))))
        } finally {
          Object.assign(fs, { write, fdatasync })
          syncBuiltinESMExports()
        }
        expect(balanceOf(books)).toBe(146n * unit)
        const kept = yield* Effect.forEach(["fails", "hangs"], (id) => ledger.requestState(orgId, "key", id))
        const balances = kept.map((state) => (state._tag === "Billed" ? state.reply?.balance : undefined))
        expect(told).toEqual(balances.map((balance) => ({ _tag: "Settled", balance })))
      }).pipe(Effect.scoped),
  )

  it.effect("answers a repeated request before the books know it", () =>
    Effect.gen(function* () {
      const { state, ledger, settler } = yield* startNode
      const [whole, stream] = [
        yield* ledger.hold(holdOf(orgId, 5n * unit, "whole")),
        yield* ledger.hold(holdOf(orgId, 5n * unit, "stream")),
      ]
      state.isAway = true
      yield* settler.settle(withReply(settlementOf(whole, 2n * unit)))
      yield* settler.settle(settlementOf(stream, unit))
      const reply = { sealed: "AAAA", balance: 98n * unit }
      expect(settler.inJournal(orgId, "key", "whole")).toEqual({ _tag: "Billed", ref: whole.ref, reply })
      expect(settler.inJournal(orgId, "key", "stream")).toEqual({ _tag: "Billed", ref: stream.ref, reply: undefined })
      for (const [org, key, id] of [
        [orgId, "key", "other"],
        [orgId, "other", "whole"],
        ["other", "key", "whole"],
      ] as const) {
        expect(settler.inJournal(org, key, id)).toBeUndefined()
      }
      // A hold knows of them too.
      expect((yield* ledger.hold(holdOf(orgId, unit))).balance).toBe(97n * unit)
      state.isAway = false
      yield* TestClock.adjust("5 seconds")
      expect(settler.inJournal(orgId, "key", "whole")).toBeUndefined()
    }).pipe(Effect.scoped),
  )

  it.effect("waits in the journal while the books are away; a process that ends waits for those on their way", () =>
    Effect.gen(function* () {
      const { books, state, ledger, settler, stop, onDisk } = yield* startNode
      const holds = yield* Effect.forEach([1, 2], () => ledger.hold(holdOf(orgId, 5n * unit)))
      const [first, second] = holds
      if (first === undefined || second === undefined) throw new Error("two were asked for")
      state.isAway = true
      yield* settler.settle(settlementOf(first, 5n * unit))
      yield* TestClock.adjust("30 seconds")
      expect(settler.deferred().map(({ hold }) => hold.ref)).toEqual([first.ref])
      state.isAway = false
      yield* TestClock.adjust("3 seconds")
      expect(settler.deferred()).toEqual([])
      state.slowMs = 500
      yield* settler.settle(settlementOf(second, 5n * unit))
      const stopping = yield* Effect.forkChild(stop, { startImmediately: true })
      yield* TestClock.adjust(100)
      expect(stopping.pollUnsafe()).toBeUndefined()
      yield* TestClock.adjust(1000)
      yield* Fiber.join(stopping)
      expect(balanceOf(books)).toBe(90n * unit)
      expect(onDisk()).toEqual([])
    }).pipe(Effect.scoped),
  )
})
