/** The tables and functions of a shard: the lists are those of the database. */
import { describe, expect, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { layerDatabase } from "../../../src/store/database.ts"
import { bookFunctions, bookTables } from "../../../src/store/shards/shard-schema.ts"
import { layerTestConfig, layerTestDatabases } from "../../../src/testing/stores.ts"

const database = layerDatabase.pipe(Layer.provide(Layer.mergeAll(layerTestConfig(), layerTestDatabases)))

/** The functions that run at the coordinator although they name tables of the books; each has its reason. */
const atCoordinator = new Set([
  // In one transaction with rows that are no organisation's.
  "ledger_topup",
  "budget_warn",
  "budget_reached",
  "balance_turned",
  // Partitions are made and dropped for all shards.
  "retain",
  "retain_replies",
  "retain_spent_days",
  // Tenants are rows of the coordinator.
  "retain_tenants",
  // Nodes of versions before 0037 call these.
  "budgets_warn",
  "usage_dims",
  // The public ones of what each shard has its own.
  "books_bytes",
  "next_transfer_id",
])

layer(database, { excludeTestServices: true })("the functions of the books", (it) => {
  describe("each", () => {
    it.effect("that names a table of the books has a copy in each shard, or is known to run at the coordinator", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const functions = yield* sql<{ name: string; source: string }>`
          select proname as name, regexp_replace(prosrc, '--[^\n]*', '', 'g') as source from pg_proc
          where pronamespace = current_schema()::regnamespace`
        const tables = new RegExp(`\\b(from|join|into|update|only) (${bookTables.join("|")})\\b`)
        const copied: ReadonlySet<string> = new Set(bookFunctions())
        const missing = functions.filter(
          ({ name, source }) => tables.test(source) && !copied.has(name) && !atCoordinator.has(name),
        )
        expect(missing.map(({ name }) => name)).toEqual([])
        const known = new Set(functions.map(({ name }) => name))
        expect(bookFunctions().filter((name) => !known.has(name))).toEqual([])
      }),
    )

    it.effect("that writes makes sure first that its shard is there", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const functions = yield* sql<{ name: string; source: string }>`
          select proname as name, prosrc as source from pg_proc
          where pronamespace = current_schema()::regnamespace and proname = any(${[...bookFunctions()]}::text[])`
        const writes = functions.filter(({ source }) => /\b(insert into|delete from|update \w+ )/.test(source))
        // These run inside one that has made sure.
        const inner = new Set([
          "event_append",
          "ledger_close_holds",
          "ledger_move",
          "retain_sums",
          "usage_fold_day",
          "usage_fold_hour",
          "usage_fold_sums_of_day",
          "usage_fold_sums_of_hour",
        ])
        const careless = writes.filter(({ name, source }) => !inner.has(name) && !source.includes("books_moved()"))
        expect(careless.map(({ name }) => name)).toEqual([])
        expect(writes.length).toBeGreaterThan(20)
      }),
    )

    it.effect("that looks for a spent request id looks among those that carry their time, too", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const functions = yield* sql<{ name: string; source: string }>`
          select proname as name, prosrc as source from pg_proc
          where pronamespace = current_schema()::regnamespace and prosrc like '%spent_requests%'`
        expect(functions.length).toBeGreaterThan(5)
        expect(functions.filter(({ source }) => !source.includes("spent_days")).map(({ name }) => name)).toEqual([])
      }),
    )

    it.effect("that names a table of a whole shard does so by a column that the shard gives it", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const columns = yield* sql<{ table: string }>`
          select table_name as table from information_schema.columns
          where table_schema = current_schema() and column_name = 'org_id' and table_name = any(${[...bookTables]}::text[])`
        expect(new Set(columns.map(({ table }) => table))).toEqual(new Set(bookTables))
      }),
    )
  })
})
