/**
 * The cost of books on several servers: PostgreSQL's CPU and commits for a hold and its settlement, on one server and on Citus
 * with one worker and with two, and how much more two workers carry. Starts its own servers; needs Citus on this machine.
 */
import { chmodSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Context, Effect, Exit, Layer, Redacted, Scope } from "effect"
import { Ledger } from "../../src/money/ledger.ts"
import { layerDatabase } from "../../src/store/database.ts"
import { layerTestConfig } from "../../src/testing/stores.ts"
import { hasCitus, spreadBooks, startCluster, urlAt } from "../../test/support/faults/databases.ts"
import { postgres, type Service } from "../../test/support/faults/processes.ts"
import { freePort } from "../../test/support/free-port.ts"
import { median } from "./load.ts"
import type { Row, Scenario } from "./scenario.ts"
import { creditedOrgs, settlements } from "./settlements.ts"
import { type Database, watchDatabase } from "./stores.ts"

const orgCount = 64
const inFlight = 256
const shardsEach = 2

export const shards: Scenario = async (_, { rounds, scale }) => {
  if (!hasCitus()) return []
  const dir = mkdtempSync(join(tmpdir(), "weir-shards-"))
  chmodSync(dir, 0o755)
  const subjects: Array<Subject> = []
  try {
    const port = await freePort()
    const server = postgres(join(dir, "one"), port)
    await server.start()
    subjects.push(await startSubject([{ service: server, port }]))
    for (const workers of [1, 2]) {
      const all = await startCluster(join(dir, `citus${workers}`), workers)
      await spreadBooks(all[0]?.port ?? 0, shardsEach * workers, { SVC_ENV: "bench", SVC_MASTER_KEY: "of the bench" })
      subjects.push(await startSubject(all))
    }
    const calls = Math.max(inFlight, Math.round(20_000 * scale))
    for (const subject of subjects) await subject.run(calls)
    for (let round = 0; round < rounds; round++) for (const subject of subjects) await subject.measure(calls)
    const [one, single, pair] = subjects.map((subject) => subject.taken())
    if (one === undefined || single === undefined || pair === undefined) return []
    const row = (what: string, unit: string, weir: number, floor: number, note: string): Row => ({
      what: `${what}, ${inFlight} in flight`,
      unit,
      weir,
      floor,
      note,
    })
    const cpu = "CPU of PostgreSQL per hold and settlement"
    const busiest = `busiest server: ${[one, single, pair].map((each) => each.busiest.toFixed(0)).join(", ")} µs on one server, one worker, two`
    return [
      { ...row(`${cpu}, one worker`, "µs", single.us, one.us, "floor: one server"), budget: { of: "ratio", max: 1.4 } },
      { ...row(`${cpu}, two workers`, "µs", pair.us, one.us, "floor: one server"), budget: { of: "ratio", max: 1.4 } },
      row("commits per hold and settlement, two workers", "", pair.commits, one.commits, "floor: one server"),
      // Less is more: the share of the busiest server's time that a settlement takes.
      {
        ...row(
          "CPU of the busiest server, two workers",
          "µs",
          pair.busiest,
          single.busiest,
          `floor: one worker; ${busiest}`,
        ),
        budget: { of: "ratio", max: 1 / 1.7 },
      },
    ]
  } finally {
    for (const subject of subjects) await subject.close()
    rmSync(dir, { recursive: true, force: true })
  }
}

interface Taken {
  readonly us: number
  readonly busiest: number
  readonly commits: number
}

interface Subject {
  readonly run: (calls: number) => Promise<void>
  readonly measure: (calls: number) => Promise<void>
  readonly taken: () => Taken
  readonly close: () => Promise<void>
}

/** A ledger on a database. @param servers the first is the one that it knows */
const startSubject = async (
  servers: ReadonlyArray<{ readonly service: Service; readonly port: number }>,
): Promise<Subject> => {
  const scope = Scope.makeUnsafe()
  const databaseUrl = Redacted.make(urlAt(servers[0]?.port ?? 0))
  const services = await Effect.runPromise(
    Ledger.layer.pipe(
      Layer.provide(layerDatabase),
      Layer.provide(layerTestConfig({ databaseUrl, databaseConnections: 8, databaseDeadlineMs: 30_000 })),
      Layer.buildWithScope(scope),
    ),
  )
  const ledger = Context.get(services, Ledger)
  const orgs = await creditedOrgs(ledger, orgCount)
  const watched: ReadonlyArray<Database> = servers.map(({ port }) => watchDatabase(urlAt(port)))
  const rounds: Array<Taken> = []

  const run = settlements(ledger, orgs, inFlight)
  const read = async () => ({
    cpu: await Promise.all(watched.map(({ cpu }) => cpu())),
    commits: (await Promise.all(watched.map(({ commits }) => commits()))).reduce((sum, each) => sum + each, 0),
  })
  return {
    run,
    measure: async (calls) => {
      const before = await read()
      await run(calls)
      const after = await read()
      const us = after.cpu.map((cpu, at) => ((cpu - (before.cpu[at] ?? 0)) * 1e6) / calls)
      rounds.push({
        us: us.reduce((sum, each) => sum + each, 0),
        busiest: Math.max(...us),
        commits: (after.commits - before.commits) / calls,
      })
    },
    taken: () => ({
      us: median(rounds.map(({ us }) => us)),
      busiest: median(rounds.map(({ busiest }) => busiest)),
      commits: median(rounds.map(({ commits }) => commits)),
    }),
    close: async () => {
      await Effect.runPromise(Scope.close(scope, Exit.void))
      for (const database of watched) await database.close()
      for (const { service } of servers) await service.kill()
    },
  }
}
