/** The embedded database: PostgreSQL (PGlite) in a worker thread of this process, reached over a loopback socket. */
import { type ChildProcess, fork } from "node:child_process"
import { existsSync } from "node:fs"
import { dirname, extname, join } from "node:path"
import { Worker } from "node:worker_threads"
import { Context, Effect, type Scope } from "effect"
import { makeDirectory } from "./directory.ts"
import { type EmbeddedWorkerData, isListeningMessage } from "./embedded-protocol.ts"
import { tryFileLock } from "./file-lock.ts"
import { StoreUnavailable } from "./unavailable.ts"

export interface EmbeddedAddress {
  readonly host: string
  readonly port: number
}

/** Starts a database in memory: an empty one of its own. Tests replace it, to reuse migrated ones. */
export const InMemoryDatabase = Context.Reference<Effect.Effect<EmbeddedAddress, StoreUnavailable, Scope.Scope>>(
  "weir/store/InMemoryDatabase",
  { defaultValue: () => startWorker({}) },
)

/** Starts the database; closing the scope flushes and stops it. @param dataDir its directory; in memory if absent */
export const startEmbedded = (
  dataDir: string | undefined,
): Effect.Effect<EmbeddedAddress, StoreUnavailable, Scope.Scope> =>
  dataDir === undefined
    ? Effect.flatten(InMemoryDatabase)
    : lock(dataDir).pipe(Effect.andThen(created(dataDir)), Effect.andThen(startWorker({ dataDir })))

const startWorker = (workerData: EmbeddedWorkerData): Effect.Effect<EmbeddedAddress, StoreUnavailable, Scope.Scope> =>
  Effect.flatMap(
    Effect.acquireRelease(
      Effect.sync(() => new Worker(moduleBeside("embedded-worker"), { workerData })),
      stop,
    ),
    listening,
  )

/** Creates the files at the first start, in a process of its own: it takes 400 MB, which end with the process. */
const created = (dataDir: string): Effect.Effect<void, StoreUnavailable> =>
  Effect.suspend(() =>
    existsSync(join(dataDir, "PG_VERSION"))
      ? Effect.void
      : Effect.acquireUseRelease(
          Effect.andThen(
            Effect.logInfo("Creating the embedded database, once; it takes some seconds", { dataDir }),
            Effect.sync(() => fork(moduleBeside("embedded-create"), [dataDir])),
          ),
          (child) => succeeded(child, dataDir),
          (child) => Effect.sync(() => child.kill("SIGKILL")),
        ),
  )

const succeeded = (child: ChildProcess, dataDir: string): Effect.Effect<void, StoreUnavailable> =>
  Effect.callback((resume) => {
    const fail = (cause: unknown) => resume(Effect.fail(new StoreUnavailable({ store: "postgres", cause })))
    child.once("error", fail)
    child.once("exit", (code) =>
      code === 0 ? resume(Effect.void) : fail(new Error(`the embedded database could not be created in ${dataDir}`)),
    )
  })

/** A module of this folder, as it is called before and after compilation. */
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
      resume(Effect.succeed({ host, port: Number(port) }))
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
