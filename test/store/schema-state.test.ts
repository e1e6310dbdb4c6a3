/** A database whose schema is not this version's is refused, with what to do. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { afterAll, expect, it } from "vitest"
import { layerDatabase } from "../../src/store/database.ts"
import { schemaState } from "../../src/store/schema-state.ts"
import { layerTestConfig } from "../../src/testing/stores.ts"

const dir = mkdtempSync(join(tmpdir(), "weir-schema-"))
afterAll(() => rmSync(dir, { recursive: true, force: true }))

const inDatabase = <A, E>(migrates: boolean, work: Effect.Effect<A, E, SqlClient.SqlClient>) =>
  Effect.runPromise(
    Effect.provide(work, layerDatabase.pipe(Layer.provide(layerTestConfig({ dataDir: dir, migrates })))),
  )
const statement = (text: string) => Effect.flatMap(SqlClient.SqlClient, (sql) => sql.unsafe(text))

it("without permission to migrate, a schema that lacks migrations is refused by name; later it is up to date", async () => {
  await expect(inDatabase(false, Effect.void)).rejects.toMatchObject({
    _tag: "SchemaMismatch",
    message: expect.stringMatching(/lacks migrations 0001_ledger, .*run weir migrate/),
  })
  expect(await inDatabase(true, schemaState)).toEqual({ missing: [], unknown: undefined, isEmpty: false })
  expect(await inDatabase(false, schemaState)).toEqual({ missing: [], unknown: undefined, isEmpty: false })
})

it("a schema of a newer version is refused", async () => {
  await inDatabase(true, statement(`insert into weir_migrations (migration_id, name) values (9001, 'tomorrow')`))
  for (const migrates of [true, false]) {
    await expect(inDatabase(migrates, Effect.void)).rejects.toMatchObject({
      _tag: "SchemaMismatch",
      message: expect.stringContaining("9001_tomorrow"),
    })
  }
})
