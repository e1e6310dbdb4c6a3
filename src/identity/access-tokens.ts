/** Personal access tokens and device keys, sent as bearer tokens: stored and found by their hash. */
import { Clock, Context, Effect, Layer } from "effect"
import { WeirConfig } from "../config.ts"
import type { KeyScope } from "../protocol/catalogue/tenant.ts"
import type { Role } from "../protocol/catalogue/values.ts"
import { type ServiceError, serviceError } from "../protocol/error.ts"
import { mintSecret, sha256 } from "../secrets.ts"
import { makeCachedLookup } from "../store/cached-lookup.ts"
import { CallQueries } from "../store/connections.ts"
import { queryDeadline } from "../store/database.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"

/** A token of the kind `oauth` is the connection of a client, see `oauth/client-grants.ts`. */
export type AccessTokenKind = "pat" | "device" | "oauth"

/** The owner of a bearer token. */
export interface Bearer {
  readonly tokenId: string
  readonly kind: AccessTokenKind
  readonly orgId: string
  /** Absent if the token belongs to the organisation itself. */
  readonly person: { readonly id: string; readonly email: string | undefined } | undefined
  /** The role of an organisation's own token; a person's token has the person's current role. */
  readonly role: OrgTokenRole
}

export type OrgTokenRole = Exclude<Role, "member">

/** A token without its secret. */
export interface KnownToken {
  readonly id: string
  readonly kind: AccessTokenKind
  readonly name: string
  readonly orgId: string
  /** Absent if the token belongs to the organisation itself. */
  readonly userId: string | undefined
  readonly scopes: ReadonlyArray<string>
  readonly createdAt: Date
  readonly expiresAt: Date | undefined
}

export type BearerError = ServiceError<"unauthorized" | "token_expired" | "forbidden"> | StoreUnavailable

export class AccessTokens extends Context.Service<
  AccessTokens,
  {
    /** Authenticates a token that has the scope. @param authorization the whole header value */
    readonly authenticate: (authorization: string | undefined, scope: KeyScope) => Effect.Effect<Bearer, BearerError>
    /**
     * Authenticates a client that a person has connected, at the endpoint of tools.
     * @param authorization the whole header value
     * @param server the server of tools that it asks; undefined for all of them
     */
    readonly authenticateClient: (
      authorization: string,
      server: string | undefined,
    ) => Effect.Effect<Bearer, BearerError>
    /** The owner of a token that asked for something before, as it is now. */
    readonly known: (id: string, scope: KeyScope) => Effect.Effect<Bearer, BearerError>
    /** Creates a token. The secret is returned once. */
    readonly issue: (token: {
      readonly kind: Exclude<AccessTokenKind, "oauth">
      readonly orgId: string
      readonly userId?: string | undefined
      /** The role of an organisation's own token; `owner` if absent. */
      readonly role?: OrgTokenRole | undefined
      readonly name?: string | undefined
      readonly scopes: ReadonlyArray<KeyScope>
      readonly expiresAt?: Date | undefined
    }) => Effect.Effect<{ readonly id: string; readonly secret: string }, StoreUnavailable>
    /** Active personal access tokens and connections of clients, newest first. */
    readonly list: (orgId: string) => Effect.Effect<ReadonlyArray<KnownToken>, StoreUnavailable>
    readonly find: (id: string) => Effect.Effect<KnownToken | undefined, StoreUnavailable>
    readonly revoke: (id: string) => Effect.Effect<void, StoreUnavailable>
  }
