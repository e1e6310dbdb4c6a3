/**
 * The contents of a journal after a power failure: the synced ones. The calls of `node:fs` are observed, and the contents
 * that a disk would have are kept beside the files.
 */
import fs, { mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from "node:fs"
import { syncBuiltinESMExports } from "node:module"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, afterEach, beforeEach, describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { type Journal, openJournal } from "../../../src/money/journal/journal.ts"
import type { Settlement } from "../../../src/money/settlement.ts"
import { record } from "../../support/books.ts"

const folder = mkdtempSync(join(tmpdir(), "weir-journal-sync-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** The contents of the disk: names that were synced with their folder, and the content of files when they were synced. */
const disk = { names: new Set<string>(), contents: new Map<string, string>() }
/** The journals on the disk when one was removed. */
let atRemoval: ReadonlyArray<string> = []
const { fsyncSync, fdatasync, rmSync: remove } = fs

beforeEach(() => {
  disk.names.clear()
  disk.contents.clear()
  const noteSync = (fd: number) => {
    const path = readlinkSync(`/proc/self/fd/${fd}`)
    if (path === folder) for (const name of readdirSync(folder)) disk.names.add(name)
    else disk.contents.set(path, readFileSync(path, "utf8"))
  }
  fs.fsyncSync = (fd) => {
    fsyncSync(fd)
    noteSync(fd)
  }
  Object.assign(fs, {
    fdatasync: (fd: number, done: (cause: Error | null) => void) =>
      fdatasync(fd, (cause) => {
        noteSync(fd)
        done(cause)
      }),
  })
  fs.rmSync = (path, options) => {
    if (String(path).endsWith(".journal")) atRemoval = survivors()
    remove(path, options)
  }
  syncBuiltinESMExports()
})
afterEach(() => {
  Object.assign(fs, { fsyncSync, fdatasync, rmSync: remove })
  syncBuiltinESMExports()
})

/** The journals' text that a power failure leaves now. */
const survivors = (): ReadonlyArray<string> =>
  [...disk.contents].flatMap(([path, text]) => (disk.names.has(path.slice(folder.length + 1)) ? [text] : []))

const settlement = (ref: string): Settlement => ({
  hold: { ref, orgId: "org", currency: "USD", keyId: "key", day: "2026-11-21", node: "n-1", amount: 1n },
  atMs: 1_800_000_000_000,
  cost: 1n,
  record,
})

/** Calls of `node:fs` are seen where the system names open files. */
describe.runIf(process.platform === "linux")("a journal, after a power failure", () => {
  it.effect("has what it was given, from the moment that the client is answered", () =>
    Effect.gen(function* () {
      const journal: Journal = yield* openJournal(folder)
      for (const ref of ["first", "second"]) {
        yield* journal.append(settlement(ref))
        expect(survivors().join()).toContain(`"ref":"${ref}"`)
      }
      yield* journal.settled("first")
      yield* journal.settled("second")
    }).pipe(Effect.scoped),
  )

  it.effect("has what it took over before the journal of the dead process is removed", () =>
    Effect.gen(function* () {
      yield* Effect.scoped(Effect.flatMap(openJournal(folder), ({ append }) => append(settlement("left"))))
      disk.contents.clear()
      const journal = yield* openJournal(folder)
      expect(journal.pending().map(({ hold }) => hold.ref)).toEqual(["left"])
      expect(atRemoval.join()).toContain(`"ref":"left"`)
      yield* journal.settled("left")
    }).pipe(Effect.scoped),
  )
})
