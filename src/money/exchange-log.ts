/** Exchanges that have ended, newest first, and one from end to end: from usage records, reports and transfers. */

import { Context, Effect, Layer, Schema } from "effect"
import {
  type ExchangeDetail,
  type ExchangeLogPage,
  type LoggedExchange,
  loggedFields,
} from "../protocol/control/exchange-log.ts"
import { type ServiceError, serviceError } from "../protocol/error.ts"
import { cursorReader, pageOf } from "../protocol/values/cursor.ts"
import type { Tags } from "../protocol/values/tags.ts"
import { StoredText } from "../protocol/values/text.ts"
import { LongQueries } from "../store/connections.ts"
import { withDeadline } from "../store/database.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"
import { tidy } from "./amount.ts"
import { makeRecordFilters } from "./record-filters.ts"
import type { Page } from "./statements.ts"
import { usageJson } from "./usage-record.ts"

export interface LogFilter {
  readonly org?: string | undefined
  readonly app?: string | undefined
  readonly key?: string | undefined
  readonly model?: string | undefined
  readonly vendor?: string | undefined
  readonly stop?: string | undefined
  /** An error code. */
  readonly code?: string | undefined
  readonly estimated?: boolean | undefined
  readonly purpose?: string | undefined
  /** Only billed exchanges with these tags. */
  readonly tags?: Tags | undefined
  readonly session?: string | undefined
  /** The service's request id, or the caller's. */
  readonly request?: string | undefined
  /** Only calls with the tokens of this person. */
  readonly person?: string | undefined
  /** Milliseconds since the epoch. */
  readonly fromMs: number
  readonly toMs: number
}

/** An exchange as it is stored: all but the lines of its bill. */
export type StoredExchange = Omit<ExchangeDetail, "lines">

export class ExchangeLog extends Context.Service<
  ExchangeLog,
  {
    readonly list: (
      filter: LogFilter,
      page: Page,
    ) => Effect.Effect<ExchangeLogPage, ServiceError<"bad_request"> | StoreUnavailable>
    /** @param atMs the time when it ended, as in the list; @param person returns it only if it is a call of this person */
    readonly find: (
      org: string,
      id: string,
      atMs: number,
      person?: string,
    ) => Effect.Effect<StoredExchange, ServiceError<"not_found"> | StoreUnavailable>
  }
