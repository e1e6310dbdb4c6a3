/** The ledger's books in PostgreSQL (`migrations/functions/books`): a store for each shard. */

import { Array as Arr, Effect, Layer } from "effect"
import { SqlClient, SqlError } from "effect/sql"
import { forAll } from "../background.ts"
import { WeirConfig } from "../config.ts"
import { LongQueries } from "../store/connections.ts"
import { queryDeadline } from "../store/database.ts"
import type { Shard, ShardClient } from "../store/shards/shard.ts"
import { Shards } from "../store/shards/shards.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"
import { type Amount, formatAmount, parseAmount } from "./amount.ts"
import { type Load, makeGroupCommit, noLoad } from "./group-commit.ts"
import { factsOf, packSettlements, type SettleItem, settleItem } from "./ledger-items.ts"
import { type BudgetUse, type Granted, LedgerStore, LedgerStores, noUse, type RequestState } from "./ledger-store.ts"
import { sendUnlocked } from "./locked-rows.ts"
import type { Period } from "./periods.ts"
import type { BudgetCounter, HoldFacts, OpenHold } from "./settlement.ts"
import { usageColumns } from "./usage-record.ts"

export const layerPostgres = Layer.effect(
  LedgerStores,
  Effect.gen(function* () {
    const shards = yield* Shards
    const { shards: apart } = yield* LongQueries
    const load = noLoad()
    const all = yield* Effect.forEach(shards.all, (shard, at) => makeStore(shard, apart.all[at] ?? shard, load))
    return LedgerStores.of({ all, indexOf: shards.indexOf })
  }),
)

/**
 * @param apart the same shard, by connections on which no other statement waits for one that waits for a lock
 * @param load the load of all shards: a node that settles much has few batches in each
 */
