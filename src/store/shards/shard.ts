/** A part of the books: some organisations, with everything that changes with their calls. */
import { Effect } from "effect"
import type { SqlClient, SqlError, Statement } from "effect/sql"

/** The server that has a shard. */
export interface ShardClient {
  readonly sql: SqlClient.SqlClient
  /** The prefix of the name of each function of the books in a statement. */
  readonly books: Statement.Fragment
}

export interface Shard {
  readonly name: string
  /** The name in `org_id` of rows that belong to the whole shard. */
  readonly key: string
  /** The host and the port of the server that has it; empty if there is one server. */
  readonly server: () => string
  /**
   * Runs a statement on the shard's server, as one transaction. Runs it again if the shard has moved in the meantime, or if a
   * partition was made while the statement waited to write its rows to the default one.
   */
  readonly run: <A, R>(
    query: (client: ShardClient) => Effect.Effect<A, SqlError.SqlError, R>,
  ) => Effect.Effect<A, SqlError.SqlError, R>
}

/** The one shard of a database whose books are in one place, and all rows that are in no shard. */
export const wholeShard = (sql: SqlClient.SqlClient): Shard => {
  const client = { sql, books: sql.literal("") }
  return { name: "books", key: "", server: () => "", run: (query) => againInItsPartition(query(client)) }
}

/** A statement that was planned before a partition was made is refused by the default one; nothing of it was written. */
export const againInItsPartition = <A, R>(
  query: Effect.Effect<A, SqlError.SqlError, R>,
): Effect.Effect<A, SqlError.SqlError, R> => Effect.retry(query, { while: isOfAnotherPartition, times: 3 })

/** PostgreSQL has no code for it, but names the function that refused it. */
const isOfAnotherPartition = (error: SqlError.SqlError): boolean => {
  const { code, routine } = serverErrorOf(error)
  return code === "23514" && routine === "ExecPartitionCheckEmitError"
}

/** The fields of an error that the server sent; none, if it sent none. */
export const serverErrorOf = ({ reason: { cause } }: SqlError.SqlError): Readonly<Record<string, unknown>> =>
  typeof cause === "object" && cause !== null ? { ...cause } : {}
