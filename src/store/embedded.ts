/** The embedded database: PostgreSQL (PGlite) in a worker thread of this process, reached over a loopback socket. */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { dirname, extname } from "node:path"
import { Worker } from "node:worker_threads"
import { Effect, type Scope } from "effect"
import { type EmbeddedWorkerData, isListeningMessage } from "./embedded-protocol.ts"
import { isAlive } from "./pid.ts"
import { StoreUnavailable } from "./unavailable.ts"

export interface EmbeddedAddress {
  readonly host: string
  readonly port: number
}

/** Starts the database; closing the scope flushes and stops it. @param dataDir where it is kept; in memory when absent */
export const startEmbedded = (
  dataDir: string | undefined,
): Effect.Effect<EmbeddedAddress, StoreUnavailable, Scope.Scope> =>
  Effect.gen(function* () {
    if (dataDir !== undefined) yield* lock(dataDir)
    const worker = yield* Effect.acquireRelease(
      Effect.sync(() => {
        const workerData: EmbeddedWorkerData = { dataDir }
        return new Worker(new URL(`./embedded-worker${extname(import.meta.filename)}`, import.meta.url), { workerData })
      }),
      stop,
    )
    return yield* listening(worker)
  })

/** Two processes on one folder would destroy it: the first to come writes its pid beside it. */
const lock = (dataDir: string): Effect.Effect<void, StoreUnavailable, Scope.Scope> => {
  const file = `${dataDir}.pid`
  const acquire = Effect.suspend(() => {
    mkdirSync(dirname(dataDir), { recursive: true })
    const owner = existsSync(file) ? Number(readFileSync(file, "utf8")) : undefined
    if (owner !== undefined && owner !== process.pid && isAlive(owner)) {
      const cause = new Error(
        `${dataDir} is in use by process ${owner}; stop it, or set SVC_DATA_DIR to another folder`,
      )
      return Effect.fail(new StoreUnavailable({ store: "postgres", cause }))
    }
    return Effect.sync(() => writeFileSync(file, String(process.pid)))
  })
  return Effect.acquireRelease(acquire, () => Effect.sync(() => rmSync(file, { force: true })))
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
