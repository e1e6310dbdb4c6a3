/** The subjects, each a process of its own: the vendor called directly, the floor, and Weir with everything on. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { cpus, tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import { certificate } from "../../test/support/certificate.ts"
import { nodeOptions } from "../../test/support/node-options.ts"
import type { Endpoint } from "./load.ts"

/** How an exchange is answered: the vendor's name of the model, which is also Weir's handle. */
export type Answer = "short" | `frames-${number}` | `paced-${number}` | `large-${number}`

export interface Subject {
  readonly name: string
  readonly pid: number
  readonly exchange: (answer: Answer) => Endpoint
}

export interface Weir extends Subject {
  readonly call: (path: string, body: object, headers?: Readonly<Record<string, string>>) => Endpoint
}

interface StartOptions {
  /** The gateway's sources if absent. */
  readonly program?: string
  /** Whether it may run on all cores; otherwise it has one of its own. */
  readonly onAllCores?: boolean
}

export interface Subjects {
  readonly direct: Subject
  readonly floor: Subject
  readonly weir: Weir
  /** The catalogue of all gateways. */
  readonly catalogue: string
  /** Starts another gateway on the same stores, with these variables besides. */
  readonly another: (variables: Readonly<Record<string, string>>, options?: StartOptions) => Promise<Weir>
  /** Variables of a gateway that calls the vendor over HTTP/2, as those with TLS offer it. */
  readonly overHttp2: Readonly<Record<string, string>>
  /** Starts the second floor; it needs PostgreSQL and Redis. */
  readonly startByHand: () => Promise<Subject>
}

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url))

/** Load and vendor on one core, the subject on the other. */
export const canPin = cpus().length > 1 && spawnSync("taskset", ["--version"]).status === 0

export const answers = ["short", "frames-200", "frames-2200", "paced-20", "paced-200", "large-32"] as const

const ids = { org: "org_bench", app: "app_bench", key: "key_bench" }

/** Headers of a key whose application has three rates and a tag. */
export const limited = { "x-svc-key-id": "key_limited", "x-svc-key": "secret" }

/** Headers of a key whose application has ten patterns enforced on its streams. */
export const guarded = { "x-svc-key-id": "key_guarded", "x-svc-key": "secret" }

/** Headers of a key whose organisation keeps responses. */
export const keeping = { "x-svc-key-id": "key_keeping", "x-svc-key": "secret" }

const tenPolicies = [
  ...["email", "phone", "card", "iban", "ip"].map((entity) => `entities: [${entity}]`),
  ...["classified", "project blue", "internal only", "codename"].map((word) => `keywords: ["${word}"]`),
  'regex: "ticket-[0-9]{4,8}"',
].map((match, at) => `  - { id: p${at}, direction: outbound, match: { ${match} }, reason: leak, streams: enforce }`)

