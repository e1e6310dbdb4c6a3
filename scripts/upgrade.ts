/**
 * `scripts/with-stores npm run upgrade`: runs the gateway of an earlier commit, upgrades the database beneath it by
 * starting this one beside it, and has both serve meanwhile. Checks that nothing is lost: every exchange is answered,
 * what the old gateway leaves is settled, and the books are consistent. The commit is the parent of the last one that
 * changed a migration, or the one that is named.
 */
import { type ChildProcess, execFileSync, spawn } from "node:child_process"
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import { Effect, Exit, Scope } from "effect"
import { answering, startScriptedVendor } from "../src/testing/index.ts"

const root = fileURLToPath(new URL("..", import.meta.url))
const node = join(root, "node_modules/.bin/node")
const dir = mkdtempSync(join(tmpdir(), "weir-upgrade-"))
const { SVC_TEST_DATABASE_URL: databaseUrl, SVC_TEST_REDIS_URL: redisUrl } = process.env
if (databaseUrl === undefined || redisUrl === undefined) throw new Error("run it by scripts/with-stores")

const git = (...args: ReadonlyArray<string>): string =>
  execFileSync("git", args, { cwd: root, encoding: "utf8", maxBuffer: 1024 ** 3 }).trim()

/** The commit before the last one that changed a migration; undefined where the history does not reach as far. */
const earlierCommit = (): string | undefined => {
  if (process.argv[2] !== undefined) return process.argv[2]
  try {
    return git("rev-parse", "--verify", "--quiet", `${git("log", "-1", "--format=%H", "--", "migrations")}^`)
  } catch {
    return undefined
  }
}

/** The sources of a commit, with the dependencies that it had. */
const checkout = (commit: string): string => {
  const folder = join(dir, "old")
  mkdirSync(folder)
  execFileSync("bash", ["-c", `git archive ${commit} | tar -x -C ${folder}`], { cwd: root })
  const lockfile = (of: string) => readFileSync(join(of, "package-lock.json"), "utf8")
  if (lockfile(folder) === lockfile(root)) symlinkSync(join(root, "node_modules"), join(folder, "node_modules"))
  else execFileSync("npm", ["ci", "--omit=dev", "--ignore-scripts", "--silent"], { cwd: folder, stdio: "inherit" })
  return folder
}

interface Node {
  readonly name: string
  readonly baseUrl: string
  readonly child: ChildProcess
  log: string
}

const environment = (name: string) => ({
  PATH: process.env["PATH"],
  HOME: dir,
  SVC_ENV: "production",
  SVC_LAME_DUCK_MS: "0",
  SVC_PORT: "0",
  SVC_DATABASE_URL: databaseUrl,
  SVC_REDIS_URL: redisUrl,
  SVC_CATALOGUE: join(dir, "weir.yaml"),
  SVC_MASTER_KEY: "of an upgrade",
  SVC_ADMIN_KEY_SHA256: "8c6976e5b5410415bde908bd4dee15dfb167a9c873fc4bb8a81f6f2ab448a918",
  SVC_DATA_DIR: join(dir, name),
  SVC_READY_FILE: join(dir, `${name}.ready`),
  SVC_LEASE_MS: "4000",
  SVC_CHECKPOINT_MS: "500",
  WEIR_UPGRADE_KEY: "wk_of_an_upgrade",
})
/** The key whose SHA-256 the environment has. */
const adminKey = "admin"

const start = async (name: string, sources: string): Promise<Node> => {
  const child = spawn(node, [join(sources, "src/main.ts"), "serve"], { cwd: sources, env: environment(name) })
  const started: Node = { name, child, log: "", baseUrl: "" }
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on("data", (chunk) => {
      started.log += chunk
    })
  }
  const file = join(dir, `${name}.ready`)
  for (let tries = 0; tries < 600; tries++) {
    if (child.exitCode !== null) throw new Error(`${name} ended with ${child.exitCode}:\n${started.log}`)
    if (existsSync(file)) return { ...started, baseUrl: JSON.parse(readFileSync(file, "utf8")).baseUrl }
    await sleep(50)
  }
  throw new Error(`${name} did not come up:\n${started.log}`)
}

