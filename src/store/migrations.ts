/** The SQL files in `migrations/`, each run once, in order, in one transaction. Forward only. */
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

export const loadMigrations = Migrator.fromRecord(
  Object.fromEntries(
    readdirSync(folder)
      .filter((file) => file.endsWith(".sql"))
      .map((file) => [file.replace(/\.sql$/, ""), Effect.asVoid(run(file))]),
  ),
)
