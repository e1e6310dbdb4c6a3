/**
 * Usage that is folded by the hour and by the day: it is the sum of the records, however late they come, and after
 * each new folding.
 */
import { randomUUID } from "node:crypto"
import { expect, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { Periods } from "../../../src/money/periods.ts"
import { UsageRollups } from "../../../src/money/usage-rollups.ts"
import { type SummaryQuery, UsageSummaries } from "../../../src/money/usage-summary.ts"
import type { ShardClient } from "../../../src/store/shards/shard.ts"
import { inEach, Shards } from "../../../src/store/shards/shards.ts"
import { layerTestDatabase } from "../../support/books.ts"

const services = Layer.mergeAll(UsageRollups.layer, UsageSummaries.layer).pipe(Layer.provideMerge(layerTestDatabase))

const sql = <A, E>(use: (sql: SqlClient.SqlClient) => Effect.Effect<A, E>) => Effect.flatMap(SqlClient.SqlClient, use)
const inShard = <A>(query: (client: ShardClient) => Effect.Effect<A, SqlError.SqlError>) =>
  Effect.flatMap(Shards, (shards) => shards.of(org).run(query))
const fold = Effect.flatMap(UsageRollups, (rollups) => rollups.fold)
const read = (query: SummaryQuery) => Effect.flatMap(UsageSummaries, (summaries) => summaries.read(query))

const hourMs = 3_600_000
const org = `org_${randomUUID().slice(0, 8)}`
const nowMs = Math.floor(Date.now() / hourMs) * hourMs + hourMs / 2
const models = ["main", "claude"]

/** A record so many hours ago. */
const record = (hoursAgo: number, n: number) => ({
  ref: `req_${randomUUID()}`,
  at: new Date(nowMs - hoursAgo * hourMs - n).toISOString(),
  model: models[n % 2] ?? "",
  tokens: 10 + n,
  ttfb: 5 * (n + 1),
  purpose: n === 2 ? "image" : "exchange",
  dims: n === 2 ? { images: 2, seconds: 0.5 } : {},
})
type Row = ReturnType<typeof record>

/** Settles exchanges that ended then. */
const add = (rows: ReadonlyArray<Row>) =>
  inShard(({ sql, books }) => {
    const items = rows.map(({ ref, at, model, tokens, ttfb, purpose, dims }, item) => ({
      ...{
        item,
        node: "n",
        org,
        ref,
        cur: "USD",
        key: "key",
        day: at.slice(0, 10),
        at: Date.parse(at),
        cost: tokens / 4,
      },
      ...{ app_id: "app", purpose, model, vendor: "vendor", in_tokens: tokens, out_tokens: 1, cache_read_tokens: 2 },
      ...{ cache_write_tokens: 3, dims, ttfb_ms: ttfb, stop: "end", cache_net_saving: 0 },
    }))
    return sql`select * from ${books}ledger_settle(${JSON.stringify(items)}::text::json, false)`
  })

/** Replaces a reaper's settlement, as the settlement of its node does; here, by nothing. */
const takeBack = ({ ref, at }: Row) =>
  Effect.andThen(
    inShard(
      ({ sql, books }) => sql`
        insert into ${books}holds (org_id, ref, node, currency, key_id, request_id, amount, day, spends, state, reaped_at)
        values (${org}, ${ref}, 'n', 'USD', 'key', ${ref}, 1, current_date, false, 'reaped', ${at}::text::timestamptz)`,
    ),
    inShard(({ sql, books }) => sql`select ${books}ledger_close_holds(${JSON.stringify([{ org, ref }])}::text::json)`),
  )

const sumsOf = Effect.fnUntraced(function* (query: Partial<SummaryQuery> = {}) {
  const { totals, groups, points, firstFrame } = yield* read({
    fromMs: nowMs - 60 * 24 * hourMs,
    toMs: nowMs + hourMs,
    by: "model",
    only: { org },
    ...query,
  })
  return {
    tokens: totals.inTokens,
    cost: totals.cost["USD"],
    units: totals.units,
    groups: groups.map(({ group, exchanges }) => [group, exchanges]),
    atPoints: points.reduce((sum, { exchanges }) => sum + exchanges, 0),
    firstFrame,
  }
})

layer(services, { excludeTestServices: true })("usage that is folded", (it) => {
  const rows = [0, 1, 2, 30, 31, 50, 24 * 20, 24 * 40].flatMap((hoursAgo) => [0, 1, 2].map((n) => record(hoursAgo, n)))
  const tokens = rows.reduce((sum, row) => sum + row.tokens, 0)

  it.effect("is the same as the sum of the records, before and after, by minutes, hours and days", () =>
    Effect.gen(function* () {
      yield* add(rows)
      yield* fold
      const folded = yield* sumsOf()
      expect(folded).toMatchObject({ tokens, cost: String(tokens * 0.25), atPoints: rows.length })
      expect(folded.groups).toEqual([
        ["main", 16],
        ["claude", 8],
      ])
      const lastDays = yield* sumsOf({ fromMs: nowMs - 3 * 24 * hourMs })
      expect(lastDays).toMatchObject({ atPoints: 18 })
      expect(yield* sumsOf({ fromMs: nowMs - 5 * hourMs })).toMatchObject({ atPoints: 9 })
      expect(lastDays.firstFrame.p50).toBeGreaterThan(5)
      expect(lastDays.firstFrame.p99).toBeLessThanOrEqual(15)
    }),
  )

  it.effect.each(["UTC", "America/New_York", "Asia/Kolkata", "Asia/Kathmandu", "Etc/GMT-8"])(
    "has the days of the zone %s, each with what a budget of a day counts",
    (zone) =>
      Effect.gen(function* () {
        const days = new Periods({ period: "day" })
        const counted = new Map<string, number>()
        for (const { at, tokens: count } of rows) {
          const start = new Date(days.at(Date.parse(at), zone)?.startMs ?? 0).toISOString()
          counted.set(start, (counted.get(start) ?? 0) + count)
        }
        const { points, step } = yield* read({
          fromMs: nowMs - 60 * 24 * hourMs,
          toMs: nowMs + hourMs,
          by: "model",
          only: { org },
          zone,
        })
        expect(step).toBe("day")
        const told = points.flatMap(({ at, inTokens }) => (inTokens === 0 ? [] : [[at, inTokens] as const]))
        expect(new Map(told)).toEqual(counted)
      }),
  )

  it.effect("counts the units of each kind, where a call had any", () =>
    Effect.gen(function* () {
      expect((yield* sumsOf()).units).toEqual({ images: 16, seconds: 4 })
      expect((yield* sumsOf({ fromMs: nowMs - 5 * hourMs })).units).toEqual({ images: 6, seconds: 1.5 })
      const { groups } = yield* read({
        fromMs: nowMs - 60 * 24 * hourMs,
        toMs: nowMs + hourMs,
        by: "purpose",
        only: { org },
      })
      expect(groups.map(({ group, units }) => [group, units])).toEqual([
        ["exchange", {}],
        ["image", { images: 16, seconds: 4 }],
      ])
      const narrow = yield* read({
        fromMs: nowMs - 60 * 24 * hourMs,
        toMs: nowMs + hourMs,
        by: "model",
        only: { org, purpose: "exchange" },
      })
      expect(narrow.totals.units).toEqual({})
    }),
  )

  it.effect("does not change when it is folded again, from the beginning", () =>
    Effect.gen(function* () {
      const before = yield* sumsOf()
      yield* sql(
        (client) => client`
      update usage_folded set hour = date_trunc('day', now() - interval '45 days', 'UTC'),
        day = date_trunc('day', now() - interval '45 days', 'UTC')`,
      )
      expect(yield* sumsOf()).toEqual(before)
      expect(yield* fold).toBeGreaterThan(40 * 24)
      expect(yield* fold).toBe(0)
      expect(yield* sumsOf()).toEqual(before)
    }),
  )

  it.effect("has a record that comes late, and loses one that is taken back", () =>
    Effect.gen(function* () {
      const late = { ...record(30, 7), dims: { images: 2, seconds: 0.5 } }
      yield* add([late])
      yield* fold
      const withIt = yield* sumsOf()
      expect([withIt.tokens, withIt.units["images"]]).toEqual([tokens + late.tokens, 18])
      yield* takeBack(late)
      yield* fold
      const without = yield* sumsOf()
      expect([without.tokens, without.units["images"]]).toEqual([tokens, 16])
    }),
  )

  it.effect("is in the sums of the whole gateway and of each organisation", () =>
    Effect.gen(function* () {
      const whole = yield* read({ fromMs: nowMs - 60 * 24 * hourMs, toMs: nowMs + hourMs, by: "vendor", only: {} })
      const byOrg = yield* read({ fromMs: nowMs - 60 * 24 * hourMs, toMs: nowMs + hourMs, by: "org", only: {} })
      expect(byOrg.totals).toEqual(whole.totals)
      expect(byOrg.groups.find(({ group }) => group === org)?.exchanges).toBe(rows.length)
    }),
  )

  it.effect("keeps an hour whose records were dropped", () =>
    Effect.gen(function* () {
      const before = yield* sumsOf()
      yield* sql(
        (client) => client`delete from usage_records where org_id = ${org} and at < now() - interval '35 days'`,
      )
      yield* sql((client) => client`delete from usage_stale_hours where at < now() - interval '35 days'`)
      yield* fold
      expect(yield* sumsOf()).toEqual(before)
    }),
  )

  it.effect("loses what is past keeping, sums and units alike", () =>
    Effect.gen(function* () {
      yield* inEach(yield* Shards, ({ sql, books }) => sql`select ${books}retain_rollups(15, 30)`)
      const left = yield* sql(
        (client) => client<{ step: string; days: number }>`
          select step, max(date_part('day', now() - at))::int as days
          from (select step, at from usage_rollups union all select step, at from unit_rollups) x group by 1 order by 1`,
      )
      expect(left).toEqual([
        { step: "day", days: 20 },
        { step: "hour", days: 2 },
      ])
    }),
  )
})
