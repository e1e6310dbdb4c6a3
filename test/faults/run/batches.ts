/**
 * `npm run faults:batches -- [requests] [seed] [--vendor]`: batches through three gateways on one PostgreSQL and one Redis, while gateways and
 * stores are killed and lines are cut, at random. Afterwards each request must be in one file of results and billed once if it
 * succeeded, with the usage that its answer reports; no money may be left with the batches, and the balance must be what was
 * paid in less what was billed, to the tenth digit. With `--vendor`, the batches run at the vendor's own API of batches, which
 * must be asked for each of them once, loses answers, and leaves requests out.
 */
import { execFile } from "node:child_process"
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { Effect, Exit, Schema, Scope } from "effect"
import { testCatalogue } from "../../../src/testing/gateway.ts"
import { startScriptedVendor, type VendorScript } from "../../../src/testing/scripted-vendor.ts"
import { serveBatches } from "../../../src/testing/twins/batch-twin.ts"
import { makeOpenaiBatches } from "../../../src/testing/twins/openai/batches.ts"
import type { TwinScript } from "../../../src/testing/twins/twin.ts"
import { answering } from "../../../src/testing/vendor-replies.ts"
import { startFleet } from "../../support/faults/fleet.ts"
import { randomOf } from "../../support/random.ts"

const isAtVendor = process.argv.includes("--vendor")
const [sentRequests, sentSeed] = process.argv.slice(2).filter((each) => each !== "--vendor")
const requests = Number(sentRequests ?? 10_000)
const seed = Number(sentSeed ?? Date.now() % 1_000_000)
const batchCount = 4
const gatewayCount = 3
const faultEveryMs = 1500
const balance = "1000000"
const random = randomOf(seed)
const pick = (count: number) => Math.floor(random() * count)
console.log(
  `fault run of batches: ${requests} requests in ${batchCount} batches, seed ${seed}, ${gatewayCount} gateways`,
)

const dir = mkdtempSync(join(tmpdir(), "weir-batches-"))
// PostgreSQL runs as another user.
chmodSync(dir, 0o755)
const scope = Scope.makeUnsafe()

/** One request in nine is refused by the vendor; each has another number of tokens, by which its record is known. */
const isRefused = (at: number) => at % 9 === 4 && !isAtVendor
const tokensOf = (at: number) => 1000 + at
const asked = new Map<number, number>()
const script: VendorScript = async (call) => {
  const at = Number(/k-(\d+)-k/.exec(call.sent.toString("latin1"))?.[1])
  asked.set(at, (asked.get(at) ?? 0) + 1)
  await call.wait(pick(60))
  // Now and then the vendor fails, and is asked again.
  if (pick(30) === 0) {
    call.head(503, { "content-type": "application/json" })
    return call.end("{}")
  }
  if (isRefused(at)) {
    call.head(400, { "content-type": "application/json" })
    return call.end(
      JSON.stringify({
        error: { message: "no", type: "invalid_request_error", param: "messages", code: "string_above_max_length" },
      }),
    )
  }
  return answering({ words: ["answer"], inTokens: tokensOf(at), outTokens: 3 })(call)
}
const twinScript: TwinScript = (request) => {
  const at = Number(/k-(\d+)-k/.exec(request.texts.join(" "))?.[1])
  const usage = { inTokens: tokensOf(at), outTokens: 3, cachedTokens: 0 }
  return { blocks: [{ t: "text", pieces: ["answer"] }], usage }
}
const twin = makeOpenaiBatches(twinScript)
twin.plan({
  polls: 3,
  lostCreates: 2,
  brokenReads: 3,
  breaksAfter: { bytes: 5000, resets: true },
  order: "reversed",
  outcome: (id) => {
    const line = Number(id.split("-").at(-1))
    return line % 7 === 3 ? "missing" : line % 11 === 5 ? "twice" : undefined
  },
})
const vendor = await Effect.runPromise(
  Scope.provide(startScriptedVendor(isAtVendor ? serveBatches(twin, script) : script), scope),
)

