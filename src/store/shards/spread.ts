/** The shards of a database that is spread over servers, and the present server of each. */
import { Effect, type Redacted, Semaphore } from "effect"
import { type SqlClient, SqlError } from "effect/sql"
import { runEvery } from "../../background.ts"
import { indexFor, type PlacedShard, readPlacement } from "./placement.ts"
import { type Connect, makeServerClients, type ServerClients } from "./server-clients.ts"
import { againInItsPartition, type Shard, type ShardClient, serverErrorOf } from "./shard.ts"
import { ensureSchema, movedCode } from "./shard-schema.ts"
import type { Shards } from "./shards.ts"

/**
 * The shards of a Citus cluster, each with its own connections.
 * @param coordinator over connections of calls, which may wait for it
 * @param databaseUrl of the coordinator
 * @returns the same shards twice: over connections of calls, and over those of long queries
 */
export const makeSpread = Effect.fnUntraced(function* (
  coordinator: SqlClient.SqlClient,
  databaseUrl: Redacted.Redacted,
  connect: Connect,
  connectLong: Connect,
) {
  const clients = yield* makeServerClients(databaseUrl, connect)
  const longClients = yield* makeServerClients(databaseUrl, connectLong)
  const oneAtATime = yield* Semaphore.make(1)
  const first = yield* readPlacement(coordinator)
  let placed = first

  /** Asks the coordinator, or, where that does not answer, the other servers. */
  const look = oneAtATime.withPermit(
    Effect.gen(function* () {
      const asked = [coordinator, ...clients.all()].map((sql) => Effect.timeout(readPlacement(sql), "2 seconds"))
      placed = yield* Effect.firstSuccessOf(asked)
    }),
  )

  // A server that was replaced by another has another address.
  yield* runEvery("10 seconds", "Looking where the shards are", look)

  /** The places where a shard's schema was seen. */
  const ready = new Set<string>()

  const shardAt = (clients: ServerClients, index: number, { id, name, key }: PlacedShard): Shard => {
    const here = () => {
      const shard = placed[index]
      return shard?.id === id ? Effect.succeed(shard) : Effect.fail(unknownShard(name))
    }
    const prepared = Effect.fnUntraced(function* (shard: PlacedShard) {
      const sql = yield* clients.of(shard)
      const place = placeOf(shard)
      if (!ready.has(place)) yield* ensureSchema(sql, shard, coordinator)
      ready.add(place)
      return { sql, books: sql.literal(`${shard.name}.`) } satisfies ShardClient
    })
    const attempt: Shard["run"] = (query) =>
      Effect.flatMap(Effect.flatMap(here(), prepared), (client) => againInItsPartition(query(client)))
    const run = <A, R>(
      query: (client: ShardClient) => Effect.Effect<A, SqlError.SqlError, R>,
      made = 1,
    ): Effect.Effect<A, SqlError.SqlError, R> =>
      Effect.catchIf(
        attempt(query),
        (error) => made < attemptsAfter(error),
        () =>
          Effect.gen(function* () {
            const before = yield* here()
            ready.delete(placeOf(before))
            yield* Effect.ignore(look)
            const after = yield* here()
            // The servers learn of a move one after the other.
            if (placeOf(after) === placeOf(before)) yield* Effect.sleep("100 millis")
            return yield* run(query, made + 1)
          }),
      )
    const server = () => {
      const { host = "", port = "" } = placed[index] ?? {}
      return `${host}:${port}`
    }
    return { name, key, server, run: (query) => run(query) }
  }

  const shardsOver = Effect.fnUntraced(function* (clients: ServerClients) {
    const all = first.map((shard, index) => shardAt(clients, index, shard))
    const [lowest] = all
    if (lowest === undefined) return yield* unknownShard("the first shard")
    const indexOf = (orgId: string): number => indexFor(first, orgId)
    return { all, indexOf, of: (orgId) => all[indexOf(orgId)] ?? lowest } satisfies Shards["Service"]
  })
  return { shards: yield* shardsOver(clients), longShards: yield* shardsOver(longClients) }
})

const placeOf = ({ id, host, port }: PlacedShard): string => `${id}@${host}:${port}`

/** A schema, a table or a function is missing: a shard has moved, and Citus has removed the rest of it. */
const schemaCodes: ReadonlySet<unknown> = new Set(["3F000", "42P01", "42883"])

/** The number of times that a statement is sent in all: each time to the place of its shard, which may move again. */
const attemptsAfter = (error: SqlError.SqlError): number => {
  const { code } = serverErrorOf(error)
  if (code === movedCode) return 20
  return schemaCodes.has(code) ? 3 : 1
}

const unknownShard = (name: string): SqlError.SqlError =>
  new SqlError.SqlError({
    reason: new SqlError.UnknownError({
      cause: new Error(`${name} is not in the catalogue of Citus any more: restart this gateway`),
      message: "A shard is unknown",
    }),
  })
