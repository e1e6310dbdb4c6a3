/** Books that are spread over the servers of Citus, with what was in them; shards that move under load. Starts Citus of its own. */
import { randomUUID } from "node:crypto"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Redacted, Result, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import { Books } from "../../../src/money/books.ts"
import { Ledger } from "../../../src/money/ledger.ts"
import { Retention } from "../../../src/money/retention.ts"
import { UsageRollups } from "../../../src/money/usage-rollups.ts"
import { UsageSummaries } from "../../../src/money/usage-summary.ts"
import { layerDatabase } from "../../../src/store/database.ts"
import { distribute, planDistribution } from "../../../src/store/shards/distribute.ts"
import { inEach, Shards } from "../../../src/store/shards/shards.ts"
import { layerTestConfig } from "../../../src/testing/stores.ts"
import { expectSound, holdOf, settlementOf, unit } from "../../support/books.ts"
import { runsCitus, temporaryCluster, urlAt } from "../../support/faults/databases.ts"

/** A cluster of its own whose books are still in one place. */
const withCluster = <A, E, R>(use: (url: string) => Effect.Effect<A, E, R>) =>
  Effect.acquireUseRelease(
    Effect.promise(() => temporaryCluster(2)),
    ({ members }) => use(urlAt(members[0]?.port ?? 0)),
    ({ stop }) => Effect.promise(stop),
  )

/** The services of a gateway that has the books, for as long as it runs. */
const gatewayOn = (url: string) =>
  Layer.mergeAll(Books.layer, Retention.layer, UsageRollups.layer, UsageSummaries.layer).pipe(
    Layer.provideMerge(Ledger.layer),
    Layer.provideMerge(layerDatabase),
    Layer.provideMerge(
      layerTestConfig({ databaseUrl: Redacted.make(url), databaseConnections: 8, databaseDeadlineMs: 20_000 }),
    ),
  )

/** Connections of their own: a layer that is built already would be shared. */
const toolsOn = (url: string) =>
  Layer.fresh(layerDatabase).pipe(
    Layer.provide(layerTestConfig({ databaseUrl: Redacted.make(url), databaseConnections: 2 })),
  )

const orgs = Array.from({ length: 24 }, (_, n) => `org_${n}`)

const fundAll = Effect.gen(function* () {
  const { topup } = yield* Ledger
  for (const orgId of orgs) yield* topup({ id: `first-${orgId}`, orgId, currency: "USD", amount: 100n * unit })
})

const exchange = Effect.fnUntraced(function* (orgId: string, cost: bigint, atMs: number) {
  const { hold, settle } = yield* Ledger
  const held = yield* hold(holdOf(orgId, 2n * unit, randomUUID()))
  yield* settle({ ...settlementOf(held, cost), atMs })
})

const hourMs = 3_600_000

/** The contents of the books. */
const told = Effect.gen(function* () {
  const { balance } = yield* Ledger
  const { read } = yield* UsageSummaries
  const period = { fromMs: Date.now() - 20 * 24 * hourMs, toMs: Date.now() + hourMs }
  const byModel = yield* read({ ...period, by: "model", only: {} })
  const byOrg = yield* read({ ...period, by: "org", only: {} })
  const balances = yield* Effect.forEach(orgs, (orgId) => balance(orgId, "USD"))
  const entries = yield* Effect.flatMap(Books, (books) => books.ledger("org_3"))
  return {
    whole: byModel.totals,
    groups: byOrg.groups.toSorted((a, b) => a.group.localeCompare(b.group)),
    balances,
    entries: entries.entries.map(({ kind, amount, account }) => `${kind} ${account} ${amount}`),
  }
})

/**
 * Moves shards like an operator, beside the gateway: each shard to another server, and every second one back.
 * @returns how many are elsewhere now
 */
const moveShards = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const placed = () => sql<{ id: string; host: string; port: number }>`
    select s.shardid::text as id, n.nodename as host, n.nodeport as port
    from pg_dist_shard s join pg_dist_placement using (shardid) join pg_dist_node n using (groupid)
    where s.logicalrelid = 'counters'::regclass`
  const servers = yield* sql<{ host: string; port: number }>`
    select nodename as host, nodeport as port from pg_dist_node where shouldhaveshards order by 2`
  // Citus takes no shard back while the server has what it left there; it drops that later where it was locked.
  const dropped = Effect.gen(function* () {
    yield* sql`call citus_cleanup_orphaned_resources()`
    const [{ left } = { left: 0 }] = yield* sql<{ left: number }>`
      select count(*)::int as left from pg_dist_cleanup`
    return left
  }).pipe(Effect.repeat({ until: (left) => left === 0, schedule: Schedule.spaced("100 millis") }))
  const before = yield* placed()
  for (const [at, { id, host, port }] of before.entries()) {
    const other = servers.find((each) => each.port !== port)
    const move = (from: (typeof servers)[number], to: (typeof servers)[number]) => sql`
      select citus_move_shard_placement(${id}::bigint, ${from.host}, ${from.port}::int, ${to.host}, ${to.port}::int,
        shard_transfer_mode => 'force_logical')`
    if (other === undefined) continue
    yield* move({ host, port }, other)
    if (at % 2 !== 0) continue
    yield* dropped
    yield* move(other, { host, port })
  }
  const after = yield* placed()
  return after.filter(({ id, port }) => before.some((each) => each.id === id && each.port !== port)).length
})

