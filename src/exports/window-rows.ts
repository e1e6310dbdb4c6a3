/** Reads the records of a window on their shard, once. */
import { Effect, Stream } from "effect"
import type { Statement } from "effect/sql"
import type { ExportRecords } from "../protocol/control/export.ts"
import { columnOf, tokenFields } from "../protocol/control/usage-record.ts"
import type { ShardClient } from "../store/shards/shard.ts"
import { type Column, type Row, recordsSchemas, type Value } from "./records.ts"

/** A window of places, or an hour of records from before the export was started. */
export interface Window {
  readonly name: string
  readonly from_place: bigint
  readonly until_place: bigint
  readonly from_at: Date
  readonly until_at: Date
  /** Whether the window is of records with a time in it and places below its last one; otherwise of records with places in it. */
  readonly is_hour: boolean
}

type ValueRow = { readonly [column: string]: Value }

/** @param use receives some rows at a time */
export const readWindow = <E, R>(
  client: ShardClient,
  records: ExportRecords,
  window: Window,
  use: (rows: ReadonlyArray<Row>) => Effect.Effect<void, E, R>,
) => {
  // The records of the window were written before: a shard that has moved here has them.
  const isHere = Effect.asVoid(client.sql`select ${client.books}books_moved()`)
  return Effect.andThen(
    records === "audit" ? Effect.void : isHere,
    inPages(queries[records](client, window), records, use),
  )
}

/** Reads the transfers of a month that is being closed. */
export const readMonth = <E, R>(
  { sql, books }: ShardClient,
  until: Date,
  use: (rows: ReadonlyArray<Row>) => Effect.Effect<void, E, R>,
) => {
  const query = sql<ValueRow>`
    select ${sql.literal(columnsOf("transfers", "t", 0))} from ${books}transfers t where t.at < ${until}`
  return Effect.andThen(Effect.asVoid(sql`select ${books}books_moved()`), inPages(query, "transfers", use))
}

const inPages = <E, R>(
  query: Statement.Statement<ValueRow>,
  records: ExportRecords,
  use: (rows: ReadonlyArray<Row>) => Effect.Effect<void, E, R>,
) => {
  const { columns } = recordsSchemas[records]
  return query.stream.pipe(
    Stream.map((row) => columns.map(({ name }) => row[name] ?? null)),
    Stream.grouped(pageRows),
    Stream.runForEach(use),
  )
}

/** Whether there are any. */
export const hasRecords = (client: ShardClient, records: ExportRecords, window: Window) =>
  Effect.map(client.sql`select from (${queries[records](client, window)}) w limit 1`, (rows) => rows.length > 0)

/** The number of records in a window. */
export const countWindow = (client: ShardClient, records: ExportRecords, window: Window) =>
  Effect.map(
    client.sql<{ count: bigint }>`select count(*) as count from (${queries[records](client, window)}) w`,
    ([row]) => Number(row?.count ?? 0),
  )

/** The first of the records in a range of time whose place is not below another: a window may end before it. */
export const firstRecord = (
  { sql, books }: ShardClient,
  records: ExportRecords,
  { place, from, until }: { readonly place: bigint; readonly from: Date; readonly until: Date },
) => {
  const { table, column } = sources[records]
  const stored = sql.literal(column)
  // The time of a late record does not show when it was written.
  const isPunctual =
    records === "usage"
      ? sql`not exists (select from ${books}usage_late l where l.org_id = r.org_id and l.place = r.place)`
      : sql`true`
  return Effect.map(
    sql<{ place: bigint; at: Date }>`
      select ${stored} as place, r.at from ${records === "audit" ? sql.literal("") : books}${sql.literal(table)} r
      where r.at >= ${from} and r.at < ${until} and ${stored} >= ${String(place)}::bigint and ${isPunctual}
      order by 1 limit 1`,
    ([row]) => row,
  )
}

const sources: { readonly [K in ExportRecords]: { readonly table: string; readonly column: string } } = {
  usage: { table: "usage_records", column: "r.place" },
  transfers: { table: "transfers", column: "r.id" },
  audit: { table: "audit_log", column: "r.seq" },
}

const pageRows = 256

type Query = (client: ShardClient, window: Window) => Statement.Statement<ValueRow>

/**
 * A record's time is at most 15 seconds from when its place was given (of others there is a list, `usage_late`), and a
 * window's end at most 30 seconds after its time. The same time is added for clocks that are set back.
 */
