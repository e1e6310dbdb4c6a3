/** The processes of a fault run, each of which can be killed and started again: PostgreSQL, Redis, gateways. */

import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process"
import { createHash } from "node:crypto"
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { connect } from "node:net"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { fileURLToPath } from "node:url"

export interface Service {
  readonly name: string
  readonly start: () => Promise<void>
  /** Kills without warning, as a machine does. */
  readonly kill: () => Promise<void>
}

/** Whether somebody listens there. */
export const accepts = (port: number) =>
  new Promise<boolean>((resolve) => {
    const socket = connect(port, "127.0.0.1", () => {
      socket.destroy()
      resolve(true)
    }).on("error", () => resolve(false))
  })

const until = async (what: string, check: () => boolean | Promise<boolean>) => {
  for (let tries = 0; tries < 600; tries++) {
    if (await check()) return
    await sleep(50)
  }
  throw new Error(`${what} did not come up`)
}

/** A process by how it is started, and how one knows that it is up. */
const service = (name: string, launch: () => ChildProcess, isUp: () => boolean | Promise<boolean>): Service => {
  let child: ChildProcess | undefined
  // A run that fails leaves nothing behind.
  process.once("exit", () => child?.kill("SIGKILL"))
  return {
    name,
    start: async () => {
      child = launch()
      await until(name, () => {
        // A gateway that finds a slow store at its start ends; a supervisor starts it again.
        if (child?.exitCode !== null) child = launch()
        return isUp()
      })
    },
    kill: async () => {
      if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
      const gone = new Promise((resolve) => child?.once("exit", resolve))
      child.kill(name.startsWith("postgres") ? "SIGQUIT" : "SIGKILL")
      await gone
    },
  }
}

/** Whether this machine has the servers that a fault needs. */
export const hasServers = (): boolean =>
  (postgresBin() !== "" || spawnSync("postgres", ["--version"]).status === 0) &&
  spawnSync("redis-server", ["--version"]).status === 0

export const postgresBin = (): string => {
  const root = "/usr/lib/postgresql"
  const versions = existsSync(root) ? readdirSync(root).sort((a, b) => Number(a) - Number(b)) : []
  const version = versions.at(-1)
  return version === undefined ? "" : `${root}/${version}/bin/`
}

/** PostgreSQL refuses to run as root. */
const asPostgres = process.getuid?.() === 0 ? ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] : []

export const postgres = (
  dir: string,
  port: number,
  settings: ReadonlyArray<string> = [],
  name = "postgres",
): Service => {
  const data = join(dir, "postgres")
  mkdirSync(dir, { recursive: true })
  if (asPostgres.length > 0) execFileSync("chown", ["postgres", dir])
  const [initdb = "", ...initArgs] = [...asPostgres, `${postgresBin()}initdb`, "-D", data, "-U", "weir", "--auth=trust"]
  execFileSync(initdb, initArgs, { stdio: "ignore", cwd: dir })
  const args = [
    "-D",
    data,
    "-p",
    String(port),
    "-c",
    "listen_addresses=127.0.0.1",
    "-c",
    `unix_socket_directories=${dir}`,
  ]
  const more = settings.flatMap((setting) => ["-c", setting])
  const [command = "", ...rest] = [
    ...asPostgres,
    `${postgresBin()}postgres`,
    ...args,
    "-c",
    "log_min_messages=fatal",
    ...more,
  ]
  const isUp = () => {
    try {
      execFileSync("psql", ["-h", "127.0.0.1", "-p", String(port), "-U", "weir", "-c", "select 1", "postgres"], {
        stdio: "ignore",
      })
      return true
    } catch {
      return false
    }
  }
  return service(name, () => spawn(command, rest, { stdio: "ignore", cwd: dir }), isUp)
}

export const redis = (port: number): Service =>
  service(
    "redis",
    () =>
      spawn("redis-server", ["--port", String(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"], {
        stdio: "ignore",
      }),
    () => accepts(port),
  )

const cli = fileURLToPath(new URL("../../../src/main.ts", import.meta.url))

/** The environment of a gateway in a fault run: another gateway takes over the work of a killed one after seconds. */
export const gatewayEnvironment = (of: {
  readonly catalogue: string
  readonly databaseUrl: string
  readonly redisPort: number
  readonly adminKey: string
}) => ({
  SVC_ENV: "faults",
  SVC_LAME_DUCK_MS: "0",
  SVC_CATALOGUE: of.catalogue,
  SVC_DATABASE_URL: of.databaseUrl,
  SVC_REDIS_URL: `redis://127.0.0.1:${of.redisPort}`,
  SVC_LEASE_MS: "4000",
  SVC_CHECKPOINT_MS: "500",
  SVC_SETTLE_PATIENCE_MS: "200",
  SVC_DATABASE_DEADLINE_MS: "2000",
  SVC_MASTER_KEY: "of the fault run",
  SVC_LOG_LEVEL: process.env["FAULTS_LOG"] ?? "None",
  SVC_ADMIN_KEY_SHA256: createHash("sha256").update(of.adminKey).digest("hex"),
  WEIR_TEST_KEY: "secret",
  WEIR_TEST_VENDOR: "secret",
})

export const gateway = (name: string, dir: string, port: number, env: Record<string, string>): Service => {
  const ready = join(dir, `${name}.ready`)
  const launch = () => {
    rmSync(ready, { force: true })
    return spawn(process.execPath, [cli, "serve"], {
      env: { ...process.env, ...env, SVC_PORT: String(port), SVC_READY_FILE: ready, SVC_DATA_DIR: join(dir, name) },
      stdio: ["ignore", process.env["FAULTS_LOG"] === undefined ? "ignore" : "inherit", "inherit"],
    })
  }
  return service(name, launch, () => existsSync(ready) && readFileSync(ready, "utf8") !== "")
}