const ids = { org: "org_batches", app: "app_batches", key: "key_batches" }
const files = join(dir, "files")
mkdirSync(files)
const catalogue = join(dir, "catalogue.yaml")
writeFileSync(
  catalogue,
  testCatalogue(
    { vendor: vendor.url, second: vendor.url },
    ids,
    `files: { to: "file://${files}" }
budgets:
  - { id: money, scope: org, unit: money, period: month, limit: "900000" }
`,
  )
    .replace(`amount: "1000"`, `amount: "${balance}"`)
    .replace("id: openai, ", isAtVendor ? "id: openai, batch: vendor, " : "id: openai, ")
    .replace('cacheRead: "0.3", from', 'cacheRead: "0.3", batch: "0.5", from'),
)

const adminKey = "wa_faults"
const fleet = await startFleet({ dir, catalogue, gateways: gatewayCount, adminKey, pick, faultEveryMs })
const url = () => `${fleet.any()}/openai/v1`
const headers = { authorization: `Bearer ${ids.key}~secret` }

/** Asks until it is answered. @returns the JSON, or the text of a file */
const patiently = async (path: string, init: () => RequestInit = () => ({})): Promise<string> => {
  for (let tries = 0; ; tries++) {
    try {
      const { headers: more, ...rest } = init()
      const reply = await fetch(`${url()}${path}`, {
        ...rest,
        headers: { ...headers, ...more },
        signal: AbortSignal.timeout(60_000),
      })
      const text = await reply.text()
      if (reply.ok) return text
      if (tries > 200) throw new Error(`${path}: ${reply.status} ${text}`)
    } catch (error) {
      if (tries > 200) throw error
    }
    await sleep(200)
  }
}

const readId = Schema.decodeUnknownSync(Schema.fromJsonString(Schema.Struct({ id: Schema.String })))
const readBatch = Schema.decodeUnknownSync(
  Schema.fromJsonString(
    Schema.Struct({
      id: Schema.String,
      status: Schema.String,
      output_file_id: Schema.NullOr(Schema.String),
      error_file_id: Schema.NullOr(Schema.String),
      request_counts: Schema.Struct({ total: Schema.Int, completed: Schema.Int, failed: Schema.Int }),
    }),
  ),
)
const readLine = Schema.decodeUnknownSync(
  Schema.fromJsonString(
    Schema.Struct({
      custom_id: Schema.String,
      response: Schema.Struct({
        status_code: Schema.Int,
        body: Schema.Struct({ usage: Schema.optional(Schema.Struct({ prompt_tokens: Schema.Int })) }),
      }),
    }),
  ),
)

const perBatch = Math.ceil(requests / batchCount)
const first = (batch: number) => batch * perBatch
const create = async (batch: number): Promise<string> => {
  const lines = Array.from({ length: perBatch }, (_, index) => {
    const at = first(batch) + index
    const body = { model: "main", max_tokens: 50, messages: [{ role: "user", content: `k-${at}-k` }] }
    return JSON.stringify({ custom_id: String(at), method: "POST", url: "/v1/chat/completions", body })
  })
  const form = () => {
    const data = new FormData()
    data.set("purpose", "batch")
    data.set("file", new Blob([lines.join("\n")]), "lines.jsonl")
    return data
  }
  const { id: input_file_id } = readId(await patiently("/files", () => ({ method: "POST", body: form() })))
  const asked = { input_file_id, endpoint: "/v1/chat/completions", completion_window: "24h" }
  const init = { method: "POST", body: JSON.stringify(asked), headers: { "content-type": "application/json" } }
  return readId(await patiently("/batches", () => init)).id
}
const batches = await Promise.all(Array.from({ length: batchCount }, (_, at) => create(at)))
console.log(`${batches.length} batches have begun`)

const endFaults = fleet.beginFaults()

const startedAt = Date.now()
const patienceMs = 120_000 + requests * 100
const ended: Array<ReturnType<typeof readBatch>> = []
for (const id of batches) {
  for (;;) {
    const batch = readBatch(await patiently(`/batches/${id}`))
    if (batch.status === "completed") {
      ended.push(batch)
      break
    }
    if (Date.now() - startedAt > patienceMs) throw new Error(`${id} is ${JSON.stringify(batch)} (seed ${seed})`)
    await sleep(300)
  }
}
const faults = await endFaults()
const seconds = ((Date.now() - startedAt) / 1000).toFixed(0)

