/** The application keys of a catalogue: their secrets are resolved or minted, and only their hashes are stored. */
import { Array as Arr, Effect } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import type { KeyLimits } from "../protocol/catalogue/tenant.ts"
import { mintSecret, sha256 } from "../secrets.ts"
import type { DeclaredKey } from "./declared.ts"
import type { CatalogueIssue } from "./load.ts"
import { CatalogueRefused } from "./refusal.ts"

export interface PlannedKey {
  readonly id: string
  readonly appId: string
  readonly name: string | null
  /** Absent for a minted key that exists: its hash does not change. */
  readonly hash: Buffer | undefined
  readonly minted: string | undefined
  readonly scopes: ReadonlyArray<string>
  readonly status: "active" | "disabled"
  readonly expiresAt: string | null
  readonly limits: KeyLimits | null
}

interface KnownKey {
  readonly id: string
  readonly isRevoked: boolean
}

/** References to secrets that the keys of a revision have. */
export const keyReferences = (sql: SqlClient.SqlClient, revision: bigint) =>
  Effect.map(
    sql<{ ref: string }>`
      select distinct k ->> 'secret' as ref from catalogue_revisions, jsonb_array_elements(document -> 'keys') k
      where revision = ${revision} and k ? 'secret'`,
    (rows) => rows.map(({ ref }) => ref),
  )

/**
 * Keys of a revision that are not stored as they would be now: their reference has another secret, or an operator has
 * revoked them. All other keys have nothing to write and nothing to report.
 */
export const strayKeys = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  revision: bigint,
  refs: ReadonlyArray<string>,
  digestOf: (ref: string) => Buffer | undefined,
): Effect.fn.Return<ReadonlySet<string>, SqlError.SqlError> {
  const digests: Record<string, string | undefined> = {}
  for (const ref of refs) digests[ref] = digestOf(ref)?.toString("hex")
  const others = yield* sql<{ id: string }>`
    select k ->> 'id' as id from catalogue_revisions, jsonb_array_elements(document -> 'keys') k
    left join app_keys a on a.id = k ->> 'id'
    left join jsonb_each_text(${JSON.stringify(digests)}::text::jsonb) d on d.key = k ->> 'secret'
    where revision = ${revision} and (a.id is null or a.revoked_at is not null
      or (k ? 'secret' and encode(a.secret_sha256, 'hex') is distinct from d.value))`
  return new Set(others.map(({ id }) => id))
})

/** The number of keys that are asked for at once: reading the rows of all would make streams wait. */
const batch = 500

/** Keys of a catalogue that exist, without those that an earlier catalogue dropped. */
export const knownKeys = (sql: SqlClient.SqlClient, keys: ReadonlyArray<DeclaredKey>) =>
  Effect.map(
    Effect.forEach(
      Arr.chunksOf(
        keys.map(({ id }) => id),
        batch,
      ),
      (ids) => sql<KnownKey>`
        select k.id, k.revoked_at is not null as "isRevoked"
        from unnest(${ids}::text[]) as x(id) join app_keys k on k.id = x.id
        where k.status <> 'revoked' or k.revoked_at is not null`,
    ),
    (parts) => parts.flat(),
  )

export interface KeyPlan {
  readonly keys: ReadonlyArray<PlannedKey>
  readonly warnings: ReadonlyArray<string>
}

const limitsOfKey = ({ models, rates, tools, policies }: DeclaredKey): KeyLimits | null =>
  models === undefined && rates === undefined && tools === undefined && policies === undefined
    ? null
    : {
        ...(models !== undefined && { models }),
        ...(rates !== undefined && { rates }),
        ...(tools !== undefined && { tools }),
        ...(policies !== undefined && { policies }),
      }

/** The number of secrets that are resolved before other work has its turn. */
const turn = 200

/**
 * Resolves or mints the secret of every key; a reference that cannot be resolved is an error.
 * @param digestOf the digest of the secret at a reference
 * @param mints whether new keys without a secret get one; otherwise they wait
 */
export const planKeys = Effect.fnUntraced(function* (
  keys: ReadonlyArray<DeclaredKey>,
  known: ReadonlyArray<KnownKey>,
  digestOf: (ref: string) => Buffer | undefined,
  mints: boolean,
): Effect.fn.Return<KeyPlan, CatalogueRefused> {
  const existing = new Set(known.map(({ id }) => id))
  const revoked = new Set(known.flatMap(({ id, isRevoked }) => (isRevoked ? [id] : [])))
  const planned: Array<PlannedKey> = []
  const waiting: Array<string> = []
  const issues: Array<CatalogueIssue> = []
  for (const [count, key] of keys.entries()) {
    if (count % turn === turn - 1) yield* Effect.yieldNow
    const isNew = key.secret === undefined && !existing.has(key.id)
    if (isNew && !mints) {
      waiting.push(`${key.id} has no secret: apply the file with \`weir apply\` to print a generated one`)
      continue
    }
    const given = key.secret === undefined ? undefined : digestOf(key.secret)
    if (key.secret !== undefined && given === undefined) {
      issues.push({ path: `keys[${key.at}].secret`, line: key.line, message: `${key.secret} cannot be resolved` })
    }
    const minted = isNew ? mintSecret("wk") : undefined
    planned.push({
      id: key.id,
      appId: key.app,
      name: key.name ?? null,
      hash: given ?? (minted === undefined ? undefined : sha256(minted)),
      minted,
      scopes: key.scopes ?? ["runtime"],
      status: key.disabled === true ? "disabled" : "active",
      expiresAt: key.expiresAt ?? null,
      limits: limitsOfKey(key),
    })
  }
  if (issues.length > 0) return yield* new CatalogueRefused({ issues })
  const ended = keys
    .filter(({ id }) => revoked.has(id))
    .map(({ id }) => `${id} was revoked by an operator and stays so: a new key needs another id`)
  return { keys: planned, warnings: [...waiting, ...ended] }
})
