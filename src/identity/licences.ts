/**
 * Licences: issued with a code, activated once, suspended, or revoked for good. Each step is one statement that
 * includes its audit record.
 */

import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { WeirConfig } from "../config.ts"
import type { License, LicenseIssued } from "../protocol/control/licence.ts"
import { type ServiceError, serviceError } from "../protocol/error.ts"
import { mintSecret, sha256 } from "../secrets.ts"
import type { Actor } from "../store/audit-log.ts"
import { makeCachedLookup } from "../store/cached-lookup.ts"
import { queryDeadline } from "../store/database.ts"
import { afterNow } from "../store/store-time.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"

export class Licences extends Context.Service<
  Licences,
  {
    readonly issue: (
      orgId: string,
      appId: string,
      codeDays: number,
      actor: Actor,
    ) => Effect.Effect<LicenseIssued, StoreUnavailable>
    /** Redeems a code for a member of one of these organisations; the error gives no reason. */
    readonly activate: (
      code: string,
      orgIds: ReadonlyArray<string>,
      userId: string,
    ) => Effect.Effect<License, ServiceError<"validation_failed"> | StoreUnavailable>
    readonly end: (
      orgId: string,
      id: string,
      status: "suspended" | "revoked",
      actor: Actor,
    ) => Effect.Effect<License, ServiceError<"not_found" | "conflict"> | StoreUnavailable>
    readonly list: (orgId: string) => Effect.Effect<ReadonlyArray<License>, StoreUnavailable>
    /** Whether an application has an active licence; the answer may be two seconds old. */
    readonly isLicensed: (appId: string) => Effect.Effect<boolean, StoreUnavailable>
  }
>()("weir/identity/Licences") {
  static readonly layer = Layer.effect(
    Licences,
    Effect.gen(function* () {
      const { authStaleMs } = yield* WeirConfig
      const sql = yield* SqlClient.SqlClient
      const bounded = yield* queryDeadline
      const licensed = yield* makeCachedLookup<{ readonly active: boolean }>(
        (appId) =>
          bounded(sql<{ active: boolean }>`
            select exists (select from licences where app_id = ${appId} and status = 'active') as active`).pipe(
            Effect.map((rows) => rows[0]),
          ),
        authStaleMs,
      )

      return Licences.of({
        issue: Effect.fnUntraced(function* (orgId, appId, codeDays, actor) {
          const code = mintSecret("lic")
          const id = mintSecret("lc").slice(0, 20)
          const rows = yield* bounded(sql<Row>`
            select * from licence_issue(${id}, ${orgId}, ${appId}, ${sha256(code)},
              ${afterNow(sql, codeDays * dayMs)}, ${actor.type}, ${actor.id})`)
          const [row = yield* Effect.die("an insert gave no row")] = rows
          return { license: licenseOf(row), code }
        }),
        activate: Effect.fnUntraced(function* (code, orgIds, userId) {
          const [row] = yield* bounded(sql<Row>`
            select * from licence_activate(${sha256(code)}, ${orgIds}::text[], ${userId})`)
          return row === undefined
            ? yield* serviceError("validation_failed", "The code is invalid, expired or already redeemed")
            : licenseOf(row)
        }),
        end: Effect.fnUntraced(function* (orgId, id, status, actor) {
          const [row] = yield* bounded(sql<Row>`
            select * from licence_end(${id}, ${orgId}, ${status}, ${actor.type}, ${actor.id})`)
          if (row !== undefined) return licenseOf(row)
          const [known] = yield* bounded(sql<Row>`select * from licences where id = ${id} and org_id = ${orgId}`)
          if (known === undefined) return yield* serviceError("not_found", "The licence does not exist")
          return yield* serviceError("conflict", `This licence is ${known.status}`, {
            detail: { status: known.status },
          })
        }),
        list: (orgId) =>
          Effect.map(
            bounded(sql<Row>`
              select * from licences where org_id = ${orgId} order by created_at desc, id limit ${maxListed}::int`),
            (rows) => rows.map(licenseOf),
          ),
        isLicensed: (appId) => Effect.map(licensed(appId), (row) => row?.active === true),
      })
    }),
  )
}

const dayMs = 24 * 3600 * 1000
const maxListed = 500

interface Row {
  readonly id: string
  readonly app_id: string
  readonly status: License["status"]
  readonly epoch: number
  readonly created_at: Date
}

const licenseOf = ({ id, app_id, status, epoch, created_at }: Row): License => ({
  id,
  appId: app_id,
  epoch,
  createdAt: created_at.toISOString(),
  principalType: "member",
  status,
  sourceType: "approval",
})
