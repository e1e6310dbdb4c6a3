/**
 * Databases for tests on a server, or on Citus: one each scope, a copy of a migrated one that is made once a run. A copy
 * takes a tenth of the time of the migrations.
 */
import { randomUUID } from "node:crypto"
import { Effect, Layer, Redacted } from "effect"
import { citusWorkers, databaseAt, layerDatabaseAt, makeCluster, spreadBooks, statementsAt } from "./citus.ts"

/** The variable that names the migrated database, if a run has made it. */
export const templateVariable = "SVC_TEST_DATABASE_TEMPLATE"

const newName = (kind: "test" | "template") => `weir_${kind}_${randomUUID().replaceAll("-", "")}`

const inEachServer = (server: string, ...statements: ReadonlyArray<string>) =>
  Effect.forEach([server, ...citusWorkers()], (url) => statementsAt(url, ...statements), { discard: true })

const drop = (server: string, name: string) =>
  Effect.ignore(inEachServer(server, `drop database if exists ${name} with (force)`))

/** On Citus, the books are spread; on a server, the first who connects migrates. */
const makeDatabase = Effect.fnUntraced(function* (server: string, name: string) {
  const workers = citusWorkers()
  if (workers.length === 0) return yield* statementsAt(server, `create database ${name}`)
  yield* makeCluster(server, workers, name)
  yield* Effect.orDie(spreadBooks(databaseAt(server, name), 2 * workers.length))
})

/** Makes the database that others copy, until the scope closes. @returns its name */
export const makeTemplate = Effect.fnUntraced(function* (server: string) {
  const name = newName("template")
  yield* Effect.acquireRelease(makeDatabase(server, name), () => drop(server, name))
  yield* Effect.scoped(Layer.build(layerDatabaseAt(databaseAt(server, name))))
  // Connections would prevent copies: Citus has a process of its own in each database.
  yield* inEachServer(
    server,
    `alter database ${name} allow_connections false`,
    `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}'`,
  )
  return name
})

/** A database of its own, until the scope closes. */
export const ownDatabase = Effect.fnUntraced(function* (server: string) {
  const template = process.env[templateVariable]
  const name = newName("test")
  const make =
    template === undefined
      ? makeDatabase(server, name)
      : inEachServer(server, `create database ${name} template ${template}`)
  yield* Effect.acquireRelease(make, () => drop(server, name))
  return Redacted.make(databaseAt(server, name))
})
