/** Accounts at servers of tools, as they are stored: sealed, and renewed by one node at a time. */
import { randomUUID } from "node:crypto"
import { Context, Effect, Layer, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { WeirConfig } from "../../config.ts"
import { sha256 } from "../../secrets.ts"
import { queryDeadline } from "../../store/database.ts"
import { Sealing } from "../../store/seal.ts"
import { keepSealing } from "../../store/seal-again.ts"
import { afterNow } from "../../store/store-time.ts"
import type { StoreUnavailable } from "../../store/unavailable.ts"
import { IssuerMetadata, OAuthClient } from "../../tools/oauth/metadata.ts"

/** The owner of an account: the id of a person, or the empty text for the platform. */
export interface AccountKey {
  readonly server: string
  readonly owner: string
}

/** The sealed part of an account. */
const AccountSecret = Schema.Struct({
  client: OAuthClient,
  /** The resource that its tokens are for. */
  resource: Schema.String,
  accessToken: Schema.optionalKey(Schema.String),
  refreshToken: Schema.optionalKey(Schema.String),
  /** The address of return that its client is registered for. */
  redirectUri: Schema.optionalKey(Schema.String),
  /** Whether the gateway itself has it, with no consent of a person. */
  isMachine: Schema.optionalKey(Schema.Boolean),
})
export type AccountSecret = typeof AccountSecret.Type

export interface NewAccount extends AccountKey {
  readonly url: string
  readonly issuer: string
  readonly scopes: ReadonlyArray<string>
  readonly secret: AccountSecret
  readonly expiresInS: number | undefined
}

export interface StoredAccount extends Omit<NewAccount, "expiresInS"> {
  readonly consent: string
  readonly revision: number
  /** The scopes that a new consent must have; undefined if none is needed. */
  readonly wantedScopes: ReadonlyArray<string> | undefined
  readonly connectedAt: Date
  /** Whether its token should be renewed, has ended, and was renewed a moment ago. */
  readonly isDue: boolean
  readonly isOver: boolean
  readonly isFresh: boolean
}

/** A consent that was begun: everything that its end must fit to. */
const Flow = Schema.Struct({
  url: Schema.String,
  issuer: IssuerMetadata,
  client: OAuthClient,
  resource: Schema.String,
  scopes: Schema.Array(Schema.String),
  verifier: Schema.String,
  redirectUri: Schema.String,
})
export type Flow = typeof Flow.Type

export type RenewedTokens = Pick<NewAccount, "secret" | "expiresInS" | "scopes">

type Stored<A = void> = Effect.Effect<A, StoreUnavailable>

export class AccountStore extends Context.Service<
  AccountStore,
  {
    readonly read: (key: AccountKey) => Stored<StoredAccount | undefined>
    /** Stores an account after a consent, in the place of an older one. */
    readonly write: (account: NewAccount) => Stored
    /** The right to renew an account that nobody has changed; undefined if another one has it. */
    readonly lease: (key: AccountKey, revision: number) => Stored<string | undefined>
    /** @returns whether the lease was still valid */
    readonly renewed: (key: AccountKey, lease: string, tokens: RenewedTokens) => Stored<boolean>
    /** Gives a lease back; the next one is given after a pause. */
    readonly release: (key: AccountKey, lease: string) => Stored
    /** Its owner must consent again. */
    readonly needConsent: (key: AccountKey, revision: number, scopes: ReadonlyArray<string>) => Stored
    /** @returns the account that was removed */
    readonly remove: (key: AccountKey) => Stored<StoredAccount | undefined>
    /** Accounts of people who were disabled, or who are members of nothing any more. */
    readonly abandoned: Stored<ReadonlyArray<AccountKey>>
    readonly beginFlow: (state: string, key: AccountKey, flow: Flow) => Stored
    /** The owner of a consent that was begun, which goes on. */
    readonly flowOwner: (state: string) => Stored<AccountKey | undefined>
    /** Ends a consent that was begun: it is returned once. */
    readonly endFlow: (state: string) => Stored<(AccountKey & { readonly flow: Flow }) | undefined>
    /** The client that an authorisation server has registered for an address of return. */
    readonly client: (issuer: string, redirectUri: string) => Stored<OAuthClient | undefined>
    readonly keepClient: (
      issuer: string,
      redirectUri: string,
      client: OAuthClient,
      expiresAtS: number | undefined,
    ) => Stored
    /** The authorisation server does not know the client any more. */
    readonly forgetClient: (issuer: string, redirectUri: string) => Stored
  }
>()("weir/tools/AccountStore") {
  static readonly layer = Layer.effect(
    AccountStore,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const bounded = yield* queryDeadline
      const { sealer } = yield* Sealing
      const hasPrevious = (yield* WeirConfig).masterKeyPrevious !== undefined
      const contextOf = ({ server, owner }: AccountKey) => `tool-account ${server} ${owner}`
      const clientContext = (issuer: string, redirectUri: string) => `tool-client ${issuer} ${redirectUri}`
      const sealed = (account: NewAccount) => sealer.seal(writeSecret(account.secret), contextOf(account))

      /** An account that cannot be opened is absent. */
      const opened = (row: AccountRow): StoredAccount | undefined => {
        const secret = Option.getOrUndefined(readSecret(sealer.open(row.sealed, contextOf(row)) ?? ""))
        const { sealed: _, wantedScopes, ...account } = row
        return secret && { ...account, secret, wantedScopes: wantedScopes ?? undefined }
      }
      const columns = sql.literal(`server, owner, url, issuer, consent::text, revision::int, sealed, scopes,
        wanted_scopes as "wantedScopes", connected_at as "connectedAt", coalesce(renew_at <= now(), false) as "isDue",
        coalesce(expires_at <= now(), false) as "isOver", coalesce(renewed_at > now() - interval '10 seconds', false) as "isFresh"`)
      const first = (rows: unknown) => decodeRows(rows).map(opened)[0]
      /** Tokens are renewed a minute before they end, or after nine tenths of a short life. */
      const ends = (seconds: number | undefined) =>
        seconds === undefined
          ? sql`renew_at = null, expires_at = null`
          : sql`renew_at = ${afterNow(sql, Math.max(seconds - 60, seconds * 0.9) * 1000)},
              expires_at = ${afterNow(sql, seconds * 1000)}`

      const rowsAfter = (after: SealedRow | undefined, most: number) =>
        Effect.map(
          sql`
            select server, owner, sealed from tool_accounts
            where (server, owner) > (${after?.server ?? ""}, ${after?.owner ?? ""}) order by server, owner limit ${most}`,
          decodeSealed,
        )
      if (hasPrevious) {
        yield* keepSealing<SealedRow>("Sealing accounts at servers of tools again", {
          read: (after, most) => bounded(rowsAfter(after, most)),
          sealedOf: (row) => ({ sealed: row.sealed, context: contextOf(row) }),
          write: ({ server, owner, sealed }, text) =>
            bounded(sql`
              update tool_accounts set sealed = ${text}
              where server = ${server} and owner = ${owner} and sealed = ${sealed}`),
        })
      }

      return AccountStore.of({
        read: ({ server, owner }) =>
          bounded(
            Effect.map(sql`select ${columns} from tool_accounts where server = ${server} and owner = ${owner}`, first),
          ),
        write: (account) =>
          bounded(
            Effect.gen(function* () {
              const { server, owner, url, issuer, scopes, expiresInS } = account
              const text = sealed(account)
              yield* sql`
                insert into tool_accounts (server, owner, url, issuer, sealed, scopes)
                values (${server}, ${owner}, ${url}, ${issuer}, ${text}, ${[...scopes]}::text[])
                on conflict (server, owner) do update set url = excluded.url, issuer = excluded.issuer,
                  sealed = excluded.sealed, scopes = excluded.scopes, wanted_scopes = null,
                  consent = gen_random_uuid(), revision = tool_accounts.revision + 1, connected_at = now(),
                  renewed_at = null, lease = null, lease_until = null`
              yield* sql`
                update tool_accounts set ${ends(expiresInS)}
                where server = ${server} and owner = ${owner} and sealed = ${text}`
            }),
          ),
        lease: ({ server, owner }, revision) => {
          const lease = randomUUID()
          return bounded(
            Effect.map(
              sql`
                update tool_accounts set lease = ${lease}::uuid, lease_until = ${afterNow(sql, leaseMs)}
                where server = ${server} and owner = ${owner} and revision = ${revision}
                  and (lease_until is null or lease_until < now())
                returning 1`,
              (rows) => (rows.length > 0 ? lease : undefined),
            ),
          )
        },
        renewed: ({ server, owner }, lease, { secret, expiresInS, scopes }) =>
          bounded(
            Effect.map(
              sql`
                update tool_accounts set sealed = ${sealer.seal(writeSecret(secret), contextOf({ server, owner }))},
                  scopes = ${[...scopes]}::text[], wanted_scopes = null, revision = revision + 1, renewed_at = now(),
                  lease = null, lease_until = null, ${ends(expiresInS)}
                where server = ${server} and owner = ${owner} and lease = ${lease}::uuid
                returning 1`,
              (rows) => rows.length > 0,
            ),
          ),
        release: ({ server, owner }, lease) =>
          bounded(
            Effect.asVoid(sql`
              update tool_accounts set lease = null, lease_until = ${afterNow(sql, pauseMs)}
              where server = ${server} and owner = ${owner} and lease = ${lease}::uuid`),
          ),
        needConsent: ({ server, owner }, revision, scopes) =>
          bounded(
            Effect.asVoid(sql`
              update tool_accounts set wanted_scopes = ${[...scopes]}::text[], revision = revision + 1,
                lease = null, lease_until = null
              where server = ${server} and owner = ${owner} and revision = ${revision}`),
          ),
        remove: ({ server, owner }) =>
          bounded(
            Effect.map(
              sql`delete from tool_accounts where server = ${server} and owner = ${owner} returning ${columns}`,
              first,
            ),
          ),
        abandoned: bounded(
          Effect.map(
            sql`
              select server, owner from tool_accounts a
              where owner <> '' and (
                exists (select from users u where u.id = a.owner and u.status = 'disabled')
                or not exists (
                  select from users u join tenants m on m.kind = 'user' and m.status = 'active' and m.label = u.email
                  where u.id = a.owner))
              limit 500`,
            decodeKeys,
          ),
        ),
        beginFlow: (state, { server, owner }, flow) =>
          bounded(
            Effect.asVoid(sql`
              insert into tool_flows (state_sha256, server, owner, sealed, expires_at)
              values (${sha256(state)}, ${server}, ${owner}, ${sealer.seal(writeFlow(flow), `tool-flow ${state}`)},
                ${afterNow(sql, flowMs)})`),
          ),
        flowOwner: (state) =>
          bounded(
            Effect.map(
              sql`select server, owner from tool_flows where state_sha256 = ${sha256(state)} and expires_at > now()`,
              (rows) => decodeKeys(rows)[0],
            ),
          ),
        endFlow: (state) =>
          bounded(
            Effect.map(
              sql`
                delete from tool_flows where state_sha256 = ${sha256(state)} and expires_at > now()
                returning server, owner, sealed`,
              (rows) => {
                const [row] = decodeSealed(rows)
                const flow = row && Option.getOrUndefined(readFlow(sealer.open(row.sealed, `tool-flow ${state}`) ?? ""))
                return row && flow && { server: row.server, owner: row.owner, flow }
              },
            ),
          ),
        client: (issuer, redirectUri) =>
          bounded(
            Effect.map(
              sql`
                select sealed from tool_clients where issuer = ${issuer} and redirect_uri = ${redirectUri}
                  and (expires_at is null or expires_at > ${afterNow(sql, flowMs)})`,
              (rows) =>
                decodeTexts(rows).flatMap((row) =>
                  Option.toArray(readClient(sealer.open(row.sealed, clientContext(issuer, redirectUri)) ?? "")),
                )[0],
            ),
          ),
        keepClient: (issuer, redirectUri, client, expiresAtS) =>
          bounded(
            Effect.asVoid(sql`
              insert into tool_clients (issuer, redirect_uri, sealed, expires_at)
              values (${issuer}, ${redirectUri}, ${sealer.seal(writeClient(client), clientContext(issuer, redirectUri))},
                to_timestamp(${expiresAtS ?? null}::double precision))
              on conflict (issuer, redirect_uri) do update set sealed = excluded.sealed, registered_at = now(),
                expires_at = excluded.expires_at`),
          ),
        forgetClient: (issuer, redirectUri) =>
          bounded(
            Effect.asVoid(sql`delete from tool_clients where issuer = ${issuer} and redirect_uri = ${redirectUri}`),
          ),
      })
    }),
  )
}

