/**
 * Changes by other nodes to rows that this one keeps in memory: read from the table `changes` after every `NOTIFY`, and
 * every two seconds, because notifications may be lost.
 */
import type * as PgClient from "@effect/sql-pg/PgClient"
import { Clock, Context, Effect, Layer, Queue, Semaphore } from "effect"
import { SqlClient } from "effect/sql"
import { atBackgroundSpeed, runAfter } from "../background.ts"
import type { WeirConfig } from "../config.ts"
import { CallQueries } from "./connections.ts"
import { queryDeadline, refreshEvery } from "./database.ts"
import { listenTo } from "./listen.ts"
import type { StoreUnavailable } from "./unavailable.ts"

/** Removes the cached values of the subjects, e.g. `org:acme`; of all subjects if they are too many to be listed. */
type Forget = (subjects: Iterable<string> | "all") => void

export class ChangeFeed extends Context.Service<
  ChangeFeed,
  {
    readonly subscribe: (forget: Forget) => Effect.Effect<void>
    /** Notifies all nodes, this one too, of a change that is not a change of a row. */
    readonly note: (subject: string) => Effect.Effect<void, StoreUnavailable>
    /** Reads the changes. This node's own writes are in force after it. */
    readonly catchUp: Effect.Effect<void, StoreUnavailable>
    /** When the feed was last up to date, in milliseconds since 1970. */
    readonly checkedAtMs: () => number
  }
>()("weir/store/ChangeFeed") {
  static readonly layer: Layer.Layer<
    ChangeFeed,
    StoreUnavailable,
    SqlClient.SqlClient | CallQueries | PgClient.PgClient | WeirConfig
  > = Layer.effect(
    ChangeFeed,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      // Calls depend on it: a revocation must not wait for changes that wait for each other.
      const { sql: callSql } = yield* CallQueries
      const bounded = yield* queryDeadline
      const oneAtATime = yield* Semaphore.make(1)
      const listeners: Array<Forget> = []
      /** Transactions before this one have ended. */
      let since = ""
      /** Changes of later transactions, by id. */
      let seen: ReadonlySet<string> = new Set()
      let checkedAtMs = 0

      const tell = (subjects: Iterable<string> | "all") => {
        for (const forget of listeners) forget(subjects)
      }

      const look = Effect.gen(function* () {
        const nowMs = yield* Clock.currentTimeMillis
        const [row] = yield* bounded(callSql<LookRow>`
          select pg_snapshot_xmin(pg_current_snapshot())::text as "nextSince", coalesce((
            select json_agg(json_build_object('id', c.id::text, 'subject', c.subject)) from (
              select id, subject from changes where ${since} <> '' and txid >= nullif(${since}, '')::text::xid8
              order by id limit ${most + 1}::int) c), '[]') as changes`)
        const { nextSince = since, changes = [] } = row ?? {}
        const isUnknown = changes.length > most || nowMs - checkedAtMs > keptMs / 2
        if (isUnknown) tell("all")
        else if (changes.length > 0) tell(changes.flatMap(({ id, subject }) => (seen.has(id) ? [] : [subject])))
        seen = new Set(changes.map(({ id }) => id))
        since = nextSince
        checkedAtMs = nowMs
      })
      const catchUp = oneAtATime.withPermits(1)(look)

      const wake = yield* Queue.sliding<void>(1)
      yield* listenTo("weir_changes", () => Effect.asVoid(Queue.offer(wake, undefined)))
      yield* catchUp
      const patience = yield* atBackgroundSpeed(refreshEvery)
      yield* runAfter(Effect.timeoutOption(Queue.take(wake), patience), "Reading changes", catchUp)
      const trim = bounded(sql`delete from changes where at < now() - ${`${keptMs} milliseconds`}::text::interval`)
      yield* runAfter(Effect.sleep(keptMs / 4), "Removing old changes", trim)
      return ChangeFeed.of({
        subscribe: (forget) => Effect.sync(() => void listeners.push(forget)),
        note: (subject) => Effect.asVoid(bounded(sql`select note_change(${subject})`)),
        catchUp,
        checkedAtMs: () => checkedAtMs,
      })
    }),
  )
}

interface LookRow {
  readonly nextSince: string
  readonly changes: ReadonlyArray<{ readonly id: string; readonly subject: string }>
}

/** The number of changes beyond which all cached values are removed. */
const most = 10_000
/** The time that changes are kept. A node that has not looked for half of it removes all its cached values. */
const keptMs = 3_600_000
