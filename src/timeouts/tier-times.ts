/**
 * The tiers' times of a range of time, from the usage store: each settled exchange keeps its own, as observations of its
 * record. A call that a timer ended before its first content cost nothing and has no record: of those the metrics tell.
 */
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Catalogue } from "../catalogue/catalogue.ts"
import { WeirConfig } from "../config.ts"
import { dimensionOf, resolveTimeouts, type Tier, tiers } from "../exchange/tiers.ts"
import type { TierTimesReply } from "../protocol/admin.ts"
import { withDeadline } from "../store/database.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"
import { tierBoundaries } from "../telemetry/metrics.ts"

interface Row {
  readonly vendor: string
  readonly model: string
  readonly dimension: string
  /** Counted from 1; the boundary that it lies below, or at. */
  readonly bucket: number
  readonly count: bigint
}

/** Reading a month of records may take longer than a call on the hot path. */
const deadline = "60 seconds"

export class TierTimes extends Context.Service<
  TierTimes,
  {
    /** @param from @param to instants, the first within and the second without */
    readonly between: (from: string, to: string) => Effect.Effect<TierTimesReply, StoreUnavailable>
  }
>()("weir/timeouts/TierTimes") {
  static readonly layer = Layer.effect(
    TierTimes,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const catalogue = yield* Catalogue
      const { env, upstreamTimeouts } = yield* WeirConfig
      const bounded = withDeadline(deadline)
      const limitOf = (vendorId: string, handle: string, tier: Tier): number => {
        const entry = catalogue.current().model(handle)
        return resolveTimeouts({
          profile: catalogue.current().timeouts(env),
          variables: upstreamTimeouts,
          vendor: entry?.targets.find(({ vendor }) => vendor.id === vendorId)?.vendor.timeouts,
          model: entry?.model.timeouts,
        })[tier]
      }
      return TierTimes.of({
        between: Effect.fnUntraced(function* (from, to) {
          const rows = yield* bounded(sql<Row>`
            select vendor, model, d.key as dimension, count(*) as count,
              width_bucket((d.value)::text::float8 - 0.5, ${`{${tierBoundaries.join()}}`}::text::float8[]) + 1 as bucket
            from usage_records cross join lateral jsonb_each(dims) as d
            where at >= ${from}::text::timestamptz and at < ${to}::text::timestamptz
              and d.key in ${sql.in(tiers.map(dimensionOf))}
            group by 1, 2, 3, 5`)
          const groups = new Map<string, TierTimesReply["data"][number]>()
          for (const { vendor, model, dimension, bucket, count } of rows) {
            const tier = tiers.find((candidate) => dimensionOf(candidate) === dimension)
            if (tier === undefined) continue
            const key = JSON.stringify([vendor, model, tier])
            const known = groups.get(key) ?? { vendor, model, tier, limitMs: limitOf(vendor, model, tier), buckets: [] }
            const upToMs = tierBoundaries[bucket - 1] ?? null
            groups.set(key, { ...known, buckets: [...known.buckets, { upToMs, count: Number(count) }] })
          }
          return { data: [...groups.values()] }
        }),
      })
    }),
  )
}
