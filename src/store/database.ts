/**
 * PostgreSQL: a server named by `SVC_DATABASE_URL`, or the embedded one. Same client, same SQL, same migrations.
 * Every call has a deadline of its own; what fails is {@link StoreUnavailable}, whatever the driver calls it.
 */
import { PgClient } from "@effect/sql-pg"
import { type Duration, Effect, Layer, Redacted } from "effect"
import { Migrator, SqlClient, type SqlError } from "effect/sql"
import { startEmbedded } from "./embedded.ts"
import { loadMigrations, migrationsTable } from "./migrations.ts"
import { missingMigrations, newerSchema, type SchemaMismatch, schemaState } from "./schema-state.ts"
import { StoreUnavailable } from "./unavailable.ts"

export interface DatabaseOptions {
  /** A PostgreSQL server; embedded when absent. */
  readonly url?: Redacted.Redacted | undefined
  /** Where the embedded database is kept; in memory when absent. */
  readonly dataDir?: string | undefined
  readonly maxConnections: number
  /** Whether missing migrations are applied; if not, a database that lacks one is refused. */
  readonly migrates: boolean
}

const toUnavailable = (cause: unknown) => new StoreUnavailable({ store: "postgres", cause })

/** A connected, migrated database. */
export const layerDatabase = (
  options: DatabaseOptions,
): Layer.Layer<SqlClient.SqlClient, StoreUnavailable | SqlError.SqlError | SchemaMismatch> => {
  const client =
    options.url === undefined ? layerEmbedded(options.dataDir) : layerServer(options.url, options.maxConnections)
  return Layer.effectDiscard(prepare(options)).pipe(Layer.provideMerge(client))
}

/** Brings the schema up to date, or makes sure that it is. */
const prepare = Effect.fnUntraced(function* ({ migrates }: DatabaseOptions) {
  const { missing, unknown } = yield* schemaState
  if (unknown !== undefined) return yield* newerSchema(unknown)
  if (missing.length === 0) return
  if (!migrates) return yield* missingMigrations(missing)
  yield* Effect.logInfo("Migrations are applied", { count: missing.length, newest: missing.at(-1) })
  yield* migrate
})

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
export const migrate = Migrator.make({})({ loader: loadMigrations, table: migrationsTable }).pipe(
  Effect.mapError(toUnavailable),
)

/** Gives a store call its deadline and its one error. */
export const withDeadline =
  (deadline: Duration.Input) =>
  <A, R>(query: Effect.Effect<A, SqlError.SqlError, R>): Effect.Effect<A, StoreUnavailable, R> =>
    query.pipe(Effect.timeout(deadline), Effect.mapError(toUnavailable))

/** Whether the database answers and is migrated; for readiness. */
export const ping = Effect.flatMap(SqlClient.SqlClient, (sql) => sql`select 1 from weir_migrations limit 1`)
