/**
 * `npm run faults -- [calls] [seed] [--gateways N] [--scarce] [--only KIND] [--citus] [--journaled]`: many calls of every kind over HTTP through
 * two gateways on one PostgreSQL and one Redis, while gateways and stores are killed and lines are cut, at random.
 * Afterwards the ledger must be consistent, every key billed at most once, no hold or allotment left, delivered costs
 * equal to billed ones, and whole replies the same when they are asked for again; videos must be charged once if they
 * were made and not at all if they failed, none may be lost or asked about by two nodes at once; two budgets must have
 * counted what was billed. Meanwhile tenants are made and changed: each once, and no answered change may be lost.
 * Two exports and three webhooks get what leaves the gateway, while they are killed too: each record is in one file of each export
 * with sums that are the ledger's, and each event was sent under one id.
 * With `--scarce`, the balance covers half of the exchanges: no more may be spent, and nothing that could be. A seed
 * repeats its faults. With `--citus`, the database is a coordinator and two workers of Citus, any of which is killed; six
 * organisations share the calls, and half-way a third worker joins and gets shards. With `--journaled`, replies go out when
 * their settlements are on the gateways' disks.
 */
import { execFile } from "node:child_process"
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import { parseArgs, promisify } from "node:util"
import { Effect, Exit, Scope } from "effect"
import { testCatalogue } from "../../../src/testing/gateway.ts"
import { startScriptedVendor } from "../../../src/testing/scripted-vendor.ts"
import { query as ask, startCitus, startPostgres } from "../../support/faults/databases.ts"
import { gateway, gatewayEnvironment, redis } from "../../support/faults/processes.ts"
import { openLine } from "../../support/faults/proxy.ts"
import { freePort } from "../../support/free-port.ts"
import { randomOf } from "../../support/random.ts"
import { type Asked, askedFor, askedKinds, askFor, type Outcome } from "./client.ts"
import { receiverEnvironment, startReceivers } from "./receivers.ts"
import { startTenantChurn } from "./tenants.ts"
import { makeVendor, videoFails } from "./vendor.ts"

const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    gateways: { type: "string", default: "2" },
    scarce: { type: "boolean", default: false },
    only: { type: "string" },
    citus: { type: "boolean", default: false },
    journaled: { type: "boolean", default: false },
  },
})
const only = askedKinds.find((kind) => kind === flags.only)
if (flags.only !== undefined && only === undefined) throw new Error(`--only is one of ${askedKinds.join(", ")}`)
const exchanges = Number(positionals[0] ?? 2000)
const seed = Number(positionals[1] ?? Date.now() % 1_000_000)
const gatewayCount = Number(flags.gateways)
/** The approximate cost of an exchange: 100 tokens in, a few out. Its hold: 500 out, and the prompt's estimate. */
const costEach = 0.00034
const holdEach = 0.0078
const inFlight = 48
const faultEveryMs = 700
/** The number of answered keys that are asked for once more at the end. */
const maxReplays = 300

const faultRandom = randomOf(seed)
const clientRandom = randomOf(seed + 1)
const pickFault = (count: number) => Math.floor(faultRandom() * count)

console.log(
  `fault run: ${exchanges} calls, seed ${seed}, ${gatewayCount} gateways${flags.scarce ? ", scarce" : ""}${flags.citus ? ", on Citus" : ""}${flags.journaled ? ", journaled" : ""}`,
)

const dir = mkdtempSync(join(tmpdir(), "weir-faults-"))
// PostgreSQL runs as another user.
chmodSync(dir, 0o755)
const scope = Scope.makeUnsafe()
const vendorBehaviour = makeVendor((count) => Math.floor(clientRandom() * count))
const { calls } = vendorBehaviour
const vendor = await Effect.runPromise(Scope.provide(startScriptedVendor(vendorBehaviour.script), scope))

