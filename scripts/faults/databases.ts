/** The databases of a fault run: one PostgreSQL, or a coordinator of Citus with workers of which one joins later. */
import { execFile } from "node:child_process"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { freePort, postgres, type Service } from "./processes.ts"
import { type Line, openLine } from "./proxy.ts"

export interface Databases {
  /** The first is the one that gateways know. */
  readonly servers: ReadonlyArray<Service>
  readonly lines: ReadonlyArray<Line>
  readonly url: string
  /** Where one asks without faults on the line. */
  readonly port: number
  /** Moves shards to a server that joins now; undefined where there is one server. */
  readonly rebalance: (() => Promise<string>) | undefined
}

const urlAt = (port: number) => `postgres://weir@127.0.0.1:${port}/postgres`

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
  // Transactions that a crash left in doubt are ended soon.
  "citus.recover_2pc_interval=1s",
  "citus.defer_shard_delete_interval=1s",
]

const workerCount = 3

/** A coordinator, two workers with the books of everybody, and a third that joins later. */
export const startCitus = async (
  dir: string,
  shards: number,
  weir: Readonly<Record<string, string>>,
): Promise<Databases> => {
  const ports = await Promise.all(Array.from({ length: 1 + workerCount }, freePort))
  const servers = ports.map((port, at) => {
    const name = at === 0 ? "coordinator" : `worker${at}`
    return postgres(join(dir, name), port, citusSettings, `postgres ${name}`)
  })
  await Promise.all(servers.map((server) => server.start()))
  // The servers reach each other, and gateways them, through lines that can be cut.
  const lines = await Promise.all(ports.map(openLine))
  const [port = 0] = ports
  for (const each of ports) await ask(each, "create extension citus")
  await ask(port, `select citus_set_coordinator_host('127.0.0.1', ${port})`)
  const add = (line: Line | undefined) => ask(port, `select citus_add_node('127.0.0.1', ${line?.port ?? 0})`)
  for (const line of lines.slice(1, workerCount)) await add(line)
  const url = urlAt(lines[0]?.port ?? 0)
  const cli = fileURLToPath(new URL("../../src/main.ts", import.meta.url))
  for (const command of [["migrate"], ["db", "distribute", "--shards", String(shards), "--apply"]]) {
    const env = { ...process.env, ...weir, SVC_DATABASE_URL: urlAt(port) }
    const { stdout } = await promisify(execFile)(process.execPath, [cli, ...command], { env })
    console.log(stdout.trim())
  }
  const rebalance = async () => {
    // A server that is killed meanwhile ends it: it is begun again, as an operator would.
    for (let tries = 1; ; tries++) {
      try {
        await add(lines.at(-1))
        await ask(port, "select rebalance_table_shards(shard_transfer_mode => 'force_logical')")
        const [[moved] = []] = await query(
          port,
          `select count(*) from pg_dist_placement p join pg_dist_shard s using (shardid) join pg_dist_node n using (groupid)
           where s.logicalrelid = 'counters'::regclass and n.nodeport = ${lines.at(-1)?.port ?? 0}`,
        )
        return `${moved} of ${shards} shards moved to a third server, at attempt ${tries}`
      } catch (error) {
        if (tries === 40) return `no rebalance in ${tries} attempts: ${String(error).slice(0, 300)}`
        await sleep(500)
      }
    }
  }
  return { servers, lines, url, port, rebalance }
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
