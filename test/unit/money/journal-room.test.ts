/** A journal whose files have their room before the first line: written over, cleared, and read after a kill at any byte. */
import { spawnSync } from "node:child_process"
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, describe, expect, it } from "@effect/vitest"
import { Cause, Effect, Exit } from "effect"
import { openJournal } from "../../../src/money/journal/journal.ts"
import { readJournal } from "../../../src/money/journal/read-journal.ts"
import type { Settlement } from "../../../src/money/settlement.ts"
import { record } from "../../support/books.ts"

const folders: Array<string> = []
const newFolder = () => {
  const folder = mkdtempSync(join(tmpdir(), "weir-journal-room-"))
  folders.push(folder)
  return folder
}
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
})

const settlement = (ref: string): Settlement => ({
  hold: { ref, orgId: "org", currency: "USD", keyId: "schlüssel", day: "2026-11-21", node: "n-1", amount: 1n },
  atMs: 1_800_000_000_000,
  cost: 1n,
  record,
})
const room = 2 ** 14
const journalsIn = (folder: string) =>
  readdirSync(folder)
    .filter((name) => name.endsWith(".journal"))
    .map((name) => join(folder, name))
/** A journal with two settlements, a and b, and the content of its file. */
const withTwo = (folder: string) =>
  Effect.gen(function* () {
    const journal = yield* openJournal(folder, room)
    for (const ref of ["a", "b"]) yield* journal.append(settlement(ref))
    const path = journalsIn(folder).find((each) => readJournal(each).settlements.length === 2) ?? ""
    return { journal, path, whole: readFileSync(path) }
  })
const refsIn = (folder: string) =>
  journalsIn(folder)
    .flatMap((path) => readJournal(path).settlements)
    .map(({ hold }) => hold.ref)
    .sort()

