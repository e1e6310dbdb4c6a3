/**
 * The settlement journal: settlements that wait on this node's disk while the database does not answer. Each line is a
 * checksum and JSON, synced before the exchange ends; a torn last line is detected, and the lines before it are kept.
 */
import { createHash, randomUUID } from "node:crypto"
import {
  closeSync,
  existsSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeSync,
} from "node:fs"
import { join } from "node:path"
import { Effect, Option, Schema, type Scope } from "effect"
import { makeDirectory } from "../files/directory.ts"
import { tryFileLock } from "../files/file-lock.ts"
import { BudgetUnit } from "../protocol/catalogue/budget.ts"
import type { Settlement } from "./settlement.ts"
import { UsageRecord } from "./usage-record.ts"

const object = Schema.optional(Schema.Struct({ id: Schema.String, bytes: Schema.Finite }))

/** A stored settlement: amounts as strings, because JSON has no integers that large. */
const entryFields = {
  hold: Schema.Struct({
    ref: Schema.String,
    orgId: Schema.String,
    currency: Schema.String,
    keyId: Schema.String,
    requestId: Schema.optional(Schema.String),
    day: Schema.String,
    node: Schema.String,
    amount: Schema.BigIntFromString,
    budgets: Schema.optional(Schema.Array(Schema.Struct({ counter: Schema.String, unit: BudgetUnit }))),
  }),
  atMs: Schema.Finite,
  cost: Schema.BigIntFromString,
  job: Schema.optional(
    Schema.Struct({
      id: Schema.String,
      kind: Schema.String,
      endUserId: Schema.optional(Schema.String),
      targetModel: Schema.String,
      vendorJob: Schema.String,
      isOwn: Schema.Boolean,
      view: Schema.Record(Schema.String, Schema.Union([Schema.String, Schema.Finite])),
      timeoutMs: Schema.Finite,
    }),
  ),
  record: UsageRecord,
  kept: Schema.optional(
    Schema.Struct({
      id: Schema.String,
      day: Schema.String,
      previous: Schema.optional(Schema.String),
      app: Schema.String,
      person: Schema.String,
      endUser: Schema.String,
      model: Schema.String,
      state: Schema.Literals(["completed", "incomplete"]),
      background: Schema.optional(Schema.Boolean),
      eraseAt: Schema.Finite,
      items: Schema.Array(Schema.String),
      sealed: Schema.String,
      object,
      conversation: Schema.optional(
        Schema.Struct({
          id: Schema.String,
          items: Schema.Array(Schema.Struct({ id: Schema.String, sealed: Schema.String, object })),
        }),
      ),
    }),
  ),
  reply: Schema.optional(Schema.Struct({ sealed: Schema.String, told: Schema.optional(Schema.BigIntFromString) })),
}
const EntryJson = Schema.fromJsonString(Schema.Struct(entryFields))
const encode = Schema.encodeSync(EntryJson)
const decodeEntry = Schema.decodeUnknownOption(EntryJson)

/** An entry of the first design, whose holds the database knew by their ref. */
const { cost, record } = entryFields
const FirstDesignJson = Schema.fromJsonString(Schema.Struct({ ref: Schema.String, cost, record }))
const decodeFirstDesign = Schema.decodeUnknownOption(FirstDesignJson)

const decode = (json: string): Option.Option<Settlement> =>
  Option.orElse(decodeEntry(json), () =>
    Option.map(decodeFirstDesign(json), ({ ref, ...entry }) => ({ ...entry, hold: holdByRef(ref), atMs: Date.now() })),
  )

const holdByRef = (ref: string): Settlement["hold"] => ({
  ref,
  orgId: "",
  currency: "",
  keyId: "",
  day: "",
  node: "",
  amount: 0n,
})

export interface Journal {
  /** Settlements that are not in the ledger yet, oldest first. */
  readonly pending: () => ReadonlyArray<Settlement>
  /**
   * Stores a settlement. When this completes it is on disk. If the disk is full or fails, it is in memory, and the next
   * {@link write} that succeeds writes it. @returns whether it is on disk
   */
  readonly append: (settlement: Settlement) => Effect.Effect<boolean>
  /** Writes the settlements that are only in memory. @returns whether none is left */
  readonly write: Effect.Effect<boolean>
  /** Removes a settlement that is in the ledger now; after the last one, the file is emptied. */
  readonly settled: (ref: string) => Effect.Effect<void>
}

/**
 * Opens a new journal for this process in a directory, and moves into it what dead processes left there. A process is
 * dead when the lock on its journal can be taken.
 */
