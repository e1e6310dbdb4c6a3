/**
 * Writes a catalogue that is applied, in batches: its revision, tenants, keys, top-ups, and the times when search
 * providers changed.
 */
import { Array as Arr, Effect, Schema } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import { formatAmount, parseAmount } from "../money/amount.ts"
import type { PlatformDocument } from "../protocol/catalogue/document.ts"
import { SearchProvider } from "../protocol/catalogue/search-provider.ts"
import { KeyLimits } from "../protocol/catalogue/tenant.ts"
import type { AppliedBy } from "../protocol/control/activity.ts"
import { fingerprint } from "../protocol/values/canonical.ts"
import type { Declared, DeclaredTenant, DeclaredTopup, TenantName } from "./declared.ts"
import type { Change } from "./diff.ts"
import type { PlannedKey } from "./keys.ts"
import type { CatalogueIssue } from "./load.ts"
import type { Reading } from "./reading.ts"
import { CatalogueRefused } from "./refusal.ts"

/** Newest revisions whose text is kept. */
const keptTexts = 50
/** Rows of one statement. */
const batch = 1000

export interface Storing {
  readonly document: PlatformDocument
  readonly reading: Reading
  /** The keys that may differ from the stored ones. */
  readonly keys: ReadonlyArray<PlannedKey>
  readonly inForce: { readonly revision: bigint; readonly fingerprint: string }
  /** SHA-256 of the text; null if more than the text is in force. */
  readonly source: Buffer | null
  readonly text: string
  readonly by: AppliedBy
  /** Called as entries are stored. */
  readonly stored: (done: number, total: number) => void
}

/** Whether a revision was applied from this text. @param source its SHA-256 */
export const isFrom = (sql: SqlClient.SqlClient, revision: bigint, source: Buffer) =>
  Effect.map(
    sql`select from catalogue_revisions where revision = ${revision} and source_sha256 = ${source}`,
    (rows) => rows.length > 0,
  )

/** A catalogue as it is stored, and who applied it; empty if there is none. */
export const storedCatalogue = (sql: SqlClient.SqlClient, revision: bigint) =>
  Effect.map(
    sql<{ json: Uint8Array; by: string | null }>`
      select convert_to(document::text, 'UTF8') as json, applied_by as by
      from catalogue_revisions where revision = ${revision}`,
    ([row]) => row ?? { json: new Uint8Array(), by: null },
  )

/** References to the secrets of declared organisations' identity providers. */
export const declaredCredentials = (sql: SqlClient.SqlClient) =>
  sql<Declared["credentials"][number]>`
    select id, document -> 'sso' ->> 'clientSecret' as credential from tenants
    where kind = 'org' and document ? 'sso' and is_declared and document -> 'sso' ? 'clientSecret' order by id`

/** Writes everything in one transaction. Returns the ids of the top-ups that were credited. */
export const storeCatalogue = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  { document, reading, keys, inForce, source, text, by, stored }: Storing,
): Effect.fn.Return<ReadonlyArray<string>, SqlError.SqlError | CatalogueRefused> {
  const { declared } = reading
  if (reading.fingerprint === inForce.fingerprint) {
    yield* sql`
      update catalogue_revisions set source_sha256 = ${source}, source = ${text}
      where revision = ${inForce.revision} and source_sha256 is distinct from ${source}`
  } else {
    yield* storeProviderChanges(sql, document)
    yield* sql`
      insert into catalogue_revisions (fingerprint, document, source_sha256, source, applied_by)
      values (${reading.fingerprint}, convert_from(${reading.json}::bytea, 'UTF8')::jsonb, ${source}, ${text}, ${by})`
    yield* sql`
      update catalogue_revisions set source = null
      where source is not null and revision <= (select max(revision) from catalogue_revisions) - ${keptTexts}::int`
  }
  const revoked = removedFrom("keys", reading.changes)
  const { changed, removed, topups } = declared
  const total = [changed, removed, keys, revoked, topups].reduce((sum, rows) => sum + rows.length, 0)
  let done = 0
  const inBatches = <A, B, E>(
    rows: ReadonlyArray<A>,
    store: (part: ReadonlyArray<A>) => Effect.Effect<ReadonlyArray<B>, E>,
  ) => {
    const tell = (part: ReadonlyArray<A>) => {
      done += part.length
      stored(done, total)
    }
    const parts = Effect.forEach(Arr.chunksOf(rows, batch), (part) =>
      Effect.tap(store(part), () => Effect.sync(() => tell(part))),
    )
    return Effect.map(parts, Arr.flatten)
  }
  yield* inBatches(changed, (part) => storeTenants(sql, part))
  yield* inBatches(removed, (part) => removeTenants(sql, part))
  yield* inBatches(keys, (part) => storeKeys(sql, part))
  yield* inBatches(revoked, (part) => revokeKeys(sql, part))
  return yield* inBatches(topups, (part) => creditTopups(sql, part))
})

