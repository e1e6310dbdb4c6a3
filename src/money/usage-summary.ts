/** Usage of a period by time and by one dimension. */
import { Clock, Context, Effect, Layer } from "effect"
import type { Statement } from "effect/sql"
import type {
  FirstFrame,
  SummaryDimension,
  SummaryGroup,
  SummaryStep,
  UsageFigures,
  UsageSummary,
} from "../protocol/control/usage-summary.ts"
import { isTagScope, type Tags, tagIn } from "../protocol/values/tags.ts"
import { LongQueries } from "../store/connections.ts"
import { withDeadline } from "../store/database.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"
import { countIn, timeOfRank } from "../telemetry/buckets.ts"
import { tierBoundaries } from "../telemetry/metrics.ts"
import { formatAmount, parseAmount } from "./amount.ts"
import { Periods } from "./periods.ts"
import { makeRecordFilters } from "./record-filters.ts"
import { boundariesText, keptDaysOfHours } from "./usage-rollups.ts"

export interface SummaryQuery {
  /** Milliseconds since the epoch. */
  readonly fromMs: number
  readonly toMs: number
  /** The zone of its days; UTC if absent. */
  readonly zone?: string | undefined
  /** The dimension of the groups. */
  readonly by: SummaryGroup
  /** Only usage with these values; usage of all organisations if none is named. */
  readonly only: { readonly [dimension in SummaryDimension]?: string | undefined }
  /** Only usage with these tags. */
  readonly tags?: Tags | undefined
  /** Only usage with the tokens of this person. */
  readonly person?: string | undefined
}

export class UsageSummaries extends Context.Service<
  UsageSummaries,
  { readonly read: (query: SummaryQuery) => Effect.Effect<UsageSummary, StoreUnavailable> }
