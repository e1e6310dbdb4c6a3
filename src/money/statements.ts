/** Usage records and ledger entries of an organisation, newest first, with cursors. */
import { Context, Effect, Layer } from "effect"
import { type LedgerStatement, type UsageStatement, usageStatementFields } from "../protocol/control/statement.ts"
import type { ServiceError } from "../protocol/error.ts"
import { pageOf, placeInTime } from "../protocol/values/cursor.ts"
import { LongQueries } from "../store/connections.ts"
import { queryDeadline } from "../store/database.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"
import { tidy } from "./amount.ts"
import { usageJson } from "./usage-record.ts"

export interface Page {
  readonly limit: number
  readonly cursor: string | undefined
}

type StatementError = ServiceError<"bad_request"> | StoreUnavailable

export class Statements extends Context.Service<
  Statements,
  {
    readonly usage: (orgId: string, page: Page) => Effect.Effect<UsageStatement, StatementError>
    readonly ledger: (orgId: string, page: Page) => Effect.Effect<LedgerStatement, StatementError>
  }
>()("weir/money/Statements") {
  static readonly layer = Layer.effect(
    Statements,
    Effect.gen(function* () {
      const { sql } = yield* LongQueries
      const bounded = yield* queryDeadline
      return Statements.of({
        usage: Effect.fnUntraced(function* (orgId, { limit, cursor }) {
          const [before, ref] = yield* placeInTime(cursor)
          const rows = yield* bounded(sql<UsageRow>`
            select (extract(epoch from at) * 1000000)::bigint::text as micros, ref, ${sql.literal(usageRow)} as row
            from usage_records u where org_id = ${orgId}
              and (at, ref) < (timestamptz 'epoch' + least(${before}::text::bigint, 4102444800000000) * interval '1 microsecond', ${ref})
            order by at desc, ref desc limit ${limit + 1}::int`)
          const { data, nextCursor } = pageOf(rows, limit, ({ micros, ref }) => [micros, ref])
          return {
            data: data.map(({ row }) => ({ ...row, cost: tidy(row.cost), cacheNetSaving: tidy(row.cacheNetSaving) })),
            nextCursor,
          }
        }),
        ledger: Effect.fnUntraced(function* (orgId, { limit, cursor }) {
          const [before] = yield* placeInTime(cursor)
          const rows = yield* bounded(sql<LedgerRow>`
            select number::text as id, to_json(at) #>> '{}' as at, kind, account, amount::text as amount, currency, ref
            from ledger_entries e
            where org_id = ${orgId} and e.id <= ${before}::text::bigint / 2 and number < ${before}::text::bigint
            order by e.id desc, number desc limit ${limit + 1}::int`)
          const { data, nextCursor } = pageOf(rows, limit, ({ id }) => [id, ""])
          return { data: data.map((row) => ({ ...row, amount: tidy(row.amount) })), nextCursor }
        }),
      })
    }),
  )
}

const usageRow = usageJson(
  "u",
  usageStatementFields.map((field) => [field, field]),
)

interface UsageRow {
  readonly micros: string
  readonly ref: string
  readonly row: UsageStatement["data"][number]
}

type LedgerRow = LedgerStatement["data"][number]
