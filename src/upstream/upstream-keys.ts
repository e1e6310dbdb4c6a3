/**
 * Upstream keys of organisations (BYOK): a key for a vendor of the catalogue, and optionally an own address. Sealed at
 * rest, opened with the row of their organisation, never logged and never returned.
 */
import { Context, Effect, Layer, Redacted, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { OwnIdentity } from "../protocol/control/own-identity.ts"
import { type ServiceError, serviceError } from "../protocol/error.ts"
import { ChangeFeed } from "../store/change-feed.ts"
import { queryDeadline } from "../store/database.ts"
import { type Sealer, Sealing } from "../store/seal.ts"
import { keepSealing } from "../store/seal-again.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"
import { checkTarget, Egress } from "./egress.ts"
import { readStoredIdentity } from "./stored-identity.ts"

export interface UpstreamKey {
  /** If absent, the vendor's address of the catalogue is used. */
  readonly baseUrl: string | undefined
  /** Undefined if it cannot be opened because the master key that sealed it is gone. */
  readonly key: Redacted.Redacted | undefined
  /** The identity at a cloud that the organisation brought instead of a key. */
  readonly identity: OwnIdentity | undefined
  /** A value that is different for each key that is set: the refusal of a key says nothing about the next one. */
  readonly version: string
}

/** A key as it is stored. */
export const SealedUpstreamKey = Schema.Struct({
  vendor: Schema.String,
  baseUrl: Schema.NullOr(Schema.String),
  sealed: Schema.String,
})
export type SealedUpstreamKey = typeof SealedUpstreamKey.Type

/** The keys of an organisation by vendor. */
export const openUpstreamKeys = (
  sealer: Sealer,
  orgId: string,
  keys: ReadonlyArray<SealedUpstreamKey>,
): ReadonlyMap<string, UpstreamKey> =>
  new Map(
    keys.map(({ vendor, baseUrl, sealed }) => {
      const key = sealer.open(sealed, contextOf(orgId, vendor, baseUrl))
      return [
        vendor,
        {
          baseUrl: baseUrl ?? undefined,
          key: key === undefined ? undefined : Redacted.make(key),
          identity: key === undefined ? undefined : readStoredIdentity(key),
          version: sealed.slice(-8),
        },
      ]
    }),
  )

/** A key without its secret. */
export interface UpstreamKeyInfo {
  readonly vendor: string
  readonly baseUrl: string | undefined
  /** Its last four characters. */
  readonly hint: string
  readonly updatedAt: Date
}

export interface SetUpstreamKey {
  readonly orgId: string
  readonly vendorId: string
  readonly baseUrl: string | undefined
  /** A key, or an identity as text. */
  readonly key: Redacted.Redacted
  /** Its last four characters, by which people recognise it. */
  readonly hint: string
  /** An address that the identity names; it must pass the egress guard too. */
  readonly issuer?: string | undefined
}

export class UpstreamKeys extends Context.Service<
  UpstreamKeys,
  {
    /** Stores a key. Its address must pass the egress guard, now and at every call. */
    readonly set: (
      key: SetUpstreamKey,
    ) => Effect.Effect<void, ServiceError<"egress_blocked" | "org_byok_not_available"> | StoreUnavailable>
    readonly list: (orgId: string) => Effect.Effect<ReadonlyArray<UpstreamKeyInfo>, StoreUnavailable>
    /** False if there was none. */
    readonly remove: (orgId: string, vendorId: string) => Effect.Effect<boolean, StoreUnavailable>
  }
>()("weir/upstream/UpstreamKeys") {
  static readonly layer = Layer.effect(
    UpstreamKeys,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const egress = yield* Egress
      const feed = yield* ChangeFeed
      const bounded = yield* queryDeadline
      const { sealer, isDurable } = yield* Sealing

      yield* keepSealing<KeyRow>("Sealing upstream keys again", {
        read: (after, most) =>
          bounded(sql<KeyRow>`
            select * from org_upstream_keys
            where (org_id, vendor_id) > (${after?.org_id ?? ""}, ${after?.vendor_id ?? ""})
            order by org_id, vendor_id limit ${most}::int`),
        sealedOf: ({ org_id, vendor_id, base_url, sealed_key }) => ({
          sealed: sealed_key,
          context: contextOf(org_id, vendor_id, base_url),
        }),
        write: ({ org_id, vendor_id, sealed_key }, sealed) =>
          bounded(sql`
            update org_upstream_keys set sealed_key = ${sealed}
            where org_id = ${org_id} and vendor_id = ${vendor_id} and sealed_key = ${sealed_key}`),
      })
      return UpstreamKeys.of({
        set: Effect.fn("UpstreamKeys.set")(function* ({ orgId, vendorId, baseUrl, key, hint, issuer }) {
          if (!isDurable) return yield* notAvailable
          if (baseUrl !== undefined) yield* checkTarget(egress, baseUrl)
          if (issuer !== undefined) yield* checkTarget(egress, issuer)
          const secret = Redacted.value(key)
          const sealed = sealer.seal(secret, contextOf(orgId, vendorId, baseUrl ?? null))
          yield* bounded(sql`
            insert into org_upstream_keys (org_id, vendor_id, base_url, sealed_key, hint)
            values (${orgId}, ${vendorId}, ${baseUrl ?? null}, ${sealed}, ${hint})
            on conflict (org_id, vendor_id) do update set base_url = excluded.base_url,
              sealed_key = excluded.sealed_key, hint = excluded.hint, revision = excluded.revision, updated_at = now()`)
          yield* feed.catchUp
        }),
        list: (orgId) =>
          bounded(sql<KeyRow>`select * from org_upstream_keys where org_id = ${orgId} order by vendor_id`).pipe(
            Effect.map((rows) => rows.map(infoOf)),
          ),
        remove: (orgId, vendorId) =>
          bounded(sql`
            delete from org_upstream_keys where org_id = ${orgId} and vendor_id = ${vendorId} returning org_id`).pipe(
            Effect.tap(feed.catchUp),
            Effect.map((rows) => rows.length > 0),
          ),
      })
    }),
  )
}

interface KeyRow {
  readonly org_id: string
  readonly vendor_id: string
  readonly base_url: string | null
  readonly sealed_key: string
  readonly hint: string
  readonly updated_at: Date
}

/** The sealing context: in another row, or with another address, a key cannot be opened. */
const contextOf = (orgId: string, vendorId: string, baseUrl: string | null): string =>
  JSON.stringify([orgId, vendorId, baseUrl])

const infoOf = ({ vendor_id: vendor, base_url, hint, updated_at: updatedAt }: KeyRow): UpstreamKeyInfo => ({
  vendor,
  baseUrl: base_url ?? undefined,
  hint,
  updatedAt,
})

const notAvailable = serviceError("org_byok_not_available", "Upstream keys need a master key (SVC_MASTER_KEY)")
