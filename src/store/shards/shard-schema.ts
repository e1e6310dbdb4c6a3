/**
 * A shard on the server that has it is a schema: a view of the shard's part of each table, under the table's own name, and a
 * copy of each function of the books, which finds these views and nothing else. The functions there are plain PostgreSQL.
 * Each begins by taking the lock that Citus itself takes before it writes, and by making sure that the shard is still there.
 */
import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import { functionFiles, functionsIn, migrationsTable, newestMigration } from "../migrations.ts"
import { inTransaction } from "../transaction.ts"
import type { PlacedShard } from "./placement.ts"

/** The tables that belong to organisations and change with every call: one shard has all rows of an organisation. */
export const bookTables = [
  "counters",
  "allotments",
  "transfers",
  "usage_records",
  "usage_late",
  "usage_corrections",
  "spent_requests",
  "spent_days",
  "holds",
  "replies",
  "responses",
  "response_items",
  "response_events",
  "conversations",
  "conversation_items",
  "client_files",
  "batches",
  "batch_chunks",
  "batch_submissions",
  "batch_results",
  "content_objects",
  "jobs",
  "job_attempts",
  "exchange_reports",
  "failure_counts",
  "usage_rollups",
  "first_frame_rollups",
  "unit_rollups",
  "usage_folded",
  "usage_stale_hours",
  "usage_kept",
  "nodes",
  "events",
  "books_months",
  "books_openings",
] as const

/** Rows of a whole shard: they have its key. */
const keyedTables = ["usage_folded", "usage_stale_hours", "usage_kept", "nodes", "books_months"]

/** Names of the functions of which a shard has copies: those of the books, and the functions that they call. */
export const bookFunctions = (): ReadonlyArray<string> => [
  ...new Set(
    functionFiles()
      .filter((file) => file.startsWith("functions/books/"))
      .flatMap(functionsIn),
  ),
  "first_frame_bucket",
  "spent_days_after",
]

/** The error code of a shard that is not on the server where it was expected. */
export const movedCode = "WB001"

export interface BookFunction {
  /** `create or replace function public.ledger_allot(…) …`. */
  readonly definition: string
  readonly schema: string
  readonly signature: string
}

/** The functions of the books, as the coordinator has them. */
export const readFunctions = (sql: SqlClient.SqlClient) => sql<BookFunction>`
  select pg_get_functiondef(p.oid) as definition, n.nspname as schema,
    format('%I(%s)', p.proname, pg_get_function_identity_arguments(p.oid)) as signature
  from pg_proc p join pg_namespace n on n.oid = p.pronamespace
  where n.nspname = current_schema() and p.proname = any(${bookFunctions()}::text[])
  order by p.oid`

/** The parts of tables that are a shard, by the names of the tables. */
const readParts = (sql: SqlClient.SqlClient, { min }: PlacedShard) => sql<{ table: string; part: string }>`
  select c.relname as table, format('%I.%I', n.nspname, c.relname || '_' || s.shardid) as part
  from pg_dist_shard s join pg_class c on c.oid = s.logicalrelid join pg_namespace n on n.oid = c.relnamespace
  where s.shardminvalue::int = ${min}::int and c.relname = any(${[...bookTables]}::text[])`

/**
 * Makes a shard's schema on the server that has it, unless it is there and of this version or a newer one.
 * @param coordinator has the functions, and knows which migrations were applied
 */