describe("a journal with room", () => {
  it.live("is on two files that do not grow, however many settlements go through it", () =>
    Effect.gen(function* () {
      const folder = newFolder()
      const journal = yield* openJournal(folder, room)
      const sizes = () => journalsIn(folder).map((path) => statSync(path).size)
      expect(sizes()).toEqual([room, room])
      for (let at = 0; at < 2000; at++) {
        yield* journal.append(settlement(`r${at}`))
        if (at % 7 === 6) for (let done = at - 6; done <= at; done++) yield* journal.settled(`r${done}`)
      }
      const open = journal.pending().map(({ hold }) => hold.ref)
      expect(open).toEqual(["r1995", "r1996", "r1997", "r1998", "r1999"])
      expect(refsIn(folder)).toEqual(expect.arrayContaining(open))
      for (const size of sizes()) expect(size).toBeLessThan(2 * room)
      for (const path of journalsIn(folder)) expect(readJournal(path).torn).toBe(0)
    }).pipe(Effect.scoped),
  )

  it.live("stays as small while one settlement does not reach the ledger", () =>
    Effect.gen(function* () {
      const folder = newFolder()
      const journal = yield* openJournal(folder, room)
      yield* journal.append(settlement("stuck"))
      for (let round = 0; round < 100; round++) {
        const refs = Array.from({ length: 50 }, (_, at) => `r${round}-${at}`)
        yield* Effect.forEach(refs, (ref) => journal.append(settlement(ref)), { concurrency: "unbounded" })
        for (const ref of refs) yield* journal.settled(ref)
        for (const path of journalsIn(folder)) expect(statSync(path).size).toBeLessThan(4 * room)
      }
      expect(refsIn(folder)).toContain("stuck")
      yield* journal.settled("stuck")
    }).pipe(Effect.scoped),
  )

  it.live("leaves settlements alone that are older than the ledger's memory, and keeps their file", () =>
    Effect.gen(function* () {
      const folder = newFolder()
      yield* Effect.scoped(
        Effect.gen(function* () {
          const { append } = yield* openJournal(folder, room)
          yield* append({ ...settlement("old"), atMs: 1_700_000_000_000 })
          yield* append(settlement("new"))
        }),
      )
      const journal = yield* openJournal(folder, 0, 1_750_000_000_000)
      expect(journal.pending().map(({ hold }) => hold.ref)).toEqual(["new"])
      expect(readdirSync(folder).filter((name) => name.endsWith(".old"))).toHaveLength(1)
      yield* journal.settled("new")
    }).pipe(Effect.scoped),
  )

  it.live("has no line soon after the last settlement is in the ledger", () =>
    Effect.gen(function* () {
      const folder = newFolder()
      const journal = yield* openJournal(folder, room)
      yield* journal.append(settlement("a"))
      yield* journal.settled("a")
      yield* journal.write
      yield* Effect.promise(async () => {
        while (refsIn(folder).length > 0) await new Promise((resolve) => setTimeout(resolve, 5))
      })
      yield* journal.append(settlement("b"))
      expect(refsIn(folder)).toEqual(["b"])
      yield* journal.settled("b")
    }).pipe(Effect.scoped),
  )

  it.live("keeps both files' settlements while the ledger takes none, and what a failed clearing leaves", () =>
    Effect.gen(function* () {
      const folder = newFolder()
      const journal = yield* openJournal(folder, room)
      const refs = Array.from({ length: 200 }, (_, at) => `r${String(at).padStart(3, "0")}`)
      yield* Effect.forEach(refs, (ref) => journal.append(settlement(ref)), { concurrency: "unbounded" })
      for (const ref of refs) yield* journal.append(settlement(`x${ref}`))
      expect(refsIn(folder)).toEqual([...refs, ...refs.map((ref) => `x${ref}`)].sort())
      for (const ref of refs) yield* journal.settled(ref)
    }).pipe(Effect.scoped),
  )

  it.live("of several megabytes is read in pieces, whatever they cut", () =>
    Effect.gen(function* () {
      const folder = newFolder()
      const journal = yield* openJournal(folder, room)
      const refs = Array.from({ length: 8000 }, (_, at) => `${"ü".repeat(at % 7)}${at}`)
      yield* Effect.forEach(refs, (ref) => journal.append(settlement(ref)), { concurrency: "unbounded" })
      expect(refsIn(folder)).toEqual([...refs].sort())
      for (const path of journalsIn(folder)) expect(readJournal(path).torn).toBe(0)
      for (const ref of refs) yield* journal.settled(ref)
    }).pipe(Effect.scoped),
  )

  it.live("that was cut off at any byte of its last write gives back every line before it", () =>
    Effect.gen(function* () {
      const { journal, path, whole } = yield* withTwo(newFolder())
      yield* journal.append(settlement("c"))
      const after = readFileSync(path)
      const [from, to] = [whole.indexOf(0), after.indexOf(0)]
      const copy = join(newFolder(), "cut.journal")
      for (let cut = from; cut < to; cut++) {
        writeFileSync(copy, Buffer.concat([after.subarray(0, cut), whole.subarray(cut)]))
        const { settlements, torn } = readJournal(copy)
        const found = [cut, settlements.map(({ hold }) => hold.ref), torn]
        expect(found).toEqual([cut, ["a", "b"], cut === from ? 0 : 1])
      }
    }).pipe(Effect.scoped),
  )

  it.live("that was being cleared has no settlement, and no line that cannot be read", () =>
    Effect.gen(function* () {
      const { whole } = yield* withTwo(newFolder())
      const copy = join(newFolder(), "cleared.journal")
      for (let cut = 1; cut < whole.indexOf(0); cut++) {
        writeFileSync(copy, Buffer.concat([Buffer.alloc(cut), whole.subarray(cut)]))
        expect([cut, readJournal(copy).torn]).toEqual([cut, 0])
      }
    }).pipe(Effect.scoped),
  )

  it.live("has a settlement once, though it is stored twice", () =>
    Effect.gen(function* () {
      const folder = newFolder()
      yield* Effect.scoped(
        Effect.gen(function* () {
          const journal = yield* openJournal(folder, room)
          yield* journal.append(settlement("a"))
          yield* journal.append(settlement("a"))
          expect(journal.pending()).toHaveLength(1)
          yield* journal.settled("a")
        }),
      )
      // A file with something left would stay.
      expect(journalsIn(folder)).toEqual([])
    }),
  )

  it.live("that has no room is refused in a sentence, and leaves nothing", ({ skip }) =>
    Effect.gen(function* () {
      const folder = newFolder()
      // Only root mounts a disk of its own.
      skip(spawnSync("mount", ["-t", "tmpfs", "-o", "size=64k", "tmpfs", folder]).status !== 0)
      yield* Effect.addFinalizer(() => Effect.sync(() => spawnSync("umount", [folder])))
      const refused = yield* Effect.exit(Effect.scoped(openJournal(folder, 2 ** 20)))
      expect(Exit.isFailure(refused) && Cause.squash(refused.cause)).toMatchObject({
        _tag: "DirectoryUnusable",
        message: `The journal in ${folder} cannot be written: there is no room for 1 MiB`,
      })
      expect(readdirSync(folder)).toEqual([])
    }).pipe(Effect.scoped),
  )

  it.live("is taken over by the next process, and its files are removed", () =>
    Effect.gen(function* () {
      const folder = newFolder()
      yield* Effect.scoped(
        Effect.gen(function* () {
          const { append } = yield* openJournal(folder, room)
          yield* append(settlement("a"))
        }),
      )
      expect(journalsIn(folder)).toHaveLength(1)
      const journal = yield* openJournal(folder)
      expect(journal.pending().map(({ hold }) => hold.ref)).toEqual(["a"])
      expect(journalsIn(folder)).toHaveLength(1)
    }).pipe(Effect.scoped),
  )
})