const makeStore = ({ run }: Shard, apart: Shard, load: Load) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const bounded = yield* queryDeadline
    const { idempotencyTtlS, databaseDeadlineMs } = yield* WeirConfig
    const ownLockWait = `${Math.max(1, Math.round(databaseDeadlineMs * ownLockShare))}ms`
    const lockWaitOf = (isApart: boolean) => (isApart ? ownLockWait : sharedLockWait)
    const ask = <A>(query: (client: ShardClient) => Effect.Effect<A, SqlError.SqlError>, isApart = false) =>
      bounded((isApart ? apart.run : run)(query))

    const allot = yield* makeGroupCommit<AllotRow, AllotItem>({
      run: (items, isApart) =>
        ask(
          ({ sql, books }) => sql<AllotRow>`
          select item, outcome, counter, available::text, others, grants, scarce, balance::text, stock
          from ${books}ledger_allot(${within(sql, lockWaitOf(isApart), jsonOf(items))}::jsonb)`,
          isApart,
        ),
      ...batches,
      laneOf: ({ org }) => org,
    })
    const settlements = {
      run: (batch: ReadonlyArray<SettleItem>, isApart: boolean) => {
        const { items, mayBeOpen, replies } = packSettlements(batch)
        return ask(
          ({ sql, books }) => sql<SettleRow>`
          select item, outcome, balance::text
          from ${books}ledger_settle(${within(sql, lockWaitOf(isApart), items)}::json, ${replies}::bytea, ${mayBeOpen}::boolean)`,
          isApart,
        )
      },
      ...batches,
      laneOf: ({ orgId }: SettleItem) => orgId,
    }
    const settleTogether = yield* makeGroupCommit<SettleRow, SettleItem>({ ...settlements, paceMs: settlePaceMs, load })
    // The bytes of one must not keep others from their commit.
    const settleAlone = yield* makeGroupCommit<SettleRow, SettleItem>({ ...settlements, maxBatch: 1 })
    const settle = (item: SettleItem) =>
      (item.kept?.content.length ?? 0) > mostKeptTogether ? settleAlone(item) : settleTogether(item)
    const look = yield* makeGroupCommit<SpentRow>({
      run: (items) =>
        ask(
          ({ sql, books }) => sql<SpentRow>`
          select item, ref, running, balance::text, reply
          from ${books}ledger_spent(${jsonOf(items)}::text::json, ${idempotencyTtlS}::double precision)`,
        ),
      ...batches,
    })

    const checkpoint = (holds: ReadonlyArray<OpenHold>) => {
      const items = holds.map(({ hold, isFirst, settlement }) => ({
        ...factsOf(hold),
        first: isFirst,
        amount: formatAmount(hold.amount),
        cost: formatAmount(settlement?.cost ?? 0n),
        usage: settlement === undefined ? null : usageColumns(settlement.record),
      }))
      return Effect.asVoid(
        ask(
          ({ sql, books }) =>
            sql`select ${books}ledger_checkpoint(${within(sql, sharedLockWait, JSON.stringify(items))}::json)`,
        ),
      )
    }

    return LedgerStore.of({
      join: (node, leaseMs) =>
        Effect.asVoid(ask(({ sql, books }) => sql`select ${books}node_join(${node}, ${leaseMs}::double precision)`)),
      renew: (node, leaseMs) =>
        ask(
          ({ sql, books }) => sql<{ alive: boolean }>`
          select ${books}node_renew(${node}, ${leaseMs}::double precision) as alive`,
        ).pipe(Effect.map(([row]) => row?.alive === true)),
      leave: (node) =>
        ask(({ sql, books }) => sql`select ${books}node_leave(${node})`).pipe(
          Effect.andThen(
            ask(
              ({ sql, books }) =>
                sql`select count(*) from ${books}ledger_reap(${within(sql, sharedLockWait, String(maxBatch))}::int)`,
            ),
          ),
          Effect.asVoid,
        ),
      allot: ({ node, orgId, currency, counters }) =>
        Effect.map(
          allot({
            node,
            org: orgId,
            cur: currency,
            counters: counters.map(({ counter, period, need, want, limit, beside }) => ({
              counter,
              ...(beside !== undefined && { beside }),
              ...timesOf(period),
              need: formatAmount(need),
              want: formatAmount(want),
              limit: limit === undefined ? null : formatAmount(limit),
            })),
          }),
          readGranted,
        ),
      giveBack: (items) => {
        const rows = items.map(({ node, orgId, counter, period, amount, isLast }) => ({
          node,
          org: orgId,
          counter,
          ...timesOf(period),
          amount: formatAmount(amount),
          last: isLast,
        }))
        return Effect.asVoid(
          ask(
            ({ sql, books }) =>
              sql`select ${books}ledger_return(${within(sql, sharedLockWait, JSON.stringify(rows))}::jsonb)`,
          ),
        )
      },
      settle: (settlement, mayBeOpen) =>
        Effect.map(settle(settleItem(settlement, mayBeOpen)), (row) => ({
          outcome: row.outcome === "duplicate" ? ("duplicate" as const) : ("settled" as const),
          balance: readAmount(row.balance),
        })),
      checkpoint: (holds) =>
        Effect.asVoid(
          forAll(Arr.chunksOf(holds, maxBatch), (some) => sendUnlocked(some, ({ hold }) => hold.orgId, checkpoint)),
        ),
      forbidCheckpoint: ({ orgId, ref, node }) =>
        Effect.asVoid(ask(({ sql, books }) => sql`select ${books}ledger_forbid_checkpoint(${orgId}, ${ref}, ${node})`)),
      release: (hold) =>
        Effect.asVoid(
          ask(({ sql, books }) => sql`select ${books}ledger_release(${JSON.stringify([factsOf(hold)])}::text::json)`),
        ),
      find: (ref) =>
        ask(
          ({ sql, books }) => sql<HoldRow>`
          select org_id, ref, node, currency, key_id, request_id, spends, day::text, amount::text, budgets
          from ${books}holds where ref = ${ref} and state <> 'settled'`,
        ).pipe(Effect.map(([row]) => row && readHold(row))),
      requestState: (orgId, keyId, requestId) =>
        Effect.map(look({ org: orgId, key: keyId, req: requestId }), readState),
      reap: ask(
        ({ sql, books }) =>
          sql<{
            ref: string
            outcome: string
          }>`select ref, outcome from ${books}ledger_reap(${within(sql, sharedLockWait, String(maxBatch))}::int)`,
      ),
      topup: ({ id, orgId, currency, amount }) =>
        bounded(
          sql<{ added: boolean }>`
            select ledger_topup(${id}, ${orgId}, ${currency}, ${formatAmount(amount)}::text::numeric) as added`,
        ).pipe(Effect.map((rows) => rows[0]?.added === true)),
      isTopup: ({ id, orgId, currency, amount }) =>
        bounded(
          sql`select from topups where id = ${id} and org_id = ${orgId} and currency = ${currency}
            and amount = ${formatAmount(amount)}::text::numeric`,
        ).pipe(Effect.map((rows) => rows.length === 1)),
      used: (orgId, counters) =>
        ask(
          ({ sql, books }) => sql<{ counter: string; used: string; raised: string }>`
          select k.counter, (coalesce(c.granted - c.forgiven, 0) - coalesce((
            select sum(a.granted - a.spent) from ${books}allotments a where a.org_id = ${orgId} and a.counter = k.counter), 0))::text as used,
            coalesce(c.funded - c.forgiven, 0)::text as raised
          from unnest(${counters}::text[]) k(counter)
          left join ${books}counters c on c.org_id = ${orgId} and c.counter = k.counter`,
        ).pipe(Effect.map((rows) => new Map(rows.map(({ counter, ...use }) => [counter, readUse(use)])))),
      adjust: (orgId, { counter, period }, { isReset, raised }) =>
        ask(
          ({ sql, books }) => sql<UseRow>`
            select used::text, raised::text from ${books}budget_adjust(${orgId}, ${counter},
              ${timesOf(period)?.starts ?? null}::text::timestamptz, ${timesOf(period)?.ends ?? null}::text::timestamptz,
              ${isReset}, ${raised === undefined ? null : formatAmount(raised)}::text::numeric)`,
        ).pipe(Effect.map(([row]) => (row === undefined ? noUse : readUse(row)))),
      budgetCounters: (orgId, atMs) =>
        ask(
          ({ sql, books }) => sql<{ counter: string }>`
          select c.counter from ${books}counters c
          where c.org_id = ${orgId} and c.counter like 'budget:%'
            and tstzrange(c.starts_at, c.ends_at) @> to_timestamp(${atMs / 1000}::double precision)
          union
          select a.counter from ${books}allotments a
          where a.org_id = ${orgId} and a.counter like 'budget:%'
            and not exists (select from ${books}counters c where c.org_id = a.org_id and c.counter = a.counter)
          order by counter`,
        ).pipe(Effect.map((rows) => rows.map(({ counter }) => counter))),
      balance: (orgId, currency) =>
        ask(
          ({ sql, books }) =>
            sql<{ balance: string }>`select ${books}ledger_balance(${orgId}, ${currency})::text as balance`,
        ).pipe(Effect.map((rows) => readAmount(rows[0]?.balance))),
    })
  })

