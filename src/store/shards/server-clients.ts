/** A client for each server that has shards. */
import type * as PgClient from "@effect/sql-pg/PgClient"
import { Context, Effect, Layer, Redacted } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import type { PlacedShard } from "./placement.ts"

/** A client of the server at an address. */
export type Connect = (
  url: Redacted.Redacted,
) => Layer.Layer<PgClient.PgClient | SqlClient.SqlClient, SqlError.SqlError>

export interface ServerClients {
  /** It connects when it is used. */
  readonly of: (shard: PlacedShard) => Effect.Effect<SqlClient.SqlClient, SqlError.SqlError>
  readonly all: () => ReadonlyArray<SqlClient.SqlClient>
}

/** @param databaseUrl of the coordinator: the servers are reached with its user, password, database and options */
export const makeServerClients = Effect.fnUntraced(function* (databaseUrl: Redacted.Redacted, connect: Connect) {
  const scope = yield* Effect.scope
  const clients = new Map<string, SqlClient.SqlClient>()
  return {
    of: Effect.fnUntraced(function* ({ host, port }) {
      const server = `${host}:${port}`
      const known = clients.get(server)
      if (known !== undefined) return known
      const url = new URL(Redacted.value(databaseUrl))
      url.hostname = host
      url.port = String(port)
      const built = yield* Layer.buildWithScope(connect(Redacted.make(url.href)), scope)
      // Another statement may have made one in the meantime; this one has no connection yet.
      const client = clients.get(server) ?? Context.get(built, SqlClient.SqlClient)
      clients.set(server, client)
      return client
    }),
    all: () => [...clients.values()],
  } satisfies ServerClients
})
