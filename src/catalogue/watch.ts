/**
 * `SVC_CATALOGUE`: applied at start, where an error stops the start, and after every change, where an error is logged.
 */
import { readFileSync, watch } from "node:fs"
import { basename, dirname } from "node:path"
import { Effect, Queue, type Scope, Stream } from "effect"
import type { StoreUnavailable } from "../store/unavailable.ts"
import { Catalogue } from "./catalogue.ts"
import { CatalogueRefused, describeRefusal } from "./refusal.ts"

/** Editors write a file in several steps; changes within this time are one. */
const settleTime = "200 millis"

export const applyAndWatch = (
  file: string,
): Effect.Effect<void, CatalogueRefused | StoreUnavailable, Catalogue | Scope.Scope> =>
  Effect.gen(function* () {
    const catalogue = yield* Catalogue
    const apply = Effect.flatMap(read(file), (text) => catalogue.apply(text, { mint: false, by: "file" })).pipe(
      Effect.tap(({ changes, warnings }) => report(file, changes.length, warnings)),
    )
    // Watched before the first read, so that no change is missed.
    const changes = yield* watchFile(file)
    yield* apply
    yield* Stream.fromQueue(changes).pipe(
      Stream.debounce(settleTime),
      Stream.runForEach(() => Effect.catch(apply, (error) => Effect.logError(describeRefusal(file, error)))),
      Effect.forkScoped,
    )
  })

const read = (file: string): Effect.Effect<string, CatalogueRefused> =>
  Effect.try({
    try: () => readFileSync(file, "utf8"),
    catch: () => new CatalogueRefused({ issues: [{ path: "", line: 0, message: "the file cannot be read" }] }),
  })

/** The directory is watched, because editors replace files. */
const watchFile = Effect.fnUntraced(function* (file: string) {
  const changes = yield* Queue.sliding<void>(1)
  yield* Effect.acquireRelease(
    Effect.sync(() =>
      watch(dirname(file), (_event, changed) => {
        if (changed === basename(file)) Queue.offerUnsafe(changes, undefined)
      }),
    ),
    (watcher) => Effect.sync(() => watcher.close()),
  )
  return changes
})

const report = (file: string, changes: number, warnings: ReadonlyArray<string>) =>
  Effect.andThen(
    Effect.logInfo("Catalogue applied", { file, changes }),
    Effect.forEach(warnings, (warning) => Effect.logWarning(warning), { discard: true }),
  )
