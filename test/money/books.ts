/** Accounts for tests, and the ledger's invariants. */
import { randomUUID } from "node:crypto"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { expect } from "vitest"
import type { WeirConfig } from "../../src/config.ts"
import { type HoldRequest, Ledger, type UsageRecord } from "../../src/money/ledger.ts"
import { layerDatabase } from "../../src/store/database.ts"
import { layerTestConfig, layerTestDatabases, testStores } from "../../src/testing/stores.ts"

export const unit = 10n ** 10n

/** A database of its own for a test file, and the configuration. */
export const makeTestDatabase = (config: Partial<WeirConfig["Service"]> = {}) =>
  Layer.unwrap(
    Effect.map(testStores, ({ databaseUrl }) =>
      layerDatabase.pipe(
        Layer.provide(layerTestDatabases),
        Layer.provideMerge(
          layerTestConfig({ databaseUrl, databaseConnections: 8, databaseDeadlineMs: 10_000, ...config }),
        ),
      ),
    ),
  )

export const layerTestDatabase = makeTestDatabase()

/** The ledger on it. */
export const layerTestLedger = Ledger.layer.pipe(Layer.provideMerge(layerTestDatabase))

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

export const fund = (amount: bigint) =>
  Effect.gen(function* () {
    const orgId = `org_${randomUUID()}`
    yield* (yield* Ledger).topup({ id: randomUUID(), orgId, currency: "USD", amount })
    return orgId
  })

export const holdOf = (orgId: string, amount: bigint, requestId: string = randomUUID()): HoldRequest => ({
  ref: randomUUID(),
  orgId,
  currency: "USD",
  keyId: "key",
  requestId,
  amount,
  leaseMs: 60_000,
  quota: { tokens: 0, limit: undefined },
})

/** The sums of an org's accounts by its entries, and its cached balance. */
const books = (orgId: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const [sums] = yield* sql<Record<"available" | "held" | "all_accounts", string>>`
      select coalesce(sum(amount) filter (where account = 'available'), 0)::text as available,
        coalesce(sum(amount) filter (where account = 'held'), 0)::text as held,
        coalesce(sum(amount), 0)::text as all_accounts
      from entries where org_id = ${orgId}`
    const [balance] = yield* sql<Record<"available" | "held", string>>`
      select available::text, held::text from balances where org_id = ${orgId}`
    return { sums, balance }
  })

export const expectSound = (orgId: string) =>
  Effect.map(books(orgId), ({ sums, balance }) => {
    expect(Number(sums?.all_accounts)).toBe(0)
    expect(sums?.available).toBe(balance?.available)
    expect(Number(sums?.held)).toBe(Number(balance?.held))
  })
