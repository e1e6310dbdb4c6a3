/**
 * The history of the catalogue: the revisions with their authors and times, the text of each, and the differences between
 * two.
 */
import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { CatalogueRevision, CatalogueRevisions } from "../protocol/control/activity.ts"
import type { queryDeadline } from "../store/database.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"
import { storedCatalogue } from "./catalogue-store.ts"
import type { CatalogueReader } from "./reader.ts"

export type RevisionRow = CatalogueRevisions["data"][number]

export interface Revisions {
  /** The newest revisions before one, newest first. */
  readonly list: (limit: number, before: bigint) => Effect.Effect<ReadonlyArray<RevisionRow>, StoreUnavailable>
  /** A revision, and its differences from another (0: from an empty catalogue); undefined if one of them does not exist. */
  readonly find: (revision: bigint, against: bigint) => Effect.Effect<CatalogueRevision | undefined, StoreUnavailable>
}

export const makeRevisions = (
  sql: SqlClient.SqlClient,
  bounded: Effect.Success<typeof queryDeadline>,
  reader: CatalogueReader,
): Revisions => {
  const columns = sql`revision::text as revision, to_json(applied_at) #>> '{}' as "appliedAt",
    applied_by as "appliedBy", fingerprint`

  const find = Effect.fnUntraced(function* (revision: bigint, against: bigint) {
    const [row] = yield* bounded(sql<RevisionRow & { readonly source: string | null }>`
      select ${columns}, source from catalogue_revisions where revision = ${String(revision)}::text::bigint`)
    if (row === undefined) return undefined
    const { source, ...found } = row
    const { json } = yield* bounded(storedCatalogue(sql, revision))
    const other = yield* bounded(storedCatalogue(sql, against))
    if (against !== 0n && other.json.length === 0) return undefined
    const changes = yield* reader.stored(json, other.json).pipe(
      Effect.map((reading) => ({ changes: reading.changes })),
      // An older version of Weir wrote it.
      Effect.orElseSucceed(() => ({})),
    )
    return { ...found, ...(source !== null && { text: source }), against: String(against), ...changes }
  })

  return {
    list: (limit, before) =>
      bounded(sql<RevisionRow>`
        select ${columns} from catalogue_revisions where revision < ${String(before)}::text::bigint
        order by catalogue_revisions.revision desc limit ${limit}::int`),
    find,
  }
}
