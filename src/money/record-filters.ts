/** The filters of usage records and reports of exchanges; the alias of both is `u`. */
import type { SqlClient } from "effect/sql"

export const makeRecordFilters = (sql: SqlClient.SqlClient) => ({
  /** A time in milliseconds. Immutable, so that partitions are chosen when the statement is planned. */
  instant: (ms: number) => sql`to_timestamp(${ms}::float8 / 1000)`,
  /** Only calls with the tokens of a person; all calls if no person is named. */
  ofPerson: (person: string | undefined) =>
    person === undefined ? sql`true` : sql`u.key_id in (select id from access_tokens where user_id = ${person})`,
})