>()("weir/money/UsageSummaries") {
  static readonly layer = Layer.effect(
    UsageSummaries,
    Effect.gen(function* () {
      const { sql, shards } = yield* LongQueries
      /** The keys of the sums of the whole gateway, one for each shard. */
      const keys = shards.all.map(({ key }) => key)
      const bounded = withDeadline("30 seconds")

      /**
       * Three ranges of a period: days are read up to the first cut, hours from there to the second cut, records from there
       * on.
       */
      const cutsOf = Effect.fnUntraced(function* (fromMs: number, toMs: number, step: SummaryStep) {
        const [row] = yield* bounded(sql<{ hourMs: number; dayMs: number }>`
          select (extract(epoch from min(hour)) * 1000)::float8 as "hourMs",
            (extract(epoch from min(day)) * 1000)::float8 as "dayMs"
          from usage_folded`)
        const { hourMs = fromMs, dayMs = fromMs } = row ?? {}
        const daysMs = step === "day" ? Math.min(toMs, Math.max(fromMs, dayMs)) : fromMs
        const hoursMs = step === "minute" ? fromMs : Math.max(daysMs, Math.min(toMs, hourMs))
        return { fromMs, daysMs, hoursMs, toMs }
      })

      /**
       * Days of a zone are added from hours, while those are kept; from records, if the zone's days begin within an hour of UTC.
       */
      const cutsIn = Effect.fnUntraced(function* (fromMs: number, toMs: number, starts: ReadonlyArray<number>) {
        const { hoursMs } = yield* cutsOf(fromMs, toMs, "hour")
        const nowMs = yield* Clock.currentTimeMillis
        const keptMs = nowMs - (keptDaysOfHours - 1) * stepMs.day
        const daysMs = Math.min(toMs, Math.max(fromMs, Math.floor(keptMs / stepMs.day) * stepMs.day))
        const isWithinHour = starts.some((startMs) => startMs % stepMs.hour !== 0)
        return { fromMs, daysMs, hoursMs: isWithinHour ? daysMs : Math.max(daysMs, hoursMs), toMs }
      })

      const { instant, ofPerson } = makeRecordFilters(sql)

      /** The folded sums: of an organisation; of the whole gateway (''); of each organisation. */
      const ofOrg = (org: string | undefined) => {
        if (org === undefined) return sql`u.org_id <> all(${keys}::text[])`
        return org === "" ? sql`u.org_id = any(${keys}::text[])` : sql`u.org_id = ${org}`
      }

      const folded = ({ fromMs, daysMs, hoursMs }: Period, org: string | undefined) => sql`
        (u.step = 'day' and u.at >= ${instant(fromMs)} and u.at < ${instant(daysMs)}
          or u.step = 'hour' and u.at >= ${instant(daysMs)} and u.at < ${instant(hoursMs)})
        and ${ofOrg(org)}`

      const recent = ({ toMs, hoursMs }: Period, org: string | undefined) => sql`
        u.at >= ${instant(hoursMs)} and u.at < ${instant(toMs)}
        and ${org === undefined ? sql`true` : sql`u.org_id = ${org}`}`

      return UsageSummaries.of({
        read: Effect.fnUntraced(function* (query) {
          const { by, only, person, tags = {} } = query
          const isByTag = isTagScope(by)
          // The folded sums have no tags.
          const isOfTags = isByTag || Object.keys(tags).length > 0
          const nameOf = isByTag ? sql`coalesce(u.tags ->> ${tagIn(by)}, '')` : sql`u.${sql(columns[by])}`
          const foldedName = isByTag ? sql`''::text` : nameOf
          const tagged =
            isOfTags && Object.keys(tags).length > 0 ? sql`u.tags @> ${JSON.stringify(tags)}::text::jsonb` : sql`true`
          const step = stepOf(query)
          const zone = step === "day" ? (query.zone ?? utc) : utc
          const starts = startsOf(query, step, zone)
          const fromMs = starts[0] ?? query.fromMs
          const { toMs } = query
          const narrow = (names: ReadonlyArray<SummaryDimension>): Statement.Fragment =>
            sql.and([
              sql`true`,
              ...names.flatMap((name) =>
                only[name] === undefined ? [] : [sql`u.${sql(columns[name])} = ${only[name]}`],
              ),
              ...(names.includes("key") ? [ofPerson(person)] : []),
            ])
          // The folded sums of the whole gateway have no organisations, applications and keys.
          const isWhole = [by, ...dimensionsOf(only)].every((name) => isTagScope(name) || !ofOrgs.includes(name))
          const org = only.org ?? (isWhole ? "" : undefined)
          const cuts = isOfTags
            ? { fromMs, daysMs: fromMs, hoursMs: fromMs, toMs }
            : yield* zone === utc ? cutsOf(fromMs, toMs, step) : cutsIn(fromMs, toMs, starts)
          const sums = yield* bounded(sql<SumRow>`
            with x as materialized (
              select point, name, currency, sum(exchanges) as exchanges, sum(estimated) as estimated,
                sum(exchanges) filter (where stop = 'interrupted') as interrupted, sum(in_tokens) as in_tokens,
                sum(out_tokens) as out_tokens, sum(cache_read_tokens) as cache_read_tokens,
                sum(cache_write_tokens) as cache_write_tokens, sum(cost) as cost, sum(cache_net_saving) as cache_net_saving
              from (
                select u.org_id, date_trunc(${step}, u.at, ${zone}) as point, ${foldedName} as name, u.currency,
                  u.exchanges, u.estimated, u.stop, u.in_tokens, u.out_tokens, u.cache_read_tokens, u.cache_write_tokens, u.cost,
                  u.cache_net_saving
                from usage_rollups u where ${folded(cuts, org)} and ${narrow(recordDimensions)}
                union all
                select u.org_id, date_trunc(${step}, u.at, ${zone}), ${nameOf}, u.currency, 1,
                  case when u.estimated_reason is null then 0 else 1 end, u.stop, u.in_tokens, u.out_tokens,
                  u.cache_read_tokens, u.cache_write_tokens, u.cost, u.cache_net_saving
                from usage_records u where ${recent(cuts, only.org)} and ${narrow(recordDimensions)} and ${tagged}) u
              group by 1, 2, 3)
            select (extract(epoch from point) * 1000)::float8 as "atMs", name, currency,
              sum(exchanges)::float8 as exchanges, sum(estimated)::float8 as estimated,
              coalesce(sum(interrupted), 0)::float8 as interrupted, sum(in_tokens)::float8 as "inTokens",
              sum(out_tokens)::float8 as "outTokens", sum(cache_read_tokens)::float8 as "cacheReadTokens",
              sum(cache_write_tokens)::float8 as "cacheWriteTokens", sum(cost)::text as cost,
              sum(cache_net_saving)::text as "cacheNetSaving"
            from x group by grouping sets ((point, currency), (name, currency))`)
          const units = yield* bounded(sql<UnitRow>`
            select name, unit, sum(amount)::float8 as amount
            from (
              select u.org_id, ${foldedName} as name, u.unit, u.amount
              from unit_rollups u where ${folded(cuts, org)} and ${narrow(recordDimensions)}
              union all
              select u.org_id, ${nameOf}, d.key, d.value::numeric
              from usage_records u cross join lateral jsonb_each_text(u.dims) d
              where ${recent(cuts, only.org)} and ${narrow(recordDimensions)} and ${tagged}) x
            group by 1, 2 order by 2`)
          const frames = yield* bounded(sql<FrameRow>`
            select (extract(epoch from point) * 1000)::float8 as "atMs", up_to_ms as "upToMs",
              sum(exchanges)::float8 as count
            from (
              select u.org_id, date_trunc(${step}, u.at, ${zone}) as point, u.up_to_ms, u.exchanges
              from first_frame_rollups u
              where ${folded(cuts, only.org ?? "")} and ${narrow(["model", "vendor"])}
              union all
              select u.org_id, date_trunc(${step}, u.at, ${zone}), first_frame_bucket(u.ttfb_ms, ${boundariesText}::text::float8[]), 1
              from usage_records u
              where ${recent(cuts, only.org)} and u.ttfb_ms is not null and ${narrow(["model", "vendor"])}) x
            group by 1, 2 order by 2`)
          const failures = yield* bounded(sql<FailureRow>`
            select (extract(epoch from date_trunc(${step}, u.at, ${zone})) * 1000)::float8 as "atMs", u.code,
              sum(u.calls)::float8 as count
            from failure_counts u
            where u.at >= ${instant(fromMs)} and u.at < ${instant(toMs)}
              and ${narrow(["org", "app", "key", "model"])}
            group by 1, 2`)
          const points = sums.filter(({ atMs }) => atMs !== null)
          const pointsAt = Map.groupBy(points, ({ atMs }) => atMs)
          const framesAt = Map.groupBy(frames, ({ atMs }) => atMs)
          const failuresAt = Map.groupBy(failures, ({ atMs }) => atMs)
          const unitsBy = Map.groupBy(units, ({ name }) => name ?? "")
          const groups = Map.groupBy(
            sums.filter(({ atMs }) => atMs === null),
            ({ name }) => name ?? "",
          )
          return {
            from: new Date(fromMs).toISOString(),
            to: new Date(toMs).toISOString(),
            step,
            totals: { ...figuresOf(points), units: unitsOf(units) },
            firstFrame: firstFrameOf(frames),
            points: starts.map((atMs) => ({
              at: new Date(atMs).toISOString(),
              ...figuresOf(pointsAt.get(atMs) ?? []),
              failed: countOf(failuresAt.get(atMs) ?? []),
              firstFrame: firstFrameOf(framesAt.get(atMs) ?? []),
            })),
            groups: [...groups]
              .map(([group, rows]) => ({ group, ...figuresOf(rows), units: unitsOf(unitsBy.get(group) ?? []) }))
              .sort((a, b) => b.exchanges - a.exchanges)
              .slice(0, maxGroups),
            failures: [...Map.groupBy(failures, ({ code }) => code)]
              .map(([code, rows]) => ({ code, count: countOf(rows) }))
              .sort((a, b) => b.count - a.count),
          } satisfies UsageSummary
        }),
      })
    }),
  )
}

