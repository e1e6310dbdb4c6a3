/**
 * Transactions that the server ends when their client has vanished. A node that is frozen, or that the network has cut off,
 * would keep its locks until TCP gives up, hours later: those of organisations, of the audit log, of tables.
 */
import { Duration, Effect } from "effect"
import type { SqlClient, SqlError } from "effect/sql"

/** More than a client takes between two statements. */
const longestIdle: Duration.Input = "1 minute"

/**
 * Runs in a transaction.
 * @param idleFor the time for which the server waits for the next statement before it ends the connection
 */
export const inTransaction = <A, E, R>(
  sql: SqlClient.SqlClient,
  work: Effect.Effect<A, E, R>,
  idleFor: Duration.Input = longestIdle,
): Effect.Effect<A, E | SqlError.SqlError, R> =>
  sql.withTransaction(Effect.andThen(endsWithItsClient(sql, idleFor), work))

/** The first statement of a transaction. A pooler gives the connection to others later: it is of this transaction only. */
export const endsWithItsClient = (sql: SqlClient.SqlClient, idleFor: Duration.Input = longestIdle) =>
  sql`select set_config('idle_in_transaction_session_timeout', ${String(Duration.toMillis(Duration.fromInputUnsafe(idleFor)))}, true)`
