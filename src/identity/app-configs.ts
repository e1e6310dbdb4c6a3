/**
 * Settings of organisations for their applications (`PUT /v1/apps/{id}/config`); they override the catalogue. Held in
 * memory on every node and refreshed regularly.
 */
import { Context, Effect, Layer, Schedule, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { type AppEntry, readNetworks } from "../catalogue/snapshot.ts"
import { AppConfig } from "../protocol/app-config.ts"
import { queryDeadline, refreshEvery } from "../store/database.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"

export class AppConfigs extends Context.Service<
  AppConfigs,
  {
    /** The configuration of an application; cheap, for the hot path. */
    readonly of: (appId: string) => AppConfig | undefined
    /** An application with its configuration applied. */
    readonly apply: (entry: AppEntry) => AppEntry
    /** Replaces the configuration; absent members fall back to the catalogue. */
    readonly set: (appId: string, config: AppConfig) => Effect.Effect<void, StoreUnavailable>
  }
>()("weir/identity/AppConfigs") {
  static readonly layer = Layer.effect(
    AppConfigs,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const bounded = yield* queryDeadline
      let known: ReadonlyMap<string, AppConfig> = new Map()
      let state = ""

      const refresh = Effect.gen(function* () {
        const [now] = yield* bounded(sql<{ state: string }>`
          select count(*) || ' ' || coalesce(sum(revision), 0) as state from app_configs`)
        if (now === undefined || now.state === state) return
        const rows = yield* bounded(sql<ConfigRow>`select app_id, config from app_configs`)
        const configs = new Map<string, AppConfig>()
        for (const { app_id, config } of rows) {
          yield* decodeConfig(config).pipe(
            Effect.map((decoded) => configs.set(app_id, decoded)),
            Effect.catch((error) => Effect.logError(`The configuration of ${app_id} cannot be read`, error)),
          )
        }
        known = configs
        state = now.state
      })

      yield* refresh
      yield* Effect.forkScoped(
        Effect.repeat(
          Effect.catch(refresh, (error) =>
            Effect.logWarning("Application configurations could not be refreshed", error),
          ),
          Schedule.spaced(refreshEvery),
        ),
      )
      return AppConfigs.of({
        of: (appId) => known.get(appId),
        apply: (entry) => {
          const config = known.get(entry.app.id)
          return config === undefined ? entry : withConfig(entry, config)
        },
        set: Effect.fn("AppConfigs.set")(function* (appId, config) {
          yield* bounded(sql`
            insert into app_configs (app_id, config) values (${appId}, ${JSON.stringify(config)}::text::jsonb)
            on conflict (app_id) do update set config = excluded.config, revision = excluded.revision, updated_at = now()`)
          yield* refresh
        }),
      })
    }),
  )
}

interface ConfigRow {
  readonly app_id: string
  readonly config: unknown
}

const decodeConfig = Schema.decodeUnknownEffect(AppConfig)

const withConfig = (entry: AppEntry, { quota, requireSignature, ipAllow, disabled }: AppConfig): AppEntry => ({
  ...entry,
  ipAllow: ipAllow === undefined ? entry.ipAllow : readNetworks(ipAllow),
  app: {
    ...entry.app,
    ...(quota !== undefined && { quota: { ...entry.app.quota, ...quota } }),
    ...(requireSignature !== undefined && { requireSignature }),
    ...(ipAllow !== undefined && { ipAllow }),
    ...(disabled !== undefined && { disabled }),
  },
})
