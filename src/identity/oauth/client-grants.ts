/**
 * Tokens of clients that people have connected: an access token that is valid for half an hour at the endpoint of tools, and a
 * refresh token that is valid for one use. A code or refresh token that is used twice ends its connection. Sources: OAuth 2.1
 * sections 4.1.3 and 4.3; RFC 9700 section 4.14.
 */
import { createHash } from "node:crypto"
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { mintSecret, sha256 } from "../../secrets.ts"
import { queryDeadline } from "../../store/database.ts"
import { afterNow } from "../../store/store-time.ts"
import type { StoreUnavailable } from "../../store/unavailable.ts"
import { People } from "../../tenants/people.ts"
import { Accounts } from "../accounts.ts"

export interface ClientTokens {
  readonly accessToken: string
  readonly refreshToken: string
  /** The server of tools to which they are limited; undefined for all. */
  readonly server: string | undefined
}

/** The place that a client names when it asks for tokens; it may name one server, or all. RFC 8707 section 2.2. */
export interface AskedPlace {
  readonly server?: string
}

/** Tokens are not for the place that their client names. */
export const otherPlace = "other place"

/** A code that a client redeems. */
export interface CodeUse {
  readonly code: string
  readonly clientId: string
  /** Absent if the client does not repeat it. */
  readonly redirectUri: string | undefined
  readonly verifier: string
  /** Undefined if it names none. A code for all servers gives tokens for the one that is named. */
  readonly place: AskedPlace | undefined
}

export const clientAccessTtlS = 1800

export class ClientGrants extends Context.Service<
  ClientGrants,
  {
    /** @returns undefined if the code is not valid for the client */
    readonly redeem: (use: CodeUse) => Effect.Effect<ClientTokens | typeof otherPlace | undefined, StoreUnavailable>
    /** Rotates the tokens. @returns undefined if the refresh token is not valid for the client */
    readonly refresh: (
      refreshToken: string,
      clientId: string,
      place: AskedPlace | undefined,
    ) => Effect.Effect<ClientTokens | typeof otherPlace | undefined, StoreUnavailable>
    /** Ends the connection to which a token belongs. @returns whether the token is another client's */
    readonly revoke: (token: string, clientId: string) => Effect.Effect<boolean, StoreUnavailable>
  }
>()("weir/identity/ClientGrants") {
  static readonly layer = Layer.effect(
    ClientGrants,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const people = yield* People
      const accounts = yield* Accounts
      const bounded = yield* queryDeadline

      const newPair = Effect.sync(() => ({ accessToken: mintSecret("oat"), refreshToken: mintSecret("ort") }))
      const accessEnd = afterNow(sql, clientAccessTtlS * 1000)
      const refreshEnd = afterNow(sql, refreshTtlMs)
      const end = (tokenId: string, reason: string) => bounded(sql`select access_token_end(${tokenId}, ${reason})`)

      const warn = (reused: string, token: string | null) =>
        Effect.logWarning(`${reused} of a client was used twice; its connection was ended`, { token })

      /** A connection to all servers becomes one to the server that its client names. @returns its server */
      const narrowed = Effect.fnUntraced(function* (
        tokenId: string,
        server: string | null,
        place: AskedPlace | undefined,
      ) {
        if (server !== null || place?.server === undefined) return server ?? undefined
        yield* bounded(sql`update access_tokens set tool_server = ${place.server} where id = ${tokenId}`)
        return place.server
      })

      /** Whether the person of a connection may still act in its organisation. */
      const isMember = Effect.fnUntraced(function* (userId: string, orgId: string) {
        const account = yield* accounts.find(userId)
        return account?.status === "active" && (yield* people.isMember(account, orgId))
      })

      return ClientGrants.of({
        redeem: Effect.fnUntraced(function* ({ code, clientId, redirectUri, verifier, place }) {
          const pair = yield* newPair
          const tokenId = mintSecret("tok").slice(0, 20)
          const challenge = createHash("sha256").update(verifier).digest("base64url")
          const [given] = yield* bounded(sql<Given>`
            select * from code_redeem(${sha256(code)}, ${clientId}, ${redirectUri ?? null}, ${challenge}, ${tokenId},
              ${sha256(mintSecret("none"))}, ${sha256(pair.accessToken)}, ${accessEnd}, ${sha256(pair.refreshToken)}, ${refreshEnd})`)
          if (given?.verdict === "reused") yield* warn("A code", null)
          if (given?.verdict !== "given") return undefined
          if (!(yield* isMember(given.user_id, given.org_id))) {
            yield* end(tokenId, "not a member")
            return undefined
          }
          if (isOther(place, given.server)) {
            yield* end(tokenId, "another resource")
            return otherPlace
          }
          return { ...pair, server: yield* narrowed(tokenId, given.server, place) }
        }),
        refresh: Effect.fnUntraced(function* (refreshToken, clientId, place) {
          const hash = sha256(refreshToken)
          const [owner] = yield* bounded(sql<Owner>`
            select t.id, t.user_id, t.org_id, t.tool_server as server
            from client_secrets s join access_tokens t on t.id = s.token_id
            where s.secret_sha256 = ${hash} and s.kind = 'refresh' and t.client_id = ${clientId} and t.status = 'active'`)
          if (owner === undefined) return undefined
          if (!(yield* isMember(owner.user_id, owner.org_id))) return undefined
          if (isOther(place, owner.server)) return otherPlace
          const pair = yield* newPair
          const [rotation] = yield* bounded(sql<Rotation>`
            select * from client_refresh(${hash}, ${clientId}, ${sha256(pair.accessToken)}, ${accessEnd},
              ${sha256(pair.refreshToken)}, ${refreshEnd})`)
          if (rotation?.verdict === "reused") yield* warn("A refresh token", rotation.token_id)
          if (rotation?.verdict !== "rotated") return undefined
          return { ...pair, server: yield* narrowed(owner.id, rotation.server, place) }
        }),
        revoke: Effect.fnUntraced(function* (token, clientId) {
          const [found] = yield* bounded(sql<{ id: string; client_id: string }>`
            select t.id, t.client_id from client_secrets s join access_tokens t on t.id = s.token_id
            where s.secret_sha256 = ${sha256(token)}`)
          if (found === undefined) return false
          if (found.client_id !== clientId) return true
          yield* end(found.id, "revoked by the client")
          return false
        }),
      })
    }),
  )
}

/** Whether a client names another server than that of its tokens. */
const isOther = (place: AskedPlace | undefined, server: string | null): boolean =>
  place?.server !== undefined && server !== null && place.server !== server

const refreshTtlMs = 30 * 24 * 3600 * 1000

interface Given {
  readonly verdict: "given" | "reused" | "unlike" | "unknown"
  readonly user_id: string
  readonly org_id: string
  readonly server: string | null
}

interface Rotation {
  readonly verdict: "rotated" | "reused" | "unknown"
  readonly token_id: string | null
  readonly server: string | null
}

interface Owner {
  readonly id: string
  readonly server: string | null
  readonly user_id: string
  readonly org_id: string
}
