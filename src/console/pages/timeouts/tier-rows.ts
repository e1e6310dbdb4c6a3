/** The rows of the table of timeouts. Pure. */
import { tiers } from "../../../protocol/timeout-tiers.ts"
import { type Judged, judge } from "../../../telemetry/timeouts/judge.ts"
import { storedObservation } from "../../../telemetry/timeouts/observed.ts"
import type { TierTimes } from "./tier-card.ts"

export interface TierRow {
  readonly key: string
  readonly vendor: string
  readonly tier: TierTimes["tier"]
  /** The models whose calls it counts. */
  readonly models: ReadonlyArray<string>
  readonly times: TierTimes
  readonly judged: Judged
}

/** A row for each tier and target. Connecting does not depend on the model: its rows are by vendor and limit. */
export const rowsOf = (times: ReadonlyArray<TierTimes>): ReadonlyArray<TierRow> => {
  const groups = Map.groupBy(times, ({ vendor, model, tier, limitMs, source }) =>
    tier === "connect" ? `${tier} ${vendor} ${limitMs} ${source}` : `${tier} ${vendor} ${model}`,
  )
  const rows = [...groups].flatMap(([key, [first, ...others]]) => {
    if (first === undefined) return []
    const merged = others.reduce(add, first)
    const { vendor, tier } = first
    const models = [first, ...others].map(({ model }) => model)
    return [{ key, vendor, tier, models, times: merged, judged: judge(storedObservation(merged)) }]
  })
  return rows.sort(
    (a, b) =>
      a.vendor.localeCompare(b.vendor) ||
      Number(b.tier === "connect") - Number(a.tier === "connect") ||
      (a.models[0] ?? "").localeCompare(b.models[0] ?? "") ||
      tiers.indexOf(a.tier) - tiers.indexOf(b.tier),
  )
}

/** The calls of two targets with the same limit, together. */
const add = (a: TierTimes, b: TierTimes): TierTimes => {
  const buckets = Map.groupBy([...a.buckets, ...b.buckets], ({ fromMs, upToMs }) => `${fromMs} ${upToMs}`)
  return {
    ...a,
    model: `${a.model}, ${b.model}`,
    ended: a.ended + b.ended,
    buckets: [...buckets.values()]
      .flatMap(([first, ...rest]) =>
        first === undefined ? [] : [{ ...first, count: rest.reduce((sum, { count }) => sum + count, first.count) }],
      )
      .sort((x, y) => x.fromMs - y.fromMs),
  }
}
