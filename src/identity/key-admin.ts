/** Minting and revoking application keys, with audit records. */
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { KeyScope } from "../protocol/catalogue/tenant.ts"
import type { KeyMinted } from "../protocol/control/admin-directory.ts"
import { type ServiceError, serviceError } from "../protocol/error.ts"
import { mintSecret, sha256 } from "../secrets.ts"
import type { Actor } from "../store/audit-log.ts"
import { ChangeFeed } from "../store/change-feed.ts"
import { queryDeadline } from "../store/database.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"
import { Tenants } from "../tenants/tenants.ts"

export interface KeyActor {
  readonly actor: Actor
  /** The key must be of this organisation; others are not found. */
  readonly within?: string | undefined
}

export class KeyAdmin extends Context.Service<
  KeyAdmin,
  {
    /** Mints a key for an application. The secret is returned once. */
    readonly mint: (key: {
      readonly app: string
      readonly id: string | undefined
      readonly name?: string | undefined
      readonly scopes: ReadonlyArray<KeyScope>
      readonly expiresAt: string | undefined
      readonly by: KeyActor
    }) => Effect.Effect<KeyMinted, ServiceError<"not_found" | "conflict"> | StoreUnavailable>
    /** Revokes a key for good, including a key of the catalogue. In force here at once. */
    readonly revoke: (id: string, by: KeyActor) => Effect.Effect<void, ServiceError<"not_found"> | StoreUnavailable>
  }
>()("weir/identity/KeyAdmin") {
  static readonly layer = Layer.effect(
    KeyAdmin,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const tenants = yield* Tenants
      const feed = yield* ChangeFeed
      const bounded = yield* queryDeadline

      return KeyAdmin.of({
        mint: Effect.fnUntraced(function* ({ app, id, name, scopes, expiresAt, by: { actor, within } }) {
          const known = yield* tenants.app(app)
          if (known === undefined || (within !== undefined && known.org.id !== within))
            return yield* serviceError("not_found", "The application does not exist")
          const keyId = id ?? mintSecret("key").slice(0, 20)
          const key = mintSecret("wk")
          const [row] = yield* bounded(sql<{ minted: boolean }>`
            select app_key_mint(${keyId}, ${app}, ${known.org.id}, ${sha256(key)}, ${scopes}::text[],
              ${expiresAt ?? null}::text::timestamptz, ${name ?? null}, ${actor.type}, ${actor.id}) as minted`)
          if (row?.minted !== true) return yield* serviceError("conflict", "This id already exists")
          yield* feed.catchUp
          return { keyId, key }
        }),
        revoke: Effect.fnUntraced(function* (id, { actor, within }) {
          const [row] = yield* bounded(sql<{ revoked: boolean }>`
            select app_key_revoke(${id}, ${within ?? null}, ${actor.type}, ${actor.id}) as revoked`)
          if (row?.revoked !== true)
            return yield* serviceError("not_found", "The key does not exist or is already revoked")
          yield* feed.catchUp
        }),
      })
    }),
  )
}