const problems: Array<string> = []
const check = (holds: boolean, problem: string) => {
  if (!holds) problems.push(problem)
}
const { query } = fleet
const answers = new Map<number, { readonly status: number; readonly tokens: number | undefined }>()
for (const { id, output_file_id, error_file_id, request_counts } of ended) {
  let [good, bad] = [0, 0]
  for (const file of [output_file_id, error_file_id]) {
    const text = file === null ? "" : await patiently(`/files/${file}/content`)
    for (const line of text.split("\n").filter((each) => each !== "")) {
      const { custom_id, response } = readLine(line)
      const at = Number(custom_id)
      check(!answers.has(at), `${at} is there twice`)
      answers.set(at, { status: response.status_code, tokens: response.body.usage?.prompt_tokens })
      if (file === output_file_id) good++
      else bad++
    }
  }
  check(
    request_counts.completed === good && request_counts.failed === bad,
    `${id} has counted ${JSON.stringify(request_counts)}: ${good}, ${bad}`,
  )
}
// Settlements wait in journals, too.
await fleet.settled()
const records = new Map<number, Array<number>>()
for (const [tokens = "", cost] of await query("select in_tokens, cost from usage_records where batch_id is not null")) {
  const at = Number(tokens) - 1000
  records.set(at, [...(records.get(at) ?? []), Number(cost)])
}
let twice = 0
for (let at = 0; at < perBatch * batchCount; at++) {
  const answer = answers.get(at)
  const billed = records.get(at) ?? []
  if ((asked.get(at) ?? 0) > 1) twice++
  if (answer === undefined) problems.push(`${at} has no answer`)
  else if (isRefused(at)) {
    check(answer.status >= 400, `${at} has the answer ${answer.status}`)
    check(billed.length === 0, `${at} was refused and billed`)
  } else {
    check(answer.status === 200, `${at} has the answer ${answer.status}`)
    check(answer.tokens === tokensOf(at), `${at} reports ${answer.tokens} tokens`)
    check(billed.length === 1, `${at} was billed ${billed.length} times`)
    check(Math.abs((billed[0] ?? 0) - (tokensOf(at) * 3 + 3 * 15) / 2e6) < 1e-12, `${at} cost ${billed[0]}`)
  }
}
const [[sum] = []] = await query("select coalesce(sum(cost), 0) from usage_records")
const [[accounts] = []] = await query(
  `select coalesce(sum(case when credit_account like 'batch:%' then amount else 0 end)
    - sum(case when debit_account like 'batch:%' then amount else 0 end), 0) from transfers`,
)
check(Number(accounts) === 0, `${accounts} is left in accounts of batches`)
const left = await fleet.left("USD")
check(Math.abs(left + Number(sum) - Number(balance)) < 1e-9, `${left} is left, and ${sum} was billed`)
const [[budget] = []] =
  await query(`select coalesce((select sum(granted) from counters where counter like 'budget:money:%'), 0)
  - coalesce((select sum(granted - spent) from allotments where counter like 'budget:money:%'), 0)`)
check(Math.abs(Number(budget) - Number(sum)) < 1e-9, `${budget} is used of a budget, and ${sum} was billed`)
const [[rows] = []] = await query(
  "select (select count(*) from batch_results) + (select count(*) from batch_chunks) + (select count(*) from batch_submissions)",
)
check(rows === "0", `${rows} rows of batches that have ended`)
const made = twin.batches().length
check(made === (isAtVendor ? batchCount : 0), `the vendor has made ${made} batches`)
// Not synchronously: the gateways' lines to their stores run through this process.
const doctor = fileURLToPath(new URL("../../../src/main.ts", import.meta.url))
await promisify(execFile)(process.execPath, [doctor, "doctor", "--url", fleet.first, "--admin-key", adminKey]).then(
  ({ stdout }) => console.log(stdout.trim()),
  (error) => problems.push(`doctor: ${error.stderr}`),
)
console.log(
  `${answers.size} answers in ${seconds} s, ${records.size} billed, ${twice} requests asked for more than once; ${left} left`,
)
console.log(faults)
for (const problem of problems.slice(0, 20)) console.error(problem)
console.log(problems.length === 0 ? "consistent" : `${problems.length} problems (seed ${seed})`)

await fleet.stop()
await Effect.runPromise(Scope.close(scope, Exit.void))
rmSync(dir, { recursive: true, force: true })
process.exit(problems.length === 0 ? 0 : 1)
