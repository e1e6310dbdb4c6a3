/**
 * The shards that have the books of organisations. On one server there is one shard with all of them. On Citus there are
 * several, each on one server at a time: the hash of an organisation's id names its shard, and a statement for a shard
 * goes straight to the server that has it.
 */
import { Context, Effect, Result } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import { type Shard, type ShardClient, wholeShard } from "./shard.ts"

export class Shards extends Context.Service<
  Shards,
  {
    readonly all: ReadonlyArray<Shard>
    /** The index in `all` of an organisation's shard. */
    readonly indexOf: (orgId: string) => number
    /** The shard of an organisation. */
    readonly of: (orgId: string) => Shard
  }
>()("weir/store/Shards") {}

/** A database whose books are in one place. */
export const wholeShards = (sql: SqlClient.SqlClient): Shards["Service"] => {
  const whole = wholeShard(sql)
  return { all: [whole], indexOf: () => 0, of: () => whole }
}

/** The rows of a statement that runs in all shards at once. */
export const inEach = <A, R>(
  { all }: Shards["Service"],
  query: (client: ShardClient) => Effect.Effect<ReadonlyArray<A>, SqlError.SqlError, R>,
): Effect.Effect<ReadonlyArray<A>, SqlError.SqlError, R> =>
  Effect.map(
    Effect.forEach(all, ({ run }) => run(query), { concurrency: "unbounded" }),
    (rows) => rows.flat(),
  )

/** Like {@link inEach}, but only in shards that answer: work goes on although a server is down. Fails if none answers. */
export const inThoseThatAnswer = <A, R>(
  { all }: Shards["Service"],
  query: (client: ShardClient) => Effect.Effect<ReadonlyArray<A>, SqlError.SqlError, R>,
): Effect.Effect<ReadonlyArray<A>, SqlError.SqlError, R> =>
  Effect.flatMap(
    Effect.forEach(all, ({ run }) => Effect.result(run(query)), { concurrency: "unbounded" }),
    (results) => {
      const [failure] = results.filter(Result.isFailure)
      const answers = results.filter(Result.isSuccess)
      return failure !== undefined && answers.length === 0
        ? Effect.fail(failure.failure)
        : Effect.succeed(answers.flatMap(({ success }) => success))
    },
  )
