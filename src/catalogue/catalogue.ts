/**
 * The catalogue service: the current snapshot, and applying a new catalogue. A revision is stored in the database, from
 * where every node loads it; a running exchange keeps the snapshot with which it started.
 */
import { Context, Effect, Layer, Schedule, Schema, Semaphore } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { type Amount, formatAmount, parseAmount } from "../money/amount.ts"
import { fingerprint } from "../protocol/canonical.ts"
import { CatalogueDocument, type CatalogueEncoded } from "../protocol/catalogue.ts"
import { queryDeadline, refreshEvery, withDeadline } from "../store/database.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"
import { type Change, diffCatalogues } from "./diff.ts"
import { type CatalogueIssue, type LoadedCatalogue, loadCatalogue } from "./load.ts"
import { CatalogueRefused } from "./refusal.ts"
import { mintSecret, ResolveSecret, sha256 } from "./secrets.ts"
import { type CatalogueSnapshot, emptySnapshot, makeSnapshot } from "./snapshot.ts"

export interface Applied {
  readonly revision: bigint
  readonly changes: ReadonlyArray<Change>
  /** Secrets minted for new keys without one. Returned once. */
  readonly minted: ReadonlyArray<{ readonly keyId: string; readonly secret: string }>
  /** Top-ups that this call credited. */
  readonly credited: ReadonlyArray<string>
  /** What needs an action before it works, e.g. a credential that is not set. */
  readonly warnings: ReadonlyArray<string>
}

export interface ApplyOptions {
  /** Whether the caller can receive minted secrets; if not, new keys without a secret are not created yet. */
  readonly mint?: boolean | undefined
  readonly dryRun?: boolean | undefined
  /** SHA-256 digests, in hex, of key secrets by reference; they take precedence over what the gateway resolves. */
  readonly keySha256?: Readonly<Record<string, string>> | undefined
}

export class Catalogue extends Context.Service<
  Catalogue,
  {
    /** The current snapshot; cheap, for the hot path. */
    readonly current: () => CatalogueSnapshot
    /** Applies a catalogue's text; with `dryRun` only returns what would change. Applying it again changes nothing. */
    readonly apply: (
      text: string,
      options?: ApplyOptions,
    ) => Effect.Effect<Applied, CatalogueRefused | StoreUnavailable>
    /** Loads what another node applied. */
    readonly refresh: Effect.Effect<void, StoreUnavailable>
  }
