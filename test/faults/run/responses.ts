/**
 * `npm run faults:responses -- [responses] [seed]`: responses in the background through three gateways on one PostgreSQL and one Redis,
 * while gateways and stores are killed and lines are cut, at random. Afterwards each response must have ended: completed and billed
 * once, with the usage that it reports, or failed and billed at most once; and the balance must be the money that was paid in less the sum
 * of the bills, to the tenth digit.
 */
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { Effect, Exit, Schema, Scope } from "effect"
import { startScriptedVendor } from "../../../src/testing/scripted-vendor.ts"
import { answering } from "../../../src/testing/vendor-replies.ts"
import { startFleet } from "../../support/faults/fleet.ts"
import { randomOf } from "../../support/random.ts"

const responses = Number(process.argv[2] ?? 500)
const seed = Number(process.argv[3] ?? Date.now() % 1_000_000)
const gatewayCount = 3
const atATime = 16
const balance = "1000"
const random = randomOf(seed)
const pick = (count: number) => Math.floor(random() * count)
console.log(`fault run of responses in the background: ${responses} responses, seed ${seed}, ${gatewayCount} gateways`)

const dir = mkdtempSync(join(tmpdir(), "weir-responses-"))
// PostgreSQL runs as another user.
chmodSync(dir, 0o755)
const scope = Scope.makeUnsafe()

/** Each response has another number of tokens, by which its record is known. */
const tokensOf = (at: number) => 1000 + at
const asked = new Map<number, number>()
const vendor = await Effect.runPromise(
  Scope.provide(
    startScriptedVendor(async (call) => {
      const at = Number(/k-(\d+)-k/.exec(call.sent.toString("latin1"))?.[1])
      asked.set(at, (asked.get(at) ?? 0) + 1)
      await call.wait(pick(800))
      return answering({ words: ["an", "answer"], inTokens: tokensOf(at), outTokens: 3 })(call)
    }),
    scope,
  ),
)
const catalogue = join(dir, "catalogue.yaml")
writeFileSync(
  catalogue,
  `version: 1
vendors: [{ id: v, dialect: openai-chat, baseUrl: "${vendor.url}/v1" }]
models: [{ handle: main, maxOutput: 50, targets: [{ vendor: v, model: a }] }]
prices: [{ model: main, currency: USD, input: "3", output: "15", from: 2026-01-01 }]
orgs: [{ id: org_kept, name: Kept, currency: USD, models: [main], keeps: { responses: 1d } }]
apps: [{ id: app_kept, org: org_kept }]
keys: [{ id: key_kept, app: app_kept, secret: "env:WEIR_TEST_KEY" }]
topups: [{ id: first, org: org_kept, amount: "${balance}" }]
`,
)
const fleet = await startFleet({
  dir,
  catalogue,
  gateways: gatewayCount,
  adminKey: "wa_faults",
  pick,
  faultEveryMs: 1500,
})
const endFaults = fleet.beginFaults()

const readResponse = Schema.decodeUnknownSync(
  Schema.fromJsonString(
    Schema.Struct({
      id: Schema.String,
      status: Schema.String,
      usage: Schema.optional(Schema.NullOr(Schema.Struct({ input_tokens: Schema.Int }))),
    }),
  ),
)
type Response = ReturnType<typeof readResponse>

/** Asks until it is answered. */
const patiently = async (path: string, init: RequestInit = {}): Promise<Response> => {
  for (let tries = 0; tries < 300; tries++) {
    try {
      const headers = { authorization: "Bearer key_kept~secret", "content-type": "application/json", ...init.headers }
      const reply = await fetch(`${fleet.any()}/openai/v1/responses${path}`, {
        ...init,
        headers,
        signal: AbortSignal.timeout(30_000),
      })
      const text = await reply.text()
      if (reply.ok) return readResponse(text)
    } catch {
      // Its gateway was killed.
    }
    await sleep(200)
  }
  throw new Error(`${path} has no answer (seed ${seed})`)
}
const respond = async (at: number): Promise<Response> => {
  const body = JSON.stringify({ model: "main", input: `k-${at}-k`, background: true, max_output_tokens: 50 })
  const { id } = await patiently("", { method: "POST", body, headers: { "idempotency-key": `response-${at}` } })
  for (let tries = 0; tries < 600; tries++) {
    const response = await patiently(`/${id}`)
    if (response.status !== "queued" && response.status !== "in_progress") return response
    await sleep(200)
  }
  throw new Error(`${id} does not end (seed ${seed})`)
}

const startedAt = Date.now()
const ended = new Map<number, Response>()
let next = 0
await Promise.all(
  Array.from({ length: atATime }, async () => {
    while (next < responses) {
      const at = next++
      ended.set(at, await respond(at))
    }
  }),
)
const faults = await endFaults()
const seconds = ((Date.now() - startedAt) / 1000).toFixed(0)
await fleet.settled()

const problems: Array<string> = []
const check = (holds: boolean, problem: string) => {
  if (!holds) problems.push(problem)
}
const bills = new Map<number, Array<number>>()
const unknown: Array<string> = []
for (const [tokens = "", cost = ""] of await fleet.query("select in_tokens, cost from usage_records")) {
  const at = Number(tokens) - 1000
  // A call that broke off is billed by an estimate.
  if (!asked.has(at)) unknown.push(cost)
  else bills.set(at, [...(bills.get(at) ?? []), Number(cost)])
}
let failed = 0
let again = 0
for (const [at, { status, usage }] of ended) {
  const billed = bills.get(at) ?? []
  if ((asked.get(at) ?? 0) > 1) again++
  check(billed.length <= 1, `${at} was billed ${billed.length} times`)
  if (status === "completed") {
    check(billed.length === 1, `${at} is completed, and was billed ${billed.length} times`)
    check(usage?.input_tokens === tokensOf(at), `${at} reports ${usage?.input_tokens} tokens`)
    check(Math.abs((billed[0] ?? 0) - (tokensOf(at) * 3 + 3 * 15) / 1e6) < 1e-12, `${at} cost ${billed[0]}`)
  } else failed++
}
check(unknown.length <= failed, `${unknown.length} estimates for ${failed} responses that failed`)
const [[sum] = []] = await fleet.query("select coalesce(sum(cost), 0) from usage_records")
const left = await fleet.left("USD")
check(Math.abs(left + Number(sum) - Number(balance)) < 1e-9, `${left} is left, and ${sum} was billed`)
console.log(`${ended.size} ended in ${seconds} s, ${failed} of them failed; ${again} made once more`)
console.log(faults)
for (const problem of problems.slice(0, 20)) console.error(problem)
console.log(problems.length === 0 ? "consistent" : `${problems.length} problems (seed ${seed})`)

await fleet.stop()
await Effect.runPromise(Scope.close(scope, Exit.void))
rmSync(dir, { recursive: true, force: true })
process.exit(problems.length === 0 ? 0 : 1)
