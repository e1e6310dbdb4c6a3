/** A gateway that exports to a folder, and what DuckDB says of the files, for one test file. */
import { mkdtempSync, readdirSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DuckDBInstance } from "@duckdb/node-api"
import { Effect } from "effect"
import { afterAll, beforeAll } from "vitest"
import { newTestIds, testCatalogue } from "../../src/testing/index.ts"
import { priced } from "./budget-calls.ts"
import { eventually as becomesTrue, useGateway } from "./gateway.ts"

/** On several servers, records are half a minute old before they leave. */
const patience = process.env["CITUS_WORKER_URLS"] === undefined ? 20_000 : 100_000
export const eventually = (check: () => Promise<boolean>, withinMs = patience) =>
  becomesTrue(check, Math.max(withinMs, patience))

export const run = <A>(effect: Effect.Effect<A, unknown>) => Effect.runPromise(effect)

/** @param more exports besides the one to the folder, given what makes names of this file's own */
export const useExports = (more: (named: (id: string) => string) => string = () => "") => {
  const folder = mkdtempSync(join(tmpdir(), "weir-exports-"))
  afterAll(() => rmSync(folder, { recursive: true }))
  const ids = newTestIds()
  const named = (id: string) => `${id}_${ids.org}`
  const gateway = useGateway({
    ids,
    catalogue: (urls) =>
      testCatalogue(
        urls,
        ids,
        `exports:
  - { id: ${named("folder")}, to: "file://${folder}/files", format: parquet, every: 1s, buckets: 2, records: [usage, transfers, audit] }
${more(named)}`,
      ),
  })
  let duck: DuckDBInstance
  const positions = () =>
    run(gateway().sql<{ records: string; export: string; problem: string | null; failures: number }>`
      select * from export_positions where export like ${`%_${ids.org}`}`)
  beforeAll(async () => {
    gateway().vendor.script(priced)
    duck = await DuckDBInstance.create()
    await eventually(async () => (await positions()).length >= (more(named) === "" ? 3 : 4))
  })
  const ask = async (sql: string) => {
    const connection = await duck.connect()
    return (await connection.runAndReadAll(sql)).getRowObjectsJson()
  }
  const filesOf = (path: string): ReadonlyArray<string> =>
    readdirSync(join(folder, path), { recursive: true, encoding: "utf8" }).filter((file) =>
      /\.(parquet|json)$/.test(file),
    )
  const parquet = (records: string) =>
    `read_parquet('${folder}/files/${records}/v1/date=*/hour=*/org=*/*.parquet', hive_partitioning = true)`
  const exportedRefs = async () => {
    if (!filesOf(".").some((file) => file.includes("usage/v1/date"))) return []
    return (await ask(`select ref from ${parquet("usage")} where org_id = '${ids.org}'`)).map(({ ref }) => ref)
  }
  /** The refs of the usage records in the books. */
  const spentRefs = async () =>
    (
      await run(gateway().sql<{ ref: string }>`
        select ref from usage_records where org_id = ${ids.org} order by ref`)
    ).map(({ ref }) => ref)
  return { folder, ids, named, gateway, positions, ask, filesOf, parquet, exportedRefs, spentRefs }
}
