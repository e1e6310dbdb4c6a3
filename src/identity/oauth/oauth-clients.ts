/**
 * The clients of the authorization server: those that registered themselves (RFC 7591), and those whose id is the address of
 * their document. A registration that nobody approves expires after a day, and a used one when it is idle for a year.
 */
import { timingSafeEqual } from "node:crypto"
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { type ServiceError, serviceError } from "../../protocol/error.ts"
import { mintSecret, sha256 } from "../../secrets.ts"
import { queryDeadline } from "../../store/database.ts"
import type { StoreUnavailable } from "../../store/unavailable.ts"
import type { AuthMethod, OauthClient } from "./client.ts"
import { isDocumentId, makeClientDocuments } from "./client-documents.ts"

export interface Registration {
  readonly name: string
  readonly redirectUris: ReadonlyArray<string>
  readonly authMethod: AuthMethod
}

export class OauthClients extends Context.Service<
  OauthClients,
  {
    /** Registers a client. Its secret, if it has one, is returned once. */
    readonly register: (
      registration: Registration,
    ) => Effect.Effect<
      { readonly id: string; readonly secret: string | undefined },
      ServiceError<"rate_limited"> | StoreUnavailable
    >
    /** @error bad_request if its document cannot be read. @returns undefined for an unknown client */
    readonly find: (
      id: string,
    ) => Effect.Effect<OauthClient | undefined, ServiceError<"bad_request"> | StoreUnavailable>
  }
>()("weir/identity/OauthClients") {
  static readonly layer = Layer.effect(
    OauthClients,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const bounded = yield* queryDeadline
      const documentOf = yield* makeClientDocuments

      const registered = Effect.fnUntraced(function* (id: string) {
        if (!idPattern.test(id)) return undefined
        const [row] = yield* bounded(sql<ClientRow>`
          select name, redirect_uris, auth_method, secret_sha256 from oauth_clients where id = ${id}`)
        return row && clientOf(id, row)
      })

      return OauthClients.of({
        register: Effect.fnUntraced(function* ({ name, redirectUris, authMethod }) {
          const id = mintSecret("oc").slice(0, 27)
          const secret = authMethod === "none" ? undefined : mintSecret("ocs")
          const rows = yield* bounded(sql`
            insert into oauth_clients (id, secret_sha256, auth_method, name, redirect_uris)
            select ${id}, ${secret === undefined ? null : sha256(secret)}::bytea, ${authMethod}, ${name}, ${redirectUris}::text[]
            where (select count(*) from (select from oauth_clients where used_at is null limit ${maxUnused}) x) < ${maxUnused}
            returning id`)
          if (rows.length === 0) return yield* tooMany
          return { id, secret }
        }),
        find: (id) => (isDocumentId(id) ? documentOf(id) : registered(id)),
      })
    }),
  )
}

/** Whether a client proves itself: with its secret, or, if it has none, with none. */
export const provesItself = ({ secretSha256 }: OauthClient, secret: string | undefined): boolean =>
  secretSha256 === undefined
    ? secret === undefined || secret === ""
    : secret !== undefined && timingSafeEqual(sha256(secret), secretSha256)

const tooMany = serviceError("rate_limited", "Too many clients have registered: try later", { retryAfterMs: 3_600_000 })

/** Registrations that nobody has approved yet. */
const maxUnused = 20_000

const idPattern = /^oc_[A-Za-z0-9_-]{24}$/

interface ClientRow {
  readonly name: string
  readonly redirect_uris: ReadonlyArray<string>
  readonly auth_method: AuthMethod
  readonly secret_sha256: Buffer | null
}

const clientOf = (id: string, { name, redirect_uris, auth_method, secret_sha256 }: ClientRow): OauthClient => ({
  id,
  name,
  redirectUris: redirect_uris,
  authMethod: auth_method,
  secretSha256: secret_sha256 === null ? undefined : Buffer.from(secret_sha256),
  publisher: undefined,
})