/** Each has an application, a key, and a share of the calls. */
const orgs = Array.from({ length: flags.citus ? 6 : 1 }, (_, at) => {
  const suffix = at === 0 ? "" : String(at)
  return { org: `org_faults${suffix}`, app: `app_faults${suffix}`, key: `key_faults${suffix}` }
})
const balance = flags.scarce ? ((exchanges / orgs.length) * costEach * 0.5).toFixed(6) : "1000000"
/** Models of the other kinds, each with a price at which a call costs about as much as an exchange. */
const otherModels = [
  ["embed", "embedding", 'input: "50"'],
  ["draw", "image", 'dims: { images: "340" }'],
  ["say", "speech", 'dims: { characters: "34" }'],
  ["hear", "transcription", 'dims: { audio_seconds: "340" }'],
  ["film", "video", 'dims: { video_seconds: "85" }'],
] as const
/** Four seconds of video. */
const filmCost = 0.00034
const ids = { org: "org_faults", app: "app_faults", key: "key_faults" }
const orgOf = (key: string) => orgs[Number(key.slice(2)) % orgs.length] ?? ids
const receiverRandom = randomOf(seed + 3)
const receivers = await startReceivers(dir, (count) => Math.floor(receiverRandom() * count))
const catalogue = join(dir, "catalogue.yaml")
writeFileSync(
  catalogue,
  testCatalogue(
    { vendor: vendor.url, second: vendor.url },
    ids,
    `budgets:
  - { id: money, scope: org, unit: money, period: month, limit: "900000" }
  - { id: tokens, scope: key, unit: tokens, period: month, limit: 1000, mode: shadow }
searchProviders:
  - { id: found, name: Found, vendor: searxng, baseUrl: "${vendor.url}", currency: USD, pricePerCall: "0.0005" }
${receivers.catalogue}`,
  )
    .replace(`amount: "1000"`, `amount: "${balance}"`)
    .replace(
      "models:\n",
      `models:\n${otherModels.map(([handle, kind]) => `  - { handle: ${handle}, kind: ${kind}, targets: [{ vendor: openai, model: upstream-${handle} }] }\n`).join("")}`,
    )
    .replace(
      "prices:\n",
      `prices:\n${otherModels.map(([handle, , price]) => `  - { model: ${handle}, currency: USD, ${price}, from: 2026-01-01 }\n`).join("")}`,
    )
    .replace("models: [main,", `models: [${otherModels.map(([handle]) => handle).join(", ")}, main,`)
    // Each line that names the first organisation is one for each.
    .split("\n")
    .flatMap((line) =>
      /\b(org|app|key)_faults\b/.test(line)
        ? orgs.map(({ org }) => line.replaceAll(/\b(org|app|key)_faults/g, `$1${org.slice(3)}`))
        : [line],
    )
    .join("\n"),
)

const cachePort = await freePort()
const cache = redis(cachePort)
await cache.start()
const redisLine = await openLine(cachePort)
const databases = flags.citus
  ? await startCitus(dir, 6, { SVC_ENV: "faults", SVC_CATALOGUE: catalogue, SVC_MASTER_KEY: "of the fault run" })
  : await startPostgres(dir)

const adminKey = "wa_faults"
const environment = {
  ...gatewayEnvironment({ catalogue, databaseUrl: databases.url, redisPort: redisLine.port, adminKey }),
  SVC_REDIS_DEADLINE_MS: "500",
  ...(flags.journaled && { SVC_REPLY_AFTER: "journaled" }),
  ...receiverEnvironment,
}
const ports = await Promise.all(Array.from({ length: gatewayCount }, freePort))
const gateways = ports.map((port, at) => gateway(`gateway${at}`, dir, port, environment))
for (const each of gateways) await each.start()
const urls = ports.map((port) => `http://127.0.0.1:${port}`)

const counts = new Map<string, number>()
const faults: ReadonlyArray<readonly [name: string, act: () => Promise<void>]> = [
  ["gateway killed", async () => restart(gateways[pickFault(gateways.length)])],
  ["receivers killed", async () => restart(receivers)],
  ["redis killed", async () => restart(cache)],
  ["postgres killed", async () => restart(databases.servers[pickFault(databases.servers.length)])],
  ["postgres lines cut", async () => databases.lines[pickFault(databases.lines.length)]?.cut()],
  ["redis lines cut", async () => redisLine.cut()],
  ["postgres silent", async () => databases.lines[pickFault(databases.lines.length)]?.stall(500 + pickFault(2500))],
  ["redis silent", async () => redisLine.stall(500 + pickFault(2500))],
]
interface Service {
  readonly start: () => Promise<void>
  readonly kill: () => Promise<void>
}
const restart = async (service: Service | undefined) => {
  await service?.kill()
  await sleep(100 + pickFault(900))
  await service?.start()
}

let running = true
const chaos = (async () => {
  while (running) {
    await sleep(faultEveryMs)
    const [name, act] = faults[pickFault(faults.length)] ?? ["", async () => undefined]
    counts.set(name, (counts.get(name) ?? 0) + 1)
    await act()
  }
})()

