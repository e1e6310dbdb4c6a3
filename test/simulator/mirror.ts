/**
 * Books in PostgreSQL beside the books in memory: every call goes to both, one after the other, and their answers must be
 * the same. The database lives on the simulation's time.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Cause, Clock, Context, Effect, Exit, Layer, type Scope, Semaphore } from "effect"
import { SqlClient } from "effect/sql"
import { closeMonth, nextMonth } from "../../src/exports/close-month.ts"
import { type Amount, formatAmount } from "../../src/money/amount.ts"
import type { MovedNeed, MoveOutcome } from "../../src/money/ledger.ts"
import { layerPostgres } from "../../src/money/ledger-postgres.ts"
import { LedgerStores } from "../../src/money/ledger-store.ts"
import { Retention } from "../../src/money/retention.ts"
import type { HoldFacts } from "../../src/money/settlement.ts"
import { replaceFile, type Target } from "../../src/object-storage/target.ts"
import { layerDatabase } from "../../src/store/database.ts"
import { Shards } from "../../src/store/shards/shards.ts"
import type { StoreUnavailable } from "../../src/store/unavailable.ts"
import { layerTestConfig, layerTestDatabases } from "../../src/testing/stores.ts"
import { mapCalls, type Store } from "./calls.ts"
import type { Sizes } from "./sizes.ts"

export interface Mirror {
  /**
   * A store that sends each question to the memory and to the database, and compares the answers.
   * @param nowMs the books' clock
   */
  readonly over: (memory: Store, nowMs: Effect.Effect<number>) => Store
  /** Ends a job in both. */
  readonly endJob: (
    inMemory: Effect.Effect<boolean>,
    nowMs: Effect.Effect<number>,
    job: Pick<HoldFacts, "ref" | "orgId"> & { readonly cost: Amount; readonly isDone: boolean },
  ) => Effect.Effect<boolean>
  /** Begins a batch in both, with the money that a node has held. */
  readonly beginBatch: (
    inMemory: Effect.Effect<MoveOutcome>,
    nowMs: Effect.Effect<number>,
    batch: BatchOfBoth & { readonly node: string; readonly needs: ReadonlyArray<MovedNeed> },
  ) => Effect.Effect<MoveOutcome>
  /** Ends a batch in both. */
  readonly endBatch: (
    inMemory: Effect.Effect<boolean>,
    nowMs: Effect.Effect<number>,
    batch: BatchOfBoth,
  ) => Effect.Effect<boolean>
  /** The calendar begins: the database makes partitions, and gives its rows times of it. */
  readonly beginAt: (originMs: number) => Effect.Effect<void>
  /** Removes expired data in both; in the database, months that are over are closed before. */
  readonly close: (
    inMemory: Effect.Effect<void>,
    nowMs: Effect.Effect<number>,
    sinceMs: number,
  ) => Effect.Effect<Closed>
  /** Waits until the database has answered everything. */
  readonly quiet: Effect.Effect<void>
  /** The first answer that differed. */
  readonly difference: () => string | undefined
  /** The problem of the database's books at the end. */
  readonly audit: Effect.Effect<string | undefined>
  /** Empties the books. */
  readonly reset: Effect.Effect<void>
}

interface BatchOfBoth {
  readonly id: string
  readonly orgId: string
}

export interface Closed {
  /** The finding of the audit. */
  readonly problem: string | undefined
  /** Months of the calendar that are closed. */
  readonly months: number
  readonly rows: Sizes
}

/** Days for which usage records and request ids are kept in a year. */
export const keptDays = 45

