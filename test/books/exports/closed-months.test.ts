/** A year of months that are closed: what is left of them, what the files have, and whether the books agree. */
import { createHash } from "node:crypto"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DuckDBInstance } from "@duckdb/node-api"
import { Effect, Schema } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { DoctorResponse, LedgerResponse } from "../../../src/protocol/control/admin.ts"
import { newTestIds, testCatalogue } from "../../../src/testing/index.ts"
import { budgetCalls, nobody, priced } from "../../support/budget-calls.ts"
import { eventually, useGateway } from "../../support/gateway.ts"

const folder = mkdtempSync(join(tmpdir(), "weir-months-"))
afterAll(() => rmSync(folder, { recursive: true }))
const ids = newTestIds()
let urls = { vendor: "", second: "" }
const exported = `exports: [{ id: books, to: "file://${folder}", format: parquet, every: 1s, buckets: 1, records: [usage, transfers] }]
webhooks: [{ id: told, url: "http://127.0.0.1:9/", secret: "env:WEIR_TEST_WEBHOOK", events: [books.closed] }]`
const gateway = useGateway({
  ids,
  config: { booksKeptDays: 0, retentionDays: 1 },
  catalogue: (given) => {
    urls = given
    return testCatalogue(urls, ids)
  },
})
const { exchange } = budgetCalls(gateway)
const run = <A>(effect: Effect.Effect<A, unknown>) => Effect.runPromise(effect)
const asOperator = () => ({ ...nobody, "x-svc-admin-key": gateway().adminKey })
const months = 12
const orgs = 40
/** Transfers of an organisation in a month: a credit, an allotment and a charge, each so often. */
const each = 25
let duck: DuckDBInstance

const ask = async (sql: string) => {
  const connection = await duck.connect()
  return (await connection.runAndReadAll(sql)).getRowObjectsJson()
}

beforeAll(async () => {
  duck = await DuckDBInstance.create()
  gateway().vendor.script(priced)
  await exchange()
  const { sql } = gateway()
  // A year ago, so that partitions of months that are over are there.
  const monthOf = async (ago: number) => {
    const [month] = await run(
      sql.unsafe<{ name: string; from: string; until: string }>(`
        select to_char(m, 'YYYYMM') as name, m::text || '+00' as from, (m + interval '1 month')::text || '+00' as until
        from (select date_trunc('month', now() at time zone 'UTC') - interval '${ago} months' as m) x`),
    )
    const { name = "", from = "", until = "" } = month ?? {}
    const part = `create table transfers_${name} partition of transfers for values from ('${from}') to ('${until}')`
    return { name, from, part }
  }
  const current = await monthOf(0)
  // At once: a transfer between the two would be in the default partition, beside which its month has no place.
  await run(
    sql.withTransaction(
      Effect.andThen(sql.unsafe("alter table transfers detach partition transfers_first"), sql.unsafe(current.part)),
    ),
  )
  await run(sql.unsafe(`select books_complete_part('transfers_${current.name}')`))
  for (let ago = months; ago > 0; ago--) {
    const { name, from, part } = await monthOf(ago)
    await run(sql.unsafe(part))
    await run(sql.unsafe(`select books_complete_part('transfers_${name}')`))
    for (const [at, [debit, credit, kind]] of [
      ["funding", "available", "topup"],
      ["available", "node:gone", "allot"],
      ["node:gone", "revenue", "charge"],
    ].entries()) {
      await run(
        sql.unsafe(`
          insert into transfers (org_id, id, currency, debit_account, credit_account, amount, kind, ref, at)
          select 'year-' || o, -1000000 * ${ago} + o * 1000 + n * 10 + ${at}, 'USD', '${debit}', '${credit}', 0.0000000007 * n + ${ago}, '${kind}',
            'r' || n, timestamptz '${from}' + n * interval '1 day'
          from generate_series(1, ${orgs}) o, generate_series(1, ${each}) n`),
      )
    }
  }
  await run(
    sql.unsafe(`
      insert into transfers (org_id, id, currency, debit_account, credit_account, amount, kind, ref, at)
      select org_id, id, currency, debit_account, credit_account, amount, kind, ref, at from transfers_first`),
  )
  await run(sql.unsafe("drop table transfers_first"))
  // Retention says since when usage records are kept: older charges have none.
  await eventually(async () => (await run(sql`select from usage_kept`)).length > 0)
  await run(
    sql.unsafe(`
      insert into counters (org_id, counter, funded, granted)
      select org_id, currency, sum(amount), sum(amount) from transfers where org_id like 'year-%' and kind = 'topup' group by 1, 2`),
  )
})

const doctor = async () => {
  const reply = await gateway().call("GET", "/v1/admin/doctor", undefined, asOperator())
  return Schema.decodeUnknownSync(DoctorResponse)(await reply.json())
}
const sums = () =>
  run(gateway().sql<{ account: string; amount: string }>`
    select l.account, sum(l.amount)::text as amount from (
      select debit_account as account, -amount as amount from transfers where org_id like 'year-%'
      union all select credit_account, amount from transfers where org_id like 'year-%') l
    where l.account <> 'opening' group by 1 having sum(l.amount) <> 0 order by 1`)
const closed = () =>
  run(gateway().sql<{ month: string; hash: string; previous: string; path: string; transfers: number; shard: string }>`
    select month, hash, previous, path, transfers::int as transfers, org_id as shard from books_months order by org_id, until_at`)