export const ensureSchema = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  shard: PlacedShard,
  coordinator: SqlClient.SqlClient,
) {
  const isThere = Effect.map(
    sql<{ mark: string | null; views: number }>`
      select obj_description(to_regnamespace(${shard.name}), 'pg_namespace') as mark,
        (select count(*)::int from pg_views where schemaname = ${shard.name}) as views`,
    ([row]) => Number(row?.mark?.slice(markPrefix.length)) >= newestMigration && (row?.views ?? 0) >= bookTables.length,
  )
  if (yield* isThere) return
  const functions = yield* readFunctions(coordinator)
  const [applied] = yield* coordinator<{ newest: number }>`
    select max(migration_id)::int as newest from ${coordinator(migrationsTable)}`
  const mark = `${markPrefix}${applied?.newest ?? newestMigration}`
  const parts = yield* readParts(sql, shard)
  yield* inTransaction(
    sql,
    Effect.gen(function* () {
      yield* sql`select pg_advisory_xact_lock(hashtext('weir.shards'))`
      if (yield* isThere) return
      yield* sql.unsafe(schemaText(shard, parts, functions, mark))
    }),
  )
})

/** The comment of a shard's schema: the newest migration that its functions have. */
const markPrefix = "weir "

const schemaText = (
  { name, id, key }: PlacedShard,
  parts: ReadonlyArray<{ readonly table: string; readonly part: string }>,
  functions: ReadonlyArray<BookFunction>,
  mark: string,
): string => `do $shard$ begin
perform set_config('citus.enable_ddl_propagation', 'off', true);
perform set_config('client_min_messages', 'warning', true);
perform set_config('check_function_bodies', 'off', true);
drop schema if exists ${name} cascade;
create schema ${name};
comment on schema ${name} is '${mark}';
-- Nothing else is found: where a view is gone, its function fails, and does not write to the table of all shards.
perform set_config('search_path', '${name}', true);
${parts.map(({ table, part }) => `create view ${name}.${table} as select * from ${part};`).join("\n")}
${keyedTables.map((table) => `alter view ${name}.${table} alter column org_id set default '${key}';`).join("\n")}
create sequence ${name}.transfer_ids;
create function ${name}.next_transfer_id() returns bigint language sql volatile as $fn$ ${transferId(`${name}.transfer_ids`, 0)} $fn$;
alter view ${name}.transfers alter column id set default ${name}.next_transfer_id();
create function ${name}.book_table(p_name text) returns regclass language sql stable as $fn$
  select t.part::regclass from (values ${parts.map(({ table, part }) => `('${table}', '${part}')`).join(", ")}) t(name, part) where t.name = p_name
$fn$;
create function ${name}.books_key() returns text language sql immutable as $fn$ select '${key}' $fn$;
-- Credits have places by the coordinator's clock: half a minute of difference does no harm.
create function ${name}.books_now() returns table (place bigint, since timestamptz) language plpgsql as $fn$ begin
  since := clock_timestamp() - interval '30 seconds';
  place := (extract(epoch from since) * 1000)::bigint * 1024;
  return next;
end $fn$;
create function ${name}.books_bytes() returns bigint language sql stable as $fn$
  select sum(pg_total_relation_size(i.relid))::bigint
  from unnest(array[${parts.map(({ part }) => `'${part}'`).join(", ")}]) t(name)
  cross join lateral (
    select t.name::regclass as relid union select p.relid from pg_partition_tree(t.name::regclass) p) i
$fn$;
create function ${name}.books_moved() returns boolean language plpgsql as $fn$ begin
  perform lock_shard_metadata(5, array[${id}]);
  if exists (select from pg_dist_placement p join pg_dist_local_group g using (groupid) where p.shardid = ${id}) then
    return false;
  end if;
  raise exception '${name} is not on this server' using errcode = '${movedCode}';
end $fn$;
${functions
  .map(
    ({ definition, schema, signature }) => `${definition.replace(` ${schema}.`, ` ${name}.`)};
alter function ${name}.${signature} set search_path from current;`,
  )
  .join("\n")}
end $shard$`

/**
 * Ids of transfers that were made on several servers are in the order of time: milliseconds, then a number that no other
 * transfer of that millisecond has. The coordinator's (1) are odd, a shard's (0) even.
 */
export const transferId = (sequence: string, parity: 0 | 1): string =>
  `select (extract(epoch from clock_timestamp()) * 1000)::bigint * 1024 + nextval('${sequence}') % 512 * 2 + ${parity}`
