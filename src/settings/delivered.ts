/**
 * The settings delivered to a caller: of the platform and the organisation, and, for a person, of their teams and of
 * themselves. Cached briefly, because every heartbeat needs them.
 */
import { Context, Effect, Layer } from "effect"
import { Catalogue } from "../catalogue/catalogue.ts"
import { WeirConfig } from "../config.ts"
import type { Caller } from "../identity/caller.ts"
import { makeCachedLookup } from "../store/cached-lookup.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"
import { leavesOf, undeliverable } from "./key-paths.ts"
import { type Effective, merge } from "./merge.ts"
import { type LayerId, platform, Settings } from "./settings.ts"

export class DeliveredSettings extends Context.Service<
  DeliveredSettings,
  {
    /** Returns the same object while it is cached. */
    readonly of: (caller: Caller) => Effect.Effect<Effective, StoreUnavailable>
  }
>()("weir/settings/DeliveredSettings") {
  static readonly layer = Layer.effect(
    DeliveredSettings,
    Effect.gen(function* () {
      const settings = yield* Settings
      const catalogue = yield* Catalogue
      const { authStaleMs } = yield* WeirConfig

      const effective = yield* makeCachedLookup<Effective>((key) => {
        const allowed = catalogue.current().document.deliverableSettings ?? []
        return Effect.map(settings.read(layersOf(key)), (layers) =>
          merge(
            layers.map(({ scope, settings: all }) => ({
              scope,
              settings: all.filter(({ keyPath, value }) =>
                leavesOf(keyPath, value).every(([leaf]) => undeliverable(leaf, allowed) === undefined),
              ),
            })),
          ),
        )
      }, authStaleMs)

      return DeliveredSettings.of({
        of: (caller) => Effect.map(effective(keyOf(caller)), (found) => found ?? nothing),
      })
    }),
  )
}

const nothing: Effective = merge([])

/** Ids contain no spaces. */
const keyOf = ({ org, person }: Caller): string =>
  person === undefined ? org.id : [org.id, person.id, ...person.teams].join(" ")

const layersOf = (key: string): ReadonlyArray<LayerId> => {
  const [org = "", person, ...teams] = key.split(" ")
  return [
    platform,
    { scope: "org", subject: org },
    ...teams.map((subject): LayerId => ({ scope: "team", subject })),
    ...(person === undefined ? [] : [{ scope: "user" as const, subject: person }]),
  ]
}
