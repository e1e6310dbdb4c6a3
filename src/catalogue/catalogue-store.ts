/** What applying a catalogue writes: its revision, keys, top-ups, and when search providers changed. In batches. */
import { Array as Arr, Effect, Schema } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import { formatAmount, parseAmount } from "../money/amount.ts"
import { fingerprint } from "../protocol/canonical.ts"
import { type CatalogueDocument, SearchProvider } from "../protocol/catalogue.ts"
import type { PlannedKey } from "./keys.ts"
import type { Reading } from "./reading.ts"

/** Rows a statement. */
const batch = 1000

export interface Storing {
  readonly document: CatalogueDocument
  readonly keys: ReadonlyArray<PlannedKey>
  readonly inForce: { readonly revision: bigint; readonly fingerprint: string }
  /** SHA-256 of the text. */
  readonly source: Buffer
  /** Absent if the text is the one in force. */
  readonly reading: Reading | undefined
}

/** Whether a revision was applied from this text. @param source its SHA-256 */
export const isFrom = (sql: SqlClient.SqlClient, revision: bigint, source: Buffer) =>
  Effect.map(
    sql`select from catalogue_revisions where revision = ${revision} and source_sha256 = ${source}`,
    (rows) => rows.length > 0,
  )

/** Writes all of it in one transaction. Returns the ids of the top-ups that were credited. */
export const storeCatalogue = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  { document, keys, inForce, source, reading }: Storing,
): Effect.fn.Return<ReadonlyArray<string>, SqlError.SqlError> {
  if (reading !== undefined) {
    yield* storeProviderChanges(sql, document)
    if (reading.fingerprint === inForce.fingerprint) {
      yield* sql`update catalogue_revisions set source_sha256 = ${source} where revision = ${inForce.revision}`
    } else {
      yield* sql`
        insert into catalogue_revisions (fingerprint, document, source_sha256)
        values (${reading.fingerprint}, ${reading.json}::text::jsonb, ${source})`
    }
  }
  yield* storeKeys(sql, keys)
  return yield* creditTopups(sql, document)
})

const encodeProvider = Schema.encodeSync(SearchProvider)

/** Stores when each search provider last changed: the directory lists the most recent first among equal weights. */
const storeProviderChanges = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  { searchProviders = [] }: CatalogueDocument,
) {
  for (const provider of searchProviders) {
    const hash = fingerprint(JSON.parse(JSON.stringify(encodeProvider(provider))))
    yield* sql`
      insert into search_provider_changes as c (id, fingerprint) values (${provider.id}, ${hash})
      on conflict (id) do update set fingerprint = excluded.fingerprint, changed_at = now()
      where c.fingerprint <> excluded.fingerprint`
  }
})

/** Creates or updates the file's keys; revokes keys that an earlier file contained and this one does not. */
const storeKeys = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, keys: ReadonlyArray<PlannedKey>) {
  for (const part of Arr.chunksOf(keys, batch)) {
    const rows = JSON.stringify(
      part.map(({ id, appId, hash, scopes, status, expiresAt }) => ({
        id,
        app: appId,
        hash: hash?.toString("hex"),
        scopes,
        status,
        expires: expiresAt,
      })),
    )
    yield* sql`
      insert into app_keys as k (id, app_id, secret_sha256, scopes, origin)
      select id, app, decode(hash, 'hex'), array(select jsonb_array_elements_text(scopes)), 'catalogue'
      from jsonb_to_recordset(${rows}::text::jsonb) as x(id text, app text, hash text, scopes jsonb)
      where hash is not null
      on conflict (id) do update set secret_sha256 = excluded.secret_sha256, origin = 'catalogue'
      where k.secret_sha256 <> excluded.secret_sha256 or k.origin <> 'catalogue'`
    yield* sql`
      update app_keys k set app_id = x.app, scopes = x.scopes, status = x.status, expires_at = x.expires
      from (
        select r.id, app, array(select jsonb_array_elements_text(r.scopes)) as scopes,
          case when a.revoked_at is null then r.status else 'revoked' end as status, expires
        from jsonb_to_recordset(${rows}::text::jsonb)
          as r(id text, app text, scopes jsonb, status text, expires timestamptz)
        join app_keys a on a.id = r.id) x
      where k.id = x.id
        and (k.app_id, k.scopes, k.status, k.expires_at) is distinct from (x.app, x.scopes, x.status, x.expires)`
  }
  const ids = keys.map(({ id }) => id)
  yield* sql`
    update app_keys k set status = 'revoked'
    where origin = 'catalogue' and status <> 'revoked'
      and not exists (select from unnest(${ids}::text[]) as x(id) where x.id = k.id)`
})

const creditTopups = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  { orgs = [], topups = [] }: CatalogueDocument,
): Effect.fn.Return<ReadonlyArray<string>, SqlError.SqlError> {
  const currencies = new Map(orgs.map(({ id, currency }) => [id, currency]))
  const credited: Array<string> = []
  for (const part of Arr.chunksOf(topups, batch)) {
    const rows = JSON.stringify(
      part.map(({ id, org, amount }) => {
        return { id, org, currency: currencies.get(org) ?? "", amount: formatAmount(parseAmount(amount) ?? 0n) }
      }),
    )
    const added = yield* sql<{ id: string }>`
      select id from (
        select x.id, ledger_topup(x.id, x.org, x.currency, x.amount) as added
        from jsonb_to_recordset(${rows}::text::jsonb) as x(id text, org text, currency text, amount numeric)
        where not exists (select from topups t where t.id = x.id)
        order by x.org, x.id) credited
      where added`
    credited.push(...added.map(({ id }) => id))
  }
  return credited
})
