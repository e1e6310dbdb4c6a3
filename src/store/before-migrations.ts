/**
 * Statements before migrations, each by itself, so that exchanges go on: in the transaction of the migrations, they would
 * hold a lock for as long as they read a table.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

const timeIndex = (table: string, column: string): ReadonlyArray<string> => [
  // A server that died left an invalid index.
  `do $$ declare i regclass := to_regclass('${table}_by_time'); begin
    if exists (select from pg_index where indexrelid = i and not indisvalid) then drop index ${table}_by_time; end if;
  end $$`,
  `create index concurrently if not exists ${table}_by_time on ${table} using brin (${column})
    with (pages_per_range = 16, autosummarize = on)`,
]

/** Statements by the migration that needs them. Each changes nothing if it was done. */
const statements: ReadonlyMap<string, ReadonlyArray<string>> = new Map([
  [
    "0040_closed_months",
    [
      ...timeIndex("transfers", "at"),
      // The condition of the first partition: with it, the partition is attached without reading it.
      `do $$ begin
        if not exists (select from pg_constraint where conrelid = 'transfers'::regclass and conname = 'transfers_first_until') then
          execute format('alter table transfers add constraint transfers_first_until check (at < %L) not valid',
            to_char(date_trunc('month', now() at time zone 'UTC') + interval '2 months', 'YYYY-MM-DD') || ' 00:00:00+00');
        end if;
      end $$`,
      "alter table transfers validate constraint transfers_first_until",
    ],
  ],
  ["0041_spent_days", timeIndex("spent_requests", "settled_at")],
])

/** @param missing migrations that a database lacks which has others */
export const beforeMigrations = Effect.fnUntraced(function* (missing: ReadonlyArray<{ readonly name: string }>) {
  const sql = yield* SqlClient.SqlClient
  // An older database has other tables: nodes must stop for its migrations in any case.
  if (missing.some(({ name }) => name === "0037_shards")) return
  const needed = missing.flatMap(({ name }) => statements.get(name) ?? [])
  // Another node may do the same.
  yield* Effect.forEach(needed, (statement) => Effect.retry(sql.unsafe(statement), { times: 3 }), { discard: true })
})
