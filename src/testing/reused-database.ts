/**
 * Embedded databases for tests: copies of a migrated one, which are reset and used again. Starting a copy takes a
 * second, a reset a tenth of that.
 */
import { extname } from "node:path"
import { Worker } from "node:worker_threads"
import { Effect, Option, Predicate, type Scope } from "effect"
import { type EmbeddedAddress, listening } from "../store/embedded.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"

interface Copy {
  readonly worker: Worker
  readonly address: EmbeddedAddress
}

/** Copies that no test uses, of all templates of this process: there is one. */
const idle: Array<Copy> = []

/** @param template path of the dump (tar) of a migrated database */
export const reusedDatabase = (template: string): Effect.Effect<EmbeddedAddress, StoreUnavailable, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.suspend(() => {
        const copy = idle.pop()
        return copy === undefined ? startCopy(template) : Effect.succeed(copy)
      }),
      giveBack,
    ),
    ({ address }) => address,
  )

const startCopy = (template: string): Effect.Effect<Copy, StoreUnavailable> =>
  Effect.suspend(() => {
    const file = new URL(`./reused-database-worker${extname(import.meta.filename)}`, import.meta.url)
    const worker = new Worker(file, { workerData: template })
    // An idle copy does not keep the process alive.
    worker.unref()
    return Effect.map(listening(worker), (address) => ({ worker, address }))
  })

/** A copy whose schema a test has changed is discarded. */
const giveBack = (copy: Copy): Effect.Effect<void> =>
  Effect.flatMap(Effect.timeoutOption(reset(copy), "10 seconds"), (isReset) =>
    Option.contains(isReset, true)
      ? Effect.sync(() => void idle.push(copy))
      : Effect.asVoid(Effect.promise(() => copy.worker.terminate())),
  )

const reset = ({ worker }: Copy): Effect.Effect<boolean> =>
  Effect.callback<boolean>((resume) => {
    const onMessage = (message: unknown) => {
      if (Predicate.hasProperty(message, "isReset")) finish(message.isReset === true)
    }
    const onExit = () => finish(false)
    const stopListening = () => void worker.off("message", onMessage).off("exit", onExit)
    const finish = (isReset: boolean) => {
      stopListening()
      resume(Effect.succeed(isReset))
    }
    worker.on("message", onMessage).on("exit", onExit)
    worker.postMessage({ reset: true })
    return Effect.sync(stopListening)
  })
