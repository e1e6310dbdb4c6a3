/**
 * The cost of an export: PostgreSQL's CPU and this process's for each record that it writes, beside the CPU of a hold and its
 * settlement. Each further export costs as much again. Starts its own server.
 */
import { chmodSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Context, Effect, Exit, Layer, Redacted, Scope } from "effect"
import type { Position } from "../../src/exports/export-store.ts"
import { nextWindow } from "../../src/exports/next-window.ts"
import { writeWindow } from "../../src/exports/write-window.ts"
import { Ledger } from "../../src/money/ledger.ts"
import { replaceFile } from "../../src/object-storage/target.ts"
import type { ExportFormat } from "../../src/protocol/control/export.ts"
import { layerDatabase } from "../../src/store/database.ts"
import { Shards } from "../../src/store/shards/shards.ts"
import { layerTestConfig } from "../../src/testing/stores.ts"
import { hasPostgres, urlAt } from "../../test/support/faults/databases.ts"
import { postgres } from "../../test/support/faults/processes.ts"
import { freePort } from "../../test/support/free-port.ts"
import { median } from "./load.ts"
import type { Scenario } from "./scenario.ts"
import { creditedOrgs, settlements } from "./settlements.ts"
import { watchDatabase } from "./stores.ts"

const formats: ReadonlyArray<ExportFormat> = ["parquet", "jsonl.zst"]
const inFlight = 256

export const exports: Scenario = async (_, { rounds, scale }) => {
  if (!hasPostgres()) return []
  const dir = mkdtempSync(join(tmpdir(), "weir-exports-"))
  chmodSync(dir, 0o755)
  const port = await freePort()
  const server = postgres(join(dir, "postgres"), port)
  await server.start()
  const scope = Scope.makeUnsafe()
  const watched = watchDatabase(urlAt(port))
  try {
    const config = layerTestConfig({
      databaseUrl: Redacted.make(urlAt(port)),
      databaseConnections: 8,
      databaseDeadlineMs: 30_000,
    })
    const services = await Effect.runPromise(
      Ledger.layer.pipe(Layer.provideMerge(layerDatabase), Layer.provide(config), Layer.buildWithScope(scope)),
    )
    const ledger = Context.get(services, Ledger)
    const [shard] = Context.get(services, Shards).all
    if (shard === undefined) return []
    const settle = settlements(ledger, await creditedOrgs(ledger, 64), inFlight)
    const calls = Math.max(inFlight, Math.round(40_000 * scale))
    await settle(calls)
    const taken = { settled: [] as number[], exported: [] as number[], own: [] as number[] }
    for (let round = 0; round < rounds; round++) {
      // A window of five minutes is read with the records of the half minute before it.
      await watched.query("truncate usage_records")
      await settle(Math.round(calls / 10))
      const [start] = await watched.query("select next_transfer_id()::text as place, now() as at")
      const place = BigInt(String(start?.["place"]))
      const at = new Date(String(start?.["at"]))
      const before = await watched.cpu()
      await settle(calls)
      const between = await watched.cpu()
      const own = process.cpuUsage()
      const position: Position = {
        export: "bench",
        records: "usage",
        shard: shard.name,
        place,
        at,
        started_place: place,
        started_at: at,
        is_active: true,
        failures: 0,
        problem: null,
      }
      for (const format of formats) {
        const next = await Effect.runPromise(Effect.provide(nextWindow(position, shard, 300_000), services))
        if (next === undefined) throw new Error("there is a window")
        const target = {
          put: (path: string, bytes: Uint8Array) => Effect.promise(() => replaceFile(join(dir, "files", path), bytes)),
        }
        const { rows } = await Effect.runPromise(writeWindow(position, { ...next.window, format }, shard, target, 16))
        if (rows !== calls) throw new Error(`${rows} of ${calls} records were exported`)
      }
      const after = await watched.cpu()
      const { user, system } = process.cpuUsage(own)
      taken.settled.push(((between - before) * 1e6) / calls)
      taken.exported.push(((after - between) * 1e6) / calls / formats.length)
      taken.own.push((user + system) / calls / formats.length)
    }
    const [settled, exported] = [median(taken.settled), median(taken.exported)]
    return [
      {
        what: "CPU of PostgreSQL for a record in an export",
        unit: "µs",
        weir: exported,
        floor: settled,
        note: "floor: a hold and its settlement",
        budget: { of: "ratio", max: 0.05 },
      },
      { what: "CPU of the gateway for a record in an export", unit: "µs", weir: median(taken.own) },
    ]
  } finally {
    await Effect.runPromise(Scope.close(scope, Exit.void))
    await watched.close()
    await server.kill()
    rmSync(dir, { recursive: true, force: true })
  }
}
