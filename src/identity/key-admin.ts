/** Minting and revoking application keys, with audit records. Source: decisions "Admin". */
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Catalogue } from "../catalogue/catalogue.ts"
import { mintSecret, sha256 } from "../catalogue/secrets.ts"
import type { KeyList, KeyMinted } from "../protocol/admin-directory.ts"
import type { KeyScope } from "../protocol/catalogue.ts"
import { type ServiceError, serviceError } from "../protocol/error.ts"
import { queryDeadline } from "../store/database.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"

type ListedKey = KeyList["data"][number]

export class KeyAdmin extends Context.Service<
  KeyAdmin,
  {
    /** All keys, newest first; of one organisation's applications if it is given. */
    readonly list: (orgId: string | undefined) => Effect.Effect<ReadonlyArray<ListedKey>, StoreUnavailable>
    /** Mints a key for an application of the catalogue. The secret is returned once. */
    readonly mint: (key: {
      readonly app: string
      readonly id: string | undefined
      readonly scopes: ReadonlyArray<KeyScope>
      readonly expiresAt: string | undefined
    }) => Effect.Effect<KeyMinted, ServiceError<"not_found" | "conflict"> | StoreUnavailable>
    /** Revokes a key for good, including a key of the catalogue. Nodes notice within seconds. */
    readonly revoke: (id: string) => Effect.Effect<void, ServiceError<"not_found"> | StoreUnavailable>
  }
>()("weir/identity/KeyAdmin") {
  static readonly layer = Layer.effect(
    KeyAdmin,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const catalogue = yield* Catalogue
      const bounded = yield* queryDeadline

      const listed = ({ id, app_id: appId, scopes, status, origin, created_at, expires_at }: Row): ListedKey => {
        const orgId = catalogue.current().app(appId)?.org.id
        return {
          id,
          appId,
          ...(orgId !== undefined && { orgId }),
          scopes,
          status,
          origin,
          createdAt: created_at.toISOString(),
          ...(expires_at !== null && { expiresAt: expires_at.toISOString() }),
        }
      }

      return KeyAdmin.of({
        list: (orgId) =>
          Effect.map(
            bounded(sql<Row>`
              select id, app_id, scopes, status, origin, created_at, expires_at from app_keys
              order by created_at desc, id`),
            (rows) => rows.map(listed).filter((key) => orgId === undefined || key.orgId === orgId),
          ),
        mint: Effect.fnUntraced(function* ({ app, id, scopes, expiresAt }) {
          const known = catalogue.current().app(app)
          if (known === undefined) return yield* serviceError("not_found", "The application does not exist")
          const keyId = id ?? mintSecret("key").slice(0, 20)
          const key = mintSecret("wk")
          const [row] = yield* bounded(sql<{ minted: boolean }>`
            select app_key_mint(${keyId}, ${app}, ${known.org.id}, ${sha256(key)}, ${scopes}::text[],
              ${expiresAt ?? null}::text::timestamptz) as minted`)
          return row?.minted === true ? { keyId, key } : yield* serviceError("conflict", "This id already exists")
        }),
        revoke: Effect.fnUntraced(function* (id) {
          const [row] = yield* bounded(sql<{ revoked: boolean }>`select app_key_revoke(${id}) as revoked`)
          if (row?.revoked !== true)
            return yield* serviceError("not_found", "The key does not exist or is already revoked")
        }),
      })
    }),
  )
}

interface Row {
  readonly id: string
  readonly app_id: string
  readonly scopes: ReadonlyArray<string>
  readonly status: ListedKey["status"]
  readonly origin: ListedKey["origin"]
  readonly created_at: Date
  readonly expires_at: Date | null
}
