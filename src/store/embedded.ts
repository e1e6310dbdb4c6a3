/** The embedded database: PostgreSQL (PGlite) in a worker thread of this process, reached over a loopback socket. */
import { dirname, extname, join } from "node:path"
import { Worker } from "node:worker_threads"
import { Context, Effect, Redacted, type Scope } from "effect"
import { makeDirectory } from "../files/directory.ts"
import { tryFileLock } from "../files/file-lock.ts"
import { type EmbeddedWorkerData, isListeningMessage } from "./embedded-protocol.ts"
import { StoreUnavailable } from "./unavailable.ts"

export interface EmbeddedAddress {
  readonly host: string
  readonly port: number
  /** The password, new at each start. */
  readonly password: Redacted.Redacted
}

/** The folder of the database under `SVC_DATA_DIR`; undefined if the database is in memory. */
export const embeddedDirectory = (dataDir: string): string | undefined =>
  dataDir === ":memory:" ? undefined : join(dataDir, "postgres")

type Started = Effect.Effect<EmbeddedAddress, StoreUnavailable, Scope.Scope>

/** Starts the database; closing the scope flushes and stops it. @param dataDir its directory; in memory if absent */
export const startEmbedded = (dataDir: string | undefined): Started =>
  dataDir === undefined ? startWorker({}) : Effect.andThen(lock(dataDir), startWorker({ dataDir }))

/**
 * The function that starts the database. `weir serve` replaces it by one whose database has begun to start before the
 * gateway's modules are loaded; tests replace it by one that reuses migrated databases.
 */
export const EmbeddedDatabase = Context.Reference<(dataDir: string | undefined) => Started>(
  "weir/store/EmbeddedDatabase",
  { defaultValue: () => startEmbedded },
)

const startWorker = (workerData: EmbeddedWorkerData): Started =>
  Effect.flatMap(
    Effect.acquireRelease(
      Effect.sync(() => new Worker(moduleBeside("embedded-worker"), { workerData })),
      stop,
    ),
    listening,
  )

/** A module of this folder, by its name before and after compilation. */
const moduleBeside = (name: string) => new URL(`./${name}${extname(import.meta.filename)}`, import.meta.url)

/** Two processes on one directory would destroy it: the first one holds a lock beside it. */
const lock = (dataDir: string): Effect.Effect<void, StoreUnavailable, Scope.Scope> => {
  const unavailable = (cause: unknown) => new StoreUnavailable({ store: "postgres", cause })
  const acquire = Effect.try({
    try: () => {
      makeDirectory(dirname(dataDir))
      return tryFileLock(`${dataDir}.lock`)
    },
    catch: unavailable,
  })
  return Effect.acquireRelease(
    Effect.filterOrFail(
      acquire,
      (held) => held !== undefined,
      () =>
        unavailable(
          new Error(`${dataDir} is in use by another process; stop it, or set SVC_DATA_DIR to another directory`),
        ),
    ),
    (held) => Effect.sync(() => held.release()),
  )
}

/** Waits until a worker accepts connections. */
export const listening = (worker: Worker): Effect.Effect<EmbeddedAddress, StoreUnavailable> =>
  Effect.callback((resume) => {
    worker.once("error", (cause) => resume(Effect.fail(new StoreUnavailable({ store: "postgres", cause }))))
    worker.on("message", (message: unknown) => {
      if (!isListeningMessage(message)) return
      const [host = "", port = ""] = message.listening.split(":")
      resume(Effect.succeed({ host, port: Number(port), password: Redacted.make(message.password) }))
    })
  })

const stop = (worker: Worker): Effect.Effect<void> =>
  Effect.callback<void>((resume) => {
    worker.once("exit", () => resume(Effect.void))
    worker.postMessage({ stop: true })
  }).pipe(
    Effect.timeoutOrElse({ duration: "10 seconds", orElse: () => Effect.promise(() => worker.terminate()) }),
    Effect.asVoid,
  )
