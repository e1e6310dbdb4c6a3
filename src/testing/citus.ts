/**
 * Databases for tests on Citus: a coordinator's database with one of the same name at each worker. `CITUS_WORKER_URLS`
 * names the workers; `SVC_TEST_DATABASE_URL` is the coordinator then.
 */
import * as PgClient from "@effect/sql-pg/PgClient"
import { Effect, Layer, Redacted, Schedule } from "effect"
import { WeirConfig } from "../config.ts"
import { layerDatabase } from "../store/database.ts"
import { distribute } from "../store/shards/distribute.ts"

/** The workers' addresses; none if the tests do not run on Citus. */
export const citusWorkers = (): ReadonlyArray<string> =>
  (process.env["CITUS_WORKER_URLS"] ?? "").split(" ").filter((url) => url !== "")

/** @param url of a server or a database, which is replaced by another one of the server */
export const databaseAt = (url: string, name: string): string => {
  const database = new URL(url)
  database.pathname = `/${name}`
  return database.href
}

/** Runs statements, one after the other, on a connection of their own. */
export const statementsAt = (url: string, ...statements: ReadonlyArray<string>) =>
  Effect.scoped(
    Effect.gen(function* () {
      const services = yield* Layer.build(PgClient.layer({ url: Redacted.make(url), maxConnections: 1 }))
      const sql = yield* Effect.provide(PgClient.PgClient, services)
      for (const statement of statements) yield* sql.unsafe(statement)
    }),
  )

/** Makes the database at each server, and makes one cluster of them. */
export const makeCluster = Effect.fnUntraced(function* (
  coordinator: string,
  workers: ReadonlyArray<string>,
  name: string,
) {
  yield* Effect.forEach([coordinator, ...workers], (url) => statementsAt(url, `create database ${name}`), {
    discard: true,
  })
  const urls = [coordinator, ...workers].map((url) => databaseAt(url, name))
  yield* Effect.forEach(urls, (url) => statementsAt(url, "create extension citus"), { discard: true })
  const { hostname, port } = new URL(coordinator)
  const database = databaseAt(coordinator, name)
  yield* statementsAt(database, `select citus_set_coordinator_host('${hostname}', ${port})`)
  for (const url of workers) {
    const worker = new URL(url)
    // It also sets the server's roles, which all databases share: two that do so at once fail.
    yield* Effect.retry(statementsAt(database, `select citus_add_node('${worker.hostname}', ${worker.port})`), {
      times: 20,
      schedule: Schedule.spaced("200 millis"),
    })
  }
})

/** A database as a gateway connects to it, which migrates it. */
export const layerDatabaseAt = (url: string) =>
  layerDatabase.pipe(
    Layer.provide(
      Layer.orDie(WeirConfig.layerWith({ env: "test", logLevel: "None", databaseUrl: Redacted.make(url) })),
    ),
  )

/** Migrates a cluster's database, and spreads its books. @param url of the coordinator */
export const spreadBooks = (url: string, shards: number) =>
  Effect.scoped(
    Effect.flatMap(Layer.build(layerDatabaseAt(url)), (services) => Effect.provide(distribute(shards), services)),
  )