/** The embedded database, migrated, for many runs; for one, if months are closed. */
export const makeMirror: Effect.Effect<Mirror, never, Scope.Scope> = Effect.gen(function* () {
  const services = yield* layerPostgres.pipe(
    Layer.provideMerge(layerDatabase),
    Layer.provideMerge(
      layerTestConfig({ databaseDeadlineMs: 30_000, retentionDays: keptDays, spentIdsKeptDays: keptDays }),
    ),
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

  const scope = yield* Effect.scope
  const folder = mkdtempSync(join(tmpdir(), "weir-simulated-"))
  yield* Effect.addFinalizer(() => Effect.sync(() => rmSync(folder, { recursive: true })))
  const target: Target = { put: (path, bytes) => Effect.promise(() => replaceFile(join(folder, path), bytes)) }
  const shards = Context.get(services, Shards)
  let retention: Retention["Service"] | undefined

  // The database answers in real time, independent of the simulated time.
  const clock = yield* Clock.Clock
  const live = Effect.provideService(Clock.Clock, clock)
  const lane = Semaphore.makeUnsafe(1)
  let open = 0
  let found: string | undefined
  const setNow = (atMs: number) => run(`select set_config('simulation.now', '${atMs}', false)`)

  /** Closes months as nodes do, the oldest first, for as long as none waits for an exchange. */
  const closeMonths = Effect.forEach(
    shards.all,
    Effect.fnUntraced(function* (shard) {
      for (let next = yield* nextMonth(shard, 0); next?.problem === null; next = yield* nextMonth(shard, 0)) {
        yield* closeMonth(next, shard, target, "jsonl.zst")
      }
      yield* run("select retain_months((select max(until_at) from books_months))")
    }),
  )

  const audited = Effect.gen(function* () {
    // Nodes that are taken for dead are reaped soon.
    const findings = yield* run("select finding, id from ledger_audit() where finding not like '%has outlived%'")
    return findings.length === 0 ? undefined : JSON.stringify(findings)
  })

  const rowsOf = Effect.gen(function* () {
    const [rows] = yield* run(`select ${tables.map((name) => `(select count(*)::int from ${name}) as ${name}`).join()},
      (select count(*)::int from pg_inherits) as partitions`)
    return Object.fromEntries(Object.entries(rows ?? {}).map(([name, count]) => [name, Number(count)]))
  })

  const closeAt = Effect.fnUntraced(function* (atMs: number, sinceMs: number) {
    yield* setNow(atMs)
    yield* Effect.orDie(Effect.provide(closeMonths, services))
    if (retention !== undefined) yield* Effect.orDie(retention.run)
    const [closed] = yield* run(
      `select count(*)::int as months from books_months where until_at > to_timestamp(${sinceMs} / 1000.0)`,
    )
    return { problem: yield* audited, months: Number(closed?.["months"]), rows: yield* rowsOf }
  })

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
        yield* live(setNow(atMs))
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
    beginBatch: (inMemory, nowMs, { id, orgId, node, needs }) => {
      const batch = JSON.stringify({
        id,
        app: "app",
        person: "",
        endUser: "",
        key: "key",
        api: "openai",
        state: "in_progress",
        lines: 1,
        currency: "USD",
        held: "0",
        day: "",
        windowMs: 86_400_000,
        keptMs: 86_400_000,
      })
      const begun = sql<{ readonly outcome: MoveOutcome }>`
        select batch_begin(${orgId}, ${batch}::text::jsonb, ''::bytea, '[]'::jsonb, ${node},
          ${JSON.stringify(needs)}::text::jsonb) as outcome`
      const inDatabase = Effect.map(begun, ([row]) => row?.outcome ?? "lapsed")
      return Effect.orDie(both("batch_begin", nowMs, inMemory, Effect.orDie(inDatabase)))
    },
    endBatch: (inMemory, nowMs, { id, orgId }) => {
      const ended = sql<{ readonly ended: boolean }>`
        select batch_end(${orgId}, ${id}, 'node', 'completed', '{"succeeded":0,"errored":0,"cancelled":0,"expired":0}'::jsonb,
          ''::bytea) as ended`
      const leased = run(`update batches set lease_node = 'node' where id = '${id}' and ended_at is null`)
      const inDatabase = Effect.andThen(
        leased,
        Effect.map(ended, ([row]) => row?.ended === true),
      )
      return Effect.orDie(both("batch_end", nowMs, inMemory, Effect.orDie(inDatabase)))
    },
    beginAt: (originMs) =>
      live(
        Effect.gen(function* () {
          yield* setNow(originMs)
          if (originMs === 0) return
          yield* run("alter table transfers alter column at set default simulation.now()")
          yield* run("alter table holds alter column opened_at set default simulation.now()")
          yield* run("select retain_months(null)")
          retention = yield* Layer.buildWithScope(Retention.layer, scope).pipe(
            Effect.provide(services),
            Effect.map(Context.get(Retention)),
          )
          yield* Effect.orDie(retention.run)
        }),
      ),
    close: (inMemory, nowMs, sinceMs) =>
      Effect.gen(function* () {
        const atMs = yield* nowMs
        yield* inMemory
        return yield* live(closeAt(atMs, sinceMs))
      }).pipe(lane.withPermit, Effect.uninterruptible),
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
          "truncate nodes, counters, allotments, transfers, spent_requests, spent_days, replies, holds, usage_records, topups, jobs, batches, events",
        ),
      ),
    ),
  }
})

/** The hot tables of the books. */
const tables = [
  "transfers",
  "usage_records",
  "spent_requests",
  "spent_days",
  "replies",
  "holds",
  "counters",
  "allotments",
  "jobs",
] as const

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