>()("weir/money/ExchangeLog") {
  static readonly layer = Layer.effect(
    ExchangeLog,
    Effect.gen(function* () {
      const { sql } = yield* LongQueries
      const bounded = withDeadline("30 seconds")

      const { instant, ofPerson } = makeRecordFilters(sql)

      /** The filters of records and reports. */
      const narrow = ({ org, app, key, model, purpose, session, request, person }: LogFilter) =>
        [
          ...Object.entries({ org_id: org, app_id: app, key_id: key, model, purpose, session_id: session }).flatMap(
            ([column, value]) => (value === undefined ? [] : [sql`u.${sql(column)} = ${value}`]),
          ),
          ...(request === undefined ? [] : [sql`(u.ref = ${request} or u.request_id = ${request})`]),
          ofPerson(person),
        ] as const

      const list = Effect.fnUntraced(function* (filter: LogFilter, { limit, cursor }: Page) {
        const { vendor, stop, code, estimated, tags } = filter
        const [beforeText, ref] = yield* placeOf(cursor)
        const before = Number(beforeText)
        const lastMs = Math.min(filter.toMs, before / 1000 + 1)
        const rows: Array<LogRow> = []
        // The search goes backwards in growing windows: without an organisation no index has the order of time.
        for (
          let [toMs, lengthMs] = [lastMs, firstWindowMs];
          rows.length <= limit && toMs > filter.fromMs;
          lengthMs *= 6
        ) {
          const fromMs = Math.max(filter.fromMs, toMs - lengthMs)
          const within = [
            sql`u.at >= ${instant(fromMs)} and u.at < ${instant(toMs)}`,
            sql`(u.at, u.ref) < (${instant(before / 1000)}, ${ref})`,
            ...narrow(filter),
          ]
          const records = [
            ...within,
            ...(tags === undefined ? [] : [sql`u.tags @> ${JSON.stringify(tags)}::text::jsonb`]),
            ...(vendor === undefined ? [] : [sql`u.vendor = ${vendor}`]),
            ...(stop === undefined ? [] : [sql`u.stop = ${stop}`]),
            ...(code === undefined ? [] : [sql`r.code = ${code}`]),
            ...(estimated === undefined ? [] : [sql`(u.estimated_reason is not null) = ${estimated}`]),
          ]
          const hasFailures = stop === undefined && estimated !== true && tags === undefined
          const failures = [
            ...within,
            sql`not u.is_billed and u.code is not null`,
            ...(hasFailures ? [] : [sql`false`]),
            ...(vendor === undefined ? [] : [sql`${triedLast} = ${vendor}`]),
            ...(code === undefined ? [] : [sql`u.code = ${code}`]),
          ]
          const found = yield* bounded(sql<LogRow>`
            select micros, ref, row from (
              (select ${micros} as micros, u.ref, ${recordRow} as row
                from usage_records u left join exchange_reports r on r.org_id = u.org_id and r.ref = u.ref
                  and r.at between u.at - interval '1 minute' and u.at + interval '1 minute'
                where ${sql.and(records)} order by u.at desc, u.ref desc limit ${limit + 1}::int)
              union all
              (select ${micros} as micros, u.ref, ${reportRow} as row from exchange_reports u
                where ${sql.and(failures)} order by u.at desc, u.ref desc limit ${limit + 1}::int)) x
            order by micros::bigint desc, ref desc limit ${limit + 1 - rows.length}::int`)
          rows.push(...found)
          toMs = fromMs
        }
        const { data, nextCursor } = pageOf(rows, limit, ({ micros, ref }) => [micros, ref])
        return { data: data.map(({ row }) => tidied(row)), nextCursor }
      })

      const micros = sql`(extract(epoch from u.at) * 1000000)::bigint::text`
      const recordRow = sql.literal(
        usageJson("u", loggedFields, {
          code: "r.code",
          isBilled: "true",
          tookMs: "coalesce(r.took_ms, u.total_ms)",
        }),
      )
      /** A call that failed names the vendor of its last try. */
      const triedLast = sql`coalesce(u.attempts -> -1 ->> 'vendor', '')`
      const reportRow = sql`jsonb_strip_nulls(jsonb_build_object(
        'id', u.ref, 'at', to_json(u.at) #>> '{}', 'org', u.org_id, 'app', u.app_id, 'key', u.key_id,
        'requestId', u.request_id, 'sessionId', u.session_id, 'purpose', u.purpose, 'model', u.model, 'vendor', ${triedLast},
        'code', u.code, 'isBilled', false, 'inTokens', 0, 'outTokens', 0, 'cacheReadTokens', 0, 'cacheWriteTokens', 0,
        'cost', '0', 'cacheNetSaving', '0', 'tookMs', u.took_ms))`

      const find = Effect.fnUntraced(function* (org: string, id: string, atMs: number, person?: string) {
        const near = sql`u.org_id = ${org} and u.ref = ${id} and ${ofPerson(person)}
          and u.at >= ${instant(atMs - nearMs)} and u.at <= ${instant(atMs + nearMs)}`
        const [row] = yield* bounded(sql<DetailRow>`
          select x.row, x.dims, x.tiers, coalesce(r.attempts, '[]') as attempts, r.trace_id as trace
          from (
            (select ${recordRow} as row, u.dims, jsonb_strip_nulls(jsonb_build_object('connect', u.connect_ms,
                'ttfb', u.ttfb_ms, 'idle', u.idle_ms, 'total', u.total_ms)) as tiers
              from usage_records u left join exchange_reports r on r.org_id = u.org_id and r.ref = u.ref
                and r.at between u.at - interval '1 minute' and u.at + interval '1 minute'
              where ${near})
            union all
            (select ${reportRow}, '{}', '{}' from exchange_reports u where ${near} and not u.is_billed)) x
          left join exchange_reports r on r.org_id = ${org} and r.ref = ${id}
            and r.at >= ${instant(atMs - nearMs)} and r.at <= ${instant(atMs + nearMs)}
          limit 1`)
        if (row === undefined)
          return yield* serviceError("not_found", "The exchange does not exist, or is no longer kept")
        const transfers = yield* bounded(sql<Transfer>`
          select to_json(at) #>> '{}' as at, kind, debit_account as "from", credit_account as "to", amount::text as amount,
            currency
          from transfers u where u.org_id = ${org} and u.ref = ${id}
            and u.at >= ${instant(atMs - nearMs)} and u.at <= ${instant(atMs + dayMs)}
          order by u.id`)
        return {
          ...tidied(row.row),
          dims: row.dims,
          tiers: row.tiers,
          attempts: row.attempts,
          transfers: transfers.map((transfer) => ({ ...transfer, amount: tidy(transfer.amount) })),
          ...(row.trace !== null && { traceId: row.trace }),
        }
      })
      return ExchangeLog.of({ list, find })
    }),
  )
}

interface LogRow {
  readonly micros: string
  readonly ref: string
  readonly row: LoggedExchange
}

interface DetailRow {
  readonly row: LoggedExchange
  readonly dims: ExchangeDetail["dims"]
  readonly tiers: ExchangeDetail["tiers"]
  readonly attempts: ExchangeDetail["attempts"]
  readonly trace: string | null
}

type Transfer = ExchangeDetail["transfers"][number]

const firstWindowMs = 3_600_000
/** The records of one exchange are written at about the same time; a settlement may come late. */
const nearMs = 60_000
const dayMs = 86_400_000

const tidied = (row: LoggedExchange): LoggedExchange => ({
  ...row,
  cost: tidy(row.cost),
  cacheNetSaving: tidy(row.cacheNetSaving),
})

/** A time in microseconds, and the id of an exchange that ended then. */
const placeOf = cursorReader(
  Schema.Tuple([Schema.String.check(Schema.isPattern(/^\d{1,16}$/)), StoredText.check(Schema.isMaxLength(256))]),
  ["4102444800000000", ""],
)
