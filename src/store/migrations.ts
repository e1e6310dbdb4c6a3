/** The SQL files under `migrations/`, each run once, in order, inside one transaction. Forward only. */
import { readdirSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { Effect } from "effect"
import { Migrator, SqlClient } from "effect/sql"

/** Where a database keeps which of them it has had. */
export const migrationsTable = "weir_migrations"

const folder = fileURLToPath(new URL("../../migrations/", import.meta.url))

/** A file's statements run as one anonymous block, because the wire protocol takes one statement at a time. */
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
