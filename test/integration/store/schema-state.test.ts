/** A schema of another version: it is refused with the remedy, or used in spite of the difference. */
import { readdirSync, readFileSync } from "node:fs"
import * as PgClient from "@effect/sql-pg/PgClient"
import { Effect, Exit, Layer, Scope } from "effect"
import { SqlClient } from "effect/sql"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { layerDatabase } from "../../../src/store/database.ts"
import { type EmbeddedAddress, EmbeddedDatabase, startEmbedded } from "../../../src/store/embedded.ts"
import { newestMigration, noteOf } from "../../../src/store/migrations.ts"
import { blockedMigration, describeUpgrade, type SchemaState, schemaState } from "../../../src/store/schema-state.ts"
import { layerTestConfig } from "../../../src/testing/stores.ts"
import { useOwnDatabase } from "../../support/own-database.ts"

/** One database without tables, for all tests: each connects to it as a gateway that starts. */
const scope = Scope.makeUnsafe()
let address: EmbeddedAddress
beforeAll(async () => {
  address = await Effect.runPromise(Scope.provide(startEmbedded(undefined), scope))
})
afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))

const inDatabase = <A, E>(migrates: boolean, work: Effect.Effect<A, E, SqlClient.SqlClient>) =>
  Effect.runPromise(
    work.pipe(
      Effect.provide(layerDatabase.pipe(Layer.provide(layerTestConfig({ dataDir: ":memory:", migrates })))),
      Effect.provideService(EmbeddedDatabase, () => Effect.succeed(address)),
    ),
  )
const statement = (text: string) => Effect.flatMap(SqlClient.SqlClient, (sql) => sql.unsafe(text))
const upToDate: SchemaState = { missing: [], unknown: undefined, isUsable: true, isEmpty: false, oldConnections: 0 }

it("without permission to migrate, a schema that lacks migrations is refused by name; later it is up to date", async () => {
  await expect(inDatabase(false, Effect.void)).rejects.toMatchObject({
    _tag: "SchemaMismatch",
    message: expect.stringMatching(/lacks migrations 0001_ledger, .*run weir migrate/),
  })
  expect(await inDatabase(true, schemaState)).toEqual(upToDate)
  expect(await inDatabase(false, schemaState)).toEqual(upToDate)
})

it("a schema of a newer version is used if it says that this version may, and is refused otherwise", async () => {
  await inDatabase(true, statement(`insert into weir_migrations (migration_id, name) values (9001, 'tomorrow')`))
  for (const migrates of [true, false]) {
    expect(await inDatabase(migrates, schemaState)).toEqual({ ...upToDate, unknown: "9001_tomorrow" })
  }
  await inDatabase(true, statement("update schema_needs set migration = 9001"))
  for (const migrates of [true, false]) {
    await expect(inDatabase(migrates, Effect.void)).rejects.toMatchObject({
      _tag: "SchemaMismatch",
      message: expect.stringContaining("9001_tomorrow"),
    })
  }
})

describe("migrations", () => {
  const folder = new URL("../../../migrations/", import.meta.url)
  it.each(readdirSync(folder).filter((name) => name.endsWith(".sql")))(
    "%s says what it means for nodes of older versions",
    (file) => {
      const id = Number.parseInt(file, 10)
      const text = readFileSync(new URL(file, folder), "utf8")
      // From 0024 on; those before are marked where it matters.
      if (id >= 24) expect(text).toMatch(/^-- Old nodes: (may run|must stop)/)
      if (id > 24 && noteOf(file.replace(/\.sql$/, "")).stopsOldNodes) {
        expect(text).toContain(`update schema_needs set migration = ${id};`)
      }
      expect(id).toBeLessThanOrEqual(newestMigration)
    },
  )

  it("one that older nodes cannot run beside is told, and refused while they are connected", () => {
    const missing = [
      { name: "0030_fine", stopsOldNodes: false, limits: "but cannot mint keys" },
      { name: "0031_breaking", stopsOldNodes: true, limits: "" },
    ]
    const state = { ...upToDate, missing }
    expect(describeUpgrade(state)).toBe(
      "the next start applies 0030_fine, 0031_breaking; nodes of older versions must be stopped before 0031_breaking",
    )
    expect(describeUpgrade({ ...state, missing: missing.slice(0, 1) })).toBe(
      "the next start applies 0030_fine; nodes of older versions may run meanwhile; 0030_fine: but cannot mint keys",
    )
    expect(blockedMigration(state)).toBeUndefined()
    expect(blockedMigration({ ...state, oldConnections: 3 })?.message).toMatch(
      /older version are connected \(open connections: 3\) and cannot run beside 0031_breaking: stop them/,
    )
  })
})

const server = process.env["SVC_TEST_DATABASE_URL"]
describe.skipIf(server === undefined)("beside connections of older nodes", () => {
  const database = useOwnDatabase(server)
  it("a migration that breaks them is not applied until they are gone", async () => {
    const config = layerTestConfig({ databaseUrl: database() })
    const start = Effect.provide(schemaState, layerDatabase.pipe(Layer.provide(config)))
    expect(await Effect.runPromise(start)).toEqual(upToDate)
    const old = PgClient.layer({ url: database(), applicationName: "weir", minConnections: 1 })
    const refused = Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const [{ migration_id, name } = { migration_id: 0, name: "" }] = yield* sql<{
        migration_id: number
        name: string
      }>`
        delete from weir_migrations where migration_id = 15 returning migration_id, name`
      const failure = yield* Effect.flip(Layer.build(Layer.fresh(layerDatabase).pipe(Layer.provide(config))))
      yield* sql`insert into weir_migrations (migration_id, name) values (${migration_id}, ${name})`
      return String(failure)
    })
    expect(await Effect.runPromise(Effect.scoped(Effect.provide(refused, old)))).toMatch(
      /older version are connected \(open connections: \d+\) and cannot run beside 0015_allotments/,
    )
  })
})
