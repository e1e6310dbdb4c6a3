/**
 * The curve of a plan's concurrency: peaks that the gate recorded, folded into the database once their day is over. Any
 * node may fold, any number of times. Source: interface.md "GET /v1/plan/usage".
 */
import { Clock, Context, type Duration, Effect, Layer, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import { Gate } from "../admission/gate.ts"
import { addDays, dayOf } from "../admission/utc8.ts"
import { Catalogue } from "../catalogue/catalogue.ts"
import type { PlanUsage } from "../protocol/plan-usage.ts"
import { withDeadline } from "../store/database.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"

export class PlanCurve extends Context.Service<
  PlanCurve,
  {
    /** The days before today, at most so many, and today live. */
    readonly of: (orgId: string, days: number) => Effect.Effect<PlanUsage, StoreUnavailable>
    /** Folds the days that are over and that the gate still has. */
    readonly fold: Effect.Effect<void, StoreUnavailable>
  }
>()("weir/plan/PlanCurve") {}

interface DayRow {
  readonly day: string
  readonly peak_concurrency: number
  readonly hourly_peaks: ReadonlyArray<number>
}

/** The gate keeps a day's peaks for three days. */
const foldedDays = [1, 2]
const every = "10 minutes"

export const layerPlanCurve = (options: {
  readonly deadline: Duration.Input
}): Layer.Layer<PlanCurve, never, SqlClient.SqlClient | Gate | Catalogue> =>
  Layer.effect(
    PlanCurve,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const gate = yield* Gate
      const catalogue = yield* Catalogue
      const bounded = withDeadline(options.deadline)

      const foldDay = Effect.fnUntraced(function* (orgId: string, day: string) {
        const peaks = yield* gate.peaks(orgId, day)
        if (peaks.every((peak) => peak === undefined)) return
        const hours = peaks.map((peak) => peak ?? 0)
        yield* bounded(sql`
          insert into plan_usage_days as d (org_id, day, peak_concurrency, hourly_peaks)
          values (${orgId}, ${day}::text::date, ${Math.max(...hours)}::int, ${hours}::int[])
          on conflict (org_id, day) do update set
            peak_concurrency = greatest(d.peak_concurrency, excluded.peak_concurrency),
            hourly_peaks = (select array_agg(greatest(a, b) order by n)
              from unnest(d.hourly_peaks, excluded.hourly_peaks) with ordinality as h(a, b, n))`)
      })

      const fold = Effect.gen(function* () {
        const today = dayOf(yield* Clock.currentTimeMillis)
        const orgs = catalogue.current().document.orgs ?? []
        for (const { id } of orgs) for (const ago of foldedDays) yield* foldDay(id, addDays(today, -ago))
      })

      yield* Effect.forkScoped(
        Effect.repeat(
          Effect.catch(fold, (error) => Effect.logWarning("Plan usage could not be folded", error)),
          Schedule.spaced(every),
        ),
      )
      return PlanCurve.of({
        fold,
        of: Effect.fnUntraced(function* (orgId, days) {
          const today = dayOf(yield* Clock.currentTimeMillis)
          const rows = yield* bounded(sql<DayRow>`
            select day::text as day, peak_concurrency, hourly_peaks from plan_usage_days
            where org_id = ${orgId} and day < ${today}::text::date and day >= ${addDays(today, -days)}::text::date
            order by day`)
          const peaks = yield* gate.peaks(orgId, today)
          return {
            days: rows.map(({ day, peak_concurrency: peakConcurrency, hourly_peaks: hourlyPeaks }) => ({
              day,
              peakConcurrency,
              hourlyPeaks,
            })),
            today: { day: today, hourlyPeaks: peaks.map((peak) => peak ?? null) },
          }
        }),
      })
    }),
  )