const callOptions = {
  urls,
  headersOf: (key: string) => ({ "x-svc-key-id": orgOf(key).key, "x-svc-key": "secret" }),
  pick: (count: number) => Math.floor(clientRandom() * count),
  patienceMs: 120_000,
  kindOf: (key: string): Asked => only ?? askedFor(key),
}
const tenantRandom = randomOf(seed + 2)
const churn = startTenantChurn({ urls, adminKey, pick: (count) => Math.floor(tenantRandom() * count) })
const outcomes = new Map<string, Outcome>()
let next = 0
/** Whether a key was refused so often that no hold can have been in its way. */
let exhausted = false
const startedAt = Date.now()
let rebalanced: Promise<string> | undefined
const client = async () => {
  while (next < exchanges) {
    if (next > exchanges / 2) rebalanced ??= databases.rebalance?.()
    const key = `k-${next++}`
    const options = { ...callOptions, maxRefusals: exhausted ? 3 : 40 }
    const outcome = await askFor(key, options)
    exhausted ||= outcome._tag === "Refused"
    outcomes.set(key, outcome)
  }
}
await Promise.all(Array.from({ length: inFlight }, client))
running = false
await chaos
const seconds = ((Date.now() - startedAt) / 1000).toFixed(0)

if (rebalanced !== undefined) console.log(await rebalanced)
const query = (sql: string) => ask(databases.port, sql)

// Gateways that end give back what they have; leases of killed ones expire, reapers settle, journals are settled.
for (let tries = 0; tries < 60; tries++) {
  if ((await query("select count(*) from jobs where ended_at is null"))[0]?.[0] !== "0") {
    // A job of a node that was killed waits for the end of its lease.
    await sleep(2000)
    continue
  }
  if ((await query("select count(*) from holds where state <> 'settled'"))[0]?.[0] === "0") break
  if (tries > 30 && (await query("select count(*) from holds where state = 'open'"))[0]?.[0] === "0") break
  await sleep(500)
}

const tenants = await churn.stop()
console.log(tenants.summary)
const problems: Array<string> = [...tenants.problems]
const check = (holds: boolean, problem: string) => {
  if (!holds) problems.push(problem)
}
// Not synchronously: the gateways' lines to their stores run through this process.
const doctor = fileURLToPath(new URL("../../../src/main.ts", import.meta.url))
await promisify(execFile)(process.execPath, [doctor, "doctor", "--url", urls[0] ?? "", "--admin-key", adminKey]).then(
  ({ stdout }) => console.log(stdout.trim()),
  (error) => problems.push(`doctor: ${error.stderr}`),
)
const rows = await query("select request_id, count(*), max(cost) from usage_records group by 1")
const ledger = new Map(rows.map(([key = "", billed, cost]) => [key, { billed: Number(billed), cost: Number(cost) }]))
check((await query("select count(*) from holds where state = 'open'"))[0]?.[0] === "0", "exchanges are still held")
const left = new Map<string, number>()
for (const { org } of orgs) {
  const balance = Number(
    (
      await query(`select coalesce((select funded - granted from counters where org_id = '${org}' and counter = 'USD'), 0)
    + coalesce((select sum(granted - spent) from allotments where org_id = '${org}' and counter = 'USD'), 0)`)
    )[0]?.[0],
  )
  left.set(org, balance)
  check(balance >= 0, `more was spent than there was: ${balance} of ${org}`)
}
/** The usage that a budget has counted, which must be what was billed. */
const usedOf = async (budget: string) =>
  (
    await query(`select coalesce((select sum(granted) from counters where counter like 'budget:${budget}:%'), 0)
    - coalesce((select sum(granted - spent) from allotments where counter like 'budget:${budget}:%'), 0)`)
  )[0]?.[0]
const [[billedMoney, billedTokens] = []] = await query(`select sum(cost), sum(in_tokens + out_tokens + cache_read_tokens
  + cache_write_tokens) from usage_records`)