const columns: Readonly<Record<SummaryDimension, string>> = {
  org: "org_id",
  app: "app_id",
  key: "key_id",
  model: "model",
  vendor: "vendor",
  purpose: "purpose",
  stop: "stop",
}
const recordDimensions = ["app", "key", "model", "vendor", "purpose", "stop"] as const
const ofOrgs: ReadonlyArray<SummaryDimension> = ["org", "app", "key"]
const maxGroups = 100

const dimensionsOf = (only: SummaryQuery["only"]): ReadonlyArray<SummaryDimension> =>
  recordDimensions.filter((name) => only[name] !== undefined)

interface SumRow {
  /** Null in the sums by name. */
  readonly atMs: number | null
  readonly name: string | null
  readonly currency: string
  readonly exchanges: number
  readonly estimated: number
  readonly interrupted: number
  readonly inTokens: number
  readonly outTokens: number
  readonly cacheReadTokens: number
  readonly cacheWriteTokens: number
  readonly cost: string
  readonly cacheNetSaving: string
}

interface UnitRow {
  readonly name: string | null
  readonly unit: string
  readonly amount: number
}

interface Period {
  readonly fromMs: number
  /** The first cut. */
  readonly daysMs: number
  /** The second. */
  readonly hoursMs: number
  readonly toMs: number
}

