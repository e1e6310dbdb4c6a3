/** Layered settings. */
import { Schema } from "effect"
import { StoredJson, StoredText } from "../values/text.ts"

export const SettingScope = Schema.Literals(["platform", "org", "team", "user"])
export type SettingScope = typeof SettingScope.Type

const Enforcement = Schema.Literals(["shadow", "enforce"])
const KeyPaths = Schema.Array(Schema.String)
const ByPath = Schema.Record(Schema.String, SettingScope)
/** The reason why a setting was written; at most 512 characters. */
export const Reason = StoredText.check(Schema.isMinLength(1), Schema.isMaxLength(512))
const Maybe = Schema.NullOr(Schema.String)

export const EffectiveSettings = Schema.Struct({
  values: Schema.Record(Schema.String, Schema.Json),
  /** Key paths with an enforced lock: clients refuse to override them. */
  locks: KeyPaths,
  /** The layer that won, by key path. */
  origins: ByPath,
  /** Key paths that are delivered and only warned about, not effective yet. */
  shadow: KeyPaths,
  lockOrigins: Schema.optionalKey(ByPath),
}).annotate({ identifier: "EffectiveSettings" })
export type EffectiveSettings = typeof EffectiveSettings.Type

export const SettingsPreview = Schema.Struct({
  settings: EffectiveSettings,
  view: Schema.Struct({
    /** `self`, or the requested viewpoint. */
    as: Schema.String,
    /** The layers that took part, from low to high. */
    scopes: Schema.Array(SettingScope),
    org: Maybe,
    team: Maybe,
    member: Maybe,
    /** Key paths that are set and that no client consumes. */
    ignoredByClient: KeyPaths,
  }),
}).annotate({ identifier: "SettingsPreview" })
export type SettingsPreview = typeof SettingsPreview.Type

export const SettingWrite = Schema.Struct({
  value: StoredJson,
  /** Whether lower layers may not override it. */
  lock: Schema.optionalKey(Schema.Boolean),
  /** `enforce` if absent; `shadow` is delivered, and what it would refuse is only recorded. */
  enforcement: Schema.optionalKey(Enforcement),
  reason: Schema.optionalKey(Reason),
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
  /** Whether an enforced lock would have refused this write. */
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

/** Writes that shadow locks would have refused, by key path. */
export const ShadowReport = Schema.Struct({
  data: Schema.Array(Schema.Struct({ keyPath: Schema.String, writes: Schema.Int, lastAt: Schema.String })),
}).annotate({ identifier: "ShadowReport" })