>()("weir/identity/AccessTokens") {
  static readonly layer = Layer.effect(
    AccessTokens,
    Effect.gen(function* () {
      const { authStaleMs } = yield* WeirConfig
      const { sql } = yield* CallQueries
      const bounded = yield* queryDeadline
      const tokens = sql`
        select t.id, t.kind, t.org_id, t.user_id, t.role, t.scopes, t.status, t.expires_at,
          u.email, u.status = 'disabled' as is_disabled
        from access_tokens t left join users u on u.id = t.user_id`
      const rowOf = yield* makeCachedLookup<TokenRow>(
        (hash) =>
          bounded(sql<TokenRow>`${tokens} where t.secret_sha256 = decode(${hash}, 'hex')`).pipe(
            Effect.map((rows) => rows[0]),
          ),
        authStaleMs,
      )
      const clientOf = yield* makeCachedLookup<TokenRow & { readonly tool_server: string | null }>(
        (hash) =>
          bounded(sql<TokenRow & { readonly tool_server: string | null }>`
            select t.id, t.kind, t.org_id, t.user_id, t.role, t.scopes, t.status, s.expires_at, t.tool_server,
              u.email, u.status = 'disabled' as is_disabled
            from client_secrets s join access_tokens t on t.id = s.token_id left join users u on u.id = t.user_id
            where s.secret_sha256 = decode(${hash}, 'hex') and s.kind = 'access'`).pipe(Effect.map((rows) => rows[0])),
        authStaleMs,
      )
      const judge = Effect.fnUntraced(function* (row: TokenRow | undefined, scope: KeyScope | typeof toolScope) {
        if (row === undefined || row.status === "revoked" || row.is_disabled === true) return yield* unauthorized
        if (row.expires_at !== null && row.expires_at.getTime() <= (yield* Clock.currentTimeMillis)) {
          return yield* serviceError("token_expired", "The token has expired")
        }
        if (!row.scopes.includes(scope)) {
          return yield* serviceError("forbidden", `The token lacks the scope ${scope}`, { detail: { scope } })
        }
        const person = row.user_id === null ? undefined : { id: row.user_id, email: row.email ?? undefined }
        return { tokenId: row.id, kind: row.kind, orgId: row.org_id, person, role: row.role ?? "owner" }
      })
      return AccessTokens.of({
        authenticate: Effect.fnUntraced(function* (authorization, scope) {
          const secret = bearerPattern.exec(authorization ?? "")?.[1]
          if (secret === undefined) return yield* unauthorized
          return yield* judge(yield* rowOf(sha256(secret).toString("hex")), scope)
        }),
        authenticateClient: Effect.fnUntraced(function* (authorization, server) {
          const secret = clientPattern.exec(authorization)?.[1]
          if (secret === undefined) return yield* unauthorized
          const row = yield* clientOf(sha256(secret).toString("hex"))
          // A token for one server is not for the others, nor for all of them.
          if (row !== undefined && row.tool_server !== null && row.tool_server !== server) return yield* unauthorized
          return yield* judge(row, toolScope)
        }),
        known: Effect.fnUntraced(function* (id, scope) {
          const [row] = yield* bounded(sql<TokenRow>`${tokens} where t.id = ${id}`)
          return yield* judge(row, scope)
        }),
        issue: Effect.fnUntraced(function* ({ kind, orgId, userId, role, name = "", scopes, expiresAt }) {
          const secret = mintSecret(kind === "pat" ? "pat" : "dev")
          const id = mintSecret(kind === "pat" ? "tok" : "dvc").slice(0, 20)
          yield* bounded(sql`
            insert into access_tokens (id, kind, secret_sha256, org_id, user_id, role, name, scopes, expires_at)
            values (${id}, ${kind}, ${sha256(secret)}, ${orgId}, ${userId ?? null}, ${role ?? null}, ${name}, ${scopes}::text[],
              ${expiresAt?.toISOString() ?? null}::text::timestamptz)`)
          return { id, secret }
        }),
        list: (orgId) =>
          bounded(sql<ListedRow>`
            select id, kind, org_id, user_id, name, scopes, created_at, expires_at from access_tokens
            where org_id = ${orgId} and kind in ('pat', 'oauth') and status = 'active' and (expires_at is null or expires_at > now())
            order by created_at desc, id`).pipe(Effect.map((rows) => rows.map(known))),
        find: (id) =>
          bounded(sql<ListedRow>`
            select id, kind, org_id, user_id, name, scopes, created_at, expires_at from access_tokens
            where id = ${id} and kind in ('pat', 'oauth')`).pipe(Effect.map(([row]) => row && known(row))),
        revoke: (id) => Effect.asVoid(bounded(sql`select access_token_end(${id}, 'revoked')`)),
      })
    }),
  )
}

interface TokenRow {
  readonly id: string
  readonly kind: AccessTokenKind
  readonly org_id: string
  readonly user_id: string | null
  readonly email: string | null
  readonly role: OrgTokenRole | null
  readonly is_disabled: boolean | null
  readonly scopes: ReadonlyArray<string>
  readonly status: "active" | "revoked"
  readonly expires_at: Date | null
}

interface ListedRow extends Omit<TokenRow, "status" | "email" | "role" | "is_disabled"> {
  readonly name: string
  readonly created_at: Date
}

const known = ({ id, kind, name, org_id, user_id, scopes, created_at, expires_at }: ListedRow): KnownToken => ({
  id,
  kind,
  name,
  orgId: org_id,
  userId: user_id ?? undefined,
  scopes,
  createdAt: created_at,
  expiresAt: expires_at ?? undefined,
})

/** `Bearer ` and a secret in the form of {@link mintSecret}. */
const bearerPattern = /^Bearer ((?:pat|dev)_[A-Za-z0-9_-]{20,200})$/i

/** `Bearer ` and the access token of a client. */
const clientPattern = /^Bearer (oat_[A-Za-z0-9_-]{43})$/i

/** Whether a header has the access token of a client. */
export const isClientToken = (authorization: string): boolean => clientPattern.test(authorization)

/** The scope of clients' tokens. */
const toolScope = "tools"

const unauthorized = serviceError("unauthorized", "A valid bearer token is required")
