/** The retention job: creates partitions ahead and deletes expired data. Any node may run it. */
import { Context, Effect, Layer, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import { WeirConfig } from "../config.ts"
import { withDeadline } from "../store/database.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"
import { recordRetention } from "../telemetry/metrics.ts"

export interface Retained {
  readonly made: number
  readonly dropped: number
  readonly removed: bigint
}

export class Retention extends Context.Service<
  Retention,
  { readonly run: Effect.Effect<Retained, StoreUnavailable> }
>()("weir/money/Retention") {
  static readonly layer = Layer.effect(
    Retention,
    Effect.gen(function* () {
      const { retentionDays, idempotencyTtlS } = yield* WeirConfig
      const sql = yield* SqlClient.SqlClient
      const context = yield* Effect.context<never>()
      const run = Effect.gen(function* () {
        const [row] = yield* sql<Retained>`select * from retain(${retentionDays}::int, ${aheadDays}::int)`
        const [more] = yield* sql<{ removed: bigint }>`
          select retain_runtime(${retentionDays}::int) + retain_accounts() as removed`
        const [replies] = yield* sql<{ dropped: number }>`
          select retain_replies(${idempotencyTtlS}::double precision, ${aheadHours}::int) as dropped`
        const { made = 0, dropped = 0, removed = 0n } = row ?? {}
        return { made, dropped: dropped + (replies?.dropped ?? 0), removed: removed + (more?.removed ?? 0n) }
      }).pipe(
        withDeadline(deadline),
        Effect.tap(({ dropped, removed }) => Effect.sync(() => recordRetention(context, dropped, Number(removed)))),
      )
      yield* Effect.forkScoped(
        Effect.repeat(
          Effect.catch(run, (error) => Effect.logWarning("The retention job failed", error)),
          Schedule.spaced(every),
        ),
      )
      return Retention.of({ run })
    }),
  )
}

/** Partitions are created this many days ahead, so that an outage of a night leaves no gap. */
const aheadDays = 3
/** The same for the hours of replies. */
const aheadHours = 12
const every = "1 hour"
/** The job drops whole partitions; it may take longer than a call on the hot path. */
const deadline = "5 minutes"
