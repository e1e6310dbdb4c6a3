/** Exports of a gateway that runs, to a folder, and what DuckDB says of the files. */
import { readFileSync, rmSync } from "node:fs"
import { join } from "node:path"
import { Effect, Schema } from "effect"
import { describe, expect, it } from "vitest"
import { ExportFill, ExportList } from "../../../src/protocol/control/export.ts"
import { UsageSummary } from "../../../src/protocol/control/usage-summary.ts"
import { budgetCalls, nobody } from "../../support/budget-calls.ts"
import { errorOf } from "../../support/gateway.ts"
import { eventually, run, useExports } from "../../support/use-exports.ts"

const { folder, ids, named, gateway, ask, filesOf, parquet, exportedRefs, spentRefs } = useExports()
const { exchange } = budgetCalls(gateway)

const asOperator = () => ({ ...nobody, "x-svc-admin-key": gateway().adminKey })
const openWindows = async () =>
  (
    await run(gateway().sql`
      select from export_windows where export = ${named("folder")} and records = 'usage' and landed_at is null`)
  ).length
describe("exports", { timeout: 240_000 }, () => {
  it("write each record once, with sums that are those of the books", async () => {
    for (let n = 0; n < 20; n++) await exchange()
    await eventually(async () => (await exportedRefs()).length >= 20)
    const refs = await spentRefs()
    expect((await exportedRefs()).sort()).toEqual(refs)
    const [books] = await run(gateway().sql`
      select sum(cost)::text as cost, sum(in_tokens)::int as "in", sum(out_tokens)::int as "out", count(*)::int as n
      from usage_records where org_id = ${ids.org}`)
    const [files] = await ask(`
      select sum(cost)::varchar as cost, sum(in_tokens)::int as "in", sum(out_tokens)::int as "out", sum(exchanges)::int as n
      from ${parquet("usage")} where org_id = '${ids.org}'`)
    expect(files).toEqual(books)
    const summary = await gateway().call("GET", `/v1/admin/usage-summary?org=${ids.org}`, undefined, asOperator())
    const { totals } = Schema.decodeUnknownSync(UsageSummary)(await summary.json())
    expect([totals.exchanges, totals.inTokens, totals.outTokens, totals.cost]).toEqual([
      20,
      books?.["in"],
      books?.["out"],
      { USD: String(books?.["cost"]).replace(/\.?0+$/, "") },
    ])
  })

  it("write transfers and the audit log, whole", async () => {
    const made = await gateway().call("POST", "/v1/admin/keys", { app: ids.app }, asOperator())
    expect(made.status).toBe(200)
    await eventually(async () => {
      const [head] = await run(gateway().sql<{ seq: number }>`select seq::int as seq from audit_head`)
      if (!filesOf(".").some((file) => file.includes("audit/v1/date"))) return false
      const [found] = await ask(`select max(seq)::int as seq from ${parquet("audit")}`)
      return found?.["seq"] === head?.seq
    })
    await eventually(async () => {
      if (!filesOf(".").some((file) => file.includes("transfers/v1/date"))) return false
      const [books] = await run(gateway().sql`
        select count(*)::int as n, sum(amount)::text as amount from transfers where org_id = ${ids.org} and kind = 'charge'`)
      const [files] = await ask(`
        select count(*)::int as n, sum(amount)::varchar as amount from ${parquet("transfers")}
        where org_id = '${ids.org}' and kind = 'charge'`)
      return JSON.stringify(books) === JSON.stringify(files)
    })
  })

  it("name in manifests each file, its records and its hash", async () => {
    const { createHash } = await import("node:crypto")
    const manifests = filesOf("files").filter((file) => file.includes("usage/v1/manifests"))
    const listed = manifests.flatMap(
      (file) => JSON.parse(readFileSync(join(folder, "files", file), "utf8")).files as Array<Record<string, unknown>>,
    )
    expect(new Set(listed.map(({ path }) => path))).toEqual(
      new Set(filesOf("files").filter((file) => file.includes("usage/v1/date"))),
    )
    for (const { path, sha256, bytes } of listed) {
      const content = readFileSync(join(folder, "files", String(path)))
      expect(content).toHaveLength(Number(bytes))
      expect(createHash("sha256").update(content).digest("hex")).toBe(sha256)
    }
  })

  it("are listed with how far they have come, and write a period again under the same names", async () => {
    const list = await gateway().call("GET", "/v1/admin/exports", undefined, asOperator())
    const { exports } = Schema.decodeUnknownSync(ExportList, { onExcessProperty: "error" })(await list.json())
    expect(exports.find(({ id }) => id === named("folder"))).toMatchObject({
      to: `file://${folder}/files`,
      format: "parquet",
    })
    const progress = exports.find(({ id }) => id === named("folder"))?.progress ?? []
    expect(new Set(progress.map(({ records, failures }) => `${records} ${failures}`))).toEqual(
      new Set(["audit 0", "transfers 0", "usage 0"]),
    )
    // A file is seen before its window has landed, and only what has landed is written again.
    await eventually(async () => (await openWindows()) === 0)
    const refs = await spentRefs()
    rmSync(join(folder, "files/usage"), { recursive: true })
    const fill = async (query: string, id = named("folder")) =>
      gateway().call("POST", `/v1/admin/exports/${id}/run?${query}`, undefined, asOperator())
    const hour = 3_600_000
    const at = (ms: number) => new Date(Date.now() + ms).toISOString()
    const filled = await fill(`from=${at(-26 * hour)}&to=${at(0)}`)
    const { again, hours } = Schema.decodeUnknownSync(ExportFill)(await filled.json())
    expect(again).toBeGreaterThan(1)
    // Each of three kinds, in each of 26 or 27 hours, in each shard.
    expect([26, 27].map((hours) => hours * progress.length)).toContain(hours)
    await eventually(async () => (await exportedRefs()).length >= refs.length, 120_000)
    expect((await exportedRefs()).sort()).toEqual(refs)
    for (const [query, path] of [
      ["from=x&to=2026-01-01", "from"],
      [`from=2020-01-01&to=${at(0)}`, "from"],
      [`from=${at(-hour)}&to=${at(hour)}`, "to"],
      [`from=${at(-hour)}&to=${at(-2 * hour)}`, "to"],
    ]) {
      const error = await errorOf(await fill(query ?? ""))
      expect(error).toMatchObject({ status: 400, code: "bad_request", detail: { issues: [{ path }] } })
    }
    expect((await errorOf(await fill(`from=${at(-hour)}&to=${at(0)}`, "none"))).status).toBe(404)
    const anonymous = await gateway().call("GET", "/v1/admin/exports", undefined, nobody)
    expect((await errorOf(anonymous)).code).toBe("admin_key_invalid")
  })

  it("keep days of usage until they have them, and no longer", async () => {
    const { sql } = gateway()
    const isKept = Effect.map(
      Effect.andThen(
        sql`select * from retain(400, 0)`,
        sql<{ part: string | null }>`select to_regclass('usage_records_20250301')::text as part`,
      ),
      ([row]) => row?.part !== null,
    )
    // In a transaction of its own: one that makes and removes a part meets a deadlock with calls that read them all.
    await run(
      sql.unsafe(
        "create table usage_records_20250301 partition of usage_records for values from ('2025-03-01') to ('2025-03-02')",
      ),
    )
    const isKeptBehind = sql.withTransaction(
      Effect.gen(function* () {
        yield* sql`
          insert into export_positions (export, records, shard, place, at, started_place, started_at)
          values ('behind', 'usage', 'books', 0, '2025-03-01 12:00:00+00', 0, now())`
        const answer = yield* isKept
        // The gateway has no such export.
        yield* sql`delete from export_positions where export = 'behind'`
        return answer
      }),
    )
    const kept = [await run(isKeptBehind), await run(isKept)]
    expect(kept).toEqual([true, false])
  })
})
