/** Aggregation of a past day: idempotent, by any node, and never below a known peak. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Gate } from "../../../src/admission/gate.ts"
import { PlanCurve } from "../../../src/admission/plan-usage.ts"
import { addDays, dayOf } from "../../../src/protocol/values/utc8.ts"
import { layerDatabase } from "../../../src/store/database.ts"
import { layerTestConfig, layerTestDatabases } from "../../../src/testing/stores.ts"

const hours = (peaks: Readonly<Record<number, number>>) => Array.from({ length: 24 }, (_, hour) => peaks[hour])
const folded = (peaks: Readonly<Record<number, number>>) => hours(peaks).map((peak) => peak ?? 0)

describe("PlanCurve", () => {
  it.live("folds yesterday once however often, and takes the greater of what nodes saw", () => {
    let peaks: Readonly<Record<number, number>> = { 9: 3, 10: 5 }
    const asked: Array<string> = []
    const gate = Layer.mock(Gate, {
      peaks: (_owner, day) =>
        Effect.sync(() => {
          asked.push(day)
          return hours(day === yesterday ? peaks : {})
        }),
    })
    const yesterday = addDays(dayOf(Date.now()), -1)
    return Effect.gen(function* () {
      const curve = yield* PlanCurve
      const sql = yield* SqlClient.SqlClient
      // An organisation without sessions has no peaks. More sessions than a page has.
      yield* sql`
        insert into sessions (id, org_id, caller, last_seen_at)
        select 's' || n, 'org', 'c', now() - interval '1 day' from generate_series(1, 2500) n`
      for (let time = 0; time < 3; time++) yield* curve.fold
      expect((yield* curve.of("org", 30)).days).toEqual([
        { day: yesterday, peakConcurrency: 5, hourlyPeaks: folded({ 9: 3, 10: 5 }) },
      ])
      peaks = { 10: 2, 11: 9 }
      yield* curve.fold
      expect((yield* curve.of("org", 30)).days).toEqual([
        { day: yesterday, peakConcurrency: 9, hourlyPeaks: folded({ 9: 3, 10: 5, 11: 9 }) },
      ])
      // Once for each of the four above, and for the node's own at its start.
      expect(asked.filter((day) => day === yesterday).length).toBeLessThanOrEqual(5)
      expect((yield* curve.of("other", 30)).days).toEqual([])
    }).pipe(
      Effect.provide(
        PlanCurve.layer.pipe(
          Layer.provideMerge(
            Layer.mergeAll(gate, layerDatabase.pipe(Layer.provide(layerTestDatabases))).pipe(
              Layer.provideMerge(layerTestConfig()),
            ),
          ),
        ),
      ),
    )
  })
})
