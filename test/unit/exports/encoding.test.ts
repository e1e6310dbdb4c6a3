/** The contents of the files of a window, read by DuckDB. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { DuckDBInstance } from "@duckdb/node-api"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { microsOf, type Row, recordsSchemas, unscaled } from "../../../src/exports/records.ts"
import { WindowFiles } from "../../../src/exports/window-files.ts"
import type { ExportFormat } from "../../../src/protocol/control/export.ts"

const folder = mkdtempSync(join(tmpdir(), "weir-exports-"))
afterAll(() => rmSync(folder, { recursive: true }))
let instance: DuckDBInstance
beforeAll(async () => {
  instance = await DuckDBInstance.create()
})
const ask = async (sql: string) => {
  const connection = await instance.connect()
  return (await connection.runAndReadAll(sql)).getRowObjectsJson()
}

const hostile = "a\u0000b \"'\\ \n\r\t \u{1f600} \u2028 ; drop table"

const rowOf = (at: string, org: string, cost: string): Row =>
  recordsSchemas.usage.columns.map(({ name }) => {
    switch (name) {
      case "record":
        return "usage"
      case "at":
        return at
      case "org_id":
        return org
      case "cost":
        return cost
      case "cache_net_saving":
        return "-0.0000000001"
      case "tags":
        return '{"feature":"rank"}'
      case "policies":
        return '[{"policy":"mails","at":"request","count":2,"did":"masked"}]'
      case "dims":
        return '{"in":1,"cache_read":99999999999999999999}'
      case "session_id":
      case "estimated_reason":
        return null
      case "ref":
        return hostile
      default:
        return name.endsWith("tokens") ? 9007199254740993n : name.endsWith("_ms") || name === "exchanges" ? 1 : "x"
    }
  })

describe.each<ExportFormat>(["parquet", "jsonl.zst"])("files of %s", (format) => {
  const reader = format === "parquet" ? "read_parquet" : "read_json"
  const options =
    format === "parquet"
      ? ""
      : `, columns = {record: 'VARCHAR', "at": 'TIMESTAMP', org_id: 'VARCHAR', ref: 'VARCHAR', cost: 'DECIMAL(38,10)',
          cache_net_saving: 'DECIMAL(38,10)', in_tokens: 'BIGINT', session_id: 'VARCHAR', dims: 'JSON'}`

  it("have each record once, by hour and organisation, to the last digit", async () => {
    const files = new WindowFiles({ records: "usage", format, buckets: 4, name: "books-1-2" })
    const costs = ["0.0000000001", "99999999999999999999.9999999999", "-0.0000000003", "0"]
    const rows = Array.from({ length: 20_000 }, (_, n) =>
      rowOf(`2026-11-25 0${n % 3}:00:00.00000${n % 10}`, `org-${n % 50}`, costs[n % 4] ?? ""),
    )
    for (let at = 0; at < rows.length; at += 256) files.add(rows.slice(at, at + 256))
    const written = [...files.finish()]
    expect(written).toHaveLength(12)
    expect(written.reduce((sum, { rows }) => sum + rows, 0)).toBe(20_000)
    for (const { path, bytes } of written) {
      expect(path).toMatch(/^usage\/v1\/date=2026-11-25\/hour=0[0-2]\/org=00[0-3]\/books-1-2\./)
      mkdirSync(dirname(join(folder, path)), { recursive: true })
      writeFileSync(join(folder, path), bytes)
    }
    const source = `${reader}('${folder}/usage/v1/date=*/hour=*/org=*/*.${format}', hive_partitioning = true${options})`
    const [all] = await ask(`
      select count(*)::int as rows, sum(cost)::varchar as cost, sum(cache_net_saving)::varchar as saved,
        min(in_tokens)::varchar as tokens, count(session_id)::int as sessions, max(ref) as ref, min("at")::varchar as first,
        max(dims::json::varchar) as dims, count(distinct org_id)::int as orgs from ${source}`)
    expect(all).toEqual({
      rows: 20_000,
      cost: "499999999999999999999999.9999985000",
      saved: "-0.0000020000",
      tokens: "9007199254740993",
      sessions: 0,
      ref: hostile,
      first: format === "parquet" ? "2026-11-25 00:00:00+00" : "2026-11-25 00:00:00",
      dims: '{"in":1,"cache_read":99999999999999999999}',
      orgs: 50,
    })
    // An organisation is in one folder.
    const homes = await ask(`select org_id from ${source} group by 1 having count(distinct org) > 1`)
    expect(homes).toEqual([])
  })
})

describe("values", () => {
  it.each([
    ["0", 0n],
    ["1", 10_000_000_000n],
    ["-1.5", -15_000_000_000n],
    ["-0.0000000001", -1n],
    ["99999999999999999999.9999999999", 999_999_999_999_999_999_999_999_999_999n],
  ])("%s is a decimal of ten places", (text, number) => expect(unscaled(text)).toBe(number))

  it.each([
    ["1970-01-01 00:00:00", 0n],
    ["2026-11-25 09:00:00.5", 1_795_597_200_500_000n],
    ["2026-11-25 09:00:00.000001", 1_795_597_200_000_001n],
  ])("%s is a time in microseconds", (text, micros) => expect(microsOf(text)).toBe(micros))
})
