/**
 * PostgreSQL: a server named by `SVC_DATABASE_URL`, or the embedded one. Same client, same SQL, same migrations.
 * Every call has a deadline of its own; what fails is {@link StoreUnavailable}, whatever the driver calls it.
 */
import { PgClient } from "@effect/sql-pg"
import { type Duration, Effect, Layer, Redacted } from "effect"
import { Migrator, SqlClient, type SqlError } from "effect/sql"
import { startEmbedded } from "./embedded.ts"
import { loadMigrations } from "./migrations.ts"
import { StoreUnavailable } from "./unavailable.ts"

export interface DatabaseOptions {
  /** A PostgreSQL server; embedded when absent. */
  readonly url?: Redacted.Redacted | undefined
  /** Where the embedded database is kept; in memory when absent. */
  readonly dataDir?: string | undefined
  readonly maxConnections: number
}

const toUnavailable = (cause: unknown) => new StoreUnavailable({ store: "postgres", cause })

/** A connected, migrated database. */
export const layerDatabase = (
  options: DatabaseOptions,
): Layer.Layer<SqlClient.SqlClient, StoreUnavailable | SqlError.SqlError> => {
  const client =
    options.url === undefined ? layerEmbedded(options.dataDir) : layerServer(options.url, options.maxConnections)
  return Layer.effectDiscard(migrate).pipe(Layer.provideMerge(client))
}

const layerServer = (url: Redacted.Redacted, maxConnections: number) =>
  PgClient.layer({
    url,
    applicationName: "weir",
    maxConnections,
    minConnections: 1,
    multiplex: true,
    connectTimeout: "5 seconds",
  })

/** PGlite is one session: one connection, pipelined. */
const layerEmbedded = (dataDir: string | undefined) =>
  Layer.unwrap(
    Effect.map(startEmbedded(dataDir), ({ host, port }) =>
      PgClient.layer({
        host,
        port,
        username: "postgres",
        password: Redacted.make("postgres"),
        database: "postgres",
        maxConnections: 1,
        multiplex: true,
      }),
    ),
  )

/** Applies the migrations that are missing; safe when many nodes start at once. */
export const migrate = Migrator.make({})({ loader: loadMigrations, table: "weir_migrations" }).pipe(
  Effect.mapError(toUnavailable),
)

/** Gives a store call its deadline and its one error. */
export const withDeadline =
  (deadline: Duration.Input) =>
  <A, R>(query: Effect.Effect<A, SqlError.SqlError, R>): Effect.Effect<A, StoreUnavailable, R> =>
    query.pipe(Effect.timeout(deadline), Effect.mapError(toUnavailable))

/** Whether the database answers and is migrated; for readiness. */
export const ping = Effect.flatMap(SqlClient.SqlClient, (sql) => sql`select 1 from weir_migrations limit 1`)
