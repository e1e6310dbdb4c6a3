/**
 * `SVC_CATALOGUE`: applied at start, where an error stops the start, and after every change, where an error is a problem of
 * the node.
 */
import { readFileSync } from "node:fs"
import { Effect, type Scope } from "effect"
import type { StoreUnavailable } from "../store/unavailable.ts"
import type { NodeProblems } from "../telemetry/node-problems.ts"
import { FileRefused, watchFiles } from "../watched-files.ts"
import { type Applied, Catalogue } from "./catalogue.ts"
import { CatalogueRefused, describeRefusal } from "./refusal.ts"

export const applyAndWatch = (
  file: string,
  {
    prune,
    mintsAtStart,
  }: {
    /** Whether entries that the file no longer contains are removed. */
    readonly prune: boolean
    /** Whether the start makes the secrets of new keys without one; the caller shows them. */
    readonly mintsAtStart: boolean
  },
): Effect.Effect<Applied["minted"], CatalogueRefused | StoreUnavailable, Catalogue | NodeProblems | Scope.Scope> =>
  Effect.gen(function* () {
    const catalogue = yield* Catalogue
    const apply = (text: string, mint = false) =>
      Effect.tap(catalogue.apply(text, { mint, by: "file", prune }), ({ changes, dropped, warnings }) =>
        report(file, changes.length, dropped.length > 0 && !prune ? [...warnings, stays(dropped)] : warnings),
      )
    const text = yield* read(file)
    const { minted } = yield* apply(text, mintsAtStart)
    yield* watchFiles({
      paths: [file],
      before: [text],
      take: ([changed = ""]) =>
        Effect.catchTag(Effect.asVoid(apply(changed)), "CatalogueRefused", (error) =>
          Effect.fail(new FileRefused({ message: describeRefusal(file, error) })),
        ),
    })
    return minted
  })

/** Whether a text is what the watched file has now. */
export const isWatchedText = (file: string, text: string | undefined): Effect.Effect<boolean> =>
  Effect.orElseSucceed(
    Effect.map(read(file), (content) => content === text),
    () => false,
  )

const read = (file: string): Effect.Effect<string, CatalogueRefused> =>
  Effect.try({
    try: () => readFileSync(file, "utf8"),
    catch: () => new CatalogueRefused({ issues: [{ path: "", line: 0, message: "the file cannot be read" }] }),
  })

/** Names of a warning. */
const mostNames = 10

const stays = (dropped: ReadonlyArray<string>) => {
  const names = [...dropped.slice(0, mostNames), ...(dropped.length > mostNames ? ["…"] : [])].join(", ")
  return `${dropped.length} entries are no longer in the file and stay as they are (SVC_CATALOGUE_PRUNE=1 removes them): ${names}`
}

const report = (file: string, changes: number, warnings: ReadonlyArray<string>) =>
  Effect.andThen(
    Effect.logInfo("Catalogue applied", { file, changes }),
    Effect.forEach(warnings, (warning) => Effect.logWarning(warning), { discard: true }),
  )
