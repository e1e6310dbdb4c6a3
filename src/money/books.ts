/** The books for operators: balances, entries, and a consistency check. */
import { Context, Effect, Fiber, Layer, Option } from "effect"
import type { SqlClient } from "effect/sql"
import type { DoctorResponse, LedgerResponse } from "../protocol/control/admin.ts"
import { LongQueries } from "../store/connections.ts"
import { queryDeadline, withDeadline } from "../store/database.ts"
import type { Shard } from "../store/shards/shard.ts"
import { inThoseThatAnswer } from "../store/shards/shards.ts"
import { statusOf } from "../store/shards/status.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"
import { tidy } from "./amount.ts"

export class Books extends Context.Service<
  Books,
  {
    /**
     * Finds every inconsistency, each with the id that it concerns. Starts a check in the background, or joins the one
     * that is under way, and reports at its end, at the latest after ten seconds.
     */
    readonly audit: Effect.Effect<Pick<DoctorResponse, "findings" | "checked" | "isComplete">, StoreUnavailable>
    /** The databases of the books. */
    readonly shards: Effect.Effect<DoctorResponse["shards"]>
    /** The nodes that have allotments. */
    readonly nodes: Effect.Effect<DoctorResponse["nodes"], StoreUnavailable>
    /** The balances of organisations. */
    readonly balances: (orgIds: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<OrgBalance>, StoreUnavailable>
    /** Balances, allotments and the newest entries of an org. */
    readonly ledger: (orgId: string) => Effect.Effect<LedgerResponse, StoreUnavailable>
  }
>()("weir/money/Books") {
  static readonly layer = Layer.effect(
    Books,
    Effect.gen(function* () {
      const { sql, shards } = yield* LongQueries
      const bounded = yield* queryDeadline
      const scope = yield* Effect.scope
      let check: Check | undefined

      const checkAll = Effect.fnUntraced(function* (state: CheckState): Effect.fn.Return<void, StoreUnavailable> {
        if (shards.all.length === 1) return yield* checkShard(shards.of("").run, state)
        for (const { name, run } of shards.all) {
          yield* Effect.catch(checkShard(run, state), () =>
            Effect.sync(() => state.findings.push({ finding: "a shard does not answer", id: name })),
          )
        }
      })

      const checkShard = Effect.fnUntraced(function* (run: Shard["run"], state: CheckState) {
        let after = ""
        for (let isLast = false; !isLast; ) {
          const [page] = yield* bounded(
            run(
              ({ sql, books }) => sql<{ upto: string | null; orgs: number }>`
                select * from ${books}books_page(${after}, ${pageOrgs}::int)`,
            ),
          )
          const { upto = null, orgs = 0 } = page ?? {}
          isLast = orgs < pageOrgs
          const found = yield* run(
            ({ sql, books }) => sql<Finding>`
              select finding, id from ${books}ledger_audit(${after}, ${isLast ? null : upto})`,
          ).pipe(withDeadline(pageDeadline))
          state.checked += orgs
          state.findings.push(...found.slice(0, maxFindings - state.findings.length))
          after = upto ?? after
        }
      })

      const startCheck = Effect.gen(function* () {
        const state: CheckState = { findings: [], checked: 0 }
        check = { state, fiber: yield* Effect.forkIn(checkAll(state), scope) }
        return check
      })

      return Books.of({
        audit: Effect.gen(function* () {
          const running = check ?? (yield* startCheck)
          const ended = yield* Effect.timeoutOption(Fiber.await(running.fiber), patience)
          if (Option.isSome(ended)) {
            // The report is returned once.
            if (check === running) check = undefined
            yield* ended.value
          }
          const { findings, checked } = running.state
          return { findings: findings.toSorted(byFinding), checked, isComplete: Option.isSome(ended) }
        }),
        shards: statusOf(shards),
        nodes: Effect.map(
          bounded(
            inThoseThatAnswer(
              shards,
              ({ sql, books }) => sql<DoctorResponse["nodes"][number]>`
                select a.node, coalesce(bool_or(n.lease_until > now()), false) as "isAlive",
                  count(*)::int as allotments, to_json(min(a.since)) #>> '{}' as since
                from ${books}allotments a left join ${books}nodes n on n.id = a.node group by a.node`,
            ),
          ),
          (rows) => rows.toSorted((a, b) => a.node.localeCompare(b.node)),
        ),
        balances: (orgIds) => Effect.map(bounded(balancesOf(sql, orgIds)), (rows) => rows.map(tidyBalance)),
        ledger: Effect.fnUntraced(function* (orgId) {
          const balances = yield* bounded(balancesOf(sql, [orgId]))
          const allotments = yield* bounded(
            shards.of(orgId).run(
              ({ sql, books }) => sql<AllotmentRow>`
                select a.node, a.counter as currency, (a.granted - a.spent)::text as amount,
                  to_json(a.since) #>> '{}' as since, coalesce(n.lease_until > now(), false) as "isAlive"
                from ${books}allotments a left join ${books}nodes n on n.id = a.node
                where a.org_id = ${orgId} and a.counter not like '%:%' order by a.counter, a.node`,
            ),
          )
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

const balancesOf = (sql: SqlClient.SqlClient, orgIds: ReadonlyArray<string>) => sql<OrgBalance>`
  select c.org_id as "orgId", c.counter as currency,
    (c.funded - c.granted + coalesce(a.allotted, 0) - coalesce(h.held, 0))::text as available,
    coalesce(h.held, 0)::text as held, coalesce(a.allotted, 0)::text as allotted,
    (c.granted - coalesce(a.allotted, 0))::text as spent
  from counters c
  left join (
    select org_id, counter, sum(granted - spent) as allotted from allotments
    where org_id = any(${orgIds}::text[]) group by 1, 2) a on a.org_id = c.org_id and a.counter = c.counter
  left join (
    select org_id, currency, sum(amount) as held from holds
    where state = 'open' and org_id = any(${orgIds}::text[]) group by 1, 2) h
    on h.org_id = c.org_id and h.currency = c.counter
  where c.counter not like '%:%' and c.org_id = any(${orgIds}::text[])
  order by c.counter`

const tidyBalance = (row: OrgBalance): OrgBalance => ({
  ...row,
  available: tidy(row.available),
  held: tidy(row.held),
  allotted: tidy(row.allotted),
  spent: tidy(row.spent),
})

type Finding = DoctorResponse["findings"][number]

interface CheckState {
  readonly findings: Array<Finding>
  /** The number of organisations so far. */
  checked: number
}

/** A check of the books that is under way, or whose report nobody has received yet. */
interface Check {
  readonly state: CheckState
  readonly fiber: Fiber.Fiber<void, StoreUnavailable>
}

const patience = "10 seconds"
const pageOrgs = 500
const maxFindings = 10_000
/** A page of the check reads every entry of its organisations; it may take longer than a call on the hot path. */
const pageDeadline = "60 seconds"

const byFinding = (a: Finding, b: Finding) => a.finding.localeCompare(b.finding) || a.id.localeCompare(b.id)

type Entry = LedgerResponse["entries"][number]
type Balance = LedgerResponse["balances"][number]
type AllotmentRow = LedgerResponse["allotments"][number]
