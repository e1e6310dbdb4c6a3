/**
 * Application keys: authentication of runtime callers. Checks scope, status, expiry, address, signature and licence, in
 * this order; the secret is hashed at rest and compared in constant time.
 */
import { timingSafeEqual } from "node:crypto"
import { Clock, Context, Effect, Layer } from "effect"
import { IpNetwork, type NetAddress } from "effect/net"
import { WeirConfig } from "../config.ts"
import type { App, KeyScope, Org } from "../protocol/catalogue/tenant.ts"
import { type ErrorCode, type ServiceError, serviceError } from "../protocol/error.ts"
import { sha256 } from "../secrets.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"
import type { KeyRow } from "../tenants/rows.ts"
import { type LimitedSubject, limitedSubject, orgRates } from "../tenants/subject-limits.ts"
import { type AppEntry, Tenants } from "../tenants/tenants.ts"
import { type AwsSignature, refusalOfAws } from "./aws-signature.ts"
import type { Caller } from "./caller.ts"
import { KeyUses } from "./key-uses.ts"
import { Licences } from "./licences.ts"
import { type SignatureHeaders, type SignedBody, verifySignature } from "./signature.ts"

/** The credentials of a request, and what its signature covers. */
export interface AppCredentials {
  readonly keyId: string | undefined
  readonly key: string | undefined
  readonly scope: KeyScope
  /** The address; read only if it matters. */
  readonly address: () => NetAddress.IpAddress | undefined
  readonly signature: SignatureHeaders
  /** A signature that replaces the secret. */
  readonly aws?: AwsSignature | undefined
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly method: string
  readonly target: string
  readonly body: SignedBody
}

/** An authenticated application. */
export interface AppCaller extends Caller {
  readonly app: App
}

/** A caller, and the nonce if its request was signed: the gate must accept the nonce before the caller is trusted. */
export interface Verified<C extends Caller = Caller> {
  readonly caller: C
  readonly nonce: string | undefined
}

export type AuthenticationError =
  | ServiceError<"app_key_invalid" | "app_disabled" | "app_ip_denied" | "license_required" | "signature_invalid">
  | StoreUnavailable

export class AppKeys extends Context.Service<
  AppKeys,
  {
    /** Authenticates an application. An unavailable store is never an authentication error. */
    readonly authenticate: (credentials: AppCredentials) => Effect.Effect<Verified<AppCaller>, AuthenticationError>
    /** Checks a key without its secret, for an end-user token that names it: the key and its application must still be valid. */
    readonly checkKey: (
      credentials: Omit<AppCredentials, "key" | "scope" | "address">,
    ) => Effect.Effect<Verified<AppCaller>, AuthenticationError>
    /** The application of a key that asked for something before, as it is now. */
    readonly known: (keyId: string) => Effect.Effect<AppCaller, AuthenticationError>
  }
>()("weir/identity/AppKeys") {
  static readonly layer = Layer.effect(
    AppKeys,
    Effect.gen(function* () {
      const { requireSignature, awsSignatures, basePath } = yield* WeirConfig
      const tenants = yield* Tenants
      const licences = yield* Licences
      const uses = yield* KeyUses
      const clock = yield* Clock.Clock

      /** Checks everything but the secret: status, expiry, address, signature, licence, in this order. */
      const judge = (
        keyId: string,
        row: KeyRow,
        entry: AppEntry | undefined,
        credentials: Judged,
      ): Effect.Effect<Verified<AppCaller>, AuthenticationError> => {
        if (row.status === "revoked" || entry === undefined || !row.scopes.includes(credentials.scope)) return rejected
        const nowMs = clock.currentTimeMillisUnsafe()
        if (row.expiresAtMs !== undefined && row.expiresAtMs <= nowMs) return rejected
        if (row.status === "disabled" || entry.app.disabled === true || entry.isDisabled === true) {
          return refuse("app_disabled", "This application is disabled")
        }
        if (credentials.checksAddress && !isAllowed(entry, credentials.address)) {
          return refuse("app_ip_denied", "This application does not accept calls from this address")
        }
        const verdict: Verdict = credentials.isKnown === true ? accepted : verdictOf(credentials, nowMs)
        if (verdict._tag === "Invalid") return refuse("signature_invalid", verdict.reason)
        if (verdict._tag === "Unsigned" && (requireSignature || entry.app.requireSignature === true)) {
          return refuse("signature_invalid", "This application requires signed requests")
        }
        const { app, config, org, plan, budgets, upstreamKeys } = entry
        const policies = tenants.policiesOf(row, entry)
        const nonce = verdict._tag === "Signed" ? verdict.nonce : undefined
        const own = { app, config, org, plan, policies, budgets, upstreamKeys }
        const limits = keyLimits(keyId, row, entry)
        const verified = {
          caller: { ...own, keyId, endUserId: undefined, ...(limits.length > 0 && { limits }) },
          nonce,
        }
        if (app.licenceRequired !== true) return Effect.succeed(verified)
        return Effect.flatMap(licences.isLicensed(app.id), (isLicensed) =>
          isLicensed
            ? Effect.succeed(verified)
            : refuse("license_required", "This application needs an active licence"),
        )
      }

      /** AWS's signature has no nonce: an application that requires signed requests does not accept it. */
      const bySignature = (keyId: string, aws: AwsSignature, credentials: AppCredentials) =>
        Effect.flatMap(tenants.key(keyId), (row): Effect.Effect<Verified<AppCaller>, AuthenticationError> => {
          if (row === undefined || aws.keyId !== keyId) return rejected
          const nowMs = clock.currentTimeMillisUnsafe()
          const former = formerOf(row, nowMs)
          const secrets = former === undefined ? [row.secretSha256] : [row.secretSha256, former]
          const sent = { ...credentials, target: basePath + credentials.target }
          const refusal = refusalOfAws(aws, sent, secrets, nowMs)
          if (refusal !== undefined) return refuse("signature_invalid", refusal)
          if (typeof credentials.body !== "string") uses.note(keyId)
          return Effect.flatMap(tenants.app(row.appId), (entry) =>
            judge(keyId, row, entry, { ...credentials, secret: row.secretSha256, checksAddress: true }),
          )
        })

      /** Keys without their secret: an application's allowed addresses are those of its back end. */
      const withoutSecret = { scope: "runtime", address: () => undefined, checksAddress: false } as const

      return AppKeys.of({
        known: (keyId) =>
          Effect.flatMap(tenants.key(keyId), (row) => {
            if (row === undefined) return rejected
            const sent = { signature: unsigned, headers: {}, method: "", target: "", body: "unread" } as const
            return Effect.flatMap(tenants.app(row.appId), (entry) =>
              judge(keyId, row, entry, { ...sent, ...withoutSecret, secret: row.secretSha256, isKnown: true }),
            )
          }).pipe(Effect.map(({ caller }) => caller)),
        authenticate: (credentials) => {
          const { keyId, key, aws } = credentials
          if (keyId === undefined || keyId.length > 128) return rejected
          if (key === undefined) {
            if (aws === undefined) return rejected
            if (!awsSignatures) return refuse("signature_invalid", "This gateway does not accept signatures of AWS")
            return bySignature(keyId, aws, credentials)
          }
          return Effect.flatMap(tenants.key(keyId), (row) => {
            const secret = secretOf(key, row, clock.currentTimeMillisUnsafe())
            if (row === undefined || secret === undefined) return rejected
            uses.note(keyId)
            return Effect.flatMap(tenants.app(row.appId), (entry) =>
              judge(keyId, row, entry, { ...credentials, secret, checksAddress: true }),
            )
          })
        },
        checkKey: (credentials) => {
          const { keyId } = credentials
          if (keyId === undefined) return rejected
          return Effect.flatMap(tenants.key(keyId), (row) =>
            row === undefined
              ? rejected
              : // The secret that signs is not sent: it may be the former one. End users may have any address: an application's allowed addresses are those of its back end.
                Effect.flatMap(tenants.app(row.appId), (entry) =>
                  judge(keyId, row, entry, {
                    ...credentials,
                    secret: row.secretSha256,
                    former: formerOf(row, clock.currentTimeMillisUnsafe()),
                    ...withoutSecret,
                  }),
                ),
          )
        },
      })
    }),
  )
}