>()("weir/catalogue/Catalogue") {
  static readonly layer = Layer.effect(
    Catalogue,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const bounded = yield* queryDeadline
      const oneAtATime = yield* Semaphore.make(1)
      const resolveSecret = yield* ResolveSecret
      let snapshot = emptySnapshot
      let encoded: CatalogueEncoded = { version: 1 }

      /** If this version cannot read a revision, it keeps the current one. */
      const takeUp = Effect.fnUntraced(function* (row: RevisionRow) {
        const changes = yield* bounded(sql<ProviderChange>`select id, changed_at from search_provider_changes`)
        const changedAt = new Map(changes.map(({ id, changed_at }) => [id, changed_at.getTime()]))
        yield* Effect.try({
          try: () => {
            const { document, revision, fingerprint: hash } = row
            snapshot = makeSnapshot(
              decodeDocument(document),
              revision,
              hash,
              resolveSecret,
              (id) => changedAt.get(id) ?? 0,
            )
            encoded = document
          },
          catch: (cause) => cause,
        }).pipe(Effect.catch((cause) => Effect.logError(`Catalogue revision ${row.revision} cannot be read`, cause)))
      })

      const refresh = Effect.suspend(() =>
        bounded(
          sql<RevisionRow>`
            select revision, fingerprint, document from catalogue_revisions
            where revision > ${snapshot.revision} order by revision desc limit 1`,
        ),
      ).pipe(Effect.flatMap((rows) => Effect.forEach(rows, takeUp, { discard: true })))

      const apply = Effect.fn("Catalogue.apply")(function* (
        text: string,
        { dryRun = false, keySha256 = {}, mint = true }: ApplyOptions = {},
      ) {
        const loaded = yield* Effect.fromResult(loadCatalogue(text)).pipe(
          Effect.mapError((issues) => new CatalogueRefused({ issues })),
        )
        const { document, encoded: after } = loaded
        yield* refresh
        const changes = diffCatalogues(encoded, after)
        const known = yield* bounded(sql<KnownKey>`
          select id, revoked_at is not null as "isRevoked" from app_keys where status <> 'revoked' or revoked_at is not null`)
        const keys = yield* planKeys(
          new Set(known.map(({ id }) => id)),
          loaded,
          (ref) => {
            const digest = keySha256[ref]
            if (digest !== undefined) return Buffer.from(digest, "hex")
            const secret = resolveSecret(ref)
            return secret === undefined ? undefined : sha256(secret)
          },
          mint,
        )
        const waiting = mint ? [] : waitingKeys(document, keys)
        const warnings = [...waiting, ...revokedKeys(document, known), ...missingCredentials(document, resolveSecret)]
        if (dryRun) return { revision: snapshot.revision, changes, minted: [], credited: [], warnings }
        const store = Effect.gen(function* () {
          yield* storeProviderChanges(sql, after)
          yield* storeRevision(sql, after, snapshot.fingerprint)
          yield* storeKeys(sql, keys)
          return yield* creditTopups(sql, document)
        })
        const credited = yield* sql.withTransaction(store).pipe(withDeadline(applyDeadline))
        yield* refresh
        const minted = keys.flatMap(({ id, minted: secret }) => (secret === undefined ? [] : [{ keyId: id, secret }]))
        return { revision: snapshot.revision, changes, minted, credited, warnings }
      })

      yield* refresh
      yield* Effect.forkScoped(
        Effect.repeat(
          Effect.catch(refresh, (error) => Effect.logWarning("The catalogue could not be refreshed", error)),
          Schedule.spaced(refreshEvery),
        ),
      )
      return Catalogue.of({
        current: () => snapshot,
        refresh,
        apply: (text, applyOptions) => oneAtATime.withPermits(1)(apply(text, applyOptions)),
      })
    }),
  )
}

interface ProviderChange {
  readonly id: string
  readonly changed_at: Date
}

interface RevisionRow {
  readonly revision: bigint
  readonly fingerprint: string
  readonly document: CatalogueEncoded
}

/** A file may contain many keys and top-ups, all stored in one transaction. */
const applyDeadline = "30 seconds"

const decodeDocument = Schema.decodeUnknownSync(CatalogueDocument)

interface KnownKey {
  readonly id: string
  readonly isRevoked: boolean
}

interface PlannedKey {
  readonly id: string
  readonly appId: string
  /** Absent for a minted key that exists: its hash does not change. */
  readonly hash: Buffer | undefined
  readonly minted: string | undefined
  readonly scopes: ReadonlyArray<string>
  readonly status: "active" | "disabled"
  readonly expiresAt: string | null
}

/** Resolves or mints the secret of every key; a reference that cannot be resolved is an error. */
const planKeys = Effect.fnUntraced(function* (
  existing: ReadonlySet<string>,
  { document, lineOf }: LoadedCatalogue,
  digestOf: (ref: string) => Buffer | undefined,
  mint: boolean,
) {
  const issues: Array<CatalogueIssue> = []
  const keys = (document.keys ?? []).flatMap((key, at): ReadonlyArray<PlannedKey> => {
    if (key.secret === undefined && !existing.has(key.id) && !mint) return []
    const given = key.secret === undefined ? undefined : digestOf(key.secret)
    if (key.secret !== undefined && given === undefined) {
      const line = lineOf(["keys", at, "secret"])
      issues.push({ path: `keys[${at}].secret`, line, message: `${key.secret} cannot be resolved` })
    }
    const minted = key.secret === undefined && !existing.has(key.id) ? mintSecret("wk") : undefined
    const planned: PlannedKey = {
      id: key.id,
      appId: key.app,
      hash: given ?? (minted === undefined ? undefined : sha256(minted)),
      minted,
      scopes: key.scopes ?? ["runtime"],
      status: key.disabled === true ? "disabled" : "active",
      expiresAt: key.expiresAt ?? null,
    }
    return [planned]
  })
  return issues.length > 0 ? yield* new CatalogueRefused({ issues }) : keys
})