const [usedMoney, usedTokens] = [await usedOf("money"), await usedOf("tokens")]
check(Number(usedMoney) === Number(billedMoney), `${usedMoney} is used of a budget, ${billedMoney} was billed`)
check(
  Number(usedTokens) === Number(billedTokens),
  `${usedTokens} tokens are used of a budget, ${billedTokens} were billed`,
)
const jobs = Map.groupBy(await query("select request_id, state, held from jobs"), ([key = ""]) => key)
check((await query("select count(*) from jobs where ended_at is null"))[0]?.[0] === "0", "jobs have not ended")
for (const id of vendorBehaviour.polledTwice) problems.push(`${id} was asked about by two nodes at once`)
for (const [key, [job, ...more]] of jobs) {
  check(more.length === 0, `${key} has ${more.length + 1} jobs`)
  const [, state, held] = job ?? []
  check(state === (videoFails(key) ? "failed" : "done"), `the job of ${key} is ${state}`)
  check(Number(held) === filmCost, `${held} was held for the job of ${key}`)
  check(
    ledger.get(key)?.cost === (videoFails(key) ? undefined : filmCost),
    `the ${state} job of ${key} was billed wrongly`,
  )
}
for (const key of ledger.keys()) {
  check(callOptions.kindOf(key) !== "video" || jobs.has(key), `${key} was billed without a job`)
}
const tally = { delivered: 0, made: 0, failed: 0, deferred: 0, spent: 0, refused: 0 }
for (const [key, outcome] of outcomes) {
  const entry = ledger.get(key)
  check((entry?.billed ?? 0) <= 1, `${key} was billed ${entry?.billed} times`)
  check((calls.get(key) ?? 0) >= (entry?.billed ?? 0), `${key} was billed without a call`)
  if (outcome._tag === "GaveUp") problems.push(`${key} got no final answer: ${outcome.last}`)
  else if (outcome._tag === "Made" || outcome._tag === "Failed") {
    if (outcome._tag === "Made") tally.made++
    else tally.failed++
    check(jobs.has(key), `the job of ${key} was lost`)
    check(videoFails(key) === (outcome._tag === "Failed"), `${key} was told ${outcome._tag}`)
  }
  // The id of the job was lost with its reply: what it cost is checked above.
  else if (outcome._tag === "Spent" && jobs.has(key)) tally.spent++
  else if (outcome._tag === "Refused") check((entry?.billed ?? 0) === 0, `${key} was refused and billed`)
  else check(entry?.billed === 1, `${key} was ${outcome._tag} and billed ${entry?.billed ?? 0} times`)
  if (outcome._tag === "Delivered") {
    tally.delivered++
    if (outcome.deferred) tally.deferred++
    check(
      Number(outcome.cost) === entry?.cost,
      `${key} was charged ${outcome.cost} in its reply and billed ${entry?.cost}`,
    )
  } else if (outcome._tag === "Spent") tally.spent++
  else if (outcome._tag === "Refused") tally.refused++
}
check(tally.refused === 0 || flags.scarce, `${tally.refused} keys were refused`)
// The money of failed jobs may have come back after the last refusal.
for (const [key, { _tag }] of outcomes) {
  const balance = left.get(orgOf(key).org) ?? 0
  check(
    _tag !== "Refused" || balance < holdEach + tally.failed * filmCost,
    `${key} was refused although ${balance} is left`,
  )
}
// Redis was emptied more than once: the replies are in the books.
let replayed = 0
for (const [key, first] of outcomes) {
  if (replayed === maxReplays || first._tag !== "Delivered" || first.body === undefined) continue
  replayed++
  const again = await askFor(key, { ...callOptions, maxRefusals: 0 })
  const body = again._tag === "Delivered" ? again.body : JSON.stringify(again)
  check(body === first.body, `${key} was answered ${first.body}, and when it was repeated ${body}`)
}
console.log(
  `${outcomes.size} keys in ${seconds} s: ${tally.delivered} delivered (${tally.deferred} deferred), ${tally.made} videos made, ${tally.failed} failed, ${tally.spent} billed without an answer, ${tally.refused} refused; ${[...left.values()].join(", ")} left; ${replayed} repeated`,
)
const gone = await receivers.check(query)
problems.push(...gone.problems)
console.log(gone.summary)
console.log([...counts].map(([name, times]) => `${name} ${times}`).join(", "))
for (const problem of problems.slice(0, 20)) console.error(problem)
console.log(problems.length === 0 ? "consistent" : `${problems.length} problems (seed ${seed})`)

await Promise.all([...gateways, cache, ...databases.servers].map((service) => service.kill()))
for (const line of [redisLine, ...databases.lines]) line.close()
await Effect.runPromise(Scope.close(scope, Exit.void))
rmSync(dir, { recursive: true, force: true })
process.exit(problems.length === 0 ? 0 : 1)
