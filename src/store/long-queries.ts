/**
 * Statements that take longer the more there is: reports, checks, exports, removals. On a connection of calls, whatever was
 * sent after such a statement would wait for it; these connections run one statement at a time, and cancel it at the server
 * when nobody waits for it any more.
 */
import { Context } from "effect"
import type { SqlClient } from "effect/sql"
import type { Shards } from "./shards/shards.ts"

export class LongQueries extends Context.Service<
  LongQueries,
  {
    readonly sql: SqlClient.SqlClient
    /** The same shards as those of calls. */
    readonly shards: Shards["Service"]
  }
>()("weir/store/LongQueries") {}
