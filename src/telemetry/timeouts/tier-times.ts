/**
 * Tier times of a period, from usage records: each settled exchange stores its own as observations. Calls that a tier
 * ended are counted beside them.
 */
import { Context, Effect, Layer } from "effect"
import type { TierTimesReply } from "../../protocol/control/admin.ts"
import { dimensionOf, type Tier, tiers } from "../../protocol/timeout-tiers.ts"
import { LongQueries } from "../../store/connections.ts"
import { withDeadline } from "../../store/database.ts"
import type { StoreUnavailable } from "../../store/unavailable.ts"
import { tierBoundaries } from "../metrics.ts"
import { keyOf } from "./observed.ts"

interface Row {
  readonly vendor: string
  readonly model: string
  readonly dimension: string
  /** Index of the bucket, from 1. */
  readonly bucket: number
  readonly count: bigint
}

interface EndedRow {
  readonly vendor: string
  readonly model: string
  readonly tier: Tier
  readonly calls: number
}

type LimitsOf = (
  vendorId: string,
  handle: string,
  tier: Tier,
) => Pick<TierTimesReply["data"][number], "limitMs" | "source" | "limits">

/** Reading a month of records may take longer than a call on the hot path. */
const deadline = "60 seconds"

export class TierTimes extends Context.Service<
  TierTimes,
  {
    /**
     * @param from @param to instants; the first is included, the second is not
     * @param limitsOf the timeouts in force for a tier of a vendor and a model handle, in milliseconds
     */
    readonly between: (from: string, to: string, limitsOf: LimitsOf) => Effect.Effect<TierTimesReply, StoreUnavailable>
  }
>()("weir/telemetry/TierTimes") {
  static readonly layer = Layer.effect(
    TierTimes,
    Effect.gen(function* () {
      const { sql } = yield* LongQueries
      const bounded = withDeadline(deadline)
      return TierTimes.of({
        between: Effect.fnUntraced(function* (from, to, limitsOf) {
          const rows = yield* bounded(sql<Row>`
            select vendor, model, d.key as dimension, count(*) as count,
              width_bucket((d.value)::text::float8 - 0.5, ${`{${tierBoundaries.join()}}`}::text::float8[]) + 1 as bucket
            from usage_records cross join lateral jsonb_each(usage_dims(dims, connect_ms, ttfb_ms, idle_ms, total_ms)) as d
            where at >= ${from}::text::timestamptz and at < ${to}::text::timestamptz
              and d.key in ${sql.in(tiers.map(dimensionOf))}
            group by 1, 2, 3, 5`)
          const ended = yield* bounded(sql<EndedRow>`
            select vendor, model, tier, sum(calls)::float8 as calls from ended_calls
            where at >= ${from}::text::timestamptz and at < ${to}::text::timestamptz
            group by 1, 2, 3`)
          const groups = new Map<string, TierTimesReply["data"][number]>()
          const groupOf = (vendor: string, model: string, tier: Tier) =>
            groups.get(keyOf({ vendor, model, tier })) ?? {
              vendor,
              model,
              tier,
              ...limitsOf(vendor, model, tier),
              buckets: [],
              ended: 0,
            }
          for (const { vendor, model, dimension, bucket, count } of rows) {
            const tier = tiers.find((candidate) => dimensionOf(candidate) === dimension)
            if (tier === undefined) continue
            const known = groupOf(vendor, model, tier)
            const counted = {
              fromMs: tierBoundaries[bucket - 2] ?? 0,
              upToMs: tierBoundaries[bucket - 1] ?? null,
              count: Number(count),
            }
            groups.set(keyOf(known), { ...known, buckets: [...known.buckets, counted] })
          }
          for (const { vendor, model, tier, calls } of ended) {
            const known = groupOf(vendor, model, tier)
            groups.set(keyOf(known), { ...known, ended: calls })
          }
          return { data: [...groups.values()] }
        }),
      })
    }),
  )
}
