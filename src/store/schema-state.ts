/**
 * Compares the database's schema with the one that this version needs, and says what an upgrade does to nodes of older
 * versions, which may run beside this one.
 */
import { Data, Effect } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { type MigrationNote, migrations, migrationsTable, newestMigration, noteOf } from "./migrations.ts"

/** The schema does not match this version; the message contains the remedy. */
export class SchemaMismatch extends Data.TaggedError("SchemaMismatch")<{ readonly message: string }> {}

export interface SchemaState {
  /** The migrations that the database lacks, oldest first. */
  readonly missing: ReadonlyArray<MigrationNote>
  /** The newest migration that this version does not know; a newer version applied it. */
  readonly unknown: string | undefined
  /** Whether this version can use the database in spite of migrations that it does not know. */
  readonly isUsable: boolean
  /** Whether it has no schema yet. */
  readonly isEmpty: boolean
  /** Connections of nodes that a missing migration would break. */
  readonly oldConnections: number
}

interface Applied {
  readonly migration_id: number
  readonly name: string
}

/** The name of a node of this version in the database's list of connections. */
export const applicationName = `weir/${newestMigration}`

export const schemaState: Effect.Effect<SchemaState, SqlError.SqlError, SqlClient.SqlClient> = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [tables] = yield* sql<{ migrations: boolean; needs: boolean }>`
    select to_regclass(${migrationsTable}) is not null as migrations, to_regclass('schema_needs') is not null as needs`
  const applied =
    tables?.migrations === true ? yield* sql<Applied>`select migration_id, name from ${sql(migrationsTable)}` : []
  const [needs] = tables?.needs === true ? yield* sql<{ migration: number }>`select migration from schema_needs` : []
  const has = new Set(applied.map(({ migration_id }) => migration_id))
  const [beyond] = applied
    .filter(({ migration_id }) => migration_id > newestMigration)
    .sort((a, b) => b.migration_id - a.migration_id)
  // Only the files of these migrations are read.
  const lacking = [...migrations].filter(([id]) => !has.has(id)).map(([id, name]) => [id, noteOf(name)] as const)
  const [breaking] = lacking.find(([, { stopsOldNodes }]) => stopsOldNodes) ?? []
  return {
    missing: lacking.map(([, note]) => note),
    unknown: beyond && `${String(beyond.migration_id).padStart(4, "0")}_${beyond.name}`,
    isUsable: beyond === undefined || (needs !== undefined && needs.migration <= newestMigration),
    isEmpty: applied.length === 0,
    oldConnections: applied.length === 0 || breaking === undefined ? 0 : yield* connectionsBefore(breaking),
  }
})

/** Connections of nodes that do not know a migration. Nodes from before 0024 do not report their version. */
const connectionsBefore = Effect.fnUntraced(function* (migration: number) {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql<{ open: number }>`
    select count(*)::int as open from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid() and (application_name = 'weir'
      or (application_name ~ '^weir/[0-9]{1,8}$' and split_part(application_name, '/', 2)::int < ${migration}::int))`
  return row?.open ?? 0
})

export const newerSchema = (migration: string): SchemaMismatch =>
  new SchemaMismatch({
    message: `The database has migration ${migration}, which this version of Weir cannot run beside: run the version that applied it, or a newer one`,
  })

export const missingMigrations = (missing: SchemaState["missing"]): SchemaMismatch =>
  new SchemaMismatch({
    message: `The database lacks ${missing.length === 1 ? "migration" : "migrations"} ${namesOf(missing)}: run weir migrate, as a role that may, or start without SVC_MIGRATE=0`,
  })

/** The reason why the missing migrations cannot be applied now; undefined if they can. */
export const blockedMigration = ({ missing, oldConnections }: SchemaState): SchemaMismatch | undefined => {
  if (oldConnections === 0) return undefined
  const breaking = missing.filter(({ stopsOldNodes }) => stopsOldNodes)
  return new SchemaMismatch({
    message: `Nodes of an older version are connected (open connections: ${oldConnections}) and cannot run beside ${namesOf(breaking)}: stop them, then start this version`,
  })
}

/** The effect of the missing migrations on nodes of older versions, in a line. */
export const describeUpgrade = ({ missing }: SchemaState): string => {
  const breaking = missing.filter(({ stopsOldNodes }) => stopsOldNodes)
  const limits = missing.flatMap(({ name, limits }) => (limits === "" ? [] : [`${name}: ${limits}`]))
  const verdict =
    breaking.length > 0
      ? `nodes of older versions must be stopped before ${namesOf(breaking)}`
      : ["nodes of older versions may run meanwhile", ...limits].join("; ")
  return `the next start applies ${namesOf(missing)}; ${verdict}`
}

const namesOf = (migrations: SchemaState["missing"]): string => migrations.map(({ name }) => name).join(", ")
