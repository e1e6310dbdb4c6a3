/** Settings of organisations for their applications (`PUT /v1/apps/{id}/config`); they override the application's declaration. */
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { AppConfig } from "../protocol/control/app-config.ts"
import { ChangeFeed } from "../store/change-feed.ts"
import { queryDeadline } from "../store/database.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"

export class AppConfigs extends Context.Service<
  AppConfigs,
  {
    /** Replaces the configuration; absent members fall back to the application. In force here at once. */
    readonly set: (appId: string, config: AppConfig) => Effect.Effect<void, StoreUnavailable>
  }
>()("weir/identity/AppConfigs") {
  static readonly layer = Layer.effect(
    AppConfigs,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const feed = yield* ChangeFeed
      const bounded = yield* queryDeadline
      return AppConfigs.of({
        set: Effect.fn("AppConfigs.set")(function* (appId, config) {
          yield* bounded(sql`
            insert into app_configs (app_id, config) values (${appId}, ${JSON.stringify(config)}::text::jsonb)
            on conflict (app_id) do update set config = excluded.config, revision = excluded.revision, updated_at = now()`)
          yield* feed.catchUp
        }),
      })
    }),
  )
}
