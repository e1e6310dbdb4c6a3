/** The contents of each shard, as its server reports them. */
import { Effect, Result } from "effect"
import { withDeadline } from "../database.ts"
import type { Shard } from "./shard.ts"
import type { Shards } from "./shards.ts"

export interface ShardStatus {
  readonly shard: string
  /** Host and port; empty if the books are on one server. */
  readonly server: string
  /** Whether the server answers; if not, nothing is known of the shard. */
  readonly answers: boolean
  readonly organisations: number
  readonly bytes: number
}

/** All shards, in the order of their hashes. */
export const statusOf = ({ all }: Shards["Service"]): Effect.Effect<ReadonlyArray<ShardStatus>> =>
  Effect.forEach(all, statusOfOne, { concurrency: "unbounded" })

const statusOfOne = (shard: Shard): Effect.Effect<ShardStatus> =>
  shard
    .run(
      ({ sql, books }) => sql<{ organisations: number; bytes: number }>`
        select (select count(distinct org_id)::int from ${books}counters) as organisations,
          (select ${books}books_bytes())::float8 as bytes`,
    )
    .pipe(
      withDeadline("10 seconds"),
      Effect.result,
      Effect.map((result) => {
        const [row] = Result.isSuccess(result) ? result.success : []
        return {
          shard: shard.name,
          server: shard.server(),
          answers: row !== undefined,
          organisations: row?.organisations ?? 0,
          bytes: row?.bytes ?? 0,
        }
      }),
    )
