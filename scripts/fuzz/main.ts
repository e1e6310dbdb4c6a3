/**
 * `npm run fuzz -- [REQUESTS] [SEED]`: sends each route of the API document and of the compatible APIs its worst bodies, with
 * each credential and with none, and reports the longest turn of the event loop, the memory, and every internal error. It
 * fails if there is one, if the gateway ends, or if a turn is ten times as long as it should be.
 */
import { spawn } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import { gzipSync } from "node:zlib"
import { request } from "undici"
import { nodeOptions } from "../../test/support/node-options.ts"
import { randomOf } from "../../test/support/random.ts"
import { preloaded } from "../bench/preloaded.ts"
import { type FuzzedRoute, fuzzedRoutes } from "./routes.ts"
import { worstBodies } from "./worst-bytes.ts"

const [requests = 2000, seed = 1] = process.argv.slice(2).map(Number)
/** The longest turn of one call: streams wait for as long. */
const turnGoalMs = 20
const zipFrom = 4096
const root = fileURLToPath(new URL("../..", import.meta.url))
const dir = mkdtempSync(join(tmpdir(), "weir-fuzz-"))
const readyFile = join(dir, "ready")
const turnFile = join(dir, "turn")

const child = spawn(
  process.execPath,
  [...nodeOptions, "--import", join(root, "scripts/bench/longest-turn.ts"), "src/main.ts", "serve"],
  {
    cwd: root,
    stdio: ["ignore", "ignore", "inherit"],
    env: {
      ...process.env,
      SVC_PORT: "0",
      SVC_DEMO_TRAFFIC: "0",
      SVC_DATA_DIR: join(dir, "data"),
      SVC_READY_FILE: readyFile,
      SVC_LOG_LEVEL: "Error",
      BENCH_LONGEST_TURN: turnFile,
    },
  },
)

const readReady = async (): Promise<Readonly<Record<string, string>>> => {
  for (let tries = 0; tries < 600 && child.exitCode === null; tries++) {
    try {
      return JSON.parse(readFileSync(readyFile, "utf8"))
    } catch {
      await sleep(100)
    }
  }
  throw new Error("The gateway did not start")
}

const residentMiB = (): number => {
  const [, kib = "0"] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, "utf8")) ?? []
  return Math.round(Number(kib) / 1024)
}

interface Sent {
  readonly route: FuzzedRoute
  readonly name: string
  readonly bytes: Uint8Array
}

/** All bodies of all routes, in an order that the seed repeats. */
const chosen = (): ReadonlyArray<() => Sent> => {
  const random = randomOf(seed)
  const makers = fuzzedRoutes().flatMap((route) => {
    const count = [...worstBodies(route.example, 0)].length
    return Array.from({ length: count }, (_, at) => () => {
      const scale = [0.001, 0.05, 0.35, 1][Math.floor(random() * 4)] ?? 1
      const body = [...worstBodies(route.example, scale).drop(at).take(1)][0]
      return { route, name: body?.name ?? "", bytes: body?.bytes ?? Buffer.alloc(0) }
    })
  })
  return Array.from({ length: requests }, () => makers[Math.floor(random() * makers.length)]).flatMap(
    (each) => each ?? [],
  )
}

const run = async () => {
  const { baseUrl = "", keyId = "", key = "", adminKey = "" } = await readReady()
  const credentials: ReadonlyArray<Readonly<Record<string, string>>> = [
    { "x-svc-key-id": keyId, "x-svc-key": key, "x-api-key": `${keyId}~${key}`, "x-svc-admin-key": adminKey },
    {},
  ]
  const longestTurn = preloaded(child.pid ?? 0, turnFile)
  // A gateway without calls collects the garbage of its start after a second, in one long turn.
  await sleep(3000)
  await longestTurn()
  const before = residentMiB()
  let most = before
  const statuses = new Map<number, number>()
  const turns: Array<{ readonly millis: number; readonly of: string }> = []
  const failures: Array<string> = []
  for (const [at, make] of chosen().entries()) {
    const { route, name, bytes } = make()
    const isZipped = bytes.length > zipFrom && at % 4 !== 0
    const of = `${route.method} ${route.path} ${name} (${bytes.length} bytes)`
    const { statusCode, body } = await request(`${baseUrl}${route.path}`, {
      method: route.method,
      headers: {
        "content-type": "application/json",
        ...(isZipped && { "content-encoding": "gzip" }),
        ...(credentials[at % 5 === 0 ? 1 : 0] ?? {}),
      },
      body: isZipped ? gzipSync(bytes, { level: 1 }) : bytes,
    })
    const text = await body.text()
    statuses.set(statusCode, (statuses.get(statusCode) ?? 0) + 1)
    if (statusCode === 500) failures.push(`${of}: ${text.slice(0, 200)}`)
    turns.push({ millis: await longestTurn(), of })
    most = Math.max(most, residentMiB())
    if (child.exitCode !== null) throw new Error(`The gateway ended at ${of}`)
  }
  turns.sort((one, other) => other.millis - one.millis)
  console.log(
    `${requests} requests, seed ${seed}: ${[...statuses]
      .sort()
      .map(([status, count]) => `${status} × ${count}`)
      .join(", ")}`,
  )
  console.log(`resident: ${before} MiB before, ${most} MiB at most`)
  const [longest] = turns
  const over = turns.filter(({ millis }) => millis > turnGoalMs).length
  console.log(`longest turn: ${longest?.millis.toFixed(1)} ms; ${over} above ${turnGoalMs} ms`)
  for (const { millis, of } of turns.slice(0, 12)) console.log(`  ${millis.toFixed(1)} ms  ${of}`)
  for (const failure of failures) console.log(`internal error: ${failure}`)
  if (failures.length > 0 || (longest?.millis ?? 0) > 10 * turnGoalMs) process.exitCode = 1
}

try {
  await run()
} finally {
  child.kill("SIGTERM")
  await new Promise((resolve) => (child.exitCode === null ? child.once("exit", resolve) : resolve(undefined)))
  rmSync(dir, { recursive: true, force: true })
}
