/** Closes windows: finds a place below which no record can be added any more. */
import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { ExportRecords } from "../protocol/control/export.ts"
import { LongQueries } from "../store/connections.ts"
import type { Shard } from "../store/shards/shard.ts"
import type { Mark } from "./export-store.ts"

/** The interval at which the database is asked whether transactions have ended. */
const askEvery = "50 millis"

/**
 * A mark below which no record can be added any more. A transaction gets its number before its records get their places.
 * After the mark is taken, a new number *n* is taken: all transactions with places below the mark have numbers below *n*.
 * They have all ended when no running transaction has a number below *n*. (The end of a snapshot would not be enough: it
 * follows the newest ended transaction, and younger ones, with places below the mark, may be running.)
 */
export const closedMark = Effect.fnUntraced(function* (records: ExportRecords, shard: Shard) {
  const { sql: coordinator } = yield* LongQueries
  if (records === "audit") {
    // Entries are written one after the other: each waits for the one before.
    const [head] = yield* coordinator<Mark>`select seq + 1 as place, clock_timestamp() as since from audit_head`
    return head ?? (yield* Effect.die("the audit log has a head"))
  }
  const [mark] = yield* shard.run(({ sql, books }) => sql<Mark>`select * from ${books}books_now()`)
  if (mark === undefined) return yield* Effect.die("there is a mark")
  yield* allEnded(coordinator)
  // Credits are written through the coordinator: their transactions there end first.
  if (shard.key !== "") yield* shard.run(({ sql }) => allEnded(sql))
  return mark
})

const allEnded = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  const [next] = yield* sql<{ xid: string }>`select pg_current_xact_id()::text as xid`
  const haveEnded = Effect.map(
    sql<{ ended: boolean }>`select pg_snapshot_xmin(pg_current_snapshot()) >= ${next?.xid ?? "0"}::xid8 as ended`,
    ([row]) => row?.ended === true,
  )
  while (!(yield* haveEnded)) yield* Effect.sleep(askEvery)
})