const encodeProvider = Schema.encodeSync(SearchProvider)

/** Stores when each search provider last changed: the directory lists the most recent first among equal weights. */
const storeProviderChanges = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  { searchProviders = [] }: PlatformDocument,
) {
  for (const provider of searchProviders) {
    const hash = fingerprint(encodeProvider(provider))
    yield* sql`
      insert into search_provider_changes as c (id, fingerprint) values (${provider.id}, ${hash})
      on conflict (id) do update set fingerprint = excluded.fingerprint, changed_at = now()
      where c.fingerprint <> excluded.fingerprint`
  }
})

/** Writes tenants that are new or changed. */
const storeTenants = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, part: ReadonlyArray<DeclaredTenant>) {
  const taken = yield* sql<TenantName>`select * from tenants_declare(${JSON.stringify(part)}::text::jsonb)`
  if (taken.length > 0) return yield* new CatalogueRefused({ issues: taken.map(takenIssue) })
  return taken
})

/** Removes tenants that the file no longer declares. Their books stay. */
const removeTenants = (sql: SqlClient.SqlClient, part: ReadonlyArray<TenantName>) =>
  sql`
    delete from tenants t using jsonb_to_recordset(${JSON.stringify(part)}::text::jsonb) as x(kind text, id text)
    where t.kind = x.kind and t.id = x.id and t.is_declared`

/** Conflicts: tenants of the file that were created without it, and removed entries that tenants still need. */
export const conflictsOf = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  changed: ReadonlyArray<DeclaredTenant>,
  changes: ReadonlyArray<Change>,
): Effect.fn.Return<ReadonlyArray<CatalogueIssue>, SqlError.SqlError> {
  const issues: Array<CatalogueIssue> = []
  for (const part of Arr.chunksOf(changed, batch)) {
    const names = JSON.stringify(part.map(({ kind, id }) => ({ kind, id })))
    const taken = yield* sql<TenantName>`
      select t.kind, t.id from jsonb_to_recordset(${names}::text::jsonb) as x(kind text, id text)
      join tenants t on t.kind = x.kind and t.id = x.id where not t.is_declared`
    issues.push(...taken.map(takenIssue))
  }
  const removed = (section: string) => removedFrom(section, changes)
  const gone = { plans: removed("plans"), models: removed("models"), policies: removed("policies") }
  if (Object.values(gone).every((ids) => ids.length === 0)) return issues
  const users = yield* sql<{ id: string; entry: string }>`
    select o.id, x.entry from (
      select id, document from tenants where kind = 'org' and not is_declared and status <> 'closed' and (
        document ->> 'plan' = any(${gone.plans}::text[]) or document -> 'models' ?| ${gone.models}::text[]
        or document -> 'policies' ?| ${gone.policies}::text[])
      order by id limit 1) o
    cross join lateral (
      select 'plans/' || (o.document ->> 'plan') as entry where o.document ->> 'plan' = any(${gone.plans}::text[])
      union all select 'models/' || m from jsonb_array_elements_text(o.document -> 'models') m
        where m = any(${gone.models}::text[])
      union all select 'policies/' || p from jsonb_array_elements_text(coalesce(o.document -> 'policies', '[]')) p
        where p = any(${gone.policies}::text[])) x
    order by 2`
  return [
    ...issues,
    ...users.map(({ id, entry }) => ({ path: "", line: 1, message: `${entry} is still used by organisation "${id}"` })),
  ]
})

const takenIssue = ({ kind, id }: TenantName): CatalogueIssue => ({
  path: `${kind}s`,
  line: 1,
  message: `"${id}" exists and is not declared by this file`,
})

