/** Where operators mint and revoke application keys; what they do is in the audit log with it. Source: decisions "Admin". */
import { Context, type Duration, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Catalogue } from "../catalogue/catalogue.ts"
import { mintSecret, sha256 } from "../catalogue/secrets.ts"
import type { KeyList, KeyMinted } from "../protocol/admin-directory.ts"
import type { KeyScope } from "../protocol/catalogue.ts"
import { type ServiceError, serviceError } from "../protocol/error.ts"
import { withDeadline } from "../store/database.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"

type ListedKey = KeyList["data"][number]

export class KeyDesk extends Context.Service<
  KeyDesk,
  {
    /** All keys there ever were, newest first; of one organisation's applications where it is named. */
    readonly list: (orgId: string | undefined) => Effect.Effect<ReadonlyArray<ListedKey>, StoreUnavailable>
    /** Makes a key for an application of the catalogue; its secret is told here once. */
    readonly mint: (key: {
      readonly app: string
      readonly id: string | undefined
      readonly scopes: ReadonlyArray<KeyScope>
      readonly expiresAt: string | undefined
    }) => Effect.Effect<KeyMinted, ServiceError<"not_found" | "conflict"> | StoreUnavailable>
    /** Ends a key for good, a catalogue's too. Nodes that know it notice within seconds. */
    readonly revoke: (id: string) => Effect.Effect<void, ServiceError<"not_found"> | StoreUnavailable>
  }
>()("weir/identity/KeyDesk") {}

interface Row {
  readonly id: string
  readonly app_id: string
  readonly scopes: ReadonlyArray<string>
  readonly status: ListedKey["status"]
  readonly origin: ListedKey["origin"]
  readonly created_at: Date
  readonly expires_at: Date | null
}

export const layerKeyDesk = (options: {
  readonly deadline: Duration.Input
}): Layer.Layer<KeyDesk, never, SqlClient.SqlClient | Catalogue> =>
  Layer.effect(
    KeyDesk,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const catalogue = yield* Catalogue
      const bounded = withDeadline(options.deadline)

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

      return KeyDesk.of({
        list: (orgId) =>
          Effect.map(
            bounded(sql<Row>`
              select id, app_id, scopes, status, origin, created_at, expires_at from app_keys
              order by created_at desc, id`),
            (rows) => rows.map(listed).filter((key) => orgId === undefined || key.orgId === orgId),
          ),
        mint: Effect.fnUntraced(function* ({ app, id, scopes, expiresAt }) {
          const known = catalogue.current().app(app)
          if (known === undefined) return yield* serviceError("not_found", "There is no such application")
          const keyId = id ?? mintSecret("key").slice(0, 20)
          const key = mintSecret("wk")
          const [row] = yield* bounded(sql<{ minted: boolean }>`
            select app_key_mint(${keyId}, ${app}, ${known.org.id}, ${sha256(key)}, ${scopes}::text[],
              ${expiresAt ?? null}::text::timestamptz) as minted`)
          return row?.minted === true ? { keyId, key } : yield* serviceError("conflict", "This id is taken")
        }),
        revoke: Effect.fnUntraced(function* (id) {
          const [row] = yield* bounded(sql<{ revoked: boolean }>`select app_key_revoke(${id}) as revoked`)
          if (row?.revoked !== true) return yield* serviceError("not_found", "There is no such key, or it is revoked")
        }),
      })
    }),
  )
