/** The positions of exports in the database, and the windows that each has written or has to write. */
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { ExportFill, ExportFormat, ExportRecords } from "../protocol/control/export.ts"
import { queryDeadline } from "../store/database.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"
import type { Window } from "./window-rows.ts"

/** An export's records in one shard; `months` of no export are the months of transfers that are closed there. */
export interface PositionName<Records extends string = ExportRecords> {
  readonly export: string
  readonly records: Records
  readonly shard: string
}

/** A place that no record has reached, and a time before which records of lower places were written. */
export interface Mark {
  readonly place: bigint
  readonly since: Date
}

/** The name of a lease: an export's records, or the closing of months. */
export type LeaseName = PositionName<ExportRecords | "months">

export interface Lease extends LeaseName {
  readonly failures: number
}

export interface Position extends PositionName {
  readonly place: bigint
  readonly at: Date
  readonly started_place: bigint
  readonly started_at: Date
  readonly is_active: boolean
  readonly failures: number
  readonly problem: string | null
}

/** A window that is to be written. */
export interface OpenWindow extends Window {
  readonly format: ExportFormat
}

export interface Landed {
  readonly files: number
  readonly rows: number
}

export class ExportStore extends Context.Service<
  ExportStore,
  {
    readonly positions: Effect.Effect<ReadonlyArray<Position>, StoreUnavailable>
    /** Begins at a mark; an existing position stays. */
    readonly start: (name: PositionName, mark: Mark) => Effect.Effect<void, StoreUnavailable>
    /** Begins at the position of another, as if it had written that one's records. */
    readonly goOn: (name: PositionName, from: PositionName) => Effect.Effect<void, StoreUnavailable>
    /** Removes a position, with its windows. */
    readonly forget: (name: PositionName) => Effect.Effect<void, StoreUnavailable>
    /** Records the exports of the catalogue: records that other exports have not written are not waited for. */
    readonly setActive: (exports: ReadonlyArray<string>) => Effect.Effect<void, StoreUnavailable>
    /** Takes a position that is due, for a while; undefined if there is none. */
    readonly take: (
      exports: ReadonlyArray<string>,
      node: string,
    ) => Effect.Effect<Position | undefined, StoreUnavailable>
    /** Takes the closing of months in a shard, in the same way. */
    readonly takeMonths: (shard: string, node: string) => Effect.Effect<Lease | undefined, StoreUnavailable>
    /** Renews the lease; false if another node has taken it. */
    readonly renew: (name: LeaseName, node: string) => Effect.Effect<boolean, StoreUnavailable>
    /** Gives it back. @param againMs when it is due again @param problem why its work was not done */
    readonly release: (
      name: LeaseName,
      node: string,
      againMs: number,
      problem: string | undefined,
    ) => Effect.Effect<void, StoreUnavailable>
    /** The oldest window that has not landed. */
    readonly open: (name: PositionName) => Effect.Effect<OpenWindow | undefined, StoreUnavailable>
    /** Closes the window from the position to a mark; nothing can be added to it any more. */
    readonly close: (name: PositionName, window: Window, format: ExportFormat) => Effect.Effect<void, StoreUnavailable>
    /** Moves the position over a window that has no records. */
    readonly skip: (name: PositionName, window: Window) => Effect.Effect<void, StoreUnavailable>
    /** Records that all files of a window are in place. The position moves over it. */
    readonly land: (name: PositionName, window: Window, landed: Landed) => Effect.Effect<void, StoreUnavailable>
    /** Marks windows of a period to be written again, or, for hours before the export was started, for the first time. */
    readonly fill: (
      id: string,
      period: { readonly from: Date; readonly until: Date },
      format: ExportFormat,
    ) => Effect.Effect<ExportFill, StoreUnavailable>
  }
