/** Transactions whose client has left. */
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import * as PgClient from "@effect/sql-pg/PgClient"
import { describe, expect, it } from "@effect/vitest"
import { Context, Effect, Exit, Fiber, Layer, Redacted, Stream } from "effect"
import { Reactivity } from "effect/reactivity"
import { SqlClient } from "effect/sql"
import { loadMigrations } from "../../../src/store/migrations.ts"
import { inTransaction } from "../../../src/store/transaction.ts"
import { openLine } from "../../support/faults/proxy.ts"

const isStep = (value: unknown): value is Effect.Effect<void, unknown, SqlClient.SqlClient> => Effect.isEffect(value)

const serverUrl = process.env["SVC_TEST_DATABASE_URL"]

describe.skipIf(serverUrl === undefined)("a transaction", () => {
  it.live("whose client is silent ends at the server, and others get its lock", () =>
    Effect.gen(function* () {
      const server = new URL(serverUrl ?? "")
      const line = yield* Effect.promise(() => openLine(Number(server.port)))
      yield* Effect.addFinalizer(() => Effect.sync(line.close))
      const clientAt = (port: number | string) => {
        const url = new URL(server)
        url.port = String(port)
        const built = Layer.build(PgClient.layer({ url: Redacted.make(url.href) }))
        return Effect.map(built, Context.get(SqlClient.SqlClient))
      }
      const silent = yield* clientAt(line.port)
      const other = yield* clientAt(server.port)
      const lock = (sql: SqlClient.SqlClient) => sql`select pg_advisory_xact_lock(4711)`
      const frozen = Effect.andThen(
        lock(silent),
        Effect.suspend(() => {
          line.stall(60_000)
          return Effect.sleep("1 minute")
        }),
      )
      const fiber = yield* Effect.forkScoped(inTransaction(silent, frozen, "300 millis"))
      yield* Effect.sleep("200 millis")
      const exit = yield* Effect.exit(Effect.timeout(lock(other), "10 seconds"))
      expect(Exit.isSuccess(exit)).toBe(true)
      line.close()
      yield* Fiber.interrupt(fiber)
    }).pipe(Effect.scoped),
  )
})

describe("every transaction", () => {
  it("of the product is one that the server ends", () => {
    const src = fileURLToPath(new URL("../../../src/", import.meta.url))
    const files = readdirSync(src, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".ts"))
    const users = files.filter((file) => readFileSync(join(src, file), "utf8").includes(".withTransaction("))
    expect(users).toEqual([join("store", "transaction.ts")])
  })

  it.effect("of a migration says so first", () =>
    Effect.gen(function* () {
      const said: Array<string> = []
      const answer = (statement: string) =>
        Effect.sync((): ReadonlyArray<never> => {
          said.push(statement)
          return []
        })
      const sql = yield* SqlClient.make({
        acquirer: Effect.succeed({
          execute: answer,
          executeRaw: answer,
          executeWithoutTransform: answer,
          executeValues: answer,
          executeUnprepared: answer,
          executeValuesUnprepared: answer,
          executeStream: () => Stream.empty,
        }),
        compiler: PgClient.makeCompiler(),
        spanAttributes: [],
        driver: "none",
      })
      const run = Effect.gen(function* () {
        const [first] = yield* loadMigrations(false)
        const migration: unknown = yield* first?.[2] ?? Effect.void
        if (isStep(migration)) yield* migration
      })
      yield* Effect.provideService(run, SqlClient.SqlClient, sql)
      expect(said.length).toBe(2)
      expect(said[0]).toContain("idle_in_transaction_session_timeout")
      expect(said[1]).toContain("do $migration$")
    }).pipe(Effect.provide(Reactivity.layer)),
  )
})
