/**
 * `SVC_CATALOGUE`: applied at start, where an error stops the start, and after every change, where an error is a problem of
 * the node.
 */
import { readFileSync } from "node:fs"
import { Effect, type Scope } from "effect"
import type { StoreUnavailable } from "../store/unavailable.ts"
import type { NodeProblems } from "../telemetry/node-problems.ts"
import { FileRefused, watchFiles } from "../watched-files.ts"
import { Catalogue } from "./catalogue.ts"
import { CatalogueRefused, describeRefusal } from "./refusal.ts"

export const applyAndWatch = (
  file: string,
): Effect.Effect<void, CatalogueRefused | StoreUnavailable, Catalogue | NodeProblems | Scope.Scope> =>
  Effect.gen(function* () {
    const catalogue = yield* Catalogue
    const apply = (text: string) =>
      Effect.tap(catalogue.apply(text, { mint: false, by: "file" }), ({ changes, warnings }) =>
        report(file, changes.length, warnings),
      )
    const text = yield* read(file)
    yield* apply(text)
    yield* watchFiles({
      paths: [file],
      before: [text],
      take: ([changed = ""]) =>
        Effect.catchTag(Effect.asVoid(apply(changed)), "CatalogueRefused", (error) =>
          Effect.fail(new FileRefused({ message: describeRefusal(file, error) })),
        ),
    })
  })

const read = (file: string): Effect.Effect<string, CatalogueRefused> =>
  Effect.try({
    try: () => readFileSync(file, "utf8"),
    catch: () => new CatalogueRefused({ issues: [{ path: "", line: 0, message: "the file cannot be read" }] }),
  })

const report = (file: string, changes: number, warnings: ReadonlyArray<string>) =>
  Effect.andThen(
    Effect.logInfo("Catalogue applied", { file, changes }),
    Effect.forEach(warnings, (warning) => Effect.logWarning(warning), { discard: true }),
  )
