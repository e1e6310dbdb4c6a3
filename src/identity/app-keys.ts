/**
 * Application keys: authentication of runtime callers. Checks scope, status, expiry, address, signature and licence, in
 * this order; the secret is hashed at rest and compared in constant time. Source: interface.md "Authentication".
 */
import { timingSafeEqual } from "node:crypto"
import { Clock, Context, Effect, Layer } from "effect"
import { IpNetwork, type NetAddress } from "effect/net"
import { SqlClient } from "effect/sql"
import { Catalogue } from "../catalogue/catalogue.ts"
import { sha256 } from "../catalogue/secrets.ts"
import type { AppEntry } from "../catalogue/snapshot.ts"
import { WeirConfig } from "../config.ts"
import type { App, KeyScope } from "../protocol/catalogue.ts"
import { type ErrorCode, type ServiceError, serviceError } from "../protocol/error.ts"
import { queryDeadline } from "../store/database.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"
import { AppConfigs } from "./app-configs.ts"
import { makeCachedLookup } from "./cached-lookup.ts"
import type { Caller } from "./caller.ts"
import { Licences } from "./licences.ts"
import { type SignatureHeaders, verifySignature } from "./signature.ts"

/** The credentials of a request, and what its signature covers. */
export interface AppCredentials {
  readonly keyId: string | undefined
  readonly key: string | undefined
  readonly scope: KeyScope
  /** Read only where it matters. */
  readonly address: () => NetAddress.IpAddress | undefined
  readonly signature: SignatureHeaders
  readonly method: string
  readonly target: string
  readonly body: Uint8Array
}

/** An authenticated application. */
export interface AppCaller extends Caller {
  readonly app: App
}

export type AuthenticationError =
  | ServiceError<"app_key_invalid" | "app_disabled" | "app_ip_denied" | "license_required" | "signature_invalid">
  | StoreUnavailable

export class AppKeys extends Context.Service<
  AppKeys,
  {
    /** Authenticates an application. An unavailable store is never an authentication error. */
    readonly authenticate: (credentials: AppCredentials) => Effect.Effect<AppCaller, AuthenticationError>
    /**
     * Checks a key without its secret, for an end-user token that names it: are the key and its application still
     * valid?
     */
    readonly checkKey: (
      credentials: Omit<AppCredentials, "key" | "scope" | "address">,
    ) => Effect.Effect<AppCaller, AuthenticationError>
  }
>()("weir/identity/AppKeys") {
  static readonly layer = Layer.effect(
    AppKeys,
    Effect.gen(function* () {
      const { authStaleMs, requireSignature } = yield* WeirConfig
      const catalogue = yield* Catalogue
      const appConfigs = yield* AppConfigs
      const licences = yield* Licences
      const sql = yield* SqlClient.SqlClient
      const clock = yield* Clock.Clock
      const bounded = yield* queryDeadline
      const keyRow = yield* makeCachedLookup<KeyRow>(
        (id) =>
          bounded(
            sql<KeyRow>`select app_id, secret_sha256, scopes, status, expires_at from app_keys where id = ${id}`,
          ).pipe(Effect.map((rows) => rows[0])),
        authStaleMs,
      )

      /** Checks everything but the secret: status, expiry, address, signature, licence, in this order. */
      const judge = (
        keyId: string,
        row: KeyRow,
        credentials: Judged,
      ): Effect.Effect<AppCaller, AuthenticationError> => {
        const known = catalogue.current().app(row.app_id)
        if (row.status === "revoked" || known === undefined || !row.scopes.includes(credentials.scope)) return rejected
        const entry = appConfigs.apply(known)
        const nowMs = clock.currentTimeMillisUnsafe()
        if (row.expires_at !== null && row.expires_at.getTime() <= nowMs) return rejected
        if (row.status === "disabled" || entry.app.disabled === true) {
          return refuse("app_disabled", "This application is disabled")
        }
        if (credentials.checksAddress && !isAllowed(entry, credentials.address)) {
          return refuse("app_ip_denied", "This application does not accept calls from this address")
        }
        const verdict = verifySignature(credentials.signature, credentials, row.secret_sha256, nowMs)
        if (verdict._tag === "Invalid") return refuse("signature_invalid", verdict.reason)
        if (verdict._tag === "Unsigned" && (requireSignature || entry.app.requireSignature === true)) {
          return refuse("signature_invalid", "This application requires signed requests")
        }
        const { app, org, plan, policies } = entry
        const nonce = verdict._tag === "Signed" ? verdict.nonce : undefined
        const caller = { app, org, plan, policies, keyId, endUserId: undefined, nonce }
        if (app.licenceRequired !== true) return Effect.succeed(caller)
        return Effect.flatMap(licences.isLicensed(app.id), (isLicensed) =>
          isLicensed ? Effect.succeed(caller) : refuse("license_required", "This application needs an active licence"),
        )
      }

      return AppKeys.of({
        authenticate: (credentials) => {
          const { keyId, key } = credentials
          if (keyId === undefined || key === undefined || keyId.length > 128) return rejected
          return Effect.flatMap(keyRow(keyId), (row) =>
            !sameSecret(key, row?.secret_sha256) || row === undefined
              ? rejected
              : judge(keyId, row, { ...credentials, checksAddress: true }),
          )
        },
        checkKey: (credentials) => {
          const { keyId } = credentials
          if (keyId === undefined) return rejected
          return Effect.flatMap(keyRow(keyId), (row) =>
            row === undefined
              ? rejected
              : // End users may be anywhere: an application's allowed addresses are those of its back end.
                judge(keyId, row, {
                  ...credentials,
                  scope: "runtime",
                  address: () => undefined,
                  checksAddress: false,
                }),
          )
        },
      })
    }),
  )
}

interface KeyRow {
  readonly app_id: string
  readonly secret_sha256: Uint8Array
  readonly scopes: ReadonlyArray<string>
  readonly status: "active" | "disabled" | "revoked"
  readonly expires_at: Date | null
}

interface Judged extends Omit<AppCredentials, "keyId" | "key"> {
  readonly checksAddress: boolean
}

const refuse = <Code extends ErrorCode>(code: Code, message: string) => serviceError(code, message)

/** The same error for every invalid key, so that it reveals nothing. */
const rejected = refuse("app_key_invalid", "The application key is not valid")

const nobody = sha256("")

/** Compares in constant time, also if there is no such key. */
const sameSecret = (key: string, hash: Uint8Array | undefined): boolean =>
  timingSafeEqual(sha256(key), hash ?? nobody) && hash !== undefined

const isAllowed = ({ ipAllow }: AppEntry, addressOf: () => NetAddress.IpAddress | undefined): boolean => {
  if (ipAllow.length === 0) return true
  const address = addressOf()
  return address !== undefined && ipAllow.some((network) => IpNetwork.contains(network, address))
}
