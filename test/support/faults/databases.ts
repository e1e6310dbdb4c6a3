/** The databases of a fault run: one PostgreSQL, or a coordinator of Citus with workers of which one joins later. */
import { execFile, execFileSync } from "node:child_process"
import { chmodSync, existsSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { freePort } from "../free-port.ts"
import { postgres, postgresBin, type Service } from "./processes.ts"
import { type Line, openLine } from "./proxy.ts"

export interface Databases {
  /** The first is the one that gateways know. */
  readonly servers: ReadonlyArray<Service>
  readonly lines: ReadonlyArray<Line>
  readonly url: string
  /** The port without faults on the line. */
  readonly port: number
  /** Moves shards to a server that joins now; undefined where there is one server. */
  readonly rebalance: (() => Promise<string>) | undefined
}

export const urlAt = (port: number) => `postgres://weir@127.0.0.1:${port}/postgres`

export const startPostgres = async (dir: string): Promise<Databases> => {
  const port = await freePort()
  const server = postgres(join(dir, "pg"), port)
  await server.start()
  const line = await openLine(port)
  return { servers: [server], lines: [line], url: urlAt(line.port), port, rebalance: undefined }
}

const citusSettings = [
  "shared_preload_libraries=citus",
  "max_connections=300",
  "max_prepared_transactions=300",
  "wal_level=logical",
  "citus.node_conninfo=sslmode=disable",
  // Each database and each move takes some.
  "max_worker_processes=32",
  // Transactions that a crash left in doubt are ended soon.
  "citus.recover_2pc_interval=1s",
  "citus.defer_shard_delete_interval=1s",
]

/** A server of a cluster, and the line on which the others and gateways reach it. */
interface Member {
  readonly service: Service
  readonly port: number
  readonly line: Line
}

/** A line without faults. */
const straight = async (port: number): Promise<Line> => ({
  port,
  cut: () => undefined,
  stall: () => undefined,
  close: () => undefined,
})

/** Whether this machine has PostgreSQL. */
export const hasPostgres = (): boolean => {
  try {
    execFileSync(`${postgresBin()}postgres`, ["--version"])
    return true
  } catch {
    return false
  }
}

/** Whether this machine has Citus for the PostgreSQL that faults start. */
export const hasCitus = (): boolean => {
  try {
    const folder = execFileSync(`${postgresBin()}pg_config`, ["--pkglibdir"], { encoding: "utf8" }).trim()
    return existsSync(join(folder, "citus.so"))
  } catch {
    return false
  }
}

/** Whether tests start clusters: with the tests on servers, where Citus is installed. */
export const runsCitus = process.env["SVC_TEST_DATABASE_URL"] !== undefined && hasCitus()

/** A coordinator, which comes first, and workers; as many of them belong to the cluster as are said. */
export const startCluster = async (
  dir: string,
  workers: number,
  members = workers,
  open: (port: number) => Promise<Line> = straight,
): Promise<ReadonlyArray<Member>> => {
  const ports = await Promise.all(Array.from({ length: 1 + workers }, freePort))
  const all = await Promise.all(
    ports.map(async (port, at) => {
      const name = at === 0 ? "coordinator" : `worker${at}`
      const service = postgres(join(dir, name), port, citusSettings, `postgres ${name}`)
      await service.start()
      await ask(port, "create extension citus")
      return { service, port, line: await open(port) }
    }),
  )
  const [port = 0] = ports
  await ask(port, `select citus_set_coordinator_host('127.0.0.1', ${port})`)
  for (const { line } of all.slice(1, 1 + members)) await ask(port, `select citus_add_node('127.0.0.1', ${line.port})`)
  return all
}

/** A cluster in a folder of its own, which goes with it. */
export const temporaryCluster = async (workers: number) => {
  const dir = mkdtempSync(join(tmpdir(), "weir-citus-"))
  // PostgreSQL runs as another user.
  chmodSync(dir, 0o755)
  const members = await startCluster(dir, workers)
  const stop = async () => {
    for (const { service } of members) await service.kill()
    rmSync(dir, { recursive: true, force: true })
  }
  return { members, stop }
}

/** Migrates a database, and spreads its books. @param weir variables of the environment */
export const spreadBooks = async (port: number, shards: number, weir: Readonly<Record<string, string>>) => {
  const cli = fileURLToPath(new URL("../../../src/main.ts", import.meta.url))
  for (const command of [["migrate"], ["db", "distribute", "--shards", String(shards), "--apply"]]) {
    const env = { ...process.env, ...weir, SVC_DATABASE_URL: urlAt(port) }
    const { stdout } = await promisify(execFile)(process.execPath, [cli, ...command], { env })
    console.log(stdout.trim())
  }
}

/** A coordinator, two workers with the books of everybody, and a third that joins later. */
export const startCitus = async (
  dir: string,
  shards: number,
  weir: Readonly<Record<string, string>>,
): Promise<Databases> => {
  const all = await startCluster(dir, 3, 2, openLine)
  const [{ port }, third] = [all[0] ?? { port: 0 }, all.at(-1)?.line.port ?? 0]
  await spreadBooks(port, shards, weir)
  const rebalance = async () => {
    // A server that is killed meanwhile ends it: it is begun again, as an operator would.
    for (let tries = 1; ; tries++) {
      try {
        await ask(port, `select citus_add_node('127.0.0.1', ${third})`)
        await ask(port, "select rebalance_table_shards(shard_transfer_mode => 'force_logical')")
        const [[moved] = []] = await query(
          port,
          `select count(*) from pg_dist_placement p join pg_dist_shard s using (shardid) join pg_dist_node n using (groupid)
           where s.logicalrelid = 'counters'::regclass and n.nodeport = ${third}`,
        )
        return `${moved} of ${shards} shards moved to a third server, at attempt ${tries}`
      } catch (error) {
        if (tries === 40) return `no rebalance in ${tries} attempts: ${String(error).slice(0, 300)}`
        await sleep(500)
      }
    }
  }
  const lines = all.map(({ line }) => line)
  return { servers: all.map(({ service }) => service), lines, url: urlAt(lines[0]?.port ?? 0), port, rebalance }
}

const psqlArgs = (port: number, sql: string) => [
  "-h",
  "127.0.0.1",
  "-p",
  String(port),
  "-U",
  "weir",
  "-AtF",
  "|",
  "-c",
  sql,
  "postgres",
]

/** Not synchronously: lines run through this process. */
const ask = async (port: number, sql: string): Promise<string> =>
  (await promisify(execFile)("psql", psqlArgs(port, sql), { encoding: "utf8", maxBuffer: 1 << 28 })).stdout

export const query = async (port: number, sql: string): Promise<ReadonlyArray<ReadonlyArray<string>>> =>
  (await ask(port, sql))
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => line.split("|"))