/** Bytes of a kept response from which it is settled in a batch of its own. */
const mostKeptTogether = 256 * 1024
/** The time that a settlement waits under load for others to share its commit. */
const settlePaceMs = 5
/** Maximum items of a batch. */
const maxBatch = 256

interface AllotItem {
  readonly node: string
  readonly org: string
  readonly cur: string
  readonly counters: ReadonlyArray<object>
}

interface AllotRow {
  readonly item: number
  readonly outcome: string
  readonly counter: string | null
  readonly available: string | null
  readonly others: number
  readonly grants: Readonly<Record<string, string>>
  readonly scarce: ReadonlyArray<string>
  readonly balance: string | null
  readonly stock: Readonly<Record<string, string>>
}

interface SettleRow {
  readonly item: number
  readonly outcome: string
  readonly balance: string
}

interface SpentRow {
  readonly item: number
  readonly ref: string | null
  readonly running: boolean
  readonly balance: string | null
  readonly reply: Uint8Array | null
}

interface HoldRow {
  readonly org_id: string
  readonly ref: string
  readonly node: string
  readonly currency: string
  readonly key_id: string
  readonly request_id: string
  readonly spends: boolean
  readonly day: string
  readonly amount: string
  readonly budgets: BudgetUnits | null
}

/** Counters of budgets with what is counted. */
type BudgetUnits = Readonly<Record<string, BudgetCounter["unit"]>>

