/** Accounts for tests, and the ledger's invariants. */
import { randomUUID } from "node:crypto"
import { Context, Effect, Exit, Layer, Scope } from "effect"
import { SqlClient } from "effect/sql"
import { expect } from "vitest"
import { WeirConfig } from "../../src/config.ts"
import { wholeAmount } from "../../src/money/amount.ts"
import { type Budget, type BudgetNeed, planBudget } from "../../src/money/budgets/budget.ts"
import { type Hold, type HoldRequest, Ledger } from "../../src/money/ledger.ts"
import { layerPostgres } from "../../src/money/ledger-postgres.ts"
import { LedgerStore, LedgerStores, oneStore } from "../../src/money/ledger-store.ts"
import { RecallChannel } from "../../src/money/recalls.ts"
import type { KeptFacts, Settlement } from "../../src/money/settlement.ts"
import type { UsageRecord } from "../../src/money/usage-record.ts"
import { dayOf } from "../../src/protocol/values/utc8.ts"
import { layerDatabase } from "../../src/store/database.ts"
import { inEach, Shards } from "../../src/store/shards/shards.ts"
import { layerTestConfig, layerTestDatabases, type TestConfig, testStores } from "../../src/testing/stores.ts"

export const unit = 10n ** 10n

/** A database of its own for a test file, and the configuration. Connections are enough for several nodes that listen. */
export const makeTestDatabase = (config: Partial<WeirConfig["Service"]> = {}) =>
  Layer.unwrap(
    Effect.map(testStores, ({ databaseUrl }) =>
      layerDatabase.pipe(
        Layer.provide(layerTestDatabases),
        Layer.provideMerge(
          layerTestConfig({ databaseUrl, databaseConnections: 24, databaseDeadlineMs: 10_000, ...config }),
        ),
      ),
    ),
  )

export const layerTestDatabase = makeTestDatabase()

/** The ledger on it. */
export const layerTestLedger = Ledger.layer.pipe(Layer.provideMerge(layerTestDatabase))

/** The same for several nodes: on a server they hear of each other by `NOTIFY`. */
export const layerTestNodes = Layer.unwrap(
  Effect.map(WeirConfig, ({ databaseUrl }) =>
    databaseUrl === undefined ? RecallChannel.layerLocal : RecallChannel.layer,
  ),
).pipe(Layer.provideMerge(layerTestLedger))

/** A small answer's usage record. */
export const record: UsageRecord = {
  appId: "app",
  purpose: "exchange",
  model: "main",
  vendor: "v",
  counts: { inTokens: 1, outTokens: 2, cacheReadTokens: 3, cacheWriteTokens: 4, dims: { reasoning: 1 } },
  stop: "end",
  cacheNetSaving: -5n,
}

/** A response that is kept. */
export const keptResponse = {
  id: "resp_1",
  day: "2026-11-29",
  app: "app",
  person: "",
  endUser: "",
  model: "main",
  state: "completed" as const,
  eraseAt: 1_800_000_000_000,
  items: [],
  sealed: "AAAA",
} satisfies KeptFacts

export const fund = (amount: bigint) =>
  Effect.gen(function* () {
    const orgId = `org_${randomUUID()}`
    yield* (yield* Ledger).topup({ id: randomUUID(), orgId, currency: "USD", amount })
    return orgId
  })

/** The need of an exchange for the daily tokens of a plan. */
export const dailyTokens = (orgId: string, tokens: number, limit: number): BudgetNeed => {
  const daily = planBudget({ id: "plan", dailyTokens: limit }, orgId, Date.now(), true)
  if (daily === undefined) throw new Error("the plan has a limit")
  return { ...daily, amount: wholeAmount(tokens) }
}

/** A budget without a limit that matters. */
export const testBudget = {
  id: "test",
  source: "platform",
  scope: "org",
  unit: "money",
  period: "day",
  limit: 0n,
  isEnforced: true,
  thresholds: [],
} satisfies Budget

export const holdOf = (orgId: string, amount: bigint, requestId?: string): HoldRequest => ({
  ref: randomUUID(),
  orgId,
  currency: "USD",
  keyId: "key",
  requestId,
  amount,
  day: dayOf(Date.now()),
})

/** A settlement of a hold. */
export const settlementOf = (hold: Hold, cost: bigint, of: UsageRecord = record): Settlement => ({
  hold,
  atMs: Date.now(),
  cost,
  record: of,
})

/** Nothing is wrong with an organisation's books; that a node is dead and not reaped yet is not wrong. */
export const expectSound = (orgId: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const findings = yield* inEach(
      yield* Shards,
      ({ sql, books }) => sql<{ finding: string; id: string }>`select finding, id from ${books}ledger_audit('', null)`,
    )
    const refs = yield* sql<{ ref: string }>`
      select ref from usage_records where org_id = ${orgId} union select ref from transfers where org_id = ${orgId}`
    const own = new Set(refs.map(({ ref }) => ref))
    const waits = new Set(["a hold has outlived its lease"])
    const ours = findings.filter(({ finding, id }) => (id.includes(orgId) || own.has(id)) && !waits.has(finding))
    expect(ours).toEqual([])
  })

/** The ledger's rules over any store, for as long as the scope is open. */
export const ledgerOver = (
  store: LedgerStore["Service"],
  channel: Layer.Layer<RecallChannel> = RecallChannel.layerLocal,
  config: TestConfig = {},
): Effect.Effect<Ledger["Service"], never, Scope.Scope> =>
  Ledger.layerRules.pipe(
    Layer.provide(Layer.succeed(LedgerStores, oneStore(store))),
    Layer.provide(channel),
    Layer.provide(layerTestConfig(config)),
    Layer.build,
    Effect.map(Context.get(Ledger)),
  )

/** Another node on the same books. `crash` ends it as a killed process ends: nothing is given back. */
export const startNode = (options: { readonly leaseMs?: number } = {}) =>
  Effect.gen(function* () {
    const scope = yield* Scope.make()
    const config = yield* WeirConfig
    const stores = yield* Effect.map(Layer.build(layerPostgres), Context.get(LedgerStores))
    let isCrashed = false
    const joined: Array<string> = []
    const mortal = (store: LedgerStore["Service"]) =>
      LedgerStore.of({
        ...store,
        join: (node, leaseMs) =>
          Effect.andThen(
            Effect.sync(() => joined.push(node)),
            store.join(node, leaseMs),
          ),
        leave: (node) => (isCrashed ? Effect.void : store.leave(node)),
      })
    const ledger = yield* Layer.fresh(Ledger.layerRules).pipe(
      Layer.provide(Layer.succeed(LedgerStores, { ...stores, all: stores.all.map(mortal) })),
      Layer.provide(Layer.succeed(WeirConfig, { ...config, leaseMs: options.leaseMs ?? 60_000 })),
      Layer.buildWithScope(scope),
      Effect.map(Context.get(Ledger)),
    )
    yield* Effect.addFinalizer(() => Scope.close(scope, Exit.void))
    const end = (crash: boolean) =>
      Effect.suspend(() => {
        isCrashed = crash
        return Scope.close(scope, Exit.void)
      })
    return { ...ledger, crash: end(true), drain: end(false), joined }
  })
