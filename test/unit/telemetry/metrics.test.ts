/** Gauges of what comes and goes. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Metric } from "effect"
import { deliveryLagSeries, exportLagSeries } from "../../../src/telemetry/metrics.ts"

describe("a gauge of what comes and goes", () => {
  it.effect("has no series of what is gone, so no alert about it stays", () =>
    Effect.gen(function* () {
      const tell = yield* deliveryLagSeries
      const told = Effect.map(Metric.snapshot, (series) =>
        Object.fromEntries(series.map(({ attributes, state }) => [Object.values(attributes ?? {}).join(" "), state])),
      )
      const tellExports = yield* exportLagSeries
      tellExports([[["export", "usage"], 3]])
      tell([
        [["one"], 7200],
        [["two"], 0],
      ])
      expect(yield* told).toEqual({ "export usage": { value: 3 }, one: { value: 7200 }, two: { value: 0 } })
      tell([[["two"], 1]])
      expect(yield* told).toEqual({ "export usage": { value: 3 }, two: { value: 1 } })
      tell([[["one"], 0]])
      expect(yield* told).toEqual({ "export usage": { value: 3 }, one: { value: 0 } })
    }).pipe(Effect.scoped, Effect.provideService(Metric.MetricRegistry, new Map())),
  )

  it.effect("has no series of a gateway that has stopped", () =>
    Effect.gen(function* () {
      yield* Effect.scoped(Effect.map(deliveryLagSeries, (tell) => tell([[["one"], 7200]])))
      expect(yield* Metric.snapshot).toEqual([])
    }).pipe(Effect.provideService(Metric.MetricRegistry, new Map())),
  )
})
