/**
 * Connections to PostgreSQL, of three kinds, so that no call waits for what others ask the database:
 * - of calls ({@link CallQueries}, and the shards): statements are pipelined, so each waits for those that were sent before
 *   it. They are short, and wait for no lock but those of their own organisation;
 * - of everything else that is short (`SqlClient`): it may wait, such as for the lock of the audit log;
 * - of what takes longer the more there is ({@link LongQueries}).
 * The last two run one statement at a time, and cancel it at the server when nobody waits for it any more.
 */
import * as PgClient from "@effect/sql-pg/PgClient"
import { Context, type Redacted } from "effect"
import type { SqlClient } from "effect/sql"
import { applicationName } from "./schema-state.ts"
import type { Connect } from "./shards/server-clients.ts"
import type { Shards } from "./shards/shards.ts"

/** What a call asks for: credentials, sessions, what it spends. */
export class CallQueries extends Context.Service<CallQueries, { readonly sql: SqlClient.SqlClient }>()(
  "weir/store/CallQueries",
) {}

/** Reports, checks, exports, removals, and catalogues. */
export class LongQueries extends Context.Service<
  LongQueries,
  {
    readonly sql: SqlClient.SqlClient
    /** The same shards as those of calls. */
    readonly shards: Shards["Service"]
  }
>()("weir/store/LongQueries") {}

export interface Connections {
  readonly forCalls: Connect
  /** To a server that has shards: it may be down. */
  readonly forShards: Connect
  readonly forOthers: Connect
  readonly forLongQueries: Connect
}

/** @param number of connections, `SVC_DATABASE_CONNECTIONS` */
export const connectionsOf = (number: number): Connections => {
  const third = Math.floor(number / 3)
  const ofCalls = { multiplex: true, maxConnections: Math.max(1, number - 2 * third) }
  return {
    forCalls: pool({ ...ofCalls, minConnections: 1 }),
    forShards: pool(ofCalls),
    forOthers: pool({ minConnections: 1, maxConnections: Math.max(1, third) + listening }),
    forLongQueries: pool({ maxConnections: Math.max(exporting + 1, third) }),
  }
}

const pool =
  (
    size: Pick<PgClient.PgClientConfig & PgClient.PgPoolConfig, "multiplex" | "minConnections" | "maxConnections">,
  ): Connect =>
  (url: Redacted.Redacted) =>
    PgClient.layer({ ...size, url, applicationName, connectTimeout: "5 seconds" })

/** Connections that wait for notifications: of changes, and of recalls. */
const listening = 2
/** Exports keep theirs for minutes. */
const exporting = 2