export const openJournal = (folder: string): Effect.Effect<Journal, never, Scope.Scope> =>
  Effect.gen(function* () {
    const pending = new Map<string, Settlement>()
    const own = yield* Effect.acquireRelease(
      Effect.sync(() => createJournal(folder)),
      ({ fd, path, lock }) =>
        Effect.sync(() => {
          closeSync(fd)
          if (pending.size === 0) rmSync(path)
          lock.release()
          if (pending.size === 0) rmSync(lockPath(path), { force: true })
        }),
    )
    /** Settlements that are in memory only. */
    const unwritten = new Map<string, Settlement>()
    const write = (settlements: ReadonlyArray<Settlement>) => {
      for (const settlement of settlements) {
        pending.set(settlement.hold.ref, settlement)
        unwritten.set(settlement.hold.ref, settlement)
      }
      const lines = [...unwritten.values()].map(lineOf)
      // One that has no line is in memory only: it must not keep the others from the disk.
      appendWhole(own.fd, lines.join(""))
      unwritten.clear()
      if (lines.includes("")) throw new Error("a settlement cannot be encoded, and is in memory only")
    }
    const tryToWrite = (settlements: ReadonlyArray<Settlement>) =>
      Effect.try(() => write(settlements)).pipe(
        Effect.as(true),
        Effect.catch(({ cause }) =>
          Effect.as(
            Effect.logError("The settlement journal cannot be written", cause, { waiting: unwritten.size }),
            false,
          ),
        ),
      )
    for (const name of readdirSync(folder).filter((name) => name.endsWith(".journal"))) {
      const path = join(folder, name)
      if (path === own.path) continue
      const torn = takeOver(path, write)
      if (torn > 0) yield* Effect.logError("A journal has lines that cannot be read", { path, lines: torn })
    }
    return {
      pending: () => [...pending.values()],
      append: (settlement) => tryToWrite([settlement]),
      write: Effect.suspend(() => (unwritten.size === 0 ? Effect.succeed(true) : tryToWrite([]))),
      settled: (ref) =>
        Effect.sync(() => {
          unwritten.delete(ref)
          if (pending.delete(ref) && pending.size === 0) ftruncateSync(own.fd, 0)
        }),
    }
  })

const lockPath = (journal: string): string => `${journal}.lock`

/** A file of its own for each start of a process, locked for as long as the process lives. */
const createJournal = (folder: string) => {
  makeDirectory(folder)
  const path = join(folder, `${randomUUID()}.journal`)
  const lock = tryFileLock(lockPath(path))
  if (lock === undefined) throw new Error(`${path} is locked by another process`)
  const fd = openSync(path, "a", 0o600)
  syncFolder(folder)
  return { path, lock, fd }
}

/** Appends and syncs. After a failure the file is as it was before: a torn line would damage the next one too. */
const appendWhole = (fd: number, text: string): void => {
  const { size } = fstatSync(fd)
  try {
    const bytes = Buffer.from(text)
    if (writeSync(fd, bytes) < bytes.length) throw new Error("There is no room for the whole text")
    fsyncSync(fd)
  } catch (cause) {
    ftruncateSync(fd, size)
    throw cause
  }
}

/**
 * Syncs the directory. Without it, a file that was synced can be missing after a power failure, because its name was not
 * synced. POSIX `fsync`.
 */
const syncFolder = (folder: string): void => {
  // Windows has no such call, and needs none.
  if (process.platform === "win32") return
  const fd = openSync(folder, "r")
  fsyncSync(fd)
  closeSync(fd)
}

/**
 * Writes a dead process's settlements into the own journal, then removes its files. Returns the count of unreadable
 * lines.
 */
const takeOver = (path: string, write: (settlements: ReadonlyArray<Settlement>) => void): number => {
  const lock = tryFileLock(lockPath(path))
  if (lock === undefined) return 0
  try {
    // Another process may have taken it over before the lock was ours.
    if (!existsSync(path)) return 0
    const { settlements, torn } = readJournal(path)
    if (settlements.length > 0) write(settlements)
    rmSync(path)
    return torn
  } finally {
    lock.release()
    rmSync(lockPath(path), { force: true })
  }
}

interface JournalContent {
  readonly settlements: ReadonlyArray<Settlement>
  /** Lines that are not whole. */
  readonly torn: number
}

const checksum = (json: string): string => createHash("sha256").update(json).digest("hex").slice(0, 16)

const writeLine = (settlement: Settlement): string => {
  const json = encode(settlement)
  return `${checksum(json)} ${json}\n`
}

/** The line of a settlement; empty if it cannot be encoded. */
const lineOf = (settlement: Settlement): string => {
  try {
    return writeLine(settlement)
  } catch {
    return ""
  }
}

/** Reads a journal file. */
export const readJournal = (path: string): JournalContent => {
  const lines = readFileSync(path, "utf8")
    .split("\n")
    .filter((line) => line !== "")
  const settlements = lines.flatMap((line) => {
    const json = line.slice(17)
    return line.slice(0, 16) === checksum(json) ? Option.toArray(decode(json)) : []
  })
  return { settlements, torn: lines.length - settlements.length }
}
