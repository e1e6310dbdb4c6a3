/**
 * The settlement journal: where a settlement waits on this node's disk while the database is away. Lines of JSON, each
 * behind its checksum, synced before anybody is told; a torn last line is known by it, and the ones before it are kept.
 */
import { createHash } from "node:crypto"
import {
  closeSync,
  existsSync,
  fsyncSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeSync,
} from "node:fs"
import { join } from "node:path"
import { Effect, Option, Schema, type Scope } from "effect"
import { EstimatedReason } from "../protocol/usage.ts"
import { isAlive } from "../store/pid.ts"
import type { Settlement } from "./ledger.ts"

/** A settlement as it is written: amounts as strings, because JSON has no integers that large. */
const Entry = Schema.Struct({
  ref: Schema.String,
  cost: Schema.BigIntFromString,
  record: Schema.Struct({
    appId: Schema.String,
    sessionId: Schema.optional(Schema.String),
    purpose: Schema.String,
    model: Schema.String,
    vendor: Schema.String,
    counts: Schema.Struct({
      inTokens: Schema.Int,
      outTokens: Schema.Int,
      cacheReadTokens: Schema.Int,
      cacheWriteTokens: Schema.Int,
      dims: Schema.Record(Schema.String, Schema.Int),
    }),
    estimatedReason: Schema.optional(EstimatedReason),
    stop: Schema.String,
    cacheNetSaving: Schema.BigIntFromString,
  }),
})
const EntryJson = Schema.fromJsonString(Entry)
const encode = Schema.encodeSync(EntryJson)
const decode = Schema.decodeUnknownOption(EntryJson)

export interface Journal {
  /** Settlements that have not landed yet, oldest first. */
  readonly pending: () => ReadonlyArray<Settlement>
  /** Keeps a settlement; it is on disk when this returns. */
  readonly append: (settlement: Settlement) => Effect.Effect<void>
  /** A settlement has landed; when the last one has, the file is emptied. */
  readonly landed: (ref: string) => Effect.Effect<void>
}

/** Opens this process's journal in a folder, and takes over what processes that are gone have left there. */
export const openJournal = (folder: string): Effect.Effect<Journal, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { fd, file, left } = yield* Effect.acquireRelease(
      Effect.sync(() => openOwn(folder)),
      ({ fd }) => Effect.sync(() => closeSync(fd)),
    )
    const pending = new Map<string, Settlement>()
    const write = (settlements: ReadonlyArray<Settlement>) => {
      for (const settlement of settlements) pending.set(settlement.ref, settlement)
      writeSync(fd, settlements.map(writeLine).join(""))
      fsyncSync(fd)
    }
    for (const { path, settlements, torn } of left) {
      if (settlements.length > 0) write(settlements)
      if (torn > 0) yield* Effect.logError("A journal has lines that cannot be read", { path, lines: torn })
      if (path !== file) rmSync(path)
    }
    return {
      pending: () => [...pending.values()],
      append: (settlement) => Effect.sync(() => write([settlement])),
      landed: (ref) =>
        Effect.sync(() => {
          if (pending.delete(ref) && pending.size === 0) ftruncateSync(fd, 0)
        }),
    }
  })

interface LeftJournal {
  readonly path: string
  readonly settlements: ReadonlyArray<Settlement>
  readonly torn: number
}

const openOwn = (folder: string) => {
  mkdirSync(folder, { recursive: true })
  const file = join(folder, `${process.pid}.journal`)
  const left = readdirSync(folder)
    .filter((name) => name.endsWith(".journal"))
    .filter((name) => name === `${process.pid}.journal` || !isAlive(Number.parseInt(name, 10)))
    .map((name) => readJournal(join(folder, name)))
  // An own file from an earlier process of this pid is written anew with what is in it.
  if (existsSync(file)) rmSync(file)
  return { fd: openSync(file, "a", 0o600), file, left }
}

const checksum = (json: string): string => createHash("sha256").update(json).digest("hex").slice(0, 16)

const writeLine = (settlement: Settlement): string => {
  const json = encode(settlement)
  return `${checksum(json)} ${json}\n`
}

/** Reads a journal file: every whole line, and how many are not. */
export const readJournal = (path: string): LeftJournal => {
  const lines = readFileSync(path, "utf8")
    .split("\n")
    .filter((line) => line !== "")
  const settlements = lines.flatMap((line) => {
    const json = line.slice(17)
    return line.slice(0, 16) === checksum(json) ? Option.toArray(decode(json)) : []
  })
  return { path, settlements, torn: lines.length - settlements.length }
}