const catalogueFor = (vendor: string, files: string): string => `version: 1
vendors: [{ id: vendor, dialect: openai-chat, baseUrl: "${vendor}/v1" }]
models:
${answers.map((model) => `  - { handle: ${model}, maxOutput: 2000, capabilities: [tools], targets: [{ vendor: vendor, model: ${model} }] }`).join("\n")}
  - { handle: agent, maxOutput: 2000, capabilities: [tools, images, cache, reasoning], targets: [{ vendor: vendor, model: short }] }
  - { handle: kept, maxOutput: 2000, replyCache: { ttl: 1h }, targets: [{ vendor: vendor, model: short }] }
  - { handle: kept-200, maxOutput: 2000, replyCache: { ttl: 1h }, targets: [{ vendor: vendor, model: frames-200 }] }
  - { handle: embed, kind: embedding, targets: [{ vendor: vendor, model: e }] }
  - { handle: hear, kind: transcription, targets: [{ vendor: vendor, model: h }] }
  - { handle: draw, kind: image, targets: [{ vendor: vendor, model: d }] }
  - { handle: say, kind: speech, targets: [{ vendor: vendor, model: s }] }
  - { handle: talk, kind: realtime, targets: [{ vendor: vendor, model: t }] }
prices:
  - { model: agent, currency: USD, input: "0.03", output: "0.15", from: 2026-01-01 }
  - { model: kept, currency: USD, input: "0.03", output: "0.15", from: 2026-01-01 }
  - { model: kept-200, currency: USD, input: "0.03", output: "0.15", from: 2026-01-01 }
  - { model: talk, currency: USD, input: "0.03", output: "0.15", from: 2026-01-01 }
  - { model: embed, currency: USD, input: "0.03", from: 2026-01-01 }
  - { model: hear, currency: USD, dims: { audio_seconds: "0.1" }, from: 2026-01-01 }
  - { model: draw, currency: USD, dims: { images: "0.1" }, from: 2026-01-01 }
  - { model: say, currency: USD, dims: { characters: "0.1" }, from: 2026-01-01 }
${answers.map((model) => `  - { model: ${model}, currency: USD, input: "0.03", output: "0.15", from: 2026-01-01 }`).join("\n")}
searchProviders: [{ id: s, name: S, vendor: searxng, baseUrl: "${vendor}", currency: USD, pricePerCall: "0.00001" }]
toolServers:
  - { id: paid, url: "${vendor}/mcp", price: { currency: USD, calls: "0.1" } }
  - { id: free, url: "${vendor}/mcp" }
plans: [{ id: bench, perMinute: 1000000000, concurrency: 100000, dailyTokens: 1000000000, websearchDaily: 1000000000 }]
orgs:
  - { id: ${ids.org}, name: Bench, plan: bench, currency: USD, tools: [paid, free], models: [agent, kept, kept-200, embed, hear, say, draw, talk, ${answers.join(", ")}] }
  - { id: org_keeping, name: Keeping, plan: bench, currency: USD, models: [short], keeps: { responses: 1d } }
apps:
  - { id: app_keeping, org: org_keeping }
  - { id: ${ids.app}, org: ${ids.org} }
  - id: app_limited
    org: ${ids.org}
    rates: [{ requests: 100000000, per: 60s }, { tokens: 1000000000, per: 60s }, { concurrent: 10000 }]
    tags: { feature: bench }
  - { id: app_guarded, org: ${ids.org}, policies: [${tenPolicies.map((_, at) => `p${at}`).join(", ")}] }
policies:
${tenPolicies.join("\n")}
keys:
  - { id: ${keeping["x-svc-key-id"]}, app: app_keeping, secret: "env:WEIR_BENCH_KEY" }
  - { id: ${guarded["x-svc-key-id"]}, app: app_guarded, secret: "env:WEIR_BENCH_KEY" }
  - { id: ${ids.key}, app: ${ids.app}, secret: "env:WEIR_BENCH_KEY" }
  - { id: ${limited["x-svc-key-id"]}, app: app_limited, secret: "env:WEIR_BENCH_KEY" }
files: { to: "file://${files}" }
topups:
  - { id: bench, org: ${ids.org}, amount: "100000" }
  - { id: keeping, org: org_keeping, amount: "100000" }
`

/** Limits so wide that a machine which stalls does not end a measurement with refused calls. */
export const wideLimits = {
  SVC_SHED_LAG_MS: "60000",
  SVC_SHED_WAIT_MS: "60000",
  SVC_REDIS_DEADLINE_MS: "60000",
  SVC_REPLY_CACHE_WAIT_MS: "60000",
  SVC_DATABASE_DEADLINE_MS: "60000",
}

/**
 * @param pauseMs between frames of `paced-N`
 * @param variables of the gateway
 */
