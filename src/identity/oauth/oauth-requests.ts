/**
 * Requests of clients for authorization: a request waits for its person, and then its code waits for its client. All is in the
 * database, so that any node answers each step.
 */
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { mintSecret, sha256 } from "../../secrets.ts"
import { queryDeadline } from "../../store/database.ts"
import { afterNow } from "../../store/store-time.ts"
import type { StoreUnavailable } from "../../store/unavailable.ts"

export interface OauthRequest {
  readonly clientId: string
  readonly clientName: string
  readonly redirectUri: string
  readonly state: string | undefined
  /** The SHA-256 of the client's verifier, as base64url. RFC 7636. */
  readonly challenge: string
  /** The server of tools to which the tokens are limited; undefined for all. */
  readonly server: string | undefined
}

export class OauthRequests extends Context.Service<
  OauthRequests,
  {
    /** @returns its id */
    readonly begin: (request: OauthRequest) => Effect.Effect<string, StoreUnavailable>
    /** A request, while it waits for its person. */
    readonly pending: (id: string) => Effect.Effect<OauthRequest | undefined, StoreUnavailable>
    /** The organisations for which a person has approved a client. */
    readonly approved: (userId: string, clientId: string) => Effect.Effect<ReadonlyArray<string>, StoreUnavailable>
    /** Approves a request, and returns its code; undefined if it does not wait any more. */
    readonly approve: (id: string, userId: string, orgId: string) => Effect.Effect<string | undefined, StoreUnavailable>
    /** @returns whether it was waiting */
    readonly deny: (id: string, userId: string) => Effect.Effect<boolean, StoreUnavailable>
  }
>()("weir/identity/OauthRequests") {
  static readonly layer = Layer.effect(
    OauthRequests,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const bounded = yield* queryDeadline

      const decide = (id: string, userId: string, orgId: string | null, code: Buffer | null) =>
        Effect.map(
          bounded(sql<{ decided: boolean }>`
            select client_decide(${id}, ${userId}, ${orgId}, ${code}::bytea, ${afterNow(sql, codeTtlMs)}) as decided`),
          ([row]) => row?.decided === true,
        )

      return OauthRequests.of({
        begin: Effect.fnUntraced(function* ({ clientId, clientName, redirectUri, state, challenge, server }) {
          const id = mintSecret("oar").slice(0, 36)
          yield* bounded(sql`
            insert into oauth_requests (id, client_id, client_name, redirect_uri, state, challenge, tool_server, expires_at)
            values (${id}, ${clientId}, ${clientName}, ${redirectUri}, ${state ?? null}, ${challenge}, ${server ?? null},
              ${afterNow(sql, requestTtlMs)})`)
          return id
        }),
        pending: (id) =>
          Effect.map(
            bounded(sql<RequestRow>`
              select client_id, client_name, redirect_uri, state, challenge, tool_server from oauth_requests
              where id = ${id} and user_id is null and expires_at > now()`),
            ([row]) => row && requestOf(row),
          ),
        approved: (userId, clientId) =>
          Effect.map(
            bounded(sql<{ org_id: string }>`
              select org_id from oauth_consents where user_id = ${userId} and client_id = ${clientId}`),
            (rows) => rows.map(({ org_id }) => org_id),
          ),
        approve: Effect.fnUntraced(function* (id, userId, orgId) {
          const code = mintSecret("oac")
          return (yield* decide(id, userId, orgId, sha256(code))) ? code : undefined
        }),
        deny: (id, userId) => decide(id, userId, null, null),
      })
    }),
  )
}

const requestTtlMs = 600_000
const codeTtlMs = 60_000

interface RequestRow {
  readonly client_id: string
  readonly client_name: string
  readonly redirect_uri: string
  readonly state: string | null
  readonly challenge: string
  readonly tool_server: string | null
}

const requestOf = (row: RequestRow): OauthRequest => ({
  clientId: row.client_id,
  clientName: row.client_name,
  redirectUri: row.redirect_uri,
  state: row.state ?? undefined,
  challenge: row.challenge,
  server: row.tool_server ?? undefined,
})
