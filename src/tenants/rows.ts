/** Rows of tenants and keys, as nodes keep them in memory, and reading many of them with one query. */
import { Effect, Option, Schema } from "effect"
import type { IpNetwork } from "effect/net"
import type { SqlClient, SqlError } from "effect/sql"
import type { BudgetIndex } from "../money/budgets/budget.ts"
import { readOrgBudgets } from "../money/budgets/org-budgets.ts"
import type { SubjectLimits } from "../protocol/catalogue/limits.ts"
import { App, KeyLimits, Org } from "../protocol/catalogue/tenant.ts"
import { AppConfig } from "../protocol/control/app-config.ts"
import { TenantStatus } from "../protocol/control/tenants.ts"
import { parseNetwork } from "../protocol/values/network.ts"
import { SealedUpstreamKey } from "../upstream/upstream-keys.ts"

export interface OrgRow {
  readonly kind: "org"
  readonly org: Org
  readonly status: TenantStatus
  /** The budgets that it has set for itself. */
  readonly budgets: BudgetIndex | undefined
  /** Budgets that this version cannot read, and does not enforce. */
  readonly unreadBudgets: ReadonlyArray<string>
  readonly upstreamKeys: ReadonlyArray<SealedUpstreamKey>
}

export interface AppRow {
  readonly kind: "app"
  /** The application, with the configuration by its organisation. */
  readonly app: App
  readonly isClosed: boolean
  readonly config: AppConfig
  readonly ipAllow: ReadonlyArray<IpNetwork.IpNetwork>
}

export interface KeyRow {
  readonly kind: "key"
  readonly appId: string
  readonly secretSha256: Uint8Array
  /** The secret before the present one, while it works. */
  readonly former: { readonly secretSha256: Uint8Array; readonly untilMs: number } | undefined
  readonly scopes: ReadonlyArray<string>
  readonly status: "active" | "disabled" | "revoked"
  readonly expiresAtMs: number | undefined
  readonly limits: SubjectLimits
  /** Ids of the policies that hold for its calls, beside those of its application. */
  readonly policies?: ReadonlyArray<string> | undefined
}

export type TenantRow = OrgRow | AppRow | KeyRow

/** e.g. `org:acme`. */
export type Subject = `${TenantRow["kind"]}:${string}`

export interface ReadRow {
  readonly subject: Subject
  readonly row: TenantRow
  readonly bytes: number
}

/**
 * Reads rows, with the application of each key and the organisation of each application. Rows that do not exist, or cannot be
 * read by this version, are absent.
 */
export const readRows = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  subjects: ReadonlyArray<Subject>,
): Effect.fn.Return<ReadonlyArray<ReadRow>, SqlError.SqlError> {
  const ids = (kind: TenantRow["kind"]) =>
    subjects.flatMap((subject) => (subject.startsWith(`${kind}:`) ? [subject.slice(kind.length + 1)] : []))
  const texts = yield* sql<TextRow>`
    with k as (select * from app_keys where id = any(${ids("key")}::text[])),
    a as (
      select t.*, c.config from tenants t left join app_configs c on c.app_id = t.id
      where t.kind = 'app' and t.id in (select unnest(${ids("app")}::text[]) union select app_id from k)),
    o as (
      select t.*, b.budgets, (
        select json_agg(json_build_object('vendor', vendor_id, 'baseUrl', base_url, 'sealed', sealed_key))
        from org_upstream_keys u where u.org_id = t.id) as keys
      from tenants t left join org_budgets b on b.org_id = t.id
      where t.kind = 'org' and t.id in (select unnest(${ids("org")}::text[]) union select org_id from a))
    select 'key' as kind, id, json_build_object('app', app_id, 'secret', encode(secret_sha256, 'hex'), 'scopes', scopes,
      'status', status, 'expires', extract(epoch from expires_at) * 1000, 'limits', limits,
      'former', encode(former_sha256, 'hex'), 'formerUntil', extract(epoch from former_until) * 1000)::text as body from k
    union all
    select 'app', id, json_build_object('app', document, 'status', status, 'config', config)::text from a
    union all
    select 'org', id,
      json_build_object('org', document, 'status', status, 'budgets', budgets, 'keys', keys)::text from o`
  const rows: Array<ReadRow> = []
  for (const { kind, id, body } of texts) {
    const row = Option.getOrUndefined(readers[kind](body))
    if (row === undefined) yield* Effect.logError("A tenant cannot be read", { kind, id })
    else rows.push({ subject: `${kind}:${id}`, row, bytes: rowBytes + 2 * body.length })
    if (row?.kind === "org" && row.unreadBudgets.length > 0) {
      yield* Effect.logError("Budgets cannot be read, and are not enforced here", {
        org: id,
        budgets: row.unreadBudgets,
      })
    }
  }
  return rows
})