interface FrameRow {
  readonly atMs: number
  readonly upToMs: number
  readonly count: number
}

interface FailureRow {
  readonly atMs: number
  readonly code: string
  readonly count: number
}

const hourMs = 3_600_000
const stepMs: Readonly<Record<SummaryStep, number>> = { minute: 60_000, hour: hourMs, day: 24 * hourMs }

const stepOf = ({ fromMs, toMs }: SummaryQuery): SummaryStep => {
  const lengthMs = toMs - fromMs
  if (lengthMs <= 6 * hourMs) return "minute"
  return lengthMs <= 8 * 24 * hourMs ? "hour" : "day"
}

/** The beginning of every step of a period, the first at or before its beginning. */
const startsOf = ({ fromMs, toMs }: SummaryQuery, step: SummaryStep, zone: string): ReadonlyArray<number> => {
  if (zone !== utc) return daysOf(fromMs, toMs, zone)
  const each = stepMs[step]
  const first = Math.floor(fromMs / each) * each
  return Array.from({ length: Math.max(1, Math.ceil((toMs - first) / each)) }, (_, index) => first + index * each)
}

/** The beginnings of the days of a zone. */
const daysOf = (fromMs: number, toMs: number, zone: string): ReadonlyArray<number> => {
  const days = new Periods({ period: "day" })
  const starts: Array<number> = []
  for (let atMs = fromMs; atMs < toMs; ) {
    const day = days.at(atMs, zone)
    if (day === undefined) break
    starts.push(day.startMs)
    atMs = day.endMs
  }
  return starts
}

const utc = "UTC"

const countOf = (rows: ReadonlyArray<{ readonly count: number }>): number =>
  rows.reduce((sum, { count }) => sum + count, 0)

const figuresOf = (rows: ReadonlyArray<SumRow>): UsageFigures => {
  const sum = (read: (row: SumRow) => number) => rows.reduce((total, row) => total + read(row), 0)
  return {
    exchanges: sum((row) => row.exchanges),
    interrupted: sum((row) => row.interrupted),
    estimated: sum((row) => row.estimated),
    inTokens: sum((row) => row.inTokens),
    outTokens: sum((row) => row.outTokens),
    cacheReadTokens: sum((row) => row.cacheReadTokens),
    cacheWriteTokens: sum((row) => row.cacheWriteTokens),
    cost: amountsOf(rows, ({ cost }) => cost),
    cacheNetSaving: amountsOf(rows, ({ cacheNetSaving }) => cacheNetSaving),
  }
}

const unitsOf = (rows: ReadonlyArray<UnitRow>): Record<string, number> => {
  const sums: Record<string, number> = {}
  for (const { unit, amount } of rows) sums[unit] = (sums[unit] ?? 0) + amount
  return sums
}

/** Sums of money by currency. */
const amountsOf = (rows: ReadonlyArray<SumRow>, read: (row: SumRow) => string): Record<string, string> => {
  const amounts: Record<string, bigint> = {}
  for (const row of rows) amounts[row.currency] = (amounts[row.currency] ?? 0n) + (parseAmount(read(row)) ?? 0n)
  return Object.fromEntries(Object.entries(amounts).map(([currency, amount]) => [currency, formatAmount(amount)]))
}

const firstFrameOf = (frames: ReadonlyArray<FrameRow>): FirstFrame => {
  const counts = Map.groupBy(frames, ({ upToMs }) => upToMs)
  const buckets = [...counts]
    .map(([upToMs, rows]) => ({
      fromMs: tierBoundaries[tierBoundaries.indexOf(upToMs) - 1] ?? 0,
      upToMs,
      count: countIn(rows),
    }))
    .sort((a, b) => a.upToMs - b.upToMs)
  const calls = countIn(frames)
  const at = (share: number) => timeOfRank(buckets, share * calls) ?? null
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99) }
}
