/** The token with which an organisation's directory calls the SCIM routes. Only its hash is stored; there is one at most. */
import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { ScimState } from "../../protocol/control/scim.ts"
import { type ServiceError, serviceError } from "../../protocol/error.ts"
import { mintSecret, sha256 } from "../../secrets.ts"
import type { Actor } from "../../store/audit-log.ts"
import { queryDeadline } from "../../store/database.ts"
import type { StoreUnavailable } from "../../store/unavailable.ts"

/** The directory that a request comes from. */
export interface ScimCaller {
  readonly orgId: string
  /** Whether it may make, change and remove owners. */
  readonly mayOwn: boolean
}

export class ScimTokens extends Context.Service<
  ScimTokens,
  {
    /** Makes a token; the former one ends. @param mayOwn whether its maker may change owners */
    readonly create: (
      orgId: string,
      mayOwn: boolean,
      actor: Actor,
    ) => Effect.Effect<{ readonly token: string; readonly madeAt: string }, StoreUnavailable>
    readonly end: (orgId: string, actor: Actor) => Effect.Effect<void, ServiceError<"not_found"> | StoreUnavailable>
    readonly state: (orgId: string) => Effect.Effect<ScimState, StoreUnavailable>
    /** @param authorization the whole header value */
    readonly authenticate: (
      authorization: string | undefined,
    ) => Effect.Effect<ScimCaller, ServiceError<"unauthorized"> | StoreUnavailable>
  }
>()("weir/identity/ScimTokens") {
  static readonly layer = Layer.effect(
    ScimTokens,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const bounded = yield* queryDeadline

      return ScimTokens.of({
        create: Effect.fnUntraced(function* (orgId, mayOwn, actor) {
          const token = mintSecret("scim")
          const [row] = yield* bounded(sql<{ at: Date }>`
            select scim_token_set(${orgId}, ${sha256(token)}, ${mayOwn}, ${actor.type}, ${actor.id}) as at`)
          return { token, madeAt: (row?.at ?? new Date(yield* Clock.currentTimeMillis)).toISOString() }
        }),
        end: Effect.fnUntraced(function* (orgId, actor) {
          const [row] = yield* bounded(sql<{ done: boolean }>`
            select scim_token_end(${orgId}, ${actor.type}, ${actor.id}) as done`)
          if (row?.done !== true) return yield* serviceError("not_found", "The organisation has no directory token")
        }),
        state: (orgId) =>
          Effect.map(
            bounded(sql<TokenRow>`select made_at, last_used_at from scim_tokens where org_id = ${orgId}`),
            ([row]) =>
              row === undefined
                ? { enabled: false }
                : {
                    enabled: true,
                    madeAt: row.made_at.toISOString(),
                    ...(row.last_used_at !== null && { lastUsedAt: row.last_used_at.toISOString() }),
                  },
          ),
        authenticate: Effect.fnUntraced(function* (authorization) {
          const secret = bearerPattern.exec(authorization ?? "")?.[1]
          if (secret === undefined) return yield* unauthorized
          const [row] = yield* bounded(sql<CallerRow>`
            select s.org_id, s.may_own, s.last_used_at is null or s.last_used_at < now() - interval '1 minute' as is_stale
            from scim_tokens s join tenants o on o.kind = 'org' and o.id = s.org_id and o.status = 'active'
            where s.secret_sha256 = ${sha256(secret)}`)
          if (row === undefined) return yield* unauthorized
          if (row.is_stale)
            yield* bounded(sql`update scim_tokens set last_used_at = now() where org_id = ${row.org_id}`)
          return { orgId: row.org_id, mayOwn: row.may_own }
        }),
      })
    }),
  )
}

interface TokenRow {
  readonly made_at: Date
  readonly last_used_at: Date | null
}

interface CallerRow {
  readonly org_id: string
  readonly may_own: boolean
  readonly is_stale: boolean
}

const bearerPattern = /^Bearer (scim_[A-Za-z0-9_-]{20,200})$/i

const unauthorized = serviceError("unauthorized", "A valid bearer token of an organisation's directory is required")