/** The approximate bytes of a row without its texts. */
const rowBytes = 600

interface TextRow {
  readonly kind: TenantRow["kind"]
  readonly id: string
  readonly body: string
}

const KeyBody = Schema.fromJsonString(
  Schema.Struct({
    app: Schema.String,
    secret: Schema.Uint8ArrayFromHex,
    scopes: Schema.Array(Schema.String),
    status: Schema.Literals(["active", "disabled", "revoked"]),
    expires: Schema.NullOr(Schema.Number),
    limits: Schema.NullOr(KeyLimits),
    former: Schema.NullOr(Schema.Uint8ArrayFromHex),
    formerUntil: Schema.NullOr(Schema.Number),
  }),
)
const AppBody = Schema.fromJsonString(
  Schema.Struct({ app: App, status: TenantStatus, config: Schema.NullOr(AppConfig) }),
)
const OrgBody = Schema.fromJsonString(
  Schema.Struct({
    org: Org,
    status: TenantStatus,
    budgets: Schema.NullOr(Schema.Unknown),
    keys: Schema.NullOr(Schema.Array(SealedUpstreamKey)),
  }),
)
const decodeKey = Schema.decodeUnknownOption(KeyBody)
const decodeApp = Schema.decodeUnknownOption(AppBody)
const decodeOrg = Schema.decodeUnknownOption(OrgBody)

const readers: Readonly<Record<TenantRow["kind"], (body: string) => Option.Option<TenantRow>>> = {
  key: (body) =>
    Option.map(decodeKey(body), ({ app, secret, scopes, status, expires, limits, former: old, formerUntil }) => {
      const former = old === null || formerUntil === null ? undefined : { secretSha256: old, untilMs: formerUntil }
      const common = { kind: "key", appId: app, secretSha256: secret, former, scopes, status } as const
      const { policies, ...own } = limits ?? {}
      return { ...common, expiresAtMs: expires ?? undefined, limits: own, policies }
    }),
  app: (body) => Option.map(decodeApp(body), ({ app, status, config }) => appRow(app, status, config ?? {})),
  org: (body) =>
    Option.map(decodeOrg(body), ({ org, status, budgets, keys }) => {
      const { index, unread } = readOrgBudgets(budgets ?? {})
      return { kind: "org", org, status, budgets: index, unreadBudgets: unread, upstreamKeys: keys ?? [] }
    }),
}

/** An application with its configuration applied, which overrides it. */
const appRow = (declared: App, status: TenantStatus, config: AppConfig): AppRow => {
  const { quota, requireSignature, ipAllow, disabled } = config
  const app: App = {
    ...declared,
    ...(quota !== undefined && { quota: { ...declared.quota, ...quota } }),
    ...(requireSignature !== undefined && { requireSignature }),
    ...(ipAllow !== undefined && { ipAllow }),
    ...(disabled !== undefined && { disabled }),
    ...(status === "disabled" && { disabled: true }),
  }
  // Invalid networks were refused when they were written.
  const networks = (app.ipAllow ?? []).flatMap((text) => parseNetwork(text) ?? [])
  return { kind: "app", app, isClosed: status === "closed", config, ipAllow: networks }
}
