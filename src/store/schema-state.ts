/** Compares the database's schema with the one that this version needs. */
import { Data, Effect } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { loadMigrations, migrationsTable } from "./migrations.ts"

/** The schema does not match this version; the message contains the remedy. */
export class SchemaMismatch extends Data.TaggedError("SchemaMismatch")<{ readonly message: string }> {}

export interface SchemaState {
  /** Names of the migrations that the database lacks, oldest first. */
  readonly missing: ReadonlyArray<string>
  /** The newest migration that this version does not know; a newer version applied it. */
  readonly unknown: string | undefined
  /** Whether it has none yet. */
  readonly isEmpty: boolean
}

interface Applied {
  readonly migration_id: number
  readonly name: string
}

export const schemaState: Effect.Effect<SchemaState, SqlError.SqlError, SqlClient.SqlClient> = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [table] = yield* sql<{ found: boolean }>`select to_regclass(${migrationsTable}) is not null as found`
  const applied =
    table?.found === true ? yield* sql<Applied>`select migration_id, name from ${sql(migrationsTable)}` : []
  // Migrations are files of this package: an unreadable one is a defect.
  const known = yield* Effect.orDie(loadMigrations)
  const newest = Math.max(0, ...known.map(([id]) => id))
  const has = new Set(applied.map(({ migration_id }) => migration_id))
  const beyond = applied
    .filter(({ migration_id }) => migration_id > newest)
    .sort((a, b) => b.migration_id - a.migration_id)
  return {
    missing: known.filter(([id]) => !has.has(id)).map(([id, name]) => fileOf(id, name)),
    unknown: beyond[0] === undefined ? undefined : fileOf(beyond[0].migration_id, beyond[0].name),
    isEmpty: applied.length === 0,
  }
})

const fileOf = (id: number, name: string): string => `${String(id).padStart(4, "0")}_${name}`

export const newerSchema = (migration: string): SchemaMismatch =>
  new SchemaMismatch({
    message: `The database has migration ${migration}, which this version of Weir does not know: run the version that applied it, or a newer one`,
  })

export const missingMigrations = (missing: ReadonlyArray<string>): SchemaMismatch =>
  new SchemaMismatch({
    message: `The database lacks ${missing.length === 1 ? "migration" : "migrations"} ${missing.join(", ")}: run weir migrate, as a role that may, or start without SVC_MIGRATE=0`,
  })
