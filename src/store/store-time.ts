/** Times that nodes share are those of the database: each node has a clock of its own. */
import type { SqlClient } from "effect/sql"

/** The present time plus so many milliseconds, as a part of a statement. */
export const afterNow = (sql: SqlClient.SqlClient, millis: number) =>
  sql`now() + ${millis}::double precision * interval '1 millisecond'`
