/**
 * Books in PostgreSQL beside the books in memory: every call goes to both, one after the other, and their answers must be
 * the same. The database lives on the simulation's time.
 */
import { Cause, Clock, Context, Effect, Exit, Layer, type Scope, Semaphore } from "effect"
import { SqlClient } from "effect/sql"
import { type Amount, formatAmount } from "../../src/money/amount.ts"
import { layerPostgres } from "../../src/money/ledger-postgres.ts"
import { LedgerStores } from "../../src/money/ledger-store.ts"
import type { HoldFacts } from "../../src/money/settlement.ts"
import { layerDatabase } from "../../src/store/database.ts"
import type { StoreUnavailable } from "../../src/store/unavailable.ts"
import { layerTestConfig, layerTestDatabases } from "../../src/testing/stores.ts"
import { mapCalls, type Store } from "./calls.ts"

export interface Mirror {
  /** A store that asks both. @param nowMs the books' clock */
  readonly over: (memory: Store, nowMs: Effect.Effect<number>) => Store
  /** Ends a job in both. */
  readonly endJob: (
    inMemory: Effect.Effect<boolean>,
    nowMs: Effect.Effect<number>,
    job: Pick<HoldFacts, "ref" | "orgId"> & { readonly cost: Amount; readonly isDone: boolean },
  ) => Effect.Effect<boolean>
  /** Waits until the database has answered everything. */
  readonly quiet: Effect.Effect<void>
  /** The first answer that differed. */
  readonly difference: () => string | undefined
  /** What is wrong with the database's books at the end. */
  readonly audit: Effect.Effect<string | undefined>
  /** Empties the books. */
  readonly reset: Effect.Effect<void>
}

/** The embedded database, migrated, for many runs. */
export const makeMirror: Effect.Effect<Mirror, never, Scope.Scope> = Effect.gen(function* () {
  const services = yield* layerPostgres.pipe(
    Layer.provideMerge(layerDatabase),
    Layer.provide(layerTestConfig({ databaseDeadlineMs: 30_000 })),
    Layer.provide(layerTestDatabases),
    Layer.build,
    Effect.orDie,
  )
  const [store] = Context.get(services, LedgerStores).all
  if (store === undefined) return yield* Effect.die("The embedded database has its books in one place")
  const sql = Context.get(services, SqlClient.SqlClient)
  const run = (text: string) => Effect.orDie(sql.unsafe<Readonly<Record<string, unknown>>>(text))
  // The functions of the ledger find this clock before the database's own.
  yield* run("create schema if not exists simulation")
  yield* run(`create or replace function simulation.now() returns timestamptz language sql stable as
    $$ select to_timestamp(current_setting('simulation.now')::float8 / 1000) $$`)
  yield* run("set search_path = simulation, pg_catalog, public")

  // The database answers in real time, whatever time it is in the simulation.
  const clock = yield* Clock.Clock
  const live = Effect.provideService(Clock.Clock, clock)
  const lane = Semaphore.makeUnsafe(1)
  let open = 0
  let found: string | undefined

  const both = <A>(
    name: string,
    nowMs: Effect.Effect<number>,
    inMemory: Effect.Effect<A, StoreUnavailable>,
    inDatabase: Effect.Effect<A, StoreUnavailable>,
  ): Effect.Effect<A, StoreUnavailable> =>
    Effect.suspend(() => {
      open++
      return Effect.gen(function* () {
        const atMs = yield* nowMs
        const expected = yield* Effect.exit(inMemory)
        yield* live(run(`select set_config('simulation.now', '${atMs}', false)`))
        const actual = yield* live(Effect.exit(inDatabase))
        const [here, there] = [textOf(expected), textOf(actual)]
        if (here !== there) found ??= `${name} at ${atMs} ms: memory says ${here}, PostgreSQL ${there}`
        return yield* expected
      }).pipe(
        lane.withPermit,
        Effect.uninterruptible,
        Effect.ensuring(
          Effect.sync(() => {
            open--
          }),
        ),
      )
    })

  return {
    over: (memory, nowMs) => mapCalls((name, call) => both(name, nowMs, call(memory), call(store))),
    endJob: (inMemory, nowMs, { ref, orgId, cost, isDone }) => {
      const ended = sql<{
        readonly ended: boolean
      }>`select job_end(${orgId}, ${ref}, ${isDone ? "done" : "failed"}, null,
        null, ${isDone ? formatAmount(cost) : "0"}::numeric, '{}'::jsonb) as ended`
      return Effect.orDie(
        both("job_end", nowMs, inMemory, Effect.orDie(Effect.map(ended, ([row]) => row?.ended === true))),
      )
    },
    quiet: Effect.suspend(function wait(): Effect.Effect<void> {
      return open === 0 ? Effect.void : Effect.andThen(live(Effect.sleep("1 millis")), Effect.suspend(wait))
    }),
    difference: () => found,
    audit: live(
      Effect.gen(function* () {
        const findings = yield* run("select finding, id from ledger_audit()")
        const left = yield* run("select org_id, counter, node from allotments")
        return findings.length + left.length === 0 ? undefined : JSON.stringify({ findings, left })
      }),
    ),
    reset: live(
      Effect.andThen(
        Effect.sync(() => {
          found = undefined
        }),
        run(
          "truncate nodes, counters, allotments, transfers, spent_requests, replies, holds, usage_records, topups, jobs",
        ),
      ),
    ),
  }
})

/** An answer as text: amounts as digits, sets and maps in order. */
const textOf = (exit: Exit.Exit<unknown, StoreUnavailable>): string =>
  Exit.isSuccess(exit) ? (JSON.stringify(exit.value, plain) ?? "nothing") : Cause.pretty(exit.cause)

const plain = (_key: string, value: unknown): unknown => {
  if (typeof value === "bigint") return `${value}`
  if (value instanceof Set) return [...value].sort()
  if (value instanceof Map) return [...value].sort()
  if (Array.isArray(value)) return value.map((each) => JSON.stringify(each, plain)).sort()
  return value
}
