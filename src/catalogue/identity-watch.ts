/** Watches the identities of the vendors: a metric says which are valid, and the log when one stops or begins to work. */
import { Effect, Layer } from "effect"
import { runEvery } from "../background.ts"
import { identitySeries } from "../telemetry/metrics.ts"
import { Catalogue } from "./catalogue.ts"

const every = "2 seconds"

export const layerIdentityWatch = Layer.effectDiscard(
  Effect.gen(function* () {
    const catalogue = yield* Catalogue
    const tellValid = yield* identitySeries
    let known: ReadonlyMap<string, string | undefined> = new Map()
    yield* runEvery(
      every,
      "Watching identities",
      Effect.suspend(() => {
        const before = known
        known = new Map(
          catalogue
            .current()
            .identities()
            .map(({ vendor, problem }) => [vendor, problem]),
        )
        tellValid([...known].map(([vendor, problem]) => [[vendor], problem === undefined ? 1 : 0]))
        const changed = [...known].filter(([vendor, problem]) => problem !== before.get(vendor))
        return Effect.forEach(changed, ([vendor, problem]) => tell(vendor, problem), { discard: true })
      }),
    )
  }),
)

const tell = (vendor: string, problem: string | undefined): Effect.Effect<void> =>
  problem === undefined
    ? Effect.logInfo("The identity of a vendor works again", { vendor })
    : Effect.logError("The identity of a vendor does not work", { vendor, problem })
