/**
 * App keys: who calls a runtime route. Scope, status, expiry, address, signature, licence, in this order; the secret is
 * hashed at rest and compared in constant time. Source: interface.md "Authentication".
 */
import { timingSafeEqual } from "node:crypto"
import { Cache, Clock, Context, type Duration, Effect, Exit, Layer } from "effect"
import { IpNetwork, type NetAddress } from "effect/net"
import { SqlClient } from "effect/sql"
import { Catalogue } from "../catalogue/catalogue.ts"
import { sha256 } from "../catalogue/secrets.ts"
import type { AppEntry } from "../catalogue/snapshot.ts"
import type { KeyScope } from "../protocol/catalogue.ts"
import { type ErrorCode, type ServiceError, serviceError } from "../protocol/error.ts"
import { withDeadline } from "../store/database.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"
import { type SignatureHeaders, verifySignature } from "./signature.ts"

/** One request's credentials, and what its signature covers. */
export interface AppCredentials {
  readonly keyId: string | undefined
  readonly key: string | undefined
  readonly scope: KeyScope
  readonly address: NetAddress.IpAddress | undefined
  readonly signature: SignatureHeaders
  readonly method: string
  readonly target: string
  readonly body: Uint8Array
}

/** An authenticated application. */
export interface AppPrincipal extends AppEntry {
  readonly keyId: string
  /** The application's end user, where the caller came by that way; a key pair speaks for the application itself. */
  readonly endUserId: string | undefined
  /** Present where the request was signed; the gate must see it for the first time. */
  readonly nonce: string | undefined
}

export type AuthenticationError =
  | ServiceError<"app_key_invalid" | "app_disabled" | "app_ip_denied" | "license_required" | "signature_invalid">
  | StoreUnavailable

export class AppKeys extends Context.Service<
  AppKeys,
  {
    /** Authenticates; a store that does not answer is never an authentication error. */
    readonly authenticate: (credentials: AppCredentials) => Effect.Effect<AppPrincipal, AuthenticationError>
  }
>()("weir/identity/AppKeys") {}

export interface AppKeysOptions {
  readonly deadline: Duration.Input
  /** Whether every request must be signed, whatever its application says. */
  readonly requireSignature: boolean
  /** How long a known key keeps working while the database does not answer. */
  readonly staleMs: number
}

interface KeyRow {
  readonly app_id: string
  readonly secret_sha256: Uint8Array
  readonly scopes: ReadonlyArray<string>
  readonly status: "active" | "disabled" | "revoked"
  readonly expires_at: Date | null
}

/** A revoked key stops working after at most this time. */
const freshMs = 2000
const maxCachedKeys = 10_000

export const layerAppKeys = (options: AppKeysOptions): Layer.Layer<AppKeys, never, SqlClient.SqlClient | Catalogue> =>
  Layer.effect(
    AppKeys,
    Effect.gen(function* () {
      const catalogue = yield* Catalogue
      const keyRow = yield* makeKeyLookup(options)

      const authenticate = Effect.fnUntraced(function* (credentials: AppCredentials) {
        const { keyId, key } = credentials
        if (keyId === undefined || key === undefined || keyId.length > 128) return yield* rejected
        const row = yield* keyRow(keyId)
        if (!sameSecret(key, row?.secret_sha256) || row === undefined || row.status === "revoked")
          return yield* rejected
        const entry = catalogue.current().app(row.app_id)
        if (entry === undefined || !row.scopes.includes(credentials.scope)) return yield* rejected
        const nowMs = yield* Clock.currentTimeMillis
        if (row.expires_at !== null && row.expires_at.getTime() <= nowMs) return yield* rejected
        if (row.status === "disabled" || entry.app.disabled === true) {
          return yield* refuse("app_disabled", "This application is disabled")
        }
        if (!isAllowed(entry, credentials.address)) {
          return yield* refuse("app_ip_denied", "This application does not accept calls from this address")
        }
        const verdict = verifySignature(credentials.signature, credentials, row.secret_sha256, nowMs)
        if (verdict._tag === "Invalid") return yield* refuse("signature_invalid", verdict.reason)
        if (verdict._tag === "Unsigned" && (options.requireSignature || entry.app.requireSignature === true)) {
          return yield* refuse("signature_invalid", "This application requires signed requests")
        }
        if (entry.app.licenceRequired === true) {
          return yield* refuse("license_required", "This application needs an active licence")
        }
        return { ...entry, keyId, endUserId: undefined, nonce: verdict._tag === "Signed" ? verdict.nonce : undefined }
      })
      return AppKeys.of({ authenticate })
    }),
  )

/** Key records, cached for moments; a stale one stands in while the database does not answer. */
const makeKeyLookup = Effect.fnUntraced(function* (options: AppKeysOptions) {
  const sql = yield* SqlClient.SqlClient
  const bounded = withDeadline(options.deadline)
  const known = new Map<string, { readonly row: KeyRow; readonly readAtMs: number }>()

  const lookup = Effect.fnUntraced(function* (id: string) {
    const nowMs = yield* Clock.currentTimeMillis
    const rows = yield* bounded(
      sql<KeyRow>`select app_id, secret_sha256, scopes, status, expires_at from app_keys where id = ${id}`,
    ).pipe(
      Effect.catchTag("StoreUnavailable", (error) => {
        const stale = known.get(id)
        return stale !== undefined && nowMs - stale.readAtMs <= options.staleMs
          ? Effect.succeed([stale.row])
          : Effect.fail(error)
      }),
      Effect.tap((rows) => Effect.sync(() => remember(id, rows[0], nowMs))),
    )
    return rows[0]
  })

  function remember(id: string, row: KeyRow | undefined, nowMs: number): void {
    if (row === undefined) known.delete(id)
    else if (known.get(id)?.row !== row) known.set(id, { row, readAtMs: nowMs })
    const [oldest] = known.keys()
    if (known.size > maxCachedKeys && oldest !== undefined) known.delete(oldest)
  }

  const cache = yield* Cache.makeWith(lookup, {
    capacity: maxCachedKeys,
    timeToLive: (exit) => (Exit.isSuccess(exit) ? freshMs : 0),
  })
  return (id: string) => Cache.get(cache, id)
})

const refuse = <Code extends ErrorCode>(code: Code, message: string) => serviceError(code, message)

/** One answer for every way in which a key can be wrong, so that it tells nothing. */
const rejected = refuse("app_key_invalid", "The application key is not valid")

const nobody = sha256("")

/** Compares in constant time, also where there is no such key. */
const sameSecret = (key: string, hash: Uint8Array | undefined): boolean =>
  timingSafeEqual(sha256(key), hash ?? nobody) && hash !== undefined

const isAllowed = ({ ipAllow }: AppEntry, address: NetAddress.IpAddress | undefined): boolean =>
  ipAllow.length === 0 || (address !== undefined && ipAllow.some((network) => IpNetwork.contains(network, address)))
