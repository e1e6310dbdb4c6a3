/** The functions of a migrated database are those of the files, word for word. */
import { readFileSync } from "node:fs"
import { expect, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { layerDatabase } from "../../../src/store/database.ts"
import { functionFiles } from "../../../src/store/migrations.ts"
import { layerTestConfig, layerTestDatabases } from "../../../src/testing/stores.ts"

const database = layerDatabase.pipe(Layer.provide(Layer.mergeAll(layerTestConfig(), layerTestDatabases)))

/** Functions that depend on the database itself. */
const ofDatabase = ["books_moved", "next_transfer_id", "spent_days_after"]

/** A function as it is written: its head in one line, without the names that PostgreSQL has twice, and its body. */
const headOf = (text: string): string =>
  text
    .toLowerCase()
    .replace(/\s+/g, " ")
    .replaceAll("timestamp with time zone", "timestamptz")
    .replaceAll(/::(text|timestamptz|jsonb)\b/g, "")
    .replaceAll(/ set (\w+) to /g, " set $1 = ")
    .trim()

const written = functionFiles().flatMap((file) => {
  const text = readFileSync(new URL(`../../../migrations/${file}.sql`, import.meta.url), "utf8")
  return [...text.matchAll(/^create or replace (function [\s\S]*?) as \$fn\$([\s\S]*?)\$fn\$;$/gm)].map(
    ([, head = "", body = ""]) => ({ head: headOf(head), body }),
  )
})

layer(database, { excludeTestServices: true })("the functions of the database", (it) => {
  it.effect("are those of the files, and no others", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const rows = yield* sql<{ definition: string; body: string }>`
        select replace(pg_get_functiondef(oid), current_schema() || '.', '') as definition, prosrc as body from pg_proc
        where pronamespace = current_schema()::regnamespace and prokind = 'f' and proname <> all(${ofDatabase}::text[])`
      const live = rows.map(({ definition, body }) => ({
        head: headOf(definition.slice("create or replace ".length, definition.indexOf("AS $function$"))),
        body,
      }))
      const byHead = <Each extends { readonly head: string }>(all: ReadonlyArray<Each>) =>
        [...all].sort((one, other) => (one.head < other.head ? -1 : 1))
      expect(byHead(live)).toEqual(byHead(written))
      expect(live.length).toBeGreaterThan(100)
    }),
  )
})