/** A vendor whose answers take a quarter of a second. */
const slowAnswer = answering({ words: Array.from({ length: 5 }, () => "word "), inTokens: 10, outTokens: 5 }, 50)

/** The calls of the limited key that both gateways together may admit in any minute. */
const mostCalls = 50

/** @param limits whether the earlier gateway knows rates at a subject */
const catalogue = (vendorUrl: string, limits: boolean) => `version: 1
vendors:
  - { id: simulated, dialect: openai-chat, baseUrl: "${vendorUrl}" }
models:
  - { handle: main, contextWindow: 1000, maxOutput: 100, targets: [{ vendor: simulated, model: m }] }
prices:
  - { model: main, currency: USD, input: "3", output: "15", from: 2026-01-01 }
plans:
  - { id: team, perMinute: 1000000 }
orgs:
  - { id: acme, name: Acme, plan: team, currency: USD, models: [main] }
apps:
  - { id: acme_app, org: acme${limits ? ", rates: [{ requests: 1000000, per: 60s }, { concurrent: 100 }]" : ""} }
  - { id: few_app, org: acme${limits ? `, rates: [{ requests: ${mostCalls}, per: 60s }]` : ""} }
keys:
  - { id: acme_key, app: acme_app, secret: "env:WEIR_UPGRADE_KEY" }
  - { id: few_key, app: few_app, secret: "env:WEIR_UPGRADE_KEY" }
topups:
  - { id: acme_start, org: acme, amount: "1000" }
`

const keyHeaders = { "content-type": "application/json", "x-svc-key-id": "acme_key", "x-svc-key": "wk_of_an_upgrade" }

const send = ({ baseUrl }: Node, headers: Readonly<Record<string, string>> = keyHeaders): Promise<Response> => {
  const thread = [{ role: "user", blocks: [{ t: "text", v: "Hello, river" }] }]
  const body = JSON.stringify({ model: "main", stream: true, thread })
  return fetch(`${baseUrl}/t1/exchange`, { method: "POST", headers, body })
}

/** An exchange; whether its stream was complete. */
const exchange = async (gateway: Node): Promise<boolean> => {
  const response = await send(gateway)
  const text = await response.text()
  if (!text.includes("event: t.close")) throw new Error(`${response.status} ${text.slice(-500)}`)
  return true
}

/** Calls until it is stopped; counts the calls that were answered, and the others. */
const keepCalling = (gateway: Node) => {
  let isOver = false
  const counted = { answered: 0, failures: [] as string[] }
  const caller = async () => {
    while (!isOver) {
      await exchange(gateway).then(
        () => counted.answered++,
        (error) => counted.failures.push(String(error)),
      )
    }
  }
  const done = Promise.all(Array.from({ length: 8 }, caller))
  return {
    stop: async () => {
      isOver = true
      await done
      return counted
    },
  }
}

/** Calls both gateways at once with the limited key; the number of calls that were admitted. */
const admittedByBoth = async (gateways: ReadonlyArray<Node>): Promise<number> => {
  const calls = gateways.flatMap((gateway) => Array.from({ length: mostCalls }, () => gateway))
  const statuses = await Promise.all(
    calls.map(async (gateway) => {
      const response = await send(gateway, { ...keyHeaders, "x-svc-key-id": "few_key" })
      await response.text()
      return response.status
    }),
  )
  const unexpected = statuses.find((status) => status !== 200 && status !== 429)
  if (unexpected !== undefined) throw new Error(`the limited key was answered with ${unexpected}`)
  return statuses.filter((status) => status === 200).length
}

