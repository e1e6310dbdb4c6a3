/** Where tests keep their data: embedded and in memory, or on the servers that the environment names. */
import { randomUUID } from "node:crypto"
import { PgClient } from "@effect/sql-pg"
import { Effect, Layer, Redacted, type Scope } from "effect"
import type { SqlError } from "effect/sql"
import type { WeirConfig } from "../config.ts"

type Stores = Pick<WeirConfig["Service"], "databaseUrl" | "redisUrl" | "dataDir">

const fromEnvironment = (name: string): string | undefined => process.env[name] || undefined

export const testRedisUrl = (): Redacted.Redacted | undefined => {
  const url = fromEnvironment("SVC_TEST_REDIS_URL")
  return url === undefined ? undefined : Redacted.make(url)
}

/**
 * `SVC_TEST_DATABASE_URL` and `SVC_TEST_REDIS_URL`, each replaced by the embedded store where it is not set. On a
 * server, every scope has a database of its own.
 */
export const testStores: Effect.Effect<Stores, SqlError.SqlError, Scope.Scope> = Effect.gen(function* () {
  const server = fromEnvironment("SVC_TEST_DATABASE_URL")
  const databaseUrl = server === undefined ? undefined : yield* ownDatabase(server)
  return { databaseUrl, redisUrl: testRedisUrl(), dataDir: ":memory:" }
})

const ownDatabase = Effect.fnUntraced(function* (server: string) {
  const name = `weir_test_${randomUUID().replaceAll("-", "")}`
  const services = yield* Layer.build(PgClient.layer({ url: Redacted.make(server), maxConnections: 1 }))
  const sql = yield* Effect.provide(PgClient.PgClient, services)
  yield* Effect.acquireRelease(sql.unsafe(`create database ${name}`), () =>
    Effect.ignore(sql.unsafe(`drop database if exists ${name} with (force)`)),
  )
  const url = new URL(server)
  url.pathname = `/${name}`
  return Redacted.make(url.href)
})
