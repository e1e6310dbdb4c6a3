/** Layered settings. Source: interface.md "Effective settings preview", "Configuration revision row". */
import { Schema } from "effect"

export const SettingScope = Schema.Literals(["platform", "org", "team", "user"])
export type SettingScope = typeof SettingScope.Type

const Enforcement = Schema.Literals(["shadow", "enforce"])
const KeyPaths = Schema.Array(Schema.String)
const ByPath = Schema.Record(Schema.String, SettingScope)
const Maybe = Schema.NullOr(Schema.String)

export const EffectiveSettings = Schema.Struct({
  values: Schema.Record(Schema.String, Schema.Json),
  /** Locked, in force: clients refuse to override these. */
  locks: KeyPaths,
  /** The layer that won, by key path. */
  origins: ByPath,
  /** Delivered, warned about, and not effective yet. */
  shadow: KeyPaths,
  lockOrigins: Schema.optionalKey(ByPath),
}).annotate({ identifier: "EffectiveSettings" })
export type EffectiveSettings = typeof EffectiveSettings.Type

export const SettingsPreview = Schema.Struct({
  settings: EffectiveSettings,
  view: Schema.Struct({
    /** `self`, or the viewpoint that was asked for. */
    as: Schema.String,
    /** The layers that took part, low to high. */
    scopes: Schema.Array(SettingScope),
    org: Maybe,
    team: Maybe,
    member: Maybe,
    /** What is set and no client consumes. */
    ignoredByClient: KeyPaths,
  }),
}).annotate({ identifier: "SettingsPreview" })
export type SettingsPreview = typeof SettingsPreview.Type

export const SettingWrite = Schema.Struct({
  value: Schema.Json,
  /** Whether layers below may not override it. */
  lock: Schema.optionalKey(Schema.Boolean),
  /** `enforce` when absent; `shadow` is delivered, and what it would refuse is only recorded. */
  enforcement: Schema.optionalKey(Enforcement),
  reason: Schema.optionalKey(Schema.NonEmptyString.check(Schema.isMaxLength(512))),
}).annotate({ identifier: "SettingWrite" })
export type SettingWrite = typeof SettingWrite.Type

export const SettingRow = Schema.Struct({
  keyPath: Schema.String,
  value: Schema.Json,
  lock: Schema.Boolean,
  enforcement: Enforcement,
  /** For `If-Match`. */
  revision: Schema.Int,
  updatedAt: Schema.String,
}).annotate({ identifier: "SettingRow" })
export type SettingRow = typeof SettingRow.Type

export const SettingRows = Schema.Struct({ data: Schema.Array(SettingRow) }).annotate({ identifier: "SettingRows" })

export const SettingWritten = Schema.Struct({
  keyPath: Schema.String,
  revision: Schema.Int,
  /** Whether a lock in shadow would have refused this. */
  wouldDeny: Schema.Boolean,
}).annotate({ identifier: "SettingWritten" })
export type SettingWritten = typeof SettingWritten.Type

export const ConfigRevision = Schema.Struct({
  at: Schema.String,
  actorType: Schema.Literals(["user", "org", "service"]),
  actorId: Schema.String,
  from: Schema.Json,
  to: Schema.Json,
  locked: Schema.optionalKey(Schema.Boolean),
  enforcement: Schema.optionalKey(Enforcement),
  revision: Schema.optionalKey(Schema.Int),
  reason: Schema.optionalKey(Schema.String),
  wouldDeny: Schema.optionalKey(Schema.Boolean),
}).annotate({ identifier: "ConfigRevision" })
export type ConfigRevision = typeof ConfigRevision.Type

export const ConfigRevisions = Schema.Struct({ data: Schema.Array(ConfigRevision) }).annotate({
  identifier: "ConfigRevisions",
})

/** What locks in shadow would have refused, by key path. */
export const ShadowReport = Schema.Struct({
  data: Schema.Array(Schema.Struct({ keyPath: Schema.String, writes: Schema.Int, lastAt: Schema.String })),
}).annotate({ identifier: "ShadowReport" })