const waitingKeys = (document: CatalogueDocument, planned: ReadonlyArray<PlannedKey>): ReadonlyArray<string> =>
  (document.keys ?? [])
    .filter(({ id }) => !planned.some((key) => key.id === id))
    .map(({ id }) => `${id} has no secret: apply the file with \`weir apply\` to print a generated one`)

const revokedKeys = (document: CatalogueDocument, known: ReadonlyArray<KnownKey>): ReadonlyArray<string> => {
  const revoked = new Set(known.flatMap(({ id, isRevoked }) => (isRevoked ? [id] : [])))
  return (document.keys ?? [])
    .filter(({ id }) => revoked.has(id))
    .map(({ id }) => `${id} was revoked by an operator and stays so: a new key needs another id`)
}

const missingCredentials = (
  document: CatalogueDocument,
  resolveSecret: (ref: string) => string | undefined,
): ReadonlyArray<string> =>
  [
    ...(document.vendors ?? []),
    ...(document.searchProviders ?? []),
    ...(document.policies ?? []).flatMap(({ id, match }) =>
      "moderation" in match ? [{ ...match.moderation, id }] : [],
    ),
    ...(document.orgs ?? []).flatMap(({ id, sso }) => (sso ? [{ id, credential: sso.clientSecret }] : [])),
  ].flatMap(({ id, credential }) =>
    credential !== undefined && resolveSecret(credential) === undefined
      ? [`${id}: there is no credential at ${credential}; calls to it will fail`]
      : [],
  )

const storeRevision = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, encoded: CatalogueEncoded, known: string) {
  const json = JSON.stringify(encoded)
  const hash = fingerprint(JSON.parse(json))
  if (hash === known) return
  yield* sql`insert into catalogue_revisions (fingerprint, document) values (${hash}, ${json}::jsonb)`
})

/** Stores when each search provider last changed: the directory lists the most recent first among equal weights. */
const storeProviderChanges = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, encoded: CatalogueEncoded) {
  for (const provider of encoded.searchProviders ?? []) {
    const hash = fingerprint(JSON.parse(JSON.stringify(provider)))
    yield* sql`
      insert into search_provider_changes as c (id, fingerprint) values (${provider.id}, ${hash})
      on conflict (id) do update set fingerprint = excluded.fingerprint, changed_at = now()
      where c.fingerprint <> excluded.fingerprint`
  }
})

/** Creates or updates the file's keys; revokes keys that an earlier file contained and this one does not. */
const storeKeys = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, keys: ReadonlyArray<PlannedKey>) {
  for (const { id, appId, hash, scopes, status, expiresAt } of keys) {
    if (hash !== undefined) {
      yield* sql`
        insert into app_keys (id, app_id, secret_sha256, scopes, origin) values
          (${id}, ${appId}, ${hash}, ${scopes}::text[], 'catalogue')
        on conflict (id) do update set secret_sha256 = excluded.secret_sha256, origin = 'catalogue'`
    }
    yield* sql`
      update app_keys set app_id = ${appId}, scopes = ${scopes}::text[],
        status = case when revoked_at is null then ${status} else 'revoked' end,
        expires_at = ${expiresAt}::text::timestamptz
      where id = ${id}`
  }
  const ids = keys.map(({ id }) => id)
  yield* sql`
    update app_keys set status = 'revoked'
    where origin = 'catalogue' and status <> 'revoked' and not (id = any(${ids}::text[]))`
})

const creditTopups = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  document: CatalogueDocument,
): Effect.fn.Return<ReadonlyArray<string>, SqlError.SqlError> {
  const currencies = new Map(document.orgs?.map(({ id, currency }) => [id, currency]))
  const credited: Array<string> = []
  for (const { id, org, amount } of document.topups ?? []) {
    const credit: Amount = parseAmount(amount) ?? 0n
    const rows = yield* sql<{ added: boolean }>`
      select ledger_topup(${id}, ${org}, ${currencies.get(org) ?? ""}, ${formatAmount(credit)}::text::numeric) as added`
    if (rows[0]?.added === true) credited.push(id)
  }
  return credited
})
