/**
 * The settlement journal: settlements on this node's disk that are not in the books yet. All that come during a write share
 * the next one and its sync. A torn last line is detected, and the lines before it are kept.
 */
import { existsSync, readdirSync, renameSync, rmSync } from "node:fs"
import { join } from "node:path"
import { Array as Arr, Effect, type Scope } from "effect"
import { DirectoryUnusable } from "../../files/directory.ts"
import { tryFileLock } from "../../files/file-lock.ts"
import type { Settlement } from "../settlement.ts"
import { lineOf } from "./entry.ts"
import { JournalFile, lockPath } from "./file.ts"
import { readJournal } from "./read-journal.ts"

export interface Journal {
  /** Settlements that are not in the ledger yet, oldest first. */
  readonly pending: () => ReadonlyArray<Settlement>
  /** The first of them that is wanted. */
  readonly find: (isWanted: (settlement: Settlement) => boolean) => Settlement | undefined
  /** Their number. */
  readonly size: () => number
  /**
   * Stores a settlement. When this completes it is on disk. If the disk is full, fails, or takes longer than a second, it is in
   * memory, and the next {@link write} that succeeds writes it. @returns whether it is on disk
   */
  readonly append: (settlement: Settlement) => Effect.Effect<boolean>
  /** Writes the settlements that are only in memory, and clears files without pending ones. @returns whether none is left */
  readonly write: Effect.Effect<boolean>
  /** Removes a settlement that is in the ledger now. */
  readonly settled: (ref: string) => Effect.Effect<void>
}

/** The room of each of the two files of a journal that every settlement goes through: lines of a second or so. */
export const usualRoom = 4 * 2 ** 20

/** The time that replies, and the end of a process, wait for the disk. */
const longestWaitMs = 1000

const within = (work: Promise<void>, ms: number): Promise<void> =>
  Promise.race([work, new Promise<void>((resolve) => void setTimeout(resolve, ms).unref())])

/** Settlements that are written together. */
const mostTogether = 1024

interface Pending {
  readonly settlement: Settlement
  /** The file that has it; undefined while it is in memory only. */
  file: JournalFile | undefined
}

/**
 * Opens a new journal for this process in a directory, and moves into it what dead processes left there. A process is
 * dead when the lock on its journal can be taken.
 *
 * With room, there are two files, which are written before the first line, because a sync is slow where a file grows: while
 * one is written, what the other has goes to the books. Without, there is one, which is emptied after the last settlement.
 *
 * @param oldestMs older settlements of dead processes are not taken: the books may have had them, and not know it any more
 */
