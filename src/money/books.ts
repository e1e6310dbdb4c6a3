/** The books for operators: balances, entries, and a consistency check. */
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { DoctorResponse, LedgerResponse } from "../protocol/admin.ts"
import { queryDeadline, withDeadline } from "../store/database.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"
import { tidy } from "./amount.ts"

export class Books extends Context.Service<
  Books,
  {
    /** Every inconsistency, each with the id that it concerns; empty if the ledger is consistent. */
    readonly audit: Effect.Effect<DoctorResponse["findings"], StoreUnavailable>
    /** The balance of every organisation. */
    readonly balances: Effect.Effect<ReadonlyArray<OrgBalance>, StoreUnavailable>
    /** Balances and the newest entries of an org. */
    readonly ledger: (orgId: string) => Effect.Effect<LedgerResponse, StoreUnavailable>
  }
>()("weir/money/Books") {
  static readonly layer = Layer.effect(
    Books,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const bounded = yield* queryDeadline
      return Books.of({
        audit: sql<DoctorResponse["findings"][number]>`select finding, id from ledger_audit() order by 1, 2`.pipe(
          withDeadline(auditDeadline),
        ),
        balances: bounded(sql<OrgBalance>`
          select org_id as "orgId", currency, available::text as available, held::text as held from balances`).pipe(
          Effect.map((rows) => rows.map((row) => ({ ...row, available: tidy(row.available), held: tidy(row.held) }))),
        ),
        ledger: Effect.fnUntraced(function* (orgId) {
          const balances = yield* bounded(sql<Balance>`
            select currency, available::text as available, held::text as held
            from balances where org_id = ${orgId} order by currency`)
          const entries = yield* bounded(sql<Entry>`
            select to_json(at) #>> '{}' as at, kind, account, amount::text as amount, currency, ref
            from entries where org_id = ${orgId} order by id desc limit ${maxEntries}::int`)
          return {
            balances: balances.map((row) => ({ ...row, available: tidy(row.available), held: tidy(row.held) })),
            entries: entries.map((row) => ({ ...row, amount: tidy(row.amount) })),
          }
        }),
      })
    }),
  )
}

export interface OrgBalance extends Balance {
  readonly orgId: string
}

const maxEntries = 100

/** The check reads every entry; it may take longer than a call on the hot path. */
const auditDeadline = "60 seconds"

type Entry = LedgerResponse["entries"][number]
type Balance = LedgerResponse["balances"][number]
