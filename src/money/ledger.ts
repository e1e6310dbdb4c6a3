/**
 * The ledger: a hold is made before the vendor is called and is closed exactly once, by a settlement or a release.
 *
 * Every operation is idempotent by the hold's `ref` (the gateway's request id). Concurrent holds are sent as one batch,
 * and so are concurrent settlements: one round trip and one commit for many. Source: interface.md "Fail-closed
 * billing", exchange rules 1, 2 and 7.
 */
import { Array as Arr, Clock, Context, Effect, Layer, Schedule } from "effect"
import { SqlClient, SqlError } from "effect/sql"
import { type ServiceError, serviceError } from "../protocol/error.ts"
import type { EstimatedReason } from "../protocol/usage.ts"
import { nextDayMs } from "../protocol/utc8.ts"
import { queryDeadline } from "../store/database.ts"
import { makeGroupCommit } from "../store/group-commit.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"
import { type Amount, formatAmount, parseAmount } from "./amount.ts"
import type { Counts } from "./pricing.ts"

export interface HoldRequest {
  /** The gateway's own request id. */
  readonly ref: string
  readonly orgId: string
  readonly currency: string
  readonly keyId: string
  /** The caller's idempotency key; `ref` if there is none. */
  readonly requestId: string
  readonly amount: Amount
  /** How long the hold is valid without a renewal. */
  readonly leaseMs: number
  /** Tokens to reserve of the organisation's day, and the day's limit; undefined is unlimited. */
  readonly quota: { readonly tokens: number; readonly limit: number | undefined }
}

/** A cost and its usage record. */
export interface Settlement {
  readonly ref: string
  readonly cost: Amount
  readonly record: UsageRecord
}

/** Renews the lease of a running exchange and stores what it would settle now. */
export interface Checkpoint {
  readonly ref: string
  readonly settlement: Omit<Settlement, "ref"> | undefined
}

/** The usage record of a settled call. */
export interface UsageRecord {
  readonly appId: string
  readonly sessionId?: string | undefined
  readonly purpose: string
  readonly model: string
  readonly vendor: string
  readonly counts: Counts
  readonly estimatedReason?: EstimatedReason | undefined
  readonly stop: string
  readonly cacheNetSaving: Amount
}

export type HoldError =
  | ServiceError<"insufficient_balance" | "idempotency_conflict" | "quota_exceeded">
  | StoreUnavailable

export class Ledger extends Context.Service<
  Ledger,
  {
    /** Reserves an amount; fails closed. Returns the remaining balance. */
    readonly hold: (request: HoldRequest) => Effect.Effect<Amount, HoldError>
    /**
     * Closes a hold at its cost, which may exceed the hold, and writes the usage record. Returns the remaining balance.
     */
    readonly settle: (settlement: Settlement) => Effect.Effect<Amount, StoreUnavailable>
    /** Closes a hold without a charge. An unknown ref is not an error. */
    readonly release: (ref: string) => Effect.Effect<Amount, StoreUnavailable>
    /** Renews the leases of running exchanges with their checkpoints. */
    readonly renew: (checkpoints: ReadonlyArray<Checkpoint>, leaseMs: number) => Effect.Effect<void, StoreUnavailable>
    /** Closes holds whose lease has expired, at their last checkpoint. Returns how many. */
    readonly reap: Effect.Effect<number, StoreUnavailable>
    /** Tops up an organisation. Idempotent by id; returns whether the id was new. */
    readonly topup: (credit: {
      readonly id: string
      readonly orgId: string
      readonly currency: string
      readonly amount: Amount
    }) => Effect.Effect<boolean, StoreUnavailable>
    readonly balance: (orgId: string, currency: string) => Effect.Effect<Amount, StoreUnavailable>
  }
