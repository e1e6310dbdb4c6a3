/** Minting and revoking application keys, with audit records. */
import { Context, Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { SubjectLimits } from "../protocol/catalogue/limits.ts"
import type { KeyScope } from "../protocol/catalogue/tenant.ts"
import { type KeyMinted, type KeyRotated, type KeyRotation, KeyUpdate } from "../protocol/control/admin-directory.ts"
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
      readonly limits?: SubjectLimits | undefined
      /** The same request again gives the same key a new secret. */
      readonly requestId?: string | undefined
      readonly by: KeyActor
    }) => Effect.Effect<KeyMinted, ServiceError<"not_found" | "conflict"> | StoreUnavailable>
    /** Gives a key a new secret; the former one works on for a while. The same request again replaces the new one only. */
    readonly rotate: (
      id: string,
      asked: KeyRotation,
      by: KeyActor,
    ) => Effect.Effect<KeyRotated, ServiceError<"not_found" | "conflict"> | StoreUnavailable>
    /** Changes a key that no catalogue declares. */
    readonly change: (
      id: string,
      change: KeyUpdate,
      by: KeyActor,
    ) => Effect.Effect<void, ServiceError<"not_found" | "conflict"> | StoreUnavailable>
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
        mint: Effect.fnUntraced(function* ({
          app,
          id,
          name,
          scopes,
          expiresAt,
          limits = {},
          requestId,
          by: { actor, within },
        }) {
          const known = yield* tenants.app(app)
          if (known === undefined || (within !== undefined && known.org.id !== within))
            return yield* serviceError("not_found", "The application does not exist")
          const keyId = id ?? mintSecret("key").slice(0, 20)
          const key = mintSecret("wk")
          const text = Object.keys(limits).length === 0 ? null : JSON.stringify(encodeLimits(limits))
          const [row] = yield* bounded(sql<{ minted: string | null }>`
            select app_key_mint(${keyId}, ${app}, ${known.org.id}, ${sha256(key)}, ${scopes}::text[],
              ${expiresAt ?? null}::text::timestamptz, ${name ?? null}, ${text}::text::jsonb, ${requestId ?? null},
              ${actor.type}, ${actor.id}) as minted`)
          const minted = row?.minted
          if (minted === null || minted === undefined) return yield* taken
          yield* feed.catchUp
          return { keyId: minted, key }
        }),
        rotate: Effect.fnUntraced(function* (id, { graceS = defaultGraceS, requestId }, { actor, within }) {
          const key = mintSecret("wk")
          const [row] = yield* bounded(sql<{ outcome: string; former_until: Date | null }>`
            select * from app_key_rotate(${id}, ${within ?? null}, ${sha256(key)}, ${graceS}::int, ${requestId ?? null},
              ${actor.type}, ${actor.id})`)
          if (row?.outcome === "declared") return yield* declared
          if (row?.outcome !== "rotated") return yield* noSuchKey
          yield* feed.catchUp
          return { keyId: id, key, ...(row.former_until !== null && { formerUntil: row.former_until.toISOString() }) }
        }),
        change: Effect.fnUntraced(function* (id, change, { actor, within }) {
          const [row] = yield* bounded(sql<{ outcome: string }>`
            select app_key_change(${id}, ${within ?? null}, ${JSON.stringify(encodeUpdate(change))}::text::jsonb,
              ${actor.type}, ${actor.id}) as outcome`)
          if (row?.outcome === "declared") return yield* declared
          if (row?.outcome !== "changed") return yield* noSuchKey
          yield* feed.catchUp
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

/** The time for which a former secret works, if nothing else is asked for. */
const defaultGraceS = 86_400

const encodeLimits = Schema.encodeSync(SubjectLimits)
const encodeUpdate = Schema.encodeSync(KeyUpdate)

const taken = serviceError("conflict", "This id already exists, or the key of this request was rotated")
const declared = serviceError("conflict", "The catalogue declares this key: change it there")
const noSuchKey = serviceError("not_found", "The key does not exist or is revoked")