const encodeLimits = Schema.encodeSync(KeyLimits)

/** Creates or updates keys of the file. */
const storeKeys = (sql: SqlClient.SqlClient, part: ReadonlyArray<PlannedKey>) => {
  const rows = JSON.stringify(
    part.map(({ id, appId, name, hash, scopes, status, expiresAt, limits }) => ({
      id,
      app: appId,
      name,
      hash: hash?.toString("hex"),
      scopes,
      status,
      expires: expiresAt,
      limits: limits && encodeLimits(limits),
    })),
  )
  const create = sql`
    insert into app_keys as k (id, app_id, secret_sha256, scopes, origin)
    select id, app, decode(hash, 'hex'), array(select jsonb_array_elements_text(scopes)), 'catalogue'
    from jsonb_to_recordset(${rows}::text::jsonb) as x(id text, app text, hash text, scopes jsonb)
    where hash is not null
    on conflict (id) do update set secret_sha256 = excluded.secret_sha256, origin = 'catalogue'
    where k.secret_sha256 <> excluded.secret_sha256 or k.origin <> 'catalogue'`
  const update = sql`
    update app_keys k set app_id = x.app, name = x.name, scopes = x.scopes, status = x.status, expires_at = x.expires,
      limits = nullif(x.limits, 'null')
    from (
      select r.id, app, r.name, array(select jsonb_array_elements_text(r.scopes)) as scopes,
        case when a.revoked_at is null then r.status else 'revoked' end as status, expires, r.limits
      from jsonb_to_recordset(${rows}::text::jsonb)
        as r(id text, app text, name text, scopes jsonb, status text, expires timestamptz, limits jsonb)
      join app_keys a on a.id = r.id) x
    where k.id = x.id
      and (k.app_id, k.name, k.scopes, k.status, k.expires_at, k.limits)
        is distinct from (x.app, x.name, x.scopes, x.status, x.expires, nullif(x.limits, 'null'))`
  return Effect.andThen(create, update)
}

/** Revokes keys that the file no longer contains. */
const revokeKeys = (sql: SqlClient.SqlClient, ids: ReadonlyArray<string>) =>
  sql`
    update app_keys set status = 'revoked'
    where id = any(${ids}::text[]) and origin = 'catalogue' and status <> 'revoked'`

/** Ids of a section that the file no longer contains. */
const removedFrom = (section: string, changes: ReadonlyArray<Change>): ReadonlyArray<string> =>
  changes.flatMap(({ entry, change }) =>
    change === "removed" && entry.startsWith(`${section}/`) ? [entry.slice(section.length + 1)] : [],
  )

const jsonOfTopups = (topups: ReadonlyArray<DeclaredTopup>): string =>
  JSON.stringify(
    topups.map(({ id, org, currency, amount }) => {
      return { id, org, currency, amount: formatAmount(parseAmount(amount) ?? 0n) }
    }),
  )

/** Ids of top-ups that credited another organisation or amount: an id is credited once. */
export const differingTopups = (sql: SqlClient.SqlClient, topups: ReadonlyArray<DeclaredTopup>) =>
  Effect.map(
    sql<{ id: string }>`
      select x.id from jsonb_to_recordset(${jsonOfTopups(topups)}::text::jsonb)
        as x(id text, org text, currency text, amount numeric)
      join topups t on t.id = x.id
      where (t.org_id, t.currency, t.amount) is distinct from (x.org, x.currency, x.amount)
      order by x.id`,
    Arr.map(({ id }) => id),
  )

/** Returns the ids of those that were not credited before. */
const creditTopups = (sql: SqlClient.SqlClient, part: ReadonlyArray<DeclaredTopup>) => {
  const rows = jsonOfTopups(part)
  const added = sql<{ id: string }>`
    select id from (
      select x.id, ledger_topup(x.id, x.org, x.currency, x.amount) as added
      from jsonb_to_recordset(${rows}::text::jsonb) as x(id text, org text, currency text, amount numeric)
      where not exists (select from topups t where t.id = x.id)
      order by x.org, x.id) credited
    where added`
  return Effect.map(
    added,
    Arr.map(({ id }) => id),
  )
}
