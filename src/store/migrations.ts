/**
 * The SQL files in `migrations/`, each run once, in order, in one transaction. Forward only. After the newest, those in
 * `migrations/functions/` make every function as it runs. A line `-- Old nodes: may
 * run` or `-- Old nodes: must stop` says whether nodes of older versions can run beside it; one that says they must
 * stop also writes its number to `schema_needs`, so that older nodes do not start any more.
 */
import { readdirSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { Effect } from "effect"
import { Migrator, SqlClient } from "effect/sql"
import { endsWithItsClient } from "./transaction.ts"

/** The table of applied migrations. */
export const migrationsTable = "weir_migrations"

const folder = fileURLToPath(new URL("../../migrations/", import.meta.url))

const textOf = (name: string): string => readFileSync(`${folder}${name}.sql`, "utf8")

/** Runs a file as one anonymous block, because the wire protocol accepts one statement at a time. */
const run = (name: string, isSpread: boolean) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    Effect.andThen(
      endsWithItsClient(sql),
      sql.unsafe(`do $migration$ begin
perform set_config('citus.enable_ddl_propagation', '${isSpread ? "on" : "off"}', true);
perform set_config('citus.multi_shard_modify_mode', 'sequential', true);
${textOf(name)} end $migration$`),
    ),
  )

/** Files with functions of this version, without ending, e.g. `functions/books/holds`. */
export const functionFiles = (): ReadonlyArray<string> =>
  readdirSync(`${folder}functions`, { recursive: true })
    .map(String)
    .filter((file) => file.endsWith(".sql"))
    .map((file) => `functions/${file.replaceAll("\\", "/").replace(/\.sql$/, "")}`)
    .sort()

/** The file whose functions all servers of Citus have; the others are at the coordinator, and copied to shards. */
const everywhere = "functions/everywhere"

/** The names of the functions in a file. */
export const functionsIn = (file: string): ReadonlyArray<string> =>
  [...textOf(file).matchAll(/^create or replace function (\w+)\(/gm)].map(([, name = ""]) => name)

/** Makes the functions as this version has them. One may name another that is made after it. */
const makeFunctions = (isSpread: boolean) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    Effect.andThen(
      sql`select set_config('check_function_bodies', 'off', true)`,
      Effect.forEach(functionFiles(), (file) => run(file, isSpread && file === everywhere), { discard: true }),
    ),
  )

/** The migrations of this version by their numbers: files without ending, e.g. `0015_allotments`. */
export const migrations: ReadonlyMap<number, string> = new Map(
  readdirSync(folder)
    .filter((file) => file.endsWith(".sql"))
    .map((file) => [Number.parseInt(file, 10), file.replace(/\.sql$/, "")]),
)

/** The number of the newest migration. */
export const newestMigration = Math.max(...migrations.keys())

export interface MigrationNote {
  readonly name: string
  /** Whether nodes of older versions must be stopped before. */
  readonly stopsOldNodes: boolean
  /** The limits of older nodes beside it, if they may run. */
  readonly limits: string
}

/** The note that a migration has about itself. */
export const noteOf = (name: string): MigrationNote => {
  const [, verdict = "may run", limits = ""] =
    /^-- Old nodes: (may run|must stop)[,.]? ?(.*)$/m.exec(textOf(name)) ?? []
  return { name, stopsOldNodes: verdict === "must stop", limits: limits.replace(/\.$/, "") }
}

/** @param isSpread whether Citus must change the tables on all servers */
export const loadMigrations = (isSpread: boolean) =>
  Migrator.fromRecord(
    Object.fromEntries(
      [...migrations].map(([number, name]) => [
        name,
        number === newestMigration ? Effect.andThen(run(name, isSpread), makeFunctions(isSpread)) : run(name, isSpread),
      ]),
    ),
  )