const size = async () =>
  (await run(gateway().sql<{ n: number }>`select count(*)::int as n from transfers where org_id like 'year-%'`))[0]?.n

describe("a year of books", { timeout: 300_000 }, () => {
  it("stays whole while no export has transfers", async () => {
    expect((await doctor()).findings).toEqual([])
    await exchange()
    expect(await size()).toBe(months * orgs * each * 3)
    expect(await closed()).toEqual([])
  })

  it("is closed month by month, and its sums stay what they were", async () => {
    const before = await sums()
    const applied = await gateway().call(
      "POST",
      "/v1/admin/catalogue",
      { text: testCatalogue(urls, ids, exported) },
      asOperator(),
    )
    expect(applied.status).toBe(200)
    const all = months * gateway().shards.all.length
    await eventually(async () => (await closed()).length === all, 200_000)
    await eventually(async () => {
      const [left] = await run(gateway().sql<{ n: number }>`
        select count(*)::int as n from pg_class where relname ~ '^transfers_\\d{6}$' and relkind = 'r'`)
      // This month, and two ahead at most.
      return (left?.n ?? 0) <= 3
    })
    expect(await sums()).toEqual(before)
    // One for each account that has a balance: funding and revenue.
    expect(await size()).toBe(orgs * 2)
    expect((await doctor()).findings).toEqual([])
    expect((await exchange()).status).toBe(200)
    const told = async () =>
      (await run(gateway().sql`select from webhook_deliveries where type = 'books.closed'`)).length
    await eventually(async () => (await told()) === all, 60_000)
  })

  it("has files whose hashes follow from one another, and from which a month is restored", async () => {
    const found = await closed()
    const previous = new Map<string, string>()
    for (const { month, hash, previous: before, path, transfers, shard } of found) {
      const text = readFileSync(join(folder, path))
      expect(createHash("sha256").update(text).digest("hex")).toBe(hash)
      const manifest = JSON.parse(text.toString("utf8"))
      expect(manifest).toMatchObject({ month, transfers, previous: previous.get(shard) ?? "" })
      expect(before).toBe(previous.get(shard) ?? "")
      previous.set(shard, hash)
      for (const { path, sha256, bytes } of manifest.files) {
        const content = readFileSync(join(folder, path))
        expect(content).toHaveLength(bytes)
        expect(createHash("sha256").update(content).digest("hex")).toBe(sha256)
      }
    }
    const [all] = await ask(`
      select count(*) filter (where kind <> 'opening')::int as n, sum(amount) filter (where kind = 'charge')::varchar as charged
      from read_parquet('${folder}/books/v1/month=*/*.parquet') where org_id like 'year-%'`)
    const [expected] = await run(gateway().sql<{ charged: string }>`
      select sum(amount)::text as charged from transfers where org_id like 'year-%' and kind = 'opening' and credit_account = 'revenue'`)
    expect(all).toEqual({ n: months * orgs * each * 3, charged: expected?.charged })
    // The opening of a month and its transfers are the opening of the next.
    const { month = "" } = found[5] ?? {}
    const restored = await ask(`
      with t as (select * from read_parquet('${folder}/books/v1/month=${month}/*.parquet') where org_id like 'year-%')
      select org_id, account, sum(amount)::varchar as amount from (
        select org_id, debit_account as account, -amount as amount from t union all select org_id, credit_account, amount from t)
      where account <> 'opening' group by all having sum(amount) <> 0 order by all`)
    const { month: after = "" } = found[6] ?? {}
    const openings = await ask(`
      select org_id, case when debit_account = 'opening' then credit_account else debit_account end as account,
        (case when debit_account = 'opening' then amount else -amount end)::varchar as amount
      from read_parquet('${folder}/books/v1/month=${after}/*.parquet') where kind = 'opening' and org_id like 'year-%' order by all`)
    expect(openings).toHaveLength(orgs * 2)
    expect(restored).toEqual(openings)
  })

  it("shows an organisation where what is closed is, before what came since", async () => {
    await run(gateway().ledger.topup({ id: "later", orgId: "year-1", currency: "USD", amount: 50_000_000_000n }))
    const made = { id: "year-1", name: "Year", currency: "USD", models: [] }
    expect((await gateway().call("POST", "/v1/admin/orgs", made, asOperator())).status).toBe(200)
    const reply = await gateway().call("GET", "/v1/admin/ledger/year-1", undefined, asOperator())
    const { entries } = Schema.decodeUnknownSync(LedgerResponse)(await reply.json())
    expect(entries.map(({ kind, account }) => `${kind} ${account}`)).toEqual([
      "topup available",
      "topup funding",
      "opening funding",
      "opening revenue",
    ])
    expect(entries[2]?.ref).toMatch(/^books\/v1\/month=\d{4}-\d{2}\/\w+\.json$/)
  })

  it("is not consistent when a closed month was changed", async () => {
    const [last] = (await closed()).slice(-1)
    await run(
      gateway()
        .sql`update books_months set previous = 'x' where month = ${last?.month ?? ""} and org_id = ${last?.shard ?? ""}`,
    )
    expect((await doctor()).findings).toEqual([
      { finding: "a closed month does not follow the one before", id: last?.month },
    ])
  })
})