const readHold = (row: HoldRow): HoldFacts => ({
  ref: row.ref,
  orgId: row.org_id,
  currency: row.currency,
  keyId: row.key_id,
  requestId: row.spends ? row.request_id : undefined,
  day: row.day,
  node: row.node,
  amount: readAmount(row.amount),
  budgets: Object.entries(row.budgets ?? {}).map(([counter, unit]) => ({ counter, unit })),
})

/** Whether the database answered with an error: one item of the batch may have caused it. */
const isStatementFault = ({ cause }: StoreUnavailable): boolean =>
  SqlError.isSqlError(cause) && !unreachable.has(cause.reason._tag)

const unreachable: ReadonlySet<string> = new Set(["ConnectionError", "AuthenticationError", "StatementTimeoutError"])

/** Whether the rows of an organisation were locked for longer than the others of a batch wait. */
const isLocked = ({ wasDone }: StoreUnavailable): boolean => wasDone === false

const batches = {
  itemOf: ({ item }: { readonly item: number }) => item,
  isItemFault: isStatementFault,
  isBlocked: isLocked,
  maxBatch,
}

/** The time that the items of several organisations may wait for a lock. */
const sharedLockWait = "200ms"
/** An organisation that waits alone gets its refusal before the deadline: then it is known that nothing was done. */
const ownLockShare = 0.8

/** A parameter of a statement, which bounds its waits for locks when it reads it. */
const within = (sql: SqlClient.SqlClient, lockWait: string, parameter: string) =>
  sql`(case when set_config('lock_timeout', ${lockWait}, true) is not null then ${parameter}::text end)`

const jsonOf = (items: ReadonlyArray<object>): string =>
  JSON.stringify(items.map((fields, item) => ({ item, ...fields })))

/** A period as the books store it. */
const timesOf = (period: Period | undefined) =>
  period && {
    starts: new Date(period.startMs).toISOString(),
    ends: new Date(period.countsUntilMs ?? period.endMs).toISOString(),
  }

const readAmount = (text: string | null | undefined): Amount => parseAmount(text ?? "0") ?? 0n

const readGranted = (row: AllotRow): Granted => {
  if (row.outcome === "granted") {
    return {
      _tag: "Granted",
      grants: readAmounts(row.grants),
      available: readAmounts(row.stock),
      scarce: new Set(row.scarce),
      balance: readAmount(row.balance),
    }
  }
  if (row.outcome === "lapsed") return { _tag: "Lapsed" }
  const { counter, available, others } = row
  const raised = readAmounts(row.stock).get(counter ?? "") ?? 0n
  return { _tag: "Short", counter: counter ?? "", available: readAmount(available), raised, others }
}

interface UseRow {
  readonly used: string
  readonly raised: string
}

const readUse = ({ used, raised }: UseRow): BudgetUse => ({ used: readAmount(used), raised: readAmount(raised) })

const readAmounts = (amounts: Readonly<Record<string, string>>): ReadonlyMap<string, Amount> =>
  new Map(Object.entries(amounts).map(([counter, amount]) => [counter, readAmount(amount)]))

const readState = ({ ref, running, balance, reply }: SpentRow): RequestState => {
  if (ref === null) return { _tag: "New" }
  if (running) return { _tag: "Running" }
  const kept =
    reply === null ? undefined : { sealed: Buffer.from(reply).toString("base64"), balance: readAmount(balance) }
  return { _tag: "Billed", ref, reply: kept }
}
