/** Settling while the database is away: the journal stores settlements, and tolerates truncated lines. */
import { spawn, spawnSync } from "node:child_process"
import { createHash } from "node:crypto"
import { once } from "node:events"
import {
  appendFileSync,
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterAll, describe, expect, it } from "@effect/vitest"
import { Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import { openJournal } from "../../../src/money/journal/journal.ts"
import { readJournal } from "../../../src/money/journal/read-journal.ts"
import { Ledger } from "../../../src/money/ledger.ts"
import type { HoldFacts, Settlement } from "../../../src/money/settlement.ts"
import { Settler } from "../../../src/money/settler.ts"
import { StoreUnavailable } from "../../../src/store/unavailable.ts"
import { layerTestConfig } from "../../../src/testing/stores.ts"
import { keptResponse } from "../../support/books.ts"

const folders: Array<string> = []
const folder = () => {
  const made = mkdtempSync(join(tmpdir(), "weir-journal-"))
  folders.push(made)
  return made
}
afterAll(() => {
  for (const made of folders) rmSync(made, { recursive: true, force: true })
})
const holdOf = (ref: string): HoldFacts => ({
  ref,
  orgId: "org",
  currency: "USD",
  keyId: "key",
  day: "2026-11-21",
  node: "n-1",
  amount: 1n,
})
const settlement = (ref: string): Settlement => ({
  hold: holdOf(ref),
  atMs: 1_800_000_000_000,
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
const node = fileURLToPath(new URL("../../../node_modules/.bin/node", import.meta.url))
/** {@link settlement} as JavaScript. */
const settlementText = (ref: string) =>
  `{ hold: { ref: "${ref}", orgId: "org", currency: "USD", keyId: "key", day: "2026-11-21", node: "n-1", amount: 1n },
    atMs: 1, cost: 1n, record: { appId: "app", purpose: "exchange", model: "main", vendor: "v",
    counts: { inTokens: 1, outTokens: 2, cacheReadTokens: 3, cacheWriteTokens: 4, dims: {} }, stop: "end", cacheNetSaving: 0n } }`
/** The only journal of a directory. */
const journalIn = (path: string) => join(path, readdirSync(path).find((name) => name.endsWith(".journal")) ?? "none")

describe("the journal", () => {
  it.effect("keeps what it was given, on disk, readable by its owner alone", () =>
    Effect.gen(function* () {
      const path = folder()
      const { append, pending } = yield* openJournal(path)
      yield* append(settlement("a"))
      yield* append(settlement("b"))
      expect(pending()).toEqual([settlement("a"), settlement("b")])
      expect(readJournal(journalIn(path))).toMatchObject({
        settlements: [{ hold: { ref: "a" } }, { hold: { ref: "b" } }],
        torn: 0,
      })
      expect(readJournal(journalIn(path)).settlements[0]).toEqual(settlement("a"))
      expect(statSync(journalIn(path)).mode & 0o777).toBe(0o600)
    }).pipe(Effect.scoped),
  )

  it.effect("is empty when the last settlement is in the ledger", () =>
    Effect.gen(function* () {
      const path = folder()
      const { append, settled, pending } = yield* openJournal(path)
      yield* append(settlement("a"))
      yield* append(settlement("b"))
      yield* settled("a")
      yield* settled("b")
      expect(pending()).toEqual([])
      expect(readFileSync(journalIn(path), "utf8")).toBe("")
    }).pipe(Effect.scoped),
  )

  it.effect("takes over what a dead process left; a torn last line is detected, the lines before it are kept", () =>
    Effect.gen(function* () {
      const path = folder()
      yield* Effect.scoped(
        Effect.gen(function* () {
          const { append } = yield* openJournal(path)
          yield* append(settlement("a"))
          yield* append(settlement("b"))
        }),
      )
      const dead = journalIn(path)
      appendFileSync(dead, readFileSync(dead, "utf8").slice(0, 70))
      expect(readJournal(dead).torn).toBe(1)
      const { pending } = yield* openJournal(path)
      expect(pending().map(({ hold }) => hold.ref)).toEqual(["a", "b"])
      expect(existsSync(dead)).toBe(false)
      expect(readJournal(journalIn(path))).toMatchObject({
        settlements: [{ hold: { ref: "a" } }, { hold: { ref: "b" } }],
        torn: 0,
      })
    }).pipe(Effect.scoped),
  )

  it.effect("takes over a response that is kept, with the items that it adds to a conversation", () =>
    Effect.gen(function* () {
      const path = folder()
      const kept = {
        ...keptResponse,
        conversation: { id: "conv_1", items: [{ id: "msg_1", sealed: "BBBB" }] },
      }
      yield* Effect.scoped(Effect.flatMap(openJournal(path), ({ append }) => append({ ...settlement("a"), kept })))
      const { pending } = yield* openJournal(path)
      expect(pending()).toMatchObject([{ kept }])
    }).pipe(Effect.scoped),
  )

  it.effect("leaves the journal of a living process alone, also of this one", () =>
    Effect.gen(function* () {
      const path = folder()
      const { append, pending } = yield* openJournal(path)
      yield* append(settlement("a"))
      const other = yield* openJournal(path)
      expect(other.pending()).toEqual([])
      expect(pending().map(({ hold }) => hold.ref)).toEqual(["a"])
    }).pipe(Effect.scoped),
  )

  it.live("of a process that was killed is taken over at once, whatever lives under its pid", () =>
    Effect.gen(function* () {
      const path = folder()
      const source = fileURLToPath(new URL("../../../src/money/journal/journal.ts", import.meta.url))
      const child = spawn(node, [
        "--input-type=module",
        "--eval",
        `import { Effect } from "effect"
         import { openJournal } from ${JSON.stringify(source)}
         const run = Effect.scoped(Effect.flatMap(openJournal(${JSON.stringify(path)}), ({ append }) =>
           Effect.andThen(append(${settlementText("lost")}), Effect.andThen(Effect.sync(() => console.log("written")), Effect.never))))
         setInterval(() => {}, 1000)
         await Effect.runPromise(run)`,
      ])
      yield* Effect.promise(() => once(child.stdout, "data"))
      const before = yield* openJournal(path)
      expect(before.pending()).toEqual([])
      child.kill("SIGKILL")
      yield* Effect.promise(() => once(child, "exit"))
      // This process's pid represents a pid that was reused.
      const after = yield* openJournal(path)
      expect(after.pending().map(({ hold }) => hold.ref)).toEqual(["lost"])
    }).pipe(Effect.scoped),
  )

  it.effect("of an earlier version, named by a pid, is taken over", () =>
    Effect.gen(function* () {
      const path = folder()
      yield* Effect.scoped(Effect.flatMap(openJournal(path), ({ append }) => append(settlement("a"))))
      renameSync(journalIn(path), join(path, `${process.pid}.journal`))
      const { pending } = yield* openJournal(path)
      expect(pending().map(({ hold }) => hold.ref)).toEqual(["a"])
    }).pipe(Effect.scoped),
  )

  it.effect("of the first design, which names holds by their ref, is taken over", () =>
    Effect.gen(function* () {
      const path = folder()
      const json = JSON.stringify({
        ref: "old",
        cost: "7",
        record: { ...settlement("old").record, cacheNetSaving: "0" },
      })
      const sum = createHash("sha256").update(json).digest("hex").slice(0, 16)
      writeFileSync(join(path, "old.journal"), `${sum} ${json}\n`)
      const { pending } = yield* openJournal(path)
      expect(pending()).toMatchObject([{ hold: { ref: "old", orgId: "" }, cost: 7n }])
    }).pipe(Effect.scoped),
  )

  it.effect("a line that was tampered with does not count", () =>
    Effect.gen(function* () {
      const path = folder()
      yield* Effect.scoped(Effect.flatMap(openJournal(path), ({ append }) => append(settlement("a"))))
      const line = readFileSync(journalIn(path), "utf8")
      appendFileSync(journalIn(path), line.replace(`"outTokens":2`, `"outTokens":1`))
      expect(readJournal(journalIn(path))).toMatchObject({ settlements: [{ hold: { ref: "a" } }], torn: 1 })
    }),
  )
})

/** A file system of 16 KiB, of which so many bytes are left; undefined where none can be mounted. */
const smallDisk = (): { readonly path: string; readonly fill: () => void; readonly empty: () => void } | undefined => {
  const path = folder()
  if (spawnSync("mount", ["-t", "tmpfs", "-o", "size=16k", "tmpfs", path]).status !== 0) return undefined
  disks.push(path)
  const ballast = join(path, "ballast")
  return {
    path,
    fill: () => {
      const fd = openSync(ballast, "w")
      try {
        for (;;) writeSync(fd, Buffer.alloc(64))
      } catch {
        // It is full.
      }
      closeSync(fd)
    },
    empty: () => rmSync(ballast),
  }
}
const disks: Array<string> = []
afterAll(() => {
  for (const path of disks) spawnSync("umount", [path])
})

describe("a journal whose disk is full", () => {
  it.effect("keeps settlements in memory, tears no line, and writes them when there is room", () =>
    Effect.gen(function* () {
      const disk = smallDisk()
      // Only root mounts a disk of its own.
      if (disk === undefined) return
      const { append, pending, write } = yield* openJournal(disk.path)
      const path = journalIn(disk.path)
      expect(yield* append(settlement("a"))).toBe(true)
      disk.fill()
      let isOnDisk = true
      const refs = ["a"]
      while (isOnDisk) {
        refs.push(`b${refs.length}`)
        isOnDisk = yield* append(settlement(refs.at(-1) ?? ""))
      }
      expect(yield* append(settlement("c"))).toBe(false)
      expect(yield* write).toBe(false)
      expect(pending().map(({ hold }) => hold.ref)).toEqual([...refs, "c"])
      expect(readJournal(path)).toMatchObject({
        torn: 0,
        settlements: refs.slice(0, -1).map((ref) => ({ hold: { ref } })),
      })
      disk.empty()
      expect(yield* write).toBe(true)
      const { torn, settlements } = readJournal(path)
      expect([torn, settlements.map(({ hold }) => hold.ref)]).toEqual([0, [...refs, "c"]])
    }).pipe(Effect.scoped),
  )
})

describe("the settler", () => {
  /** A ledger that can become unavailable. */
  const setup = () => {
    const database = { away: true, asked: 0, settled: [] as string[], released: [] as string[] }
    const gone = Effect.fail(new StoreUnavailable({ store: "postgres", cause: "away" }))
    const ledger = Layer.mock(Ledger, {
      parts: [],
      settle: ({ hold: { ref }, cost }) =>
        Effect.suspend(() => {
          database.asked++
          if (database.away) return gone
          if (ref === "poison" || cost < 0n) return gone
          database.settled.push(ref)
          return Effect.succeed(7n)
        }),
      release: ({ ref }) =>
        Effect.suspend(() => {
          if (database.away) return gone
          database.released.push(ref)
          return Effect.void
        }),
    })
    const dataDir = folder()
    const path = join(dataDir, "journal")
    return { database, path, layer: Settler.layer.pipe(Layer.provide([ledger, layerTestConfig({ dataDir })])) }
  }

  it.effect("retries for a while, and lands when the database comes back in time", () => {
    const { database, layer } = setup()
    return Effect.gen(function* () {
      const { settle, deferred } = yield* Settler
      const fiber = yield* Effect.forkChild(settle(settlement("a")))
      yield* TestClock.adjust("5 seconds")
      database.away = false
      yield* TestClock.adjust("10 seconds")
      expect(yield* Fiber.join(fiber)).toEqual({ _tag: "Settled", balance: 7n })
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
      expect(deferred().map(({ hold }) => hold.ref)).toEqual(["a"])
      expect(readJournal(journalIn(path)).settlements.length).toBe(1)
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
        const fiber = yield* Effect.forkChild(release(holdOf("a")))
        yield* TestClock.adjust("3 seconds")
        expect(database.released).toEqual([])
        database.away = false
        yield* TestClock.adjust("10 seconds")
        yield* Fiber.join(fiber)
        expect(database.released).toEqual(["a"])
      }).pipe(Effect.provide(layer))
    },
  )

  it.effect(
    "gives back a hold when the database is back, however late: its node lives, so no lease ends the hold",
    () => {
      const { database, layer } = setup()
      return Effect.gen(function* () {
        const { release } = yield* Settler
        const fiber = yield* Effect.forkChild(release(holdOf("a")))
        yield* TestClock.adjust("60 seconds")
        yield* Fiber.join(fiber)
        database.away = false
        yield* TestClock.adjust("3 seconds")
        expect(database.released).toEqual(["a"])
      }).pipe(Effect.provide(layer))
    },
  )

  it.effect("asks a database that is away for a thousand of them at a time, and all land when it is back", () => {
    const { database, layer } = setup()
    return Effect.gen(function* () {
      const { settle, deferred } = yield* Settler
      const refs = Array.from({ length: 2500 }, (_, at) => `r${at}`)
      const fiber = yield* Effect.forkChild(
        Effect.forEach(refs, (ref) => settle(settlement(ref)), { concurrency: "unbounded" }),
      )
      yield* TestClock.adjust("30 seconds")
      yield* Fiber.join(fiber)
      expect(deferred()).toHaveLength(2500)
      database.asked = 0
      yield* TestClock.adjust("1 second")
      // One or two looks.
      expect([1024, 2048]).toContain(database.asked)
      database.away = false
      yield* TestClock.adjust("3 seconds")
      expect(deferred()).toEqual([])
      expect([...database.settled].sort()).toEqual([...refs].sort())
    }).pipe(Effect.provide(layer))
  })

  it.effect("a thousand settlements that cannot land keep no other from it", () => {
    const { database, layer } = setup()
    return Effect.gen(function* () {
      const { settle, deferred } = yield* Settler
      const poison = Array.from({ length: 1100 }, (_, at) => ({ ...settlement(`p${at}`), cost: -1n }))
      const fiber = yield* Effect.forkChild(
        Effect.forEach([...poison, settlement("last")], (each) => settle(each), { concurrency: "unbounded" }),
      )
      yield* TestClock.adjust("30 seconds")
      yield* Fiber.join(fiber)
      database.away = false
      yield* TestClock.adjust("5 seconds")
      expect(database.settled).toEqual(["last"])
      expect(deferred()).toHaveLength(1100)
    }).pipe(Effect.provide(layer))
  })

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
      expect(deferred().map(({ hold }) => hold.ref)).toEqual(["poison"])
    }).pipe(Effect.provide(layer))
  })
})
