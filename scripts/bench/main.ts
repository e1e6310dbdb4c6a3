/**
 * `npm run bench`: what Weir costs, as ratios to a hand-written floor in the same run. Absolute times belong to the
 * machine; ratios belong to the code. With SVC_TEST_DATABASE_URL and SVC_TEST_REDIS_URL the stores are real
 * (`scripts/with-stores npm run bench`); without them the embedded database's CPU is Weir's own.
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { cpus, tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import { testCatalogue } from "../../src/testing/gateway.ts"
import { cpuSeconds, drive, type Endpoint, percentile } from "./load.ts"

const framesPerStream = 200
/** How long a paced stream takes. */
const pacedMs = 400
const rounds = Number(process.env["BENCH_ROUNDS"] ?? 3)
const scale = Number(process.env["BENCH_SCALE"] ?? 1)

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url))
const dir = mkdtempSync(join(tmpdir(), "weir-bench-"))
const children: Array<ChildProcess> = []

/** Load and upstream on one core, what is measured on the other. */
const canPin = cpus().length > 1 && spawnSync("taskset", ["--version"]).status === 0
const start = (core: number, script: string, args: ReadonlyArray<string>, env: Record<string, string> = {}) => {
  const command = canPin ? ["taskset", "-c", String(core), process.execPath] : [process.execPath]
  const child = spawn(command[0] ?? "", [...command.slice(1), here(script), ...args], {
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "inherit"],
  })
  children.push(child)
  return child
}

const firstLine = (child: ChildProcess) =>
  new Promise<string>((resolve) => child.stdout?.once("data", (chunk) => resolve(String(chunk).trim())))

interface Subject {
  readonly name: string
  readonly pid: number
  readonly endpoint: (load: Load) => Endpoint
}

/** A whole reply, a stream as fast as it goes, a stream in a model's pace; a session kept active; a web search. */
type Load = "json" | "stream" | "paced" | "heartbeat" | "websearch"

const paths: Readonly<Record<Load, string>> = {
  json: "/t1/exchange",
  stream: "/t1/exchange",
  paced: "/t1/exchange",
  heartbeat: "/t1/heartbeat",
  websearch: "/t1/websearch",
}

const body = (load: Load, pacedModel: string) => {
  if (load === "heartbeat") return JSON.stringify({ sessionId: "01J0000000000000000000000A" })
  if (load === "websearch") return JSON.stringify({ query: "river" })
  return JSON.stringify({
    model: load === "paced" ? pacedModel : "main",
    stream: load !== "json",
    thread: [{ role: "user", blocks: [{ t: "text", v: "Hello, river" }] }],
  })
}

const startAll = async () => {
  const upstreamPort = await firstLine(start(1, "./upstream.ts", [String(framesPerStream)]))
  const floor = start(0, "./floor.ts", [upstreamPort])
  const floorPort = await firstLine(floor)
  const catalogue = join(dir, "catalogue.yaml")
  const ids = { org: "org_bench", app: "app_bench", key: "key_bench" }
  const url = `http://127.0.0.1:${upstreamPort}`
  writeFileSync(
    catalogue,
    testCatalogue(
      { vendor: url, second: url },
      ids,
      `searchProviders: [{ id: s, name: S, vendor: searxng, baseUrl: "${url}", currency: USD, pricePerCall: "0.00001" }]\n`,
    ).replace("perMinute: 100000", "perMinute: 1000000000"),
  )
  const ready = join(dir, "ready.json")
  const weir = start(0, "../../src/cli.ts", ["serve"], {
    SVC_ENV: "bench",
    SVC_PORT: "0",
    SVC_DATA_DIR: join(dir, "data"),
    SVC_CATALOGUE: catalogue,
    SVC_READY_FILE: ready,
    SVC_LOG_LEVEL: "Error",
    WEIR_TEST_KEY: "secret",
    WEIR_TEST_VENDOR: "secret",
    ...(process.env["SVC_TEST_DATABASE_URL"] && { SVC_DATABASE_URL: process.env["SVC_TEST_DATABASE_URL"] }),
    ...(process.env["SVC_TEST_REDIS_URL"] && { SVC_REDIS_URL: process.env["SVC_TEST_REDIS_URL"] }),
  })
  const baseUrl = await readyUrl(ready)
  const key = { "x-svc-key-id": ids.key, "x-svc-key": "secret" }
  const subjects: Record<"direct" | "floor" | "weir", Subject> = {
    direct: {
      name: "direct",
      pid: children[0]?.pid ?? 0,
      endpoint: (load) => ({
        origin: url,
        path: "/v1/chat/completions",
        headers: {},
        body: body(load, "upstream-plain"),
      }),
    },
    floor: {
      name: "floor",
      pid: floor.pid ?? 0,
      endpoint: (load) => ({
        origin: `http://127.0.0.1:${floorPort}`,
        path: "/",
        headers: {},
        body: body(load, "upstream-plain"),
      }),
    },
    weir: {
      name: "weir",
      pid: weir.pid ?? 0,
      endpoint: (load) => ({ origin: baseUrl, path: paths[load], headers: key, body: body(load, "plain") }),
    },
  }
  return subjects
}

