/**
 * Connections to PostgreSQL, of four kinds, so that no call waits for other statements:
 * - of calls ({@link CallQueries}, and the shards): statements are pipelined, so each waits for those that were sent before
 *   it. They are short, and wait for a lock for a moment only: an organisation whose rows are locked for longer is asked for by the
 *   third kind;
 * - of everything else that is short (`SqlClient`): it may wait, such as for the lock of the audit log;
 * - of what takes longer the more there is ({@link LongQueries});
 * - that wait for notifications (`PgClient`): of changes, and of recalls. The second and third run one statement at a time,
 *   and cancel it at the server when nobody waits for it any more. The others are left when the server owes an answer for
 *   long (`server-socket.ts`).
 */
import * as PgClient from "@effect/sql-pg/PgClient"
import { Context, type Redacted } from "effect"
import type { SqlClient } from "effect/sql"
import { applicationName } from "./schema-state.ts"
import { serverOptions } from "./server-options.ts"
import { keepAliveMs, serverSockets } from "./server-socket.ts"
import type { Connect } from "./shards/server-clients.ts"
import type { Shards } from "./shards/shards.ts"

/** The queries of a call: credentials, sessions, its spending. */
export class CallQueries extends Context.Service<CallQueries, { readonly sql: SqlClient.SqlClient }>()(
  "weir/store/CallQueries",
) {}

/** Queries that take long: reports, checks, exports, removals, and catalogues. */
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
  readonly forNotifications: Connect
}

/**
 * @param number of connections, `SVC_DATABASE_CONNECTIONS`
 * @param deadlineMs after which nobody waits for a statement of a call, `SVC_DATABASE_DEADLINE_MS`
 */
export const connectionsOf = (number: number, deadlineMs: number): Connections => {
  const third = Math.floor(number / 3)
  const silenceMs = deadDeadlines * deadlineMs
  const ofCalls = { multiplex: true, silenceMs, maxConnections: Math.max(1, number - 2 * third) }
  return {
    forCalls: pool({ ...ofCalls, minConnections: 1 }),
    forShards: pool(ofCalls),
    forOthers: pool({ minConnections: 1, maxConnections: Math.max(1, third) }),
    forLongQueries: pool({ maxConnections: Math.max(exporting + 1, third) }),
    // Two connections listen, for changes and for recalls: there is one for each of them, even if the number is smaller.
    forNotifications: pool({ silenceMs, maxConnections: Math.max(2, number) }),
  }
}

interface Pool extends Pick<PgClient.PgPoolConfig, "multiplex" | "minConnections" | "maxConnections"> {
  /** The time in which the server must answer. */
  readonly silenceMs?: number
}

const pool =
  ({ silenceMs, ...size }: Pool): Connect =>
  (url: Redacted.Redacted) => {
    const stream = silenceMs === undefined ? undefined : serverSockets(url, silenceMs)
    return PgClient.layer({
      ...size,
      ...serverOptions(url),
      stream,
      applicationName,
      connectTimeout: "5 seconds",
      keepAlive: keepAliveMs,
    })
  }

/** Deadlines after which a connection that is silent, and owes an answer, is left for a new one. */
const deadDeadlines = 2

/** The connections of exports, which use them for minutes. */
const exporting = 2
