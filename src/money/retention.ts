/** The retention job: creates partitions ahead and deletes expired data. Any node may run it. */
import { Context, Effect, Layer, Semaphore } from "effect"
import type { SqlError } from "effect/sql"
import { afterStart, runEvery } from "../background.ts"
import { spentIdsDays, WeirConfig } from "../config.ts"
import { LongQueries } from "../store/connections.ts"
import { withDeadline } from "../store/database.ts"
import type { ShardClient } from "../store/shards/shard.ts"
import { inThoseThatAnswer } from "../store/shards/shards.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"
import { recordRetention } from "../telemetry/metrics.ts"
import { aheadDays, aheadHours } from "./partitions-ahead.ts"

export interface Retained {
  readonly made: number
  readonly dropped: number
  readonly removed: bigint
}

export class Retention extends Context.Service<
  Retention,
  {
    /** Runs the whole job at once. */
    readonly run: Effect.Effect<Retained, StoreUnavailable>
  }
>()("weir/money/Retention") {
  static readonly layer = Layer.effect(
    Retention,
    Effect.gen(function* () {
      const config = yield* WeirConfig
      const { retentionDays, idempotencyTtlS } = config
      const keptIds = spentIdsDays(config)
      const { sql, shards } = yield* LongQueries
      const context = yield* Effect.context<never>()
      const perShard = (remove: (shard: ShardClient) => Removal) => () => inThoseThatAnswer(shards, remove)
      /** Creates the partitions that will be needed, and drops whole expired ones. */
      const renewPartitions = Effect.gen(function* () {
        // This comes first: it sets since when usage records are kept.
        const books = yield* inThoseThatAnswer(
          shards,
          ({ sql, books }) => sql<Removed>`select ${books}retain_books(${retentionDays}::int) as removed`,
        )
        const [row] = yield* sql<Retained>`select * from retain(${retentionDays}::int, ${aheadDays}::int)`
        yield* sql`select retain_months(null)`
        const [spentDays] = yield* sql<{ dropped: number }>`
          select retain_spent_days(${keptIds}::int, ${aheadDays}::int) as dropped`
        const [replies] = yield* sql<{ dropped: number }>`
          select retain_replies(${idempotencyTtlS}::double precision, ${aheadHours}::int) as dropped`
        const [responses] = yield* sql<{ dropped: number }>`select retain_response_days(${aheadDays}::int) as dropped`
        const { made = 0, dropped = 0, removed = 0n } = row ?? {}
        return {
          made,
          dropped: dropped + (replies?.dropped ?? 0) + (spentDays?.dropped ?? 0) + (responses?.dropped ?? 0),
          removed: sumOf(books) + removed,
        }
      })
      /** Erases the responses of tenants that were closed, also those that were kept while they were closed. */
      const responsesOfClosed: Removal = Effect.gen(function* () {
        const closed = yield* sql<{ readonly kind: string; readonly id: string; readonly org_id: string }>`
          select kind, id, org_id from tenants
          where kind in ('org', 'app', 'user') and status = 'closed' and changed_at > now() - ${closedLately}::interval`
        const erased = yield* Effect.forEach(closed, ({ kind, id, org_id: orgId }) =>
          shards.of(orgId).run(({ sql, books }) =>
            kind === "org"
              ? sql<Removed>`select ${books}responses_remove(${orgId}, null, null, null, null)::bigint as removed`
              : sql<Removed>`
                    select ${books}responses_of_owner_remove(${orgId}, ${kind === "app" ? id : ""},
                      ${kind === "app" ? "" : id})::bigint as removed`,
          ),
        )
        return erased.flat()
      })
      /** Statements that each remove a page of rows. */
      const removals: ReadonlyArray<() => Removal> = [
        () => sql<Removed>`select retain_runtime(${retentionDays}::int, ${pageRows}::int) as removed`,
        perShard(
          ({ sql, books }) =>
            sql<Removed>`select ${books}retain_reports(${retentionDays}::int, ${pageRows}::int) as removed`,
        ),
        perShard(
          ({ sql, books }) =>
            sql<Removed>`select ${books}retain_jobs(${retentionDays}::int, ${pageRows}::int) as removed`,
        ),
        perShard(({ sql, books }) => sql<Removed>`select ${books}retain_job_attempts(${pageRows}::int) as removed`),
        () => sql<Removed>`select retain_ended_calls(${retentionDays}::int, ${pageRows}::int) as removed`,
        () => sql<Removed>`select retain_tenants(${retentionDays}::int, ${pageRows}::int) as removed`,
        () => sql<Removed>`select retain_former_secrets(${pageRows}::int) as removed`,
        () =>
          sql<Removed>`select retain_deliveries(${Math.min(retentionDays, keptDeliveries)}::int, ${pageRows}::int) as removed`,
        perShard(
          ({ sql, books }) =>
            sql<Removed>`select ${books}retain_export_lists(${retentionDays}::int, ${pageRows}::int) as removed`,
        ),
        () => sql<Removed>`select retain_exports(${retentionDays}::int, ${pageRows}::int) as removed`,
        perShard(({ sql, books }) => sql<Removed>`select ${books}retain_responses(${pageRows}::int) as removed`),
        perShard(({ sql, books }) => sql<Removed>`select ${books}retain_batches(${pageRows}::int) as removed`),
        () => responsesOfClosed,
        perShard(
          ({ sql, books }) => sql<Removed>`select ${books}retain_spent(${keptIds}::int, ${pageRows}::int) as removed`,
        ),
      ]
      const removeRows = Effect.gen(function* () {
        let removed = 0n
        for (const remove of removals) removed += yield* inPages(remove)
        const [accounts] = yield* sql<Removed>`select retain_accounts() as removed`
        return { made: 0, dropped: 0, removed: removed + BigInt(accounts?.removed ?? 0) }
      })
      // A second run at the same time finds the database's locks taken, and does nothing.
      const oneAtATime = yield* Semaphore.make(1)
      const recorded = (job: Effect.Effect<Retained, SqlError.SqlError>) =>
        oneAtATime.withPermit(job).pipe(
          withDeadline(deadline),
          Effect.tap(({ dropped, removed }) => Effect.sync(() => recordRetention(context, dropped, Number(removed)))),
        )
      yield* runEvery(every, "Partitions", recorded(renewPartitions))
      yield* runEvery(every, "Retention", recorded(removeRows), afterStart)
      const run = recorded(
        Effect.zipWith(renewPartitions, removeRows, (partitions, { removed }) => ({
          ...partitions,
          removed: partitions.removed + removed,
        })),
      )
      return Retention.of({ run })
    }),
  )
}

interface Removed {
  readonly removed: bigint
}

type Removal = Effect.Effect<ReadonlyArray<Removed>, SqlError.SqlError>

const sumOf = (rows: ReadonlyArray<Removed>): bigint => rows.reduce((sum, { removed }) => sum + BigInt(removed), 0n)

/** Repeats a statement until it finds, in all shards together, less than it may remove in one run. */
const inPages = Effect.fnUntraced(function* (remove: () => Removal) {
  let removed = 0n
  for (let page = BigInt(pageRows); page >= BigInt(pageRows); removed += page) {
    page = sumOf(yield* remove())
  }
  return removed
})

/** Days for which deliveries to webhooks are kept after they have ended. */
const keptDeliveries = 30
/** Tenants that were closed earlier have been looked at. */
const closedLately = "30 days"
/** Rows that a statement removes. */
const pageRows = 10_000
const every = "1 hour"
/** The job drops whole partitions; it may take longer than a call on the hot path. */
const deadline = "5 minutes"