const audit = Effect.gen(function* () {
  const { findings, isComplete } = yield* (yield* Books).audit
  expect([findings, isComplete]).toEqual([[], true])
})

describe.skipIf(!runsCitus)("books on Citus", () => {
  it.live(
    "are spread with what is in them, once no gateway runs; sums, balances and the order of entries stay",
    () =>
      withCluster((url) =>
        Effect.gen(function* () {
          const before = yield* Effect.gen(function* () {
            yield* (yield* Retention).run
            yield* fundAll
            for (const [n, orgId] of orgs.entries()) {
              for (const age of [0, 30, 24 * 9]) {
                yield* exchange(orgId, unit / BigInt(n + 2), Date.now() - age * hourMs)
              }
            }
            yield* (yield* UsageRollups).fold
            const refused = yield* Effect.result(Effect.provide(planDistribution, toolsOn(url)))
            expect(Result.isFailure(refused) && String(refused.failure.message)).toMatch(
              /has a lease.*stop all gateways/,
            )
            return yield* told
          }).pipe(Effect.provide(gatewayOn(url)))

          expect((yield* Effect.provide(planDistribution, toolsOn(url))).servers).toBe(2)
          yield* Effect.provide(distribute(5), toolsOn(url))
          const again = yield* Effect.result(Effect.provide(planDistribution, toolsOn(url)))
          expect(Result.isFailure(again) && String(again.failure.message)).toContain("spread already")

          yield* Effect.gen(function* () {
            expect((yield* Shards).all.length).toBe(5)
            expect(yield* told).toEqual(before)
            yield* audit
            // A late record folds its hour again: what was folded of it before is not counted twice.
            yield* exchange("org_3", unit / 5n, Date.now() - 30 * hourMs)
            yield* (yield* UsageRollups).fold
            const after = yield* told
            expect(after.whole.exchanges).toBe(before.whole.exchanges + 1)
            expect(after.balances[3]).toBe((before.balances[3] ?? 0n) - unit / 5n)
            expect(after.entries[0]).toMatch(/^charge/)
            const { topup } = yield* Ledger
            yield* topup({ id: "second", orgId: "org_3", currency: "USD", amount: unit })
            expect(yield* topup({ id: "second", orgId: "org_3", currency: "USD", amount: unit })).toBe(false)
            expect((yield* told).entries[0]).toMatch(/^topup/)
            yield* exchange("org_3", unit / 5n, Date.now())
            expect((yield* told).entries[0]).toMatch(/^charge/)
            yield* (yield* Retention).run
            yield* audit
          }).pipe(Effect.provide(gatewayOn(url)))
        }),
      ),
    120_000,
  )

  it.live(
    "are exact while every shard moves to another server and back under load",
    () =>
      withCluster((url) =>
        Effect.gen(function* () {
          yield* Effect.provide(distribute(4), toolsOn(url))
          yield* Effect.gen(function* () {
            yield* (yield* Retention).run
            yield* fundAll
            let isMoving = true
            let calls = 0
            const client = Effect.fnUntraced(function* (first: number) {
              for (let n = first; isMoving; n += 8) {
                yield* exchange(orgs[n % orgs.length] ?? "", unit / 1000n, Date.now())
                calls++
              }
            })
            const load = yield* Effect.forkChild(
              Effect.forEach(
                Array.from({ length: 8 }, (_, n) => n),
                client,
                { concurrency: "unbounded" },
              ),
            )
            const moved = yield* Effect.provide(moveShards, toolsOn(url))
            expect(moved).toBe(2)
            isMoving = false
            yield* Fiber.join(load)
            expect(calls).toBeGreaterThan(100)
            const { balance } = yield* Ledger
            const left = (yield* Effect.forEach(orgs, (orgId) => balance(orgId, "USD"))).reduce(
              (sum, each) => sum + each,
              0n,
            )
            expect(left).toBe(BigInt(orgs.length) * 100n * unit - BigInt(calls) * (unit / 1000n))
            yield* audit
            yield* expectSound("org_3")
          }).pipe(Effect.provide(gatewayOn(url)))
        }),
      ),
    180_000,
  )

  it.live(
    "are refused to a gateway that does not know that they were spread; a shard's schema of an older version is replaced",
    () =>
      withCluster((url) =>
        Effect.gen(function* () {
          yield* Effect.provide(distribute(2), toolsOn(url))
          yield* Effect.gen(function* () {
            const sql = yield* SqlClient.SqlClient
            const shards = yield* Shards
            const refused = yield* Effect.result(sql`select * from ledger_allot('[]')`)
            expect(Result.isFailure(refused) && String(refused.failure.reason.cause)).toContain("restart this gateway")
            yield* fundAll
            for (const { name, run } of shards.all) {
              yield* run(({ sql }) => sql.unsafe(`comment on schema ${name} is 'weir 1'`))
              yield* run(({ sql }) => sql.unsafe(`drop function ${name}.ledger_return(jsonb)`))
            }
          }).pipe(Effect.provide(gatewayOn(url)))
          yield* Effect.gen(function* () {
            for (const orgId of orgs) yield* exchange(orgId, unit, Date.now())
            const shards = yield* Shards
            const found = yield* inEach(shards, ({ sql, books }) => sql`select ${books}ledger_return('[]'::jsonb)`)
            expect(found.length).toBe(2)
            yield* audit
          }).pipe(Effect.provide(gatewayOn(url)))
        }),
      ),
    120_000,
  )
})
