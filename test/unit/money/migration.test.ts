/** The books of the first design come over with the same sums: what is open ends, what is spent stays spent. */
import { readdirSync, readFileSync } from "node:fs"
import { PGlite } from "@electric-sql/pglite"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { emptyDatabase } from "../../../src/store/embedded-files.ts"
import { startParameters } from "../../../src/store/embedded-parameters.ts"

const migrations = new URL("../../../migrations/", import.meta.url)
const secondDesign = "0015_allotments.sql"

const db = await PGlite.create({ loadDataDir: emptyDatabase(), startParams: startParameters })
afterAll(() => db.close())
const rows = async <Row>(query: string, ...values: ReadonlyArray<unknown>) =>
  (await db.query<Row>(query, [...values])).rows
const one = async <Row>(query: string, ...values: ReadonlyArray<unknown>) => (await rows<Row>(query, ...values))[0]

const usage = (outTokens: number) => ({
  app_id: "app",
  session_id: null,
  purpose: "exchange",
  model: "main",
  vendor: "v",
  in_tokens: 10,
  out_tokens: outTokens,
  cache_read_tokens: 0,
  cache_write_tokens: 0,
  dims: {},
  estimated_reason: null,
  stop: "end",
  cache_net_saving: "0",
})
const hold = (ref: string, requestId: string, amount: string, leaseMs = 60_000) =>
  rows("select * from ledger_hold($1::jsonb)", [
    {
      item: 0,
      ref,
      org_id: "o",
      currency: "USD",
      key_id: "k",
      request_id: requestId,
      amount,
      lease_ms: leaseMs,
      quota_tokens: 100,
      quota_limit: 100_000,
    },
  ])
const close = (ref: string, cost: string, of: object | null) =>
  rows("select * from ledger_close($1::jsonb)", [{ item: 0, ref, cost, usage: of }])
const renew = (ref: string, cost: string, leaseMs: number) =>
  rows("select ledger_renew($1::jsonb)", [{ ref, lease_ms: leaseMs, cost, usage: usage(7) }])

beforeAll(async () => {
  const files = readdirSync(migrations)
    .filter((name) => name.endsWith(".sql"))
    .sort()
  for (const file of files.filter((name) => name < secondDesign)) {
    await db.exec(readFileSync(new URL(file, migrations), "utf8"))
  }
  await rows("select ledger_topup('t1', 'o', 'USD', 100)")
  await rows("select ledger_topup('t2', 'p', 'EUR', 5)")
  await hold("settled", "q-settled", "10")
  await close("settled", "4", usage(20))
  await hold("over", "q-over", "1")
  await close("over", "3", usage(30))
  await hold("released", "q-released", "10")
  await close("released", "0", null)
  await hold("corrected", "q-corrected", "8", 1)
  await renew("corrected", "2", 1)
  await hold("reaped", "q-reaped", "8", 1)
  await renew("reaped", "2.5", 1)
  await db.query("select pg_sleep(0.02)")
  await rows("select * from ledger_reap(10)")
  await close("corrected", "1.5", usage(9))
  await hold("open", "q-open", "6")
  await renew("open", "1", 60_000)
  await hold("without-id", "without-id", "5")
}, 60_000)

describe("the migration of the first design's books", () => {
  it("keeps the sums", async () => {
    const before = await one<Record<string, string>>(`
      select (select available from balances where org_id = 'o')::text as available,
        (select held from balances where org_id = 'o')::text as held,
        (select sum(amount) from entries where account = 'revenue')::text as revenue,
        (select -sum(amount) from entries where account = 'funding' and org_id = 'o')::text as funded,
        (select sum(cost) from usage_records)::text as recorded,
        (select used + reserved from quota_days where org_id = 'o')::numeric(30, 10)::text as tokens`)
    await db.exec(readFileSync(new URL(secondDesign, migrations), "utf8"))
    const after = await one<Record<string, string>>(`
      select (select funded - granted from counters where org_id = 'o' and counter = 'USD')::text as available,
        (select sum(granted - spent) from allotments where org_id = 'o' and counter = 'USD')::text as held,
        (select sum(case when credit_account = 'revenue' then amount else -amount end) from transfers
          where 'revenue' in (debit_account, credit_account))::text as revenue,
        (select funded from counters where org_id = 'o' and counter = 'USD')::text as funded,
        (select sum(cost) from usage_records)::text as recorded,
        (select granted from counters where org_id = 'o' and counter like 'tokens:%')::text as tokens`)
    expect(after).toEqual(before)
    expect(before).toMatchObject({ available: "78.0000000000", held: "11.0000000000", revenue: "11.0000000000" })
    expect(await rows("select * from ledger_audit()")).toEqual([])
  })

  it("keeps spent request ids, and frees those that were released", async () => {
    const spent = await rows<{ request_id: string }>("select request_id from spent_requests order by 1")
    expect(spent.map((row) => row.request_id)).toEqual(["q-corrected", "q-open", "q-over", "q-reaped", "q-settled"])
  })

  it("lets what was open settle, and what was reaped be corrected, once", async () => {
    const settle = (ref: string, requestId: string, cost: string) =>
      rows("select outcome, balance::text from ledger_settle($1::json, true)", [
        {
          item: 0,
          node: "first-design",
          org: "o",
          ref,
          cur: "USD",
          key: "k",
          req: requestId,
          opened: true,
          day: "2026-11-21",
          at: Date.now(),
          cost,
          app: "app",
          session: null,
          purpose: "exchange",
          model: "main",
          vendor: "v",
          tin: 1,
          tout: 1,
          tread: 0,
          twrite: 0,
          dims: {},
          est: null,
          stop: "end",
          saving: "0",
        },
      ])
    expect(await settle("open", "q-open", "2")).toEqual([{ outcome: "settled", balance: "87.0000000000" }])
    expect(await settle("reaped", "q-reaped", "3")).toEqual([{ outcome: "settled", balance: "86.5000000000" }])
    expect(await settle("another", "q-settled", "3")).toEqual([{ outcome: "duplicate", balance: "86.5000000000" }])
  })

  it("gives back what a lost exchange held when the lease has run out", async () => {
    await rows("update nodes set lease_until = now() - interval '1 second'")
    expect(await rows("select * from ledger_reap(10)")).toEqual([{ ref: "without-id", outcome: "released" }])
    expect(await rows("select * from allotments")).toEqual([])
    expect(await one("select ledger_balance('o', 'USD')::text as balance")).toEqual({ balance: "86.5000000000" })
    expect(await rows("select * from ledger_audit()")).toEqual([])
  })
})
