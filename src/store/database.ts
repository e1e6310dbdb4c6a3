/**
 * PostgreSQL: a server named by `SVC_DATABASE_URL`, or the embedded one. Same client, same SQL, same migrations. Every call
 * has its own deadline; every failure of a call becomes {@link StoreUnavailable}.
 */
import * as PgClient from "@effect/sql-pg/PgClient"
import { Context, type Duration, Effect, Layer, type Redacted } from "effect"
import { Migrator, SqlClient, SqlError } from "effect/sql"
import { WeirConfig } from "../config.ts"
import { beforeMigrations } from "./before-migrations.ts"
import { CallQueries, type Connections, connectionsOf, LongQueries } from "./connections.ts"
import { EmbeddedDatabase, embeddedDirectory } from "./embedded.ts"
import { loadMigrations, migrationsTable } from "./migrations.ts"
import { blockedMigration, missingMigrations, newerSchema, type SchemaMismatch, schemaState } from "./schema-state.ts"
import { isSpread } from "./shards/placement.ts"
import type { Connect } from "./shards/server-clients.ts"
import { Shards, wholeShards } from "./shards/shards.ts"
import { makeSpread } from "./shards/spread.ts"
import { StoreUnavailable } from "./unavailable.ts"

/**
 * A connected, migrated database, and the shards of its books. With `SVC_MIGRATE=0`, a database that lacks a migration is
 * refused.
 */
export const layerDatabase: Layer.Layer<
  SqlClient.SqlClient | PgClient.PgClient | CallQueries | LongQueries | Shards,
  StoreUnavailable | SqlError.SqlError | SchemaMismatch,
  WeirConfig
> = Layer.unwrap(
  Effect.map(WeirConfig, ({ databaseUrl, databaseConnections, databaseDeadlineMs, dataDir, migrates }) => {
    const prepared = Layer.effectDiscard(prepare(migrates))
    if (databaseUrl === undefined) {
      return embeddedQueries.pipe(
        Layer.provideMerge(prepared),
        Layer.provideMerge(layerEmbedded(embeddedDirectory(dataDir))),
      )
    }
    const connections = connectionsOf(databaseConnections, databaseDeadlineMs)
    return serverQueries(databaseUrl, connections).pipe(
      Layer.provideMerge(prepared),
      Layer.provideMerge(connections.forOthers(databaseUrl)),
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

/** The connections to a server, or to several servers that it coordinates. */
const serverQueries = (databaseUrl: Redacted.Redacted, connections: Connections) =>
  Layer.effectContext(
    Effect.gen(function* () {
      const { forCalls, forShards, forLongQueries, forNotifications } = connections
      const clientOf = (connect: Connect) =>
        Effect.map(Layer.build(connect(databaseUrl)), Context.get(PgClient.PgClient))
      const calls = yield* clientOf(forCalls)
      const long = yield* clientOf(forLongQueries)
      const listening = yield* clientOf(forNotifications)
      const { shards, longShards } = (yield* isSpread(calls))
        ? yield* makeSpread(calls, databaseUrl, forShards, forLongQueries)
        : { shards: wholeShards(calls), longShards: wholeShards(long) }
      return Context.add(
        queries({ sql: calls, shards }, { sql: long, shards: longShards }),
        PgClient.PgClient,
        listening,
      )
    }),
  )

const queries = (calls: LongQueries["Service"], long: LongQueries["Service"]) =>
  Context.make(Shards, calls.shards).pipe(Context.add(CallQueries, { sql: calls.sql }), Context.add(LongQueries, long))

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

/** All queries use the one connection. */
const embeddedQueries = Layer.effectContext(
  Effect.map(SqlClient.SqlClient, (sql) => {
    const all = { sql, shards: wholeShards(sql) }
    return queries(all, all)
  }),
)

const startDatabase = (dataDir: string | undefined) => Effect.flatMap(EmbeddedDatabase, (start) => start(dataDir))

const toUnavailable = (cause: unknown) =>
  new StoreUnavailable({ store: "postgres", cause, ...(isLocked(cause) && { wasDone: false }) })

/** Whether rows were locked for longer than a statement may wait. */
const isLocked = (cause: unknown): boolean => SqlError.isSqlError(cause) && cause.reason._tag === "LockTimeoutError"

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

/** The interval at which nodes poll the database for changes by other nodes. */
export const refreshEvery = "2 seconds"

/**
 * Succeeds if the statements of a call would succeed: the database is migrated, and can be written to. The embedded one is
 * only read: it is no standby, and nothing would remove the rows of a probe.
 */
export const probe = Effect.gen(function* () {
  const { databaseUrl } = yield* WeirConfig
  const { sql } = yield* CallQueries
  yield* databaseUrl === undefined ? sql`select 1 from weir_migrations limit 1` : sql`select probe_write()`
})
