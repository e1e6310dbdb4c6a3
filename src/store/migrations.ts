/**
 * The SQL files in `migrations/`, each run once, in order, in one transaction. Forward only. A line `-- Old nodes: may
 * run` or `-- Old nodes: must stop` says whether nodes of older versions can run beside it; one that says they must
 * stop also writes its number to `schema_needs`, so that older nodes do not start any more.
 */
import { readdirSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { Effect } from "effect"
import { Migrator, SqlClient } from "effect/sql"

/** The table of applied migrations. */
export const migrationsTable = "weir_migrations"

const folder = fileURLToPath(new URL("../../migrations/", import.meta.url))

/** Runs a file as one anonymous block, because the wire protocol accepts one statement at a time. */
const run = (file: string) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    sql.unsafe(`do $migration$ begin ${readFileSync(`${folder}${file}`, "utf8")} end $migration$`),
  )

const files = readdirSync(folder).filter((file) => file.endsWith(".sql"))

/** Of each migration, by its number. */
export interface MigrationNote {
  /** File without ending, e.g. `0015_allotments`. */
  readonly name: string
  /** Whether nodes of older versions must be stopped before. */
  readonly stopsOldNodes: boolean
  /** What older nodes cannot do beside it, if they may run. */
  readonly limits: string
}

/** What the files say of themselves. */
export const migrationNotes = (): ReadonlyMap<number, MigrationNote> =>
  new Map(
    files.map((file) => {
      const text = readFileSync(`${folder}${file}`, "utf8")
      const [, verdict = "may run", limits = ""] = /^-- Old nodes: (may run|must stop)[,.]? ?(.*)$/m.exec(text) ?? []
      return [
        Number.parseInt(file, 10),
        { name: file.replace(/\.sql$/, ""), stopsOldNodes: verdict === "must stop", limits: limits.replace(/\.$/, "") },
      ]
    }),
  )

/** The number of the newest migration that this version knows. */
export const newestMigration = Math.max(...files.map((file) => Number.parseInt(file, 10)))

export const loadMigrations = Migrator.fromRecord(
  Object.fromEntries(files.map((file) => [file.replace(/\.sql$/, ""), Effect.asVoid(run(file))])),
)
