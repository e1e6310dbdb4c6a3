/** The shards and the server of each, from the catalogue of Citus. */
import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import { textHash } from "./text-hash.ts"

export interface PlacedShard {
  /** The id that Citus gave to the shard's part of `counters`; moves keep it. */
  readonly id: string
  /** Its schema on the server that has it. */
  readonly name: string
  /** The smallest and the greatest hash of its organisations. */
  readonly min: number
  readonly max: number
  readonly key: string
  /** The host of the server that has it. */
  readonly host: string
  readonly port: number
}

/** Whether the books of a database are spread over shards. */
export const isSpread = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  const [citus] = yield* sql<{ known: boolean }>`
    select to_regclass('pg_catalog.pg_dist_partition') is not null and to_regclass('counters') is not null as known`
  if (citus?.known !== true) return false
  const [spread] = yield* sql<{ is: boolean }>`
    select exists (select from pg_dist_partition where logicalrelid = 'counters'::regclass) as is`
  return spread?.is === true
})

/** The shards in the order of their hashes. Any server of the cluster can be asked. */
export const readPlacement = (sql: SqlClient.SqlClient) =>
  Effect.map(
    sql<PlacedRow>`
      select s.shardid::text as id, s.shardminvalue::int as min, s.shardmaxvalue::int as max, n.nodename as host,
        n.nodeport as port
      from pg_dist_shard s
      join pg_dist_placement p using (shardid)
      join pg_dist_node n on n.groupid = p.groupid and n.noderole = 'primary'
      where s.logicalrelid = 'counters'::regclass
      order by s.shardminvalue::int`,
    (rows): ReadonlyArray<PlacedShard> =>
      rows.map((row) => ({ ...row, name: `shard_${row.id}`, key: keyIn(row.min, row.max) })),
  )

type PlacedRow = Omit<PlacedShard, "name" | "key">

/** No organisation's id begins like this. @returns the first such name that belongs to the shard */
export const keyIn = (min: number, max: number): string => {
  for (let n = 0; ; n++) {
    const hash = textHash(`@${n}`)
    if (hash >= min && hash <= max) return `@${n}`
  }
}

/** Finds the shard of an organisation. @param shards in the order of their hashes, without gaps */
export const indexFor = (shards: ReadonlyArray<Pick<PlacedShard, "max">>, orgId: string): number => {
  const hash = textHash(orgId)
  let low = 0
  for (let high = shards.length - 1; low < high; ) {
    const middle = (low + high) >> 1
    if ((shards[middle]?.max ?? 0) < hash) low = middle + 1
    else high = middle
  }
  return low
}
