/**
 * PostgreSQL: a server named by `SVC_DATABASE_URL`, or the embedded one. Same client, same SQL, same migrations.
 * Every call has its own deadline; every failure of a call is {@link StoreUnavailable}, whatever the driver calls it.
 */
import * as PgClient from "@effect/sql-pg/PgClient"
import { Context, type Duration, Effect, Layer, type Redacted } from "effect"
import { Migrator, SqlClient, type SqlError } from "effect/sql"
import { WeirConfig } from "../config.ts"
import { beforeMigrations } from "./before-migrations.ts"
import { EmbeddedDatabase, embeddedDirectory } from "./embedded.ts"
import { LongQueries } from "./long-queries.ts"
import { loadMigrations, migrationsTable } from "./migrations.ts"
import {
  applicationName,
  blockedMigration,
  missingMigrations,
  newerSchema,
  type SchemaMismatch,
  schemaState,
} from "./schema-state.ts"
import { isSpread } from "./shards/placement.ts"
import type { Connect } from "./shards/server-clients.ts"
import { Shards, wholeShards } from "./shards/shards.ts"
import { makeSpread } from "./shards/spread.ts"
import { StoreUnavailable } from "./unavailable.ts"

/** A connected, migrated database, and where its books are. With `SVC_MIGRATE=0`, a database that lacks a migration is refused. */
export const layerDatabase: Layer.Layer<
  SqlClient.SqlClient | PgClient.PgClient | Shards | LongQueries,
  StoreUnavailable | SqlError.SqlError | SchemaMismatch,
  WeirConfig
> = Layer.unwrap(
  Effect.map(WeirConfig, ({ databaseUrl, databaseConnections, dataDir, migrates }) => {
    const prepared = Layer.effectDiscard(prepare(migrates))
    return databaseUrl === undefined
      ? embeddedBooks.pipe(Layer.provideMerge(prepared), Layer.provideMerge(layerEmbedded(embeddedDirectory(dataDir))))
      : serverBooks(databaseUrl, databaseConnections).pipe(
          Layer.provideMerge(prepared),
          Layer.provideMerge(layerCalls(databaseUrl, databaseConnections)),
        )
  }),
)

/** Applies missing migrations, or fails if there are any. */
const prepare = Effect.fnUntraced(function* (migrates: boolean) {
  const state = yield* schemaState
  const { missing, unknown, isUsable, isEmpty } = state
  if (unknown !== undefined && !isUsable) return yield* newerSchema(unknown)
  if (unknown !== undefined) yield* Effect.logInfo("The database is of a newer version", { newest: unknown })
  if (missing.length === 0) return
  if (!migrates) return yield* missingMigrations(missing)
  const blocked = blockedMigration(state)
  if (blocked !== undefined) return yield* blocked
  const log = isEmpty ? Effect.logDebug : Effect.logInfo
  yield* log("Applying migrations", { count: missing.length, newest: missing.at(-1)?.name })
  if (!isEmpty) yield* beforeMigrations(missing)
  yield* migrate
})

/** Connections that wait for notifications: of changes, and of recalls. */
const listening = 2

/** Connections of calls, of the number that is configured. */
const callsOf = (connections: number): number => Math.ceil(connections / 2)

/** The others: two are enough for exports, which keep theirs for minutes, and reports have one at least. */
const longOf = (connections: number): number => Math.max(3, connections - callsOf(connections))

const settings = { applicationName, connectTimeout: "5 seconds" } as const

const layerCalls = (url: Redacted.Redacted, connections: number) =>
  PgClient.layer({
    ...settings,
    url,
    maxConnections: callsOf(connections) + listening,
    minConnections: 1,
    multiplex: true,
  })

/** The books of a server, or of several that it coordinates. */
const serverBooks = (databaseUrl: Redacted.Redacted, connections: number) =>
  Layer.effectContext(
    Effect.gen(function* () {
      const connect: Connect = (url) =>
        PgClient.layer({ ...settings, url, maxConnections: callsOf(connections), multiplex: true })
      const connectLong: Connect = (url) => PgClient.layer({ ...settings, url, maxConnections: longOf(connections) })
      const sql = yield* SqlClient.SqlClient
      const long = Context.get(yield* Layer.build(connectLong(databaseUrl)), SqlClient.SqlClient)
      const { shards, longShards } = (yield* isSpread(sql))
        ? yield* makeSpread(databaseUrl, connect, connectLong)
        : { shards: wholeShards(sql), longShards: wholeShards(long) }
      return Context.make(Shards, shards).pipe(Context.add(LongQueries, { sql: long, shards: longShards }))
    }),
  )

/** PGlite has one session: one connection, pipelined. */
const layerEmbedded = (dataDir: string | undefined) =>
  Layer.unwrap(
    Effect.map(startDatabase(dataDir), ({ host, port, password }) =>
      PgClient.layer({
        host,
        port,
        username: "postgres",
        password,
        database: "postgres",
        maxConnections: 1,
        multiplex: true,
      }),
    ),
  )

const embeddedBooks = Layer.effectContext(
  Effect.map(SqlClient.SqlClient, (sql) => {
    const shards = wholeShards(sql)
    return Context.make(Shards, shards).pipe(Context.add(LongQueries, { sql, shards }))
  }),
)

const startDatabase = (dataDir: string | undefined) => Effect.flatMap(EmbeddedDatabase, (start) => start(dataDir))

const toUnavailable = (cause: unknown) => new StoreUnavailable({ store: "postgres", cause })

/** Applies the missing migrations; safe when many nodes start at once. */
const migrate = Effect.gen(function* () {
  const loader = loadMigrations(yield* isSpread(yield* SqlClient.SqlClient))
  return yield* Migrator.make({})({ loader, table: migrationsTable })
}).pipe(Effect.mapError(toUnavailable))

/** Gives a query a deadline, and turns its errors into {@link StoreUnavailable}. */
export const withDeadline =
  (deadline: Duration.Input) =>
  <A, R>(query: Effect.Effect<A, SqlError.SqlError, R>): Effect.Effect<A, StoreUnavailable, R> =>
    query.pipe(Effect.timeout(deadline), Effect.mapError(toUnavailable))

/** {@link withDeadline} with the configured deadline (`SVC_DATABASE_DEADLINE_MS`). */
export const queryDeadline = Effect.map(WeirConfig, ({ databaseDeadlineMs }) => withDeadline(databaseDeadlineMs))

/** How often nodes poll the database for changes that other nodes made. */
export const refreshEvery = "2 seconds"

/** Succeeds if the database answers and is migrated; for readiness. */
export const ping = Effect.flatMap(SqlClient.SqlClient, (sql) => sql`select 1 from weir_migrations limit 1`)