/** The time in which a consent must end, and one node must have renewed an account. */
export const flowMs = 600_000
export const leaseMs = 30_000
/** The pause after a renewal that failed. */
const pauseMs = 1000

const AccountRow = Schema.Struct({
  server: Schema.String,
  owner: Schema.String,
  url: Schema.String,
  issuer: Schema.String,
  consent: Schema.String,
  revision: Schema.Number,
  sealed: Schema.String,
  scopes: Schema.Array(Schema.String),
  wantedScopes: Schema.NullOr(Schema.Array(Schema.String)),
  connectedAt: Schema.Date,
  isDue: Schema.Boolean,
  isOver: Schema.Boolean,
  isFresh: Schema.Boolean,
})
type AccountRow = typeof AccountRow.Type
const decodeRows = Schema.decodeUnknownSync(Schema.Array(AccountRow))
const Key = { server: Schema.String, owner: Schema.String }
const decodeKeys = Schema.decodeUnknownSync(Schema.Array(Schema.Struct(Key)))
const SealedRow = Schema.Struct({ ...Key, sealed: Schema.String })
type SealedRow = typeof SealedRow.Type
const decodeSealed = Schema.decodeUnknownSync(Schema.Array(SealedRow))
const decodeTexts = Schema.decodeUnknownSync(Schema.Array(Schema.Struct({ sealed: Schema.String })))

const secretText = Schema.fromJsonString(AccountSecret)
const writeSecret = Schema.encodeSync(secretText)
const readSecret = Schema.decodeUnknownOption(secretText)
const flowText = Schema.fromJsonString(Flow)
const writeFlow = Schema.encodeSync(flowText)
const readFlow = Schema.decodeUnknownOption(flowText)
const clientText = Schema.fromJsonString(OAuthClient)
const writeClient = Schema.encodeSync(clientText)
const readClient = Schema.decodeUnknownOption(clientText)