const readyUrl = async (file: string): Promise<string> => {
  for (let tries = 0; tries < 600; tries++) {
    try {
      return JSON.parse(readFileSync(file, "utf8")).baseUrl
    } catch {
      await sleep(100)
    }
  }
  throw new Error("the gateway did not start")
}

/** CPU microseconds a unit, as the median of several rounds. */
const cpuPer = async (subject: Subject, load: Load, requests: number, units: number, inFlight: number) => {
  const each: Array<number> = []
  const perSecond: Array<number> = []
  for (let round = 0; round < rounds; round++) {
    const before = cpuSeconds(subject.pid)
    const run = await drive(subject.endpoint(load), requests, inFlight)
    each.push(((cpuSeconds(subject.pid) - before) * 1e6) / (requests * units))
    perSecond.push(requests / run.seconds)
  }
  return { us: median(each), spread: spreadOf(each), perSecond: median(perSecond) }
}

const median = (values: ReadonlyArray<number>): number => [...values].sort((a, b) => a - b)[values.length >> 1] ?? 0
const spreadOf = (values: ReadonlyArray<number>): number => Math.max(...values) - Math.min(...values)

try {
  const { direct, floor, weir } = await startAll()
  for (const subject of [floor, weir]) {
    await drive(subject.endpoint("json"), 2000 * scale, 32)
    await drive(subject.endpoint("stream"), 200 * scale, 16)
  }

  const jsonFloor = await cpuPer(floor, "json", 4000 * scale, 1, 32)
  const jsonWeir = await cpuPer(weir, "json", 4000 * scale, 1, 32)
  const streamFloor = await cpuPer(floor, "stream", 500 * scale, framesPerStream, 16)
  const streamWeir = await cpuPer(weir, "stream", 500 * scale, framesPerStream, 16)

  const beatWeir = await cpuPer(weir, "heartbeat", 4000 * scale, 1, 32)
  const searchWeir = await cpuPer(weir, "websearch", 2000 * scale, 1, 32)

  // In turns, so that what the machine does meanwhile happens to all alike.
  const ttff: Record<string, Array<number>> = { direct: [], floor: [], weir: [] }
  for (let round = 0; round < rounds; round++) {
    for (const subject of [direct, floor, weir]) {
      const { firstByteMs } = await drive(subject.endpoint("paced"), 640 * scale, 64, pacedMs)
      ttff[subject.name]?.push(...firstByteMs)
    }
  }
  const at = (name: string, share: number) =>
    percentile(
      [...(ttff[name] ?? [])].sort((a, b) => a - b),
      share,
    )

  const stores = process.env["SVC_TEST_DATABASE_URL"] ? "PostgreSQL and Redis" : "embedded"
  const row = (what: string, floorValue: number, weirValue: number, unit: string, note: string) =>
    `| ${what} | ${floorValue.toFixed(1)} ${unit} | ${weirValue.toFixed(1)} ${unit} | ${(weirValue / floorValue).toFixed(2)} | ${note} |`
  console.log(
    `Node ${process.version}, ${cpus()[0]?.model ?? "unknown CPU"}, ${cpus().length} cores, stores: ${stores}, median of ${rounds}`,
  )
  console.log("| what | floor | Weir | ratio | note |\n|---|---|---|---|---|")
  console.log(
    row(
      "CPU per JSON exchange",
      jsonFloor.us,
      jsonWeir.us,
      "µs",
      `± ${jsonWeir.spread.toFixed(0)}; ${jsonWeir.perSecond.toFixed(0)} exchanges/s`,
    ),
  )
  console.log(
    row(
      `CPU per streamed frame (${framesPerStream} a stream)`,
      streamFloor.us,
      streamWeir.us,
      "µs",
      `± ${streamWeir.spread.toFixed(2)}; the exchange's own cost included`,
    ),
  )
  const against = (what: string, { us, spread, perSecond }: typeof beatWeir) =>
    console.log(row(what, jsonFloor.us, us, "µs", `± ${spread.toFixed(0)}; ${perSecond.toFixed(0)}/s; floor: JSON`))
  against("CPU per heartbeat inside the window", beatWeir)
  against("CPU per web search", searchWeir)
  console.log(
    row(
      "added time to first frame, 64 in flight, p50",
      at("floor", 0.5) - at("direct", 0.5),
      at("weir", 0.5) - at("direct", 0.5),
      "ms",
      "over a direct call",
    ),
  )
  console.log(
    row(
      "added time to first frame, 64 in flight, p99",
      at("floor", 0.99) - at("direct", 0.99),
      at("weir", 0.99) - at("direct", 0.99),
      "ms",
      "over a direct call",
    ),
  )
} finally {
  for (const child of children) child.kill("SIGKILL")
  rmSync(dir, { recursive: true, force: true })
}
