/** Stored settings: read per layer; written with revision, locks and audit record in one statement. */
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type {
  ConfigRevision,
  SettingRow,
  SettingScope,
  SettingWritten,
  ShadowReport,
} from "../protocol/control/settings.ts"
import { type ServiceError, serviceError } from "../protocol/error.ts"
import type { Actor } from "../store/audit-log.ts"
import { queryDeadline } from "../store/database.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"
import type { Json } from "./key-paths.ts"
import type { Layer as SettingLayer } from "./merge.ts"

/** The owner of a layer: an organisation, a team or a person; the platform has no subject. */
export interface LayerId {
  readonly scope: SettingScope
  readonly subject: string
}

export const platform: LayerId = { scope: "platform", subject: "" }

export interface WriteRequest {
  readonly layer: LayerId
  /** The layers above, highest first. */
  readonly above: ReadonlyArray<LayerId>
  readonly orgId: string | undefined
  readonly keyPath: string
  /** If absent, the setting is deleted. */
  readonly write?: { readonly value: Json; readonly locked: boolean; readonly enforcement: "shadow" | "enforce" }
  readonly reason: string | undefined
  /** The revision that the writer has seen, 0 for none; undefined writes unconditionally. */
  readonly ifMatch: number | undefined
  readonly actor: Actor
}

export type WriteError = ServiceError<"policy_locked" | "conflict" | "limit_exceeded" | "not_found">

export class Settings extends Context.Service<
  Settings,
  {
    /** The settings of layers, in the given order. */
    readonly read: (layers: ReadonlyArray<LayerId>) => Effect.Effect<ReadonlyArray<SettingLayer>, StoreUnavailable>
    readonly list: (layer: LayerId) => Effect.Effect<ReadonlyArray<SettingRow>, StoreUnavailable>
    readonly write: (request: WriteRequest) => Effect.Effect<SettingWritten, WriteError | StoreUnavailable>
    /** Revisions of one key, newest first. */
    readonly revisions: (
      layer: LayerId,
      keyPath: string,
    ) => Effect.Effect<ReadonlyArray<ConfigRevision>, StoreUnavailable>
    /** Writes in an organisation that shadow locks would have refused. */
    readonly shadowReport: (orgId: string) => Effect.Effect<(typeof ShadowReport.Type)["data"], StoreUnavailable>
  }
>()("weir/settings/Settings") {
  static readonly layer = Layer.effect(
    Settings,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const bounded = yield* queryDeadline

      const rowsOf = (layers: ReadonlyArray<LayerId>) =>
        bounded(sql<Row>`
          select s.scope, s.subject, s.key_path, s.value, s.locked, s.enforcement, s.revision::int as revision, s.updated_at
          from settings s join jsonb_to_recordset(${JSON.stringify(layers)}::text::jsonb) as asked(scope text, subject text)
            on s.scope = asked.scope and s.subject = asked.subject
          where not s.is_deleted order by s.key_path`)

      return Settings.of({
        read: (layers) =>
          Effect.map(rowsOf(layers), (rows) =>
            layers.map(({ scope, subject }) => ({
              scope,
              settings: rows
                .filter((row) => row.scope === scope && row.subject === subject)
                .map(({ key_path, value, locked, enforcement }) => ({ keyPath: key_path, value, locked, enforcement })),
            })),
          ),
        list: (layer) =>
          Effect.map(rowsOf([layer]), (rows) =>
            rows.map(({ key_path, value, locked, enforcement, revision, updated_at }) => ({
              keyPath: key_path,
              value,
              lock: locked,
              enforcement,
              revision,
              updatedAt: updated_at.toISOString(),
            })),
          ),
        write: Effect.fnUntraced(function* ({ layer, above, orgId, keyPath, write, reason, ifMatch, actor }) {
          const { value = null, locked = false, enforcement = "enforce" } = write ?? {}
          const governing = JSON.stringify(above.map(({ scope, subject }) => [scope, subject]))
          const [outcome] = yield* bounded(sql<Outcome>`
            select verdict, revision::int as revision, origin, would_deny from setting_write(
              ${layer.scope}, ${layer.subject}, ${orgId ?? null}, ${keyPath}, ${JSON.stringify(value)}::text::jsonb,
              ${write === undefined}, ${locked}, ${enforcement}, ${ifMatch ?? null}::bigint, ${reason ?? null},
              ${actor.type}, ${actor.id}, ${governing}::text::jsonb, ${maxLocks}::int, ${maxKeys}::int)`)
          const { verdict = "not_found", revision = 0, origin, would_deny: wouldDeny = false } = outcome ?? {}
          if (verdict !== "written") return yield* refusals[verdict](revision, origin ?? "platform")
          return { keyPath, revision, wouldDeny }
        }),
        revisions: (layer, keyPath) =>
          Effect.map(
            bounded(sql<RevisionRow>`
              select at, actor_type, actor_id, detail - 'scope' - 'subject' - 'keyPath' as detail from audit_log
              where action = 'config.revision' and detail ->> 'scope' = ${layer.scope}
                and detail ->> 'subject' = ${layer.subject} and detail ->> 'keyPath' = ${keyPath}
              order by seq desc limit ${maxRevisions}::int`),
            (rows) =>
              rows.map(({ at, actor_type, actor_id, detail }) => ({
                at: at.toISOString(),
                actorType: actor_type,
                actorId: actor_id,
                ...detail,
              })),
          ),
        shadowReport: (orgId) =>
          bounded(sql<{ keyPath: string; writes: number; lastAt: string }>`
            select detail ->> 'keyPath' as "keyPath", count(*)::int as writes, to_json(max(at)) #>> '{}' as "lastAt"
            from audit_log where action = 'config.revision' and org_id = ${orgId} and (detail ->> 'wouldDeny')::boolean
            group by 1 order by 1`),
      })
    }),
  )
}

export const maxLocks = 64
const maxKeys = 1000
const maxRevisions = 100

interface Row {
  readonly scope: SettingScope
  readonly subject: string
  readonly key_path: string
  readonly value: Json
  readonly locked: boolean
  readonly enforcement: "shadow" | "enforce"
  readonly revision: number
  readonly updated_at: Date
}

interface Outcome {
  readonly verdict: "written" | "conflict" | "not_found" | "locked" | "too_many_locks" | "too_many_keys"
  readonly revision: number
  readonly origin: SettingScope | null
  readonly would_deny: boolean
}

interface RevisionRow {
  readonly at: Date
  readonly actor_type: ConfigRevision["actorType"]
  readonly actor_id: string
  readonly detail: Omit<ConfigRevision, "at" | "actorType" | "actorId"> & { readonly [key: string]: Json }
}

const refusals = {
  conflict: (revision: number) =>
    serviceError("conflict", "The setting was changed by somebody else", { detail: { revision } }),
  not_found: () => serviceError("not_found", "The setting does not exist"),
  locked: (_revision: number, lockedBy: SettingScope) =>
    serviceError("policy_locked", `This setting is locked by the ${lockedBy}`, { detail: { lockedBy } }),
  too_many_locks: () =>
    serviceError("limit_exceeded", "The maximum number of locks is reached: unlock a key first", {
      detail: { limit: maxLocks },
    }),
  too_many_keys: () =>
    serviceError("limit_exceeded", "The maximum number of keys is reached: delete one first", {
      detail: { limit: maxKeys },
    }),
}