>()("weir/money/Ledger") {
  static readonly layer = Layer.effect(
    Ledger,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const bounded = yield* queryDeadline

      const commitTo = (fn: "ledger_hold" | "ledger_close") =>
        makeGroupCommit<ItemRow>({
          run: (items) =>
            bounded(sql<ItemRow>`
              select *, balance::text as balance
              from ${sql.literal(fn)}(${JSON.stringify(items.map((fields, item) => ({ ...fields, item })))}::text::jsonb)`),
          itemOf: ({ item }) => item,
          isItemFault: isStatementFault,
          maxBatch,
        })
      const commitHold = commitTo("ledger_hold")
      const commitClose = commitTo("ledger_close")

      const close = (ref: string, cost: Amount, usage: object | null) =>
        Effect.map(commitClose({ ref, cost: formatAmount(cost), usage }), readBalance)

      const release = (ref: string) => close(ref, 0n, null)

      const hold = Effect.fnUntraced(function* (request: HoldRequest) {
        const row = yield* commitHold({
          ref: request.ref,
          org_id: request.orgId,
          currency: request.currency,
          key_id: request.keyId,
          request_id: request.requestId,
          amount: formatAmount(request.amount),
          lease_ms: request.leaseMs,
          quota_tokens: request.quota.tokens,
          quota_limit: request.quota.limit ?? null,
        }).pipe(
          // The reply is lost but the hold may exist: release it.
          Effect.tapError(() => Effect.forkDetach(Effect.retry(release(request.ref), giveBack))),
        )
        if (row.outcome === "quota") {
          return yield* quotaExceeded(request.quota.limit ?? 0, Number(row.used), yield* Clock.currentTimeMillis)
        }
        if (row.outcome === "insufficient") {
          return yield* serviceError("insufficient_balance", "The balance does not cover this request")
        }
        if (row.outcome === "billed") {
          return yield* serviceError("idempotency_conflict", "This requestId has already been billed", {
            detail: { replayable: false },
          })
        }
        if (row.outcome === "running") {
          return yield* serviceError("idempotency_conflict", "This requestId is held by another call", { retryAfterMs })
        }
        return readBalance(row)
      })

      return Ledger.of({
        hold,
        release,
        settle: ({ ref, cost, record }) => close(ref, cost, recordColumns(record)),
        renew: (checkpoints, leaseMs) =>
          Effect.forEach(
            Arr.chunksOf(checkpoints, maxBatch),
            (chunk) => {
              const items = chunk.map(({ ref, settlement }) => ({
                ref,
                lease_ms: leaseMs,
                cost: formatAmount(settlement?.cost ?? 0n),
                usage: settlement === undefined ? null : recordColumns(settlement.record),
              }))
              return bounded(sql`select ledger_renew(${JSON.stringify(items)}::text::jsonb)`)
            },
            { discard: true },
          ),
        reap: bounded(sql<{ ref: string }>`select ref, outcome from ledger_reap(${maxBatch}::int)`).pipe(
          Effect.tap((rows) =>
            rows.length === 0
              ? Effect.void
              : Effect.logWarning("Holds of lost exchanges were settled or released", { rows }),
          ),
          Effect.map((rows) => rows.length),
        ),
        topup: ({ id, orgId, currency, amount }) =>
          bounded(
            sql<{ added: boolean }>`
              select ledger_topup(${id}, ${orgId}, ${currency}, ${formatAmount(amount)}::text::numeric) as added`,
          ).pipe(Effect.map((rows) => rows[0]?.added === true)),
        balance: (orgId, currency) =>
          bounded(
            sql<{ available: string }>`
              select available::text as available from balances where org_id = ${orgId} and currency = ${currency}`,
          ).pipe(Effect.map((rows) => parseAmount(rows[0]?.available ?? "0") ?? 0n)),
      })
    }),
  )
}

/** When a caller may retry with a request id that is in use. */
const retryAfterMs = 1000

/** Maximum items of a batch. */
const maxBatch = 256

interface ItemRow {
  readonly item: number
  readonly outcome: string
  readonly balance: string
  readonly used?: bigint
}

export const quotaExceeded = (limit: number, used: number, nowMs: number): ServiceError<"quota_exceeded"> => {
  const resetAtMs = nextDayMs(nowMs)
  return serviceError("quota_exceeded", "The daily token quota is used up", {
    detail: { limit, used, resetAt: new Date(resetAtMs).toISOString() },
    retryAfterMs: resetAtMs - nowMs,
  })
}

/** Retries the release of an uncertain hold for about a minute, with growing pauses. */
const giveBack = Schedule.exponential("200 millis").pipe(Schedule.upTo({ times: 8 }))

/** Whether the database answered with an error: one item of the batch may have caused it. */
const isStatementFault = ({ cause }: StoreUnavailable): boolean =>
  SqlError.isSqlError(cause) && !unreachable.has(cause.reason._tag)

const unreachable: ReadonlySet<string> = new Set(["ConnectionError", "AuthenticationError", "StatementTimeoutError"])

const readBalance = (row: ItemRow): Amount => parseAmount(row.balance) ?? 0n

const recordColumns = (record: UsageRecord): object => ({
  app_id: record.appId,
  session_id: record.sessionId ?? null,
  purpose: record.purpose,
  model: record.model,
  vendor: record.vendor,
  in_tokens: record.counts.inTokens,
  out_tokens: record.counts.outTokens,
  cache_read_tokens: record.counts.cacheReadTokens,
  cache_write_tokens: record.counts.cacheWriteTokens,
  dims: record.counts.dims,
  estimated_reason: record.estimatedReason ?? null,
  stop: record.stop,
  cache_net_saving: formatAmount(record.cacheNetSaving),
})