export const openJournal = (folder: string, room = 0, oldestMs = 0): Effect.Effect<Journal, never, Scope.Scope> =>
  Effect.gen(function* () {
    const pending = new Map<string, Pending>()
    let writing: Promise<void> | undefined
    const newFile = Effect.acquireRelease(
      Effect.sync(() => JournalFile.create(folder, room)),
      (file) =>
        Effect.promise(() =>
          within(
            Promise.resolve(writing).then(() => file.close()),
            longestWaitMs,
          ),
        ),
    )
    let current = yield* newFile
    let resting = room === 0 ? undefined : yield* newFile
    const own = [current.path, resting?.path]
    const runFork = Effect.runForkWith(yield* Effect.context<never>())
    /** The settlements of the next write, and those that could not be written. */
    let next: Array<Pending> = []
    /** Called after the next write. */
    let asking: Array<() => void> = []

    const write = async (file: JournalFile, entries: ReadonlyArray<Pending>): Promise<void> => {
      // After an outage there may be more than fit into one text.
      for (const some of Arr.chunksOf(entries, mostTogether)) await writeSome(file, some)
    }
    const writeSome = async (file: JournalFile, entries: ReadonlyArray<Pending>): Promise<void> => {
      const lines = entries.map(({ settlement }) => lineOf(settlement))
      try {
        await file.write(lines.join(""), lines.length)
      } catch (cause) {
        next.push(...entries)
        return report(cause)
      }
      for (const [at, entry] of entries.entries()) {
        // One that has no line is in memory only: it must not keep the others from the disk.
        if (lines[at] === "") report(new Error("a settlement cannot be encoded, and is in memory only"))
        // It may be in the books by now.
        else if (isPending(entry)) place(entry, file)
      }
    }
    const place = (entry: Pending, file: JournalFile): void => {
      if (entry.file !== undefined) entry.file.pending--
      entry.file = file
      file.pending++
    }
    const report = (cause: unknown): void => {
      runFork(Effect.logError("The settlement journal cannot be written", cause, { waiting: next.length }))
    }
    const isPending = (entry: Pending): boolean => pending.get(entry.settlement.hold.ref) === entry
    const writeAll = async () => {
      for (;;) {
        const [told, entries] = [asking, next.filter(isPending)]
        asking = []
        next = []
        await write(current, entries)
        const isLast = asking.length === 0
        if (isLast) writing = undefined
        turn(false)
        for (const tell of told) tell()
        if (isLast) return
      }
    }
    /** Writes what is only in memory, and calls this then. */
    const ask = (tell: () => void) => {
      asking.push(tell)
      writing ??= writeAll()
    }

    const clear = (file: JournalFile): void => {
      file
        .clear()
        .catch((cause: unknown) => runFork(Effect.logError("The settlement journal cannot be cleared", cause)))
    }
    /** Lets the next write have what is pending in a file. */
    const moveFrom = (file: JournalFile): void => {
      for (const entry of pending.values()) if (entry.file === file && !next.includes(entry)) next.push(entry)
    }
    /** Takes the other file if this one is full, or if nothing in it is pending, and clears the one that is done. */
    const turn = (isQuiet: boolean) => {
      if (resting === undefined) {
        if (isQuiet && current.isDone) clear(current)
        return
      }
      const isDue = current.isFull || (isQuiet && current.pending === 0 && !current.isEmpty)
      // A few that do not reach the books must not keep the file of all others.
      if (isDue && resting.pending > 0 && 2 * resting.pending < resting.lines) moveFrom(resting)
      if (isDue && resting.isEmpty) [current, resting] = [resting, current]
      if (resting.isDone) clear(resting)
    }
    /** Returns the file that had it. */
    const remove = (ref: string): JournalFile | undefined => {
      const file = pending.get(ref)?.file
      pending.delete(ref)
      if (file !== undefined) file.pending--
      return file
    }
    const add = (settlement: Settlement): Pending => {
      const entry: Pending = { settlement, file: undefined }
      remove(settlement.hold.ref)
      pending.set(settlement.hold.ref, entry)
      next.push(entry)
      return entry
    }
    /** @param waitMs the time after which they are not waited for any more; absent: until they are written */
    const append = (settlements: ReadonlyArray<Settlement>, waitMs?: number): Effect.Effect<boolean> =>
      Effect.callback((resume) => {
        const entries = settlements.map(add)
        const late = waitMs === undefined ? undefined : setTimeout(() => resume(Effect.succeed(false)), waitMs)
        ask(() => {
          clearTimeout(late)
          resume(Effect.succeed(entries.every(({ file }) => file !== undefined)))
        })
      })

    for (const name of readdirSync(folder).filter((name) => name.endsWith(".journal"))) {
      const path = join(folder, name)
      if (own.includes(path)) continue
      const torn = yield* takeOver(path, oldestMs, append)
      if (torn > 0) yield* Effect.logError("A journal has lines that cannot be read", { path, lines: torn })
    }
    return {
      pending: () => Array.from(pending.values(), ({ settlement }) => settlement),
      size: () => pending.size,
      find: (isWanted) => pending.values().find(({ settlement }) => isWanted(settlement))?.settlement,
      // Nobody waits for a disk that hangs.
      append: (settlement) => append([settlement], longestWaitMs),
      write: Effect.callback((resume) => {
        if (writing === undefined) turn(true)
        if (next.length === 0) resume(Effect.succeed(true))
        else ask(() => resume(Effect.succeed(next.length === 0)))
      }),
      settled: (ref) =>
        Effect.suspend(() => {
          const file = remove(ref)
          const isLast = pending.size === 0 && resting === undefined && writing === undefined
          return file !== undefined && isLast ? Effect.promise(() => file.clear()) : Effect.void
        }),
    }
  })

/**
 * Writes a dead process's settlements into the own journal, then removes its files. Returns the count of unreadable
 * lines.
 */
const takeOver = (
  path: string,
  oldestMs: number,
  write: (settlements: ReadonlyArray<Settlement>) => Effect.Effect<boolean>,
): Effect.Effect<number> =>
  Effect.acquireUseRelease(
    Effect.sync(() => tryFileLock(lockPath(path))),
    (lock) =>
      Effect.gen(function* () {
        // Another process may have taken it over before the lock was ours.
        if (lock === undefined || !existsSync(path)) return 0
        const { settlements: all, torn } = readJournal(path)
        const settlements = all.filter(({ atMs }) => atMs >= oldestMs)
        const isOnDisk = settlements.length === 0 || (yield* write(settlements))
        if (!isOnDisk) {
          const message = `The settlements in ${path} cannot be taken over: the disk is full, or cannot be written`
          return yield* Effect.die(new DirectoryUnusable({ message }))
        }
        const tooOld = all.length - settlements.length
        if (tooOld > 0) {
          renameSync(path, `${path}.old`)
          yield* Effect.logError("A journal has settlements from before SVC_RETENTION_DAYS, which are not booked", {
            settlements: tooOld,
            path: `${path}.old`,
          })
        } else rmSync(path)
        if (settlements.length > 0) {
          yield* Effect.logWarning("Settlements of a process that has ended are in the journal of this one", {
            settlements: settlements.length,
          })
        }
        return torn
      }),
    (lock) =>
      Effect.sync(() => {
        if (lock === undefined) return
        lock.release()
        if (!existsSync(path)) rmSync(lockPath(path), { force: true })
      }),
  )