export const startSubjects = async (
  pauseMs = 20,
  variables: Readonly<Record<string, string>> = wideLimits,
): Promise<Subjects & { readonly stop: () => void }> => {
  const dir = mkdtempSync(join(tmpdir(), "weir-bench-"))
  const children: Array<ChildProcess> = []
  const start = (core: number | "all", args: ReadonlyArray<string>, env: Readonly<Record<string, string>> = {}) => {
    const command = canPin && core !== "all" ? ["taskset", "-c", String(core), process.execPath] : [process.execPath]
    const child = spawn(command[0] ?? "", [...command.slice(1), ...args], {
      env: { ...process.env, ...env },
      stdio: ["ignore", "pipe", "inherit"],
    })
    children.push(child)
    return child
  }
  const stop = () => {
    for (const child of children) child.kill("SIGKILL")
    rmSync(dir, { recursive: true, force: true })
  }
  process.once("exit", stop)

  const upstream = start(1, [here("./upstream.ts")], { PAUSE_MS: String(pauseMs) })
  const [upstreamPort = "", http2Port] = (await firstLine(upstream)).split(" ")
  const floor = start(0, [here("./floor.ts"), upstreamPort])
  const floorPort = await firstLine(floor)
  const url = `http://127.0.0.1:${upstreamPort}`
  const catalogue = join(dir, "catalogue.yaml")
  const catalogueText = catalogueFor(url, dir)
  writeFileSync(catalogue, catalogueText)
  const overHttp2 = {
    SVC_CATALOGUE: join(dir, "catalogue-http2.yaml"),
    NODE_EXTRA_CA_CERTS: join(dir, "certificate.pem"),
  }
  writeFileSync(overHttp2.SVC_CATALOGUE, catalogueFor(`https://localhost:${http2Port}`, dir))
  writeFileSync(overHttp2.NODE_EXTRA_CA_CERTS, certificate)
  const profile = process.env["BENCH_PROFILE"]
  const profiling = profile === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${profile}`]
  let gateways = 0
  const startWeir = async (
    more: Readonly<Record<string, string>>,
    { program = here("../../src/main.ts"), onAllCores = false }: StartOptions = {},
  ) => {
    const name = `weir${gateways++}`
    const ready = join(dir, `${name}.json`)
    const child = start(onAllCores ? "all" : 0, [...nodeOptions, ...profiling, program, "serve"], {
      SVC_MASTER_KEY: "of the bench",
      SVC_LAME_DUCK_MS: "0",
      SVC_PORT: "0",
      SVC_DATA_DIR: join(dir, name),
      SVC_CATALOGUE: catalogue,
      SVC_READY_FILE: ready,
      SVC_LOG_LEVEL: "Error",
      WEIR_BENCH_KEY: "secret",
      ...variables,
      ...(process.env["SVC_TEST_DATABASE_URL"] && { SVC_DATABASE_URL: process.env["SVC_TEST_DATABASE_URL"] }),
      ...(process.env["SVC_TEST_REDIS_URL"] && { SVC_REDIS_URL: process.env["SVC_TEST_REDIS_URL"] }),
      ...more,
    })
    const origin = await readyUrl(ready)
    const call: Weir["call"] = (path, body, headers = { "x-svc-key-id": ids.key, "x-svc-key": "secret" }) => ({
      origin,
      path,
      headers,
      body: JSON.stringify(body),
    })
    const subject: Weir = {
      name,
      pid: child.pid ?? 0,
      call,
      exchange: (answer) =>
        call("/t1/exchange", {
          model: answer,
          stream: answer !== "short",
          thread: [{ role: "user", blocks: [{ t: "text", v: "Hello, river" }] }],
        }),
    }
    return { child, subject }
  }
  const { child: weir, subject } = await startWeir({})
  const chat = (to: string, path: string) => (answer: Answer) => ({
    origin: to,
    path,
    headers: {},
    body: JSON.stringify({
      model: answer,
      stream: answer !== "short",
      messages: [{ role: "user", content: "Hello, river" }],
    }),
  })
  return {
    direct: { name: "direct", pid: upstream.pid ?? 0, exchange: chat(url, "/v1/chat/completions") },
    floor: { name: "floor", pid: floor.pid ?? 0, exchange: chat(`http://127.0.0.1:${floorPort}`, "/") },
    weir: subject,
    catalogue: catalogueText,
    overHttp2,
    another: async (more, options) => (await startWeir(more, options)).subject,
    startByHand: async () => {
      const child = start(0, [here("./by-hand.ts"), upstreamPort])
      const origin = `http://127.0.0.1:${await firstLine(child)}`
      const { exchange } = subject
      return {
        name: "by hand",
        pid: child.pid ?? 0,
        exchange: (answer) => ({ ...exchange(answer), origin }),
      }
    },
    stop: () => {
      // A gateway writes its profile when it exits.
      if (profile === undefined) return stop()
      weir.once("exit", stop)
      weir.kill("SIGTERM")
    },
  }
}

const firstLine = (child: ChildProcess) =>
  new Promise<string>((resolve) => child.stdout?.once("data", (chunk) => resolve(String(chunk).trim())))

/** The address that a gateway writes to its ready file. */
export const readyUrl = async (file: string): Promise<string> => {
  for (let tries = 0; tries < 6000; tries++) {
    try {
      return JSON.parse(readFileSync(file, "utf8")).baseUrl
    } catch {
      await sleep(10)
    }
  }
  throw new Error("the gateway did not start")
}
