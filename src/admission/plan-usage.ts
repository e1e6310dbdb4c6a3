/**
 * A plan's concurrency over time: peaks recorded by the gate, stored in the database once their day has ended. Any node
 * may store them, any number of times.
 */
import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { afterStart, runEvery } from "../background.ts"
import type { PlanUsage } from "../protocol/control/plan-usage.ts"
import { addDays, dayOf, startOfDay } from "../protocol/values/utc8.ts"
import { queryDeadline } from "../store/database.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"
import { Gate } from "./gate.ts"

export class PlanCurve extends Context.Service<
  PlanCurve,
  {
    /** The last `days` days before today, and today live. */
    readonly of: (orgId: string, days: number) => Effect.Effect<PlanUsage, StoreUnavailable>
    /** Stores the ended days that the gate still has. */
    readonly fold: Effect.Effect<void, StoreUnavailable>
  }
>()("weir/admission/PlanCurve") {
  static readonly layer = Layer.effect(
    PlanCurve,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const gate = yield* Gate
      const bounded = yield* queryDeadline

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

      /** Only organisations with sessions have peaks: a page of sessions at a time, those of a day or later. */
      const foldAll = Effect.fnUntraced(function* (day: string) {
        const folded = new Set<string>()
        let [after, place] = [startOfDay(day), ""]
        while (true) {
          const sessions = yield* bounded(sql<{ org: string; id: string; at: string }>`
            select org_id as org, id, to_json(last_seen_at) #>> '{}' as at from sessions
            where last_seen_at >= ${after}::text::timestamptz
              and (last_seen_at > ${after}::text::timestamptz or id > ${place})
            order by last_seen_at, id limit ${page}::int`)
          for (const { org } of sessions) {
            if (folded.has(org)) continue
            folded.add(org)
            yield* foldDay(org, day)
          }
          const last = sessions.at(-1)
          if (last === undefined) return
          ;[after, place] = [last.at, last.id]
        }
      })

      const endedDays = Effect.map(Clock.currentTimeMillis, (nowMs) =>
        foldedDays.map((ago) => addDays(dayOf(nowMs), -ago)),
      )
      const fold = Effect.flatMap(endedDays, (days) => Effect.forEach(days, foldAll, { discard: true }))

      /** Days that this node has stored. */
      const stored = new Set<string>()
      const foldNew = Effect.gen(function* () {
        for (const day of yield* endedDays) {
          if (stored.has(day)) continue
          yield* foldAll(day)
          stored.add(day)
        }
      })

      yield* runEvery(every, "Storing plan usage", foldNew, afterStart)
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
}

interface DayRow {
  readonly day: string
  readonly peak_concurrency: number
  readonly hourly_peaks: ReadonlyArray<number>
}

/** The gate keeps a day's peaks for three days. */
const foldedDays = [1, 2]
const every = "10 minutes"
/** Sessions a statement. */
const page = 1000
