/** A fixed catalogue from a text, without a database. */
import { Effect, Layer, Result } from "effect"
import { Catalogue } from "../catalogue/catalogue.ts"
import { loadCatalogue } from "../catalogue/load.ts"
import { CatalogueRefused } from "../catalogue/refusal.ts"
import { makeSnapshot } from "../catalogue/snapshot.ts"

/** @param resolveSecret of references; none has a secret if absent */
export const layerStaticCatalogue = (
  text: string,
  resolveSecret: (ref: string) => string | undefined = () => undefined,
): Layer.Layer<Catalogue, CatalogueRefused> =>
  Layer.effect(
    Catalogue,
    Effect.gen(function* () {
      const loaded = loadCatalogue(text)
      if (Result.isFailure(loaded)) return yield* new CatalogueRefused({ issues: loaded.failure })
      const snapshot = makeSnapshot(loaded.success.document, 1n, "static", resolveSecret)
      return Catalogue.of({
        inForce: Effect.succeed({ revision: 1n, text: undefined, appliedBy: undefined }),
        revisions: { list: () => Effect.succeed([]), find: () => Effect.succeed(undefined) },
        current: () => snapshot,
        refresh: Effect.void,
        apply: () => Effect.die("a static catalogue cannot be applied to"),
      })
    }),
  )