const admin = async ({ baseUrl }: Node, path: string) => {
  const response = await fetch(`${baseUrl}${path}`, { headers: { "x-svc-admin-key": adminKey } })
  const text = await response.text()
  if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`)
  return JSON.parse(text)
}

const consistent = async (gateway: Node): Promise<void> => {
  for (let tries = 0; ; tries++) {
    const { findings, nodes } = await admin(gateway, "/v1/admin/doctor")
    const isQuiet = nodes.every((one: { isAlive: boolean }) => one.isAlive)
    if (findings.length === 0 && isQuiet) return
    if (tries > 60) throw new Error(`the books: ${JSON.stringify({ findings, nodes })}`)
    await sleep(500)
  }
}

const doctor = (sources: string): string => {
  try {
    return execFileSync(node, [join(sources, "src/main.ts"), "doctor"], {
      cwd: sources,
      env: { ...environment("doctor"), SVC_BASE_URL: "http://127.0.0.1:9" },
      encoding: "utf8",
    })
  } catch (error) {
    return error instanceof Error && "stdout" in error ? String(error.stdout) : String(error)
  }
}

const scope = Scope.makeUnsafe()
const children: Array<ChildProcess> = []
try {
  const commit = earlierCommit()
  if (commit === undefined) {
    console.log("There is no earlier commit here")
    process.exit(0)
  }
  const name = git("log", "-1", "--format=%h %s", commit)
  console.log(`The gateway of ${name}`)
  const sources = checkout(commit)
  const upstream = await Effect.runPromise(Scope.provide(startScriptedVendor(slowAnswer), scope))
  const limits = existsSync(join(sources, "src/protocol/catalogue/limits.ts"))
  writeFileSync(join(dir, "weir.yaml"), catalogue(upstream.url, limits))

  const old = await start("old", sources)
  children.push(old.child)
  const onOld = keepCalling(old)
  await sleep(1500)
  const told = doctor(root)
  console.log(told.split("\n").find((line) => line.startsWith("postgres")) ?? told)
  const mustStop = /must be stopped|cannot run beside/.test(told)

  if (mustStop) {
    const refused = await start("refused", root).then(
      () => "",
      (error) => String(error),
    )
    if (!/cannot run beside/.test(refused)) throw new Error(`it was to be refused: ${refused}`)
    console.log("This version does not start beside it, as doctor says")
    await onOld.stop()
    old.child.kill("SIGTERM")
    await new Promise((resolve) => old.child.once("exit", resolve))
  }
  const fresh = await start("new", root)
  children.push(fresh.child)
  const onNew = keepCalling(fresh)
  await sleep(3000)
  if (limits && !mustStop) {
    const admitted = await admittedByBoth([old, fresh])
    if (admitted !== mostCalls) throw new Error(`both admitted ${admitted} calls of ${mostCalls}`)
    console.log(
      `Both gateways together admitted ${admitted} of ${2 * mostCalls} calls of a key with ${mostCalls} a minute`,
    )
  }
  const answeredByOld = mustStop ? { answered: 0, failures: [] } : await onOld.stop()
  if (answeredByOld.failures.length > 0) throw new Error(`the old gateway failed:\n${answeredByOld.failures[0]}`)
  if (!mustStop) {
    // Calls of the old gateway that break with it are settled by the new one.
    const broken = keepCalling(old)
    await sleep(600)
    old.child.kill("SIGKILL")
    await broken.stop()
  }
  const { answered, failures } = await onNew.stop()
  if (failures.length > 0) throw new Error(`this gateway failed:\n${failures[0]}`)
  await consistent(fresh)
  const { data } = await admin(fresh, "/v1/admin/orgs/acme/usage?limit=1")
  if (data.length === 0) throw new Error("there are no usage records")
  console.log(
    `${answeredByOld.answered} exchanges by the old gateway, ${answered} by this one; the books are consistent`,
  )
} finally {
  for (const child of children) child.kill("SIGKILL")
  await Effect.runPromise(Scope.close(scope, Exit.void))
  rmSync(dir, { recursive: true, force: true })
}
process.exit(0)
