/** Turns one PostgreSQL with the extension Citus into a database whose books are spread over shards, with what is in it. */
import { Data, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { inTransaction } from "../transaction.ts"
import { isSpread, readPlacement } from "./placement.ts"
import { bookTables, transferId } from "./shard-schema.ts"

/** The reason why the books cannot be distributed now; the message contains the remedy. */
export class NotDistributed extends Data.TaggedError("NotDistributed")<{ readonly message: string }> {}

export interface Plan {
  readonly servers: number
  readonly bytes: number
}

/** The tables that would be moved, or the reason why nothing can be moved. */
export const planDistribution = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [citus] = yield* sql<{ known: boolean }>`
    select exists (select from pg_extension where extname = 'citus') as known`
  if (citus?.known !== true)
    return yield* refuse("The database has no Citus: create extension citus, and add its workers")
  if (yield* isSpread(sql)) return yield* refuse("The books are spread already: weir db status shows where")
  const [servers] = yield* sql<{ count: number }>`
    select count(*)::int as count from pg_dist_node where isactive and shouldhaveshards and noderole = 'primary'`
  if (servers === undefined || servers.count === 0) {
    return yield* refuse("Citus has no server for the shards: select citus_add_node('host', port) adds one")
  }
  const nodes = yield* sql<{ id: string }>`select id from nodes where lease_until > now()`
  if (nodes.length > 0) {
    return yield* refuse(
      `${nodes.length} ${nodes.length === 1 ? "gateway has a lease" : "gateways have leases"} (${nodes.map(({ id }) => id).join(", ")}): stop all gateways first, and start them afterwards`,
    )
  }
  const [size] = yield* sql<{ bytes: number }>`select books_bytes()::float8 as bytes`
  return { servers: servers.count, bytes: size?.bytes ?? 0 } satisfies Plan
})

const refuse = (message: string) => Effect.fail(new NotDistributed({ message }))

/**
 * Spreads the books, in one transaction. @param shards the number of shards: each is on one server at a time, and moves as a
 * whole
 */
export const distribute = Effect.fnUntraced(function* (shards: number) {
  const sql = yield* SqlClient.SqlClient
  // The holds of killed gateways are settled first: their rows have the name of no shard.
  for (let left = 1; left > 0; ) {
    yield* sql`select count(*) from ledger_reap(1000)`
    const [nodes] = yield* sql<{ count: number }>`select count(*)::int as count from nodes where lease_until < now()`
    left = nodes?.count ?? 0
  }
  yield* inTransaction(sql, spreadTables(sql, shards))
  for (const table of bookTables) yield* sql`select truncate_local_data_after_distributing_table(${table}::regclass)`
})

const spreadTables = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, shards: number) {
  yield* sql`select set_config('client_min_messages', 'warning', true), set_config('citus.shard_replication_factor', '1', true),
    set_config('citus.multi_shard_modify_mode', 'sequential', true)`
  // A gateway that starts at the same time waits, and finds the books spread.
  yield* sql`lock table nodes, counters in access exclusive mode`
  const [node] = yield* sql<{ id: string }>`select id from nodes limit 1`
  if (node !== undefined) return yield* refuse(`The gateway ${node.id} was started meanwhile: stop it first`)
  yield* makeMovable(sql)
  for (const table of bookTables) {
    if (table === "counters") {
      yield* sql`
        select create_distributed_table('counters', 'org_id', colocate_with => 'none', shard_count => ${shards}::int)`
      yield* nameWholes(sql)
    } else yield* sql`select create_distributed_table(${table}::regclass, 'org_id', colocate_with => 'counters')`
  }
  yield* replaceFunctions(sql)
})

/** A shard moves by logical replication, which identifies rows by their keys. */
const makeMovable = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  yield* sql`drop index replies_by_org`
  yield* sql`alter table replies add primary key (org_id, at, ref)`
  yield* sql`alter table usage_stale_hours replica identity full`
  // Each shard numbers its own.
  yield* sql`alter table transfers alter column id drop default`
  yield* sql`alter table usage_kept add primary key (org_id)`
  yield* sql`alter table usage_folded add primary key using index usage_folded_is_one_row`
})

/** Rows of the whole books become rows of each shard. */
const nameWholes = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  const keys = (yield* readPlacement(sql)).map(({ min, max, key }) => ({ min, max, key }))
  const shard = sql`json_to_recordset(${JSON.stringify(keys)}::text::json) as k(min int, max int, key text)`
  const ofShard = sql`u.org_id <> '' and hashtext(u.org_id) between k.min and k.max`
  for (const [table, columns] of [
    ["usage_folded", "hour, day"],
    ["usage_kept", "since"],
    ["usage_stale_hours", "at"],
    ["books_months", "month, until_at, transfers, previous, hash, path, closed_at"],
  ] as const) {
    const [name, values] = [sql(table), sql.literal(columns)]
    yield* sql`insert into ${name} (org_id, ${values}) select k.key, ${values} from ${name} u, ${shard} where u.org_id = ''`
    yield* sql`delete from ${name} where org_id = ''`
  }
  for (const table of ["usage_rollups", "unit_rollups", "first_frame_rollups"]) {
    yield* sql`delete from ${sql(table)} where org_id = ''`
  }
  yield* sql`
    insert into usage_rollups (step, org_id, at, app_id, key_id, model, vendor, purpose, stop, currency, exchanges, estimated,
      in_tokens, out_tokens, cache_read_tokens, cache_write_tokens, cost, cache_net_saving)
    select step, k.key, at, '', '', model, vendor, purpose, stop, currency, sum(exchanges), sum(estimated), sum(in_tokens),
      sum(out_tokens), sum(cache_read_tokens), sum(cache_write_tokens), sum(cost), sum(cache_net_saving)
    from usage_rollups u, ${shard} where ${ofShard} group by step, k.key, at, model, vendor, purpose, stop, currency`
  yield* sql`
    insert into unit_rollups (step, org_id, at, app_id, key_id, model, vendor, purpose, stop, unit, amount)
    select step, k.key, at, '', '', model, vendor, purpose, stop, unit, sum(amount)
    from unit_rollups u, ${shard} where ${ofShard} group by step, k.key, at, model, vendor, purpose, stop, unit`
  yield* sql`
    insert into first_frame_rollups (step, org_id, at, model, vendor, up_to_ms, exchanges)
    select step, k.key, at, model, vendor, up_to_ms, sum(exchanges)
    from first_frame_rollups u, ${shard} where ${ofShard} group by step, k.key, at, model, vendor, up_to_ms`
})

/** Replaces the functions that the coordinator does not run any more, or runs in another way. */
const replaceFunctions = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  // A gateway that does not know that the books are spread changes nothing.
  yield* sql.unsafe(`create or replace function books_moved() returns boolean language plpgsql as $fn$ begin
    raise exception 'the books are spread over shards: restart this gateway';
  end $fn$`)
  yield* sql.unsafe(`create or replace function next_transfer_id() returns bigint language sql volatile as $fn$
    ${transferId("transfers_id_seq", 1)} $fn$`)
  // Reports use these functions on all servers.
  for (const signature of [
    "usage_dims(jsonb, integer, integer, integer, integer)",
    "first_frame_bucket(integer, double precision[])",
  ]) {
    yield* sql`select create_distributed_function(${signature}::regprocedure)`
  }
})
