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
    /** Who has allotments. */
    readonly nodes: Effect.Effect<DoctorResponse["nodes"], StoreUnavailable>
    /** The balance of every organisation. */
    readonly balances: Effect.Effect<ReadonlyArray<OrgBalance>, StoreUnavailable>
    /** Balances, allotments and the newest entries of an org. */
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
        nodes: bounded(sql<DoctorResponse["nodes"][number]>`
          select a.node, coalesce(bool_or(n.lease_until > now()), false) as "isAlive", count(*)::int as allotments,
            to_json(min(a.since)) #>> '{}' as since
          from allotments a left join nodes n on n.id = a.node group by a.node order by a.node`),
        balances: Effect.map(bounded(balancesOf(sql, undefined)), (rows) => rows.map(tidyBalance)),
        ledger: Effect.fnUntraced(function* (orgId) {
          const balances = yield* bounded(balancesOf(sql, orgId))
          const allotments = yield* bounded(sql<AllotmentRow>`
            select a.node, a.counter as currency, (a.granted - a.spent)::text as amount, to_json(a.since) #>> '{}' as since,
              coalesce(n.lease_until > now(), false) as "isAlive"
            from allotments a left join nodes n on n.id = a.node
            where a.org_id = ${orgId} and a.counter not like 'tokens:%' order by a.counter, a.node`)
          const entries = yield* bounded(sql<Entry>`
            select to_json(at) #>> '{}' as at, kind, account, amount::text as amount, currency, ref
            from ledger_entries where org_id = ${orgId} order by id desc, number desc limit ${maxEntries}::int`)
          return {
            balances: balances.map(tidyBalance).map(({ orgId: _orgId, ...balance }) => balance),
            allotments: allotments.map((row) => ({ ...row, amount: tidy(row.amount) })),
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

/** @param orgId undefined for every organisation */
const balancesOf = (sql: SqlClient.SqlClient, orgId: string | undefined) => sql<OrgBalance>`
  select c.org_id as "orgId", c.counter as currency,
    (c.funded - c.granted + coalesce(a.allotted, 0) - coalesce(h.held, 0))::text as available,
    coalesce(h.held, 0)::text as held, coalesce(a.allotted, 0)::text as allotted,
    (c.granted - coalesce(a.allotted, 0))::text as spent
  from counters c
  left join (
    select org_id, counter, sum(granted - spent) as allotted from allotments
    where org_id = coalesce(${orgId ?? null}, org_id) group by 1, 2) a on a.org_id = c.org_id and a.counter = c.counter
  left join (
    select org_id, currency, sum(amount) as held from holds
    where state = 'open' and org_id = coalesce(${orgId ?? null}, org_id) group by 1, 2) h
    on h.org_id = c.org_id and h.currency = c.counter
  where c.counter not like 'tokens:%' and c.org_id = coalesce(${orgId ?? null}, c.org_id)
  order by c.counter`

const tidyBalance = (row: OrgBalance): OrgBalance => ({
  ...row,
  available: tidy(row.available),
  held: tidy(row.held),
  allotted: tidy(row.allotted),
  spent: tidy(row.spent),
})

/** The check reads every entry; it may take longer than a call on the hot path. */
const auditDeadline = "60 seconds"

type Entry = LedgerResponse["entries"][number]
type Balance = LedgerResponse["balances"][number]
type AllotmentRow = LedgerResponse["allotments"][number]