const unsigned: SignatureHeaders = { ts: undefined, nonce: undefined, sign: undefined }

type CallerLimits = ReadonlyArray<LimitedSubject>

interface Judged extends Omit<AppCredentials, "keyId" | "key"> {
  /** The hash of the secret that signs. */
  readonly secret: Uint8Array
  /** Another one that may sign. */
  readonly former?: Uint8Array | undefined
  readonly checksAddress: boolean
  /** Whether its signature, or the lack of it, was accepted before. */
  readonly isKnown?: boolean
}

type Verdict = ReturnType<typeof verifySignature>
const accepted: Verdict = { _tag: "Signed", nonce: "" }

/** The same rows give the same limits. */
const limitsOfKeys = new WeakMap<KeyRow, { readonly app: App; readonly org: Org; readonly limits: CallerLimits }>()

/** Limits that are set at a key, its application or its organisation. */
const keyLimits = (keyId: string, row: KeyRow, { app, org }: AppEntry): CallerLimits => {
  const known = limitsOfKeys.get(row)
  if (known?.app === app && known.org === org) return known.limits
  const limits = [...orgRates(org), ...limitedSubject("app", app.id, app), ...limitedSubject("key", keyId, row.limits)]
  limitsOfKeys.set(row, { app, org, limits })
  return limits
}

const refuse = <Code extends ErrorCode>(code: Code, message: string) => serviceError(code, message)

/** The same error for every invalid key, so that it reveals nothing. */
const rejected = refuse("app_key_invalid", "The application key is not valid")

const nobody = sha256("")

/** The former secret of a key while its grace lasts. */
const formerOf = ({ former }: KeyRow, nowMs: number): Uint8Array | undefined =>
  former !== undefined && former.untilMs > nowMs ? former.secretSha256 : undefined

/** The hash that a secret has, of the two of a key. Compares in constant time, also if there is no such key. */
const secretOf = (key: string, row: KeyRow | undefined, nowMs: number): Uint8Array | undefined => {
  const given = sha256(key)
  const former = row && formerOf(row, nowMs)
  const isPresent = timingSafeEqual(given, row?.secretSha256 ?? nobody)
  const isFormer = timingSafeEqual(given, former ?? nobody)
  if (row !== undefined && isPresent) return row.secretSha256
  return isFormer ? former : undefined
}

const verdictOf = (credentials: Judged, nowMs: number) => {
  const { signature, secret, former } = credentials
  const verdict = verifySignature(signature, credentials, secret, nowMs)
  return verdict._tag === "Invalid" && former !== undefined
    ? verifySignature(signature, credentials, former, nowMs)
    : verdict
}

const isAllowed = ({ ipAllow }: AppEntry, addressOf: () => NetAddress.IpAddress | undefined): boolean => {
  if (ipAllow.length === 0) return true
  const address = addressOf()
  return address !== undefined && ipAllow.some((network) => IpNetwork.contains(network, address))
}
