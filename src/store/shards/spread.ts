/** The shards of a database that is spread over servers: a client for each server, and where each shard is now. */
import * as PgClient from "@effect/sql-pg/PgClient"
import { Context, Effect, Layer, Redacted, Semaphore } from "effect"
import { SqlClient, SqlError } from "effect/sql"
import { runEvery } from "../../background.ts"
import { WeirConfig } from "../../config.ts"
import { applicationName } from "../schema-state.ts"
import { indexFor, type PlacedShard, readPlacement } from "./placement.ts"
import { againInItsPartition, type Shard, type ShardClient, serverErrorOf } from "./shard.ts"
import { ensureSchema, movedCode } from "./shard-schema.ts"

/** @param databaseUrl of the coordinator: the servers are reached with its user, password, database and options */
export const makeSpread = Effect.fnUntraced(function* (databaseUrl: Redacted.Redacted) {
  const coordinator = yield* SqlClient.SqlClient
  const { databaseConnections: maxConnections } = yield* WeirConfig
  const scope = yield* Effect.scope
  const oneAtATime = yield* Semaphore.make(1)
  const clients = new Map<string, SqlClient.SqlClient>()
  /** Where a shard's schema was seen. */
  const ready = new Set<string>()
  let placed = yield* readPlacement(coordinator)

  /** One for each server; it connects when it is used. */
  const clientOf = Effect.fnUntraced(function* ({ host, port }: PlacedShard) {
    const server = `${host}:${port}`
    const known = clients.get(server)
    if (known !== undefined) return known
    const url = new URL(Redacted.value(databaseUrl))
    url.hostname = host
    url.port = String(port)
    const config = { url: Redacted.make(url.href), applicationName, maxConnections, multiplex: true }
    const layer = PgClient.layer({ ...config, connectTimeout: "5 seconds" })
    const built = Context.get(yield* Layer.buildWithScope(layer, scope), SqlClient.SqlClient)
    // Another statement may have made one meanwhile; this one has no connection yet.
    const client = clients.get(server) ?? built
    clients.set(server, client)
    return client
  })

  /** Asks the coordinator, or, where that does not answer, the other servers. */
  const look = oneAtATime.withPermit(
    Effect.gen(function* () {
      const asked = [coordinator, ...clients.values()].map((sql) => Effect.timeout(readPlacement(sql), "2 seconds"))
      placed = yield* Effect.firstSuccessOf(asked)
    }),
  )

  // A server that was replaced by another has another address.
  yield* runEvery("10 seconds", "Looking where the shards are", look)

  const prepared = Effect.fnUntraced(function* (shard: PlacedShard) {
    const sql = yield* clientOf(shard)
    const place = placeOf(shard)
    if (!ready.has(place)) yield* ensureSchema(sql, shard, coordinator)
    ready.add(place)
    return { sql, books: sql.literal(`${shard.name}.`) } satisfies ShardClient
  })

  const shardAt = (index: number, { id, name, key }: PlacedShard): Shard => {
    const here = () => {
      const shard = placed[index]
      return shard?.id === id ? Effect.succeed(shard) : Effect.fail(unknownShard(name))
    }
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
            // The servers hear of a move one after the other.
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

  const all = placed.map((shard, index) => shardAt(index, shard))
  const first = all[0]
  if (first === undefined) return yield* unknownShard("the first shard")
  const bounds = placed
  const indexOf = (orgId: string): number => indexFor(bounds, orgId)
  return { all, indexOf, of: (orgId: string): Shard => all[indexOf(orgId)] ?? first }
})

const placeOf = ({ id, host, port }: PlacedShard): string => `${id}@${host}:${port}`

/** A schema, a table or a function is not there: a shard has moved, and Citus has removed what was left of it. */
const schemaCodes: ReadonlySet<unknown> = new Set(["3F000", "42P01", "42883"])

/** How often a statement is sent in all: to where its shard is now, more than once if that moves on. */
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