const before = "30 seconds"
const after = "90 seconds"

const usage: Query = ({ sql, books }, window) => {
  const plain = (alias: string) => sql.literal(columnsOf("usage", alias, 2))
  const inTime = sql`u.at >= ${window.from_at}::timestamptz - ${before}::interval and u.at < ${window.until_at}::timestamptz + ${after}::interval`
  const inWindow = (place: string) => {
    const it = sql.literal(place)
    return sql`${it} >= ${String(window.from_place)}::bigint and ${it} < ${String(window.until_place)}::bigint`
  }
  if (window.is_hour) {
    return sql`
      select 'usage' as record, 1 as exchanges, ${plain("u")} from ${books}usage_records u
      where u.at >= ${window.from_at} and u.at < ${window.until_at}
        and (u.place is null or u.place < ${String(window.until_place)}::bigint)`
  }
  return sql`
    select 'usage' as record, 1 as exchanges, ${plain("u")} from ${books}usage_records u where ${inTime} and ${inWindow("u.place")}
    union all
    select 'usage', 1, ${plain("u")}
    from ${books}usage_late l join ${books}usage_records u on u.org_id = l.org_id and u.at = l.at and u.ref = l.ref
    where ${inWindow("l.place")} and u.place = l.place and not (${inTime})
    union all
    select 'usage', 1, ${plain("r")}
    from ${books}usage_corrections c, jsonb_populate_record(null::${books}usage_records, c.record) r
    where ${inWindow("c.undone_place")}
    union all
    select 'correction', -1, ${sql.literal(correction)}
    from ${books}usage_corrections c, jsonb_populate_record(null::${books}usage_records, c.record) r
    where ${inWindow("c.place")}`
}

const transfers: Query = ({ sql, books }, window) => {
  const columns = sql.literal(columnsOf("transfers", "t", 0))
  const from = `${window.from_place}`
  const until = `${window.until_place}`
  if (window.is_hour) {
    return sql`select ${columns} from ${books}transfers t
      where t.at >= ${window.from_at} and t.at < ${window.until_at} and t.id < ${until}::bigint`
  }
  return sql`select ${columns} from ${books}transfers t
    where t.at >= ${window.from_at}::timestamptz - ${before}::interval and t.at < ${window.until_at}::timestamptz + ${after}::interval
      and t.id >= ${from}::bigint and t.id < ${until}::bigint`
}

const audit: Query = ({ sql }, window) => {
  const columns = sql.literal(columnsOf("audit", "a", 0))
  if (window.is_hour) {
    return sql`select ${columns} from audit_log a
      where a.at >= ${window.from_at} and a.at < ${window.until_at} and a.seq < ${String(window.until_place)}::bigint`
  }
  return sql`select ${columns} from audit_log a
    where a.seq >= ${String(window.from_place)}::bigint and a.seq < ${String(window.until_place)}::bigint order by a.seq`
}

const queries: { readonly [K in ExportRecords]: Query } = { usage, transfers, audit }

/** Columns as text where a driver would lose digits or read JSON. @param from the index of the first stored column */
const columnsOf = (records: ExportRecords, alias: string, from: number): string =>
  recordsSchemas[records].columns
    .slice(from)
    .map((column) => `${selected(column, `${alias}.${column.name}`)} as ${column.name}`)
    .join(", ")

const selected = ({ type }: Column, stored: string): string => {
  switch (type) {
    case "time":
      return `(${stored} at time zone 'UTC')::text`
    case "hex":
      return `encode(${stored}, 'hex')`
    case "decimal":
    case "json":
      return `${stored}::text`
    default:
      return stored
  }
}

const tokens: ReadonlySet<string> = new Set(tokenFields.map(columnOf))

/** A record that was taken back, with negative amounts and its original time. */
const correction = recordsSchemas.usage.columns
  .slice(2)
  .map((column) => {
    if (column.name === "at") return selected(column, "c.at")
    if (column.name === "dims") {
      return "(select jsonb_object_agg(d.key, -d.value::numeric) from jsonb_each_text(r.dims) d)::text"
    }
    return selected(
      column,
      column.type === "decimal" || tokens.has(column.name) ? `(-r.${column.name})` : `r.${column.name}`,
    )
  })
  .join(", ")