>()("weir/exports/ExportStore") {
  static readonly layer = Layer.effect(
    ExportStore,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const bounded = yield* queryDeadline
      const named = ({ export: id, records, shard }: LeaseName) =>
        sql`export = ${id} and records = ${records} and shard = ${shard}`
      return ExportStore.of({
        positions: bounded(sql<Position>`
          select * from export_positions where records <> 'months' order by export, records, shard`),
        start: ({ export: id, records, shard }, { place, since }) =>
          bounded(sql`
            insert into export_positions (export, records, shard, place, at, started_place, started_at)
            values (${id}, ${records}, ${shard}, ${String(place)}::bigint, ${since}, ${String(place)}::bigint, ${since})
            on conflict do nothing`).pipe(Effect.asVoid),
        goOn: ({ export: id, records, shard }, from) =>
          bounded(sql`
            insert into export_positions (export, records, shard, place, at, started_place, started_at)
            select ${id}, ${records}, ${shard}, place, at, started_place, started_at from export_positions where ${named(from)}
            on conflict do nothing`).pipe(Effect.asVoid),
        forget: (name) =>
          bounded(sql`
            with gone as (delete from export_windows where ${named(name)} and landed_at is null)
            delete from export_positions where ${named(name)}`).pipe(Effect.asVoid),
        setActive: (exports) =>
          bounded(sql`
            update export_positions set is_active = not is_active
            where records <> 'months' and is_active <> (export = any(${[...exports]}::text[]))`).pipe(Effect.asVoid),
        take: (exports, node) =>
          Effect.map(
            bounded(sql<Position>`
              update export_positions set lease_node = ${node}, lease_until = now() + ${lease}::interval
              where (export, records, shard) in (
                select p.export, p.records, p.shard from export_positions p
                where p.export = any(${[...exports]}::text[]) and p.next_at <= now()
                  and (p.lease_until is null or p.lease_until < now())
                order by p.next_at limit 1 for update skip locked)
              returning *`),
            ([row]) => row,
          ),
        takeMonths: (shard, node) =>
          Effect.map(
            bounded(sql<Lease>`
              insert into export_positions as p (export, records, shard, place, at, started_place, started_at, lease_node, lease_until)
              values ('', 'months', ${shard}, 0, now(), 0, now(), ${node}, now() + ${lease}::interval)
              on conflict (export, records, shard) do update
                set lease_node = excluded.lease_node, lease_until = excluded.lease_until
                where p.next_at <= now() and (p.lease_until is null or p.lease_until < now())
              returning *`),
            ([row]) => row,
          ),
        renew: (name, node) =>
          Effect.map(
            bounded(sql`
              update export_positions set lease_until = now() + ${lease}::interval
              where ${named(name)} and lease_node = ${node} returning 1`),
            (rows) => rows.length > 0,
          ),
        release: (name, node, againMs, problem) =>
          bounded(sql`
            update export_positions set lease_node = null, lease_until = null, problem = ${problem ?? null}::text,
              failures = case when ${problem ?? null}::text is null then 0 else failures + 1 end,
              next_at = now() + ${againMs}::double precision * interval '1 millisecond'
            where ${named(name)} and lease_node = ${node}`).pipe(Effect.asVoid),
        open: (name) =>
          Effect.map(
            bounded(sql<OpenWindow>`
              select * from export_windows where ${named(name)} and landed_at is null order by from_place, name limit 1`),
            ([row]) => row,
          ),
        close: ({ export: id, records, shard }, window, format) =>
          bounded(sql`
            insert into export_windows (export, records, shard, name, from_place, until_place, from_at, until_at, is_hour, format)
            values (${id}, ${records}, ${shard}, ${window.name}, ${String(window.from_place)}::bigint,
              ${String(window.until_place)}::bigint, ${window.from_at}, ${window.until_at}, ${window.is_hour}, ${format})
            on conflict do nothing`).pipe(Effect.asVoid),
        skip: (name, { from_place, until_place, until_at }) =>
          bounded(sql`
            update export_positions set place = ${String(until_place)}::bigint, at = ${until_at}
            where ${named(name)} and place = ${String(from_place)}::bigint`).pipe(Effect.asVoid),
        land: (name, { name: window, from_place, until_place, until_at, is_hour }, { files, rows }) =>
          bounded(
            sql`
              with landed as (
                update export_windows set landed_at = now(), files = ${files}::int, rows = ${rows}::bigint
                where ${named(name)} and name = ${window} returning 1)
              update export_positions set place = ${String(until_place)}::bigint, at = ${until_at}
              where ${named(name)} and place = ${String(from_place)}::bigint and not ${is_hour}
                and exists (select from landed)`,
          ).pipe(Effect.asVoid),
        fill: Effect.fnUntraced(function* (id, { from, until }, format) {
          // Closed transfers are only in the files of their month.
          const [closed] = yield* bounded(sql<{ until: Date | null }>`select max(until_at) as until from books_months`)
          const open = closed?.until ?? new Date(0)
          const [filled] = yield* bounded(sql<ExportFill>`
            with again as (
              update export_windows set landed_at = null
              where export = ${id} and landed_at is not null and until_at > ${from} and from_at < ${until}
                and (records <> 'transfers' or from_at >= ${open}::timestamptz + interval '10 minutes')
              returning is_hour
            ), hours as (
              insert into export_windows (export, records, shard, name, from_place, until_place, from_at, until_at, is_hour, format)
              select p.export, p.records, p.shard, 'before-' || to_char(h at time zone 'UTC', 'YYYYMMDDHH24'), 0, p.started_place,
                h, h + interval '1 hour', true, ${format}
              from export_positions p
              cross join lateral generate_series(date_trunc('hour', ${from}::timestamptz, 'UTC'),
                least(${until}::timestamptz, p.started_at + interval '1 minute') - interval '1 microsecond', '1 hour') h
              where p.export = ${id} and (p.records <> 'transfers' or h >= ${open})
              on conflict do nothing
              returning 1
            ), due as (update export_positions set next_at = now() where export = ${id})
            select (select count(*)::int from again where not is_hour) as again,
              (select count(*)::int from hours) + (select count(*)::int from again where is_hour) as hours`)
          return filled ?? { again: 0, hours: 0 }
        }),
      })
    }),
  )
}

/** A node that writes renews its lease; another node takes a position after this time if its node died. */
const lease = "1 minute"
