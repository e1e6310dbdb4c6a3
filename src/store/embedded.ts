/** The embedded database: PostgreSQL (PGlite) in a worker thread of this process, reached over a loopback socket. */
import { dirname, extname } from "node:path"
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

/**
 * A dump of a migrated database that databases in memory start from: creating one takes two seconds, loading a dump a
 * quarter of that. For tests; undefined starts with an empty database.
 */
export const EmbeddedTemplate = Context.Reference<string | undefined>("weir/store/EmbeddedTemplate", {
  defaultValue: () => undefined,
})

/** Starts the database; closing the scope flushes and stops it. @param dataDir its directory; in memory if absent */
export const startEmbedded = (
  dataDir: string | undefined,
): Effect.Effect<EmbeddedAddress, StoreUnavailable, Scope.Scope> =>
  Effect.gen(function* () {
    if (dataDir !== undefined) yield* lock(dataDir)
    const template = yield* EmbeddedTemplate
    const worker = yield* Effect.acquireRelease(
      Effect.sync(() => {
        const workerData: EmbeddedWorkerData = { dataDir, template }
        return new Worker(new URL(`./embedded-worker${extname(import.meta.filename)}`, import.meta.url), { workerData })
      }),
      stop,
    )
    return yield* listening(worker)
  })

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

const listening = (worker: Worker): Effect.Effect<EmbeddedAddress, StoreUnavailable> =>
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
