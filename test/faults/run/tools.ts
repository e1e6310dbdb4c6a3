/**
 * `npm run faults:tools -- [calls] [seed]`: calls of a tool that counts, through three gateways on one PostgreSQL and one Redis, while
 * gateways and stores are killed and lines are cut, at random. Each call has an id, and its client repeats it until it has an answer.
 * Afterwards no call may have run twice, each that ran must be billed once, and the balance must be the money that was paid in less
 * the sum of the bills, to the tenth digit.
 */
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { startFleet } from "../../support/faults/fleet.ts"
import { randomOf } from "../../support/random.ts"
import { startToolServer, textResult } from "../../support/tool-server.ts"

const calls = Number(process.argv[2] ?? 1000)
const seed = Number(process.argv[3] ?? Date.now() % 1_000_000)
const gatewayCount = 3
const atATime = 24
const faultEveryMs = 1000
const balance = "1000"
const price = 0.25
const random = randomOf(seed)
const pick = (count: number) => Math.floor(random() * count)
console.log(`fault run of tools: ${calls} calls, seed ${seed}, ${gatewayCount} gateways`)

const dir = mkdtempSync(join(tmpdir(), "weir-tools-"))
// PostgreSQL runs as another user.
chmodSync(dir, 0o755)

const runs = new Map<number, number>()
const count = async ({ params }: { readonly params: Record<string, unknown> }) => {
  const at = Number(params["at"])
  runs.set(at, (runs.get(at) ?? 0) + 1)
  await sleep(pick(500))
  return textResult(`counted ${at}`)
}
/** Both generations of the protocol: the calls of odd numbers go to the server with sessions. */
const servers = await Promise.all(
  [true, false].map((isStateless) => startToolServer({ isStateless, tools: { count } })),
)
const catalogue = join(dir, "catalogue.yaml")
writeFileSync(
  catalogue,
  `version: 1
toolServers:
${servers.map(({ url }, at) => `  - { id: counter${at}, url: "${url}", price: { currency: USD, calls: "${price * 1e6}" } }`).join("\n")}
orgs: [{ id: org_tools, name: Tools, currency: USD, tools: ["*"] }]
apps: [{ id: app_tools, org: org_tools }]
keys: [{ id: key_tools, app: app_tools, secret: "env:WEIR_TEST_KEY" }]
topups: [{ id: first, org: org_tools, amount: "${balance}" }]
`,
)

const fleet = await startFleet({ dir, catalogue, gateways: gatewayCount, adminKey: "wa_faults", pick, faultEveryMs })

const begun = await fetch(`${fleet.first}/mcp`, {
  method: "POST",
  headers: { authorization: "Bearer key_tools~secret", "content-type": "application/json" },
  body: JSON.stringify({
    jsonrpc: "2.0",
    id: 0,
    method: "initialize",
    params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "faults", version: "1" } },
  }),
})
const session = begun.headers.get("mcp-session-id") ?? ""

const endFaults = fleet.beginFaults()

/** Repeats a call until it has a result, or until the books say that it was made and its result is lost. */
const call = async (at: number): Promise<"answered" | "lost"> => {
  const body = JSON.stringify({
    jsonrpc: "2.0",
    id: at,
    method: "tools/call",
    params: { name: "count", arguments: { at }, _meta: { "x-svc-request-id": `call-${at}` } },
  })
  const headers = {
    authorization: "Bearer key_tools~secret",
    "content-type": "application/json",
    "x-svc-tags": `at=${at}`,
  }
  let conflicts = 0
  // Each third call is of a session, which every gateway knows.
  const ofSession = at % 3 === 0 ? { "mcp-session-id": session, "mcp-protocol-version": "2025-11-25" } : {}
  for (let tries = 0; tries < 600; tries++) {
    try {
      const url = `${fleet.any()}/mcp/counter${at % 2}`
      const reply = await fetch(url, {
        method: "POST",
        headers: { ...headers, ...ofSession },
        body,
        signal: AbortSignal.timeout(30_000),
      })
      const text = await reply.text()
      const json = text.startsWith("{") ? text : (/^data: (.*)$/m.exec(text)?.[1] ?? "{}")
      const message = JSON.parse(json) as {
        result?: object
        error?: { message: string; data?: { code?: string; retryAfterMs?: number } }
      }
      if (message.result !== undefined) return "answered"
      const { code, retryAfterMs } = message.error?.data ?? {}
      // A call that is held has a time after which it may be asked for again; one whose result is lost has none.
      if (code === "idempotency_conflict" && retryAfterMs === undefined && ++conflicts > 2) return "lost"
    } catch {
      // Its gateway was killed.
    }
    await sleep(200)
  }
  throw new Error(`${at} has no answer (seed ${seed})`)
}

const startedAt = Date.now()
const ends = new Map<number, "answered" | "lost">()
let next = 0
await Promise.all(
  Array.from({ length: atATime }, async () => {
    while (next < calls) {
      const at = next++
      ends.set(at, await call(at))
    }
  }),
)
const faults = await endFaults()
const seconds = ((Date.now() - startedAt) / 1000).toFixed(0)

const problems: Array<string> = []
const check = (holds: boolean, problem: string) => {
  if (!holds) problems.push(problem)
}
await fleet.settled()
const bills = new Map<number, Array<number>>()
for (const [at = "", cost] of await fleet.query("select tags ->> 'at', cost from usage_records")) {
  bills.set(Number(at), [...(bills.get(Number(at)) ?? []), Number(cost)])
}
let unsent = 0
for (let at = 0; at < calls; at++) {
  const ran = runs.get(at) ?? 0
  const billed = bills.get(at) ?? []
  check(ran <= 1, `${at} ran ${ran} times`)
  check(billed.length <= 1, `${at} was billed ${billed.length} times`)
  if (ran === 1) check(billed[0] === price, `${at} ran, and was billed ${billed}`)
  if (ends.get(at) === "answered") check(ran === 1, `${at} has an answer, and ran ${ran} times`)
  // Its gateway died after the books knew of it and before it was sent, which looks like a call that ran.
  if (ran === 0 && billed.length === 1) unsent++
}
const [[sum] = []] = await fleet.query("select coalesce(sum(cost), 0) from usage_records")
const left = await fleet.left("USD")
check(Math.abs(left + Number(sum) - Number(balance)) < 1e-9, `${left} is left, and ${sum} was billed`)
const answered = [...ends.values()].filter((end) => end === "answered").length
console.log(
  `${answered} answered and ${ends.size - answered} lost in ${seconds} s; ${bills.size} billed, ${unsent} of them unsent`,
)
console.log(faults)
for (const problem of problems.slice(0, 20)) console.error(problem)
console.log(problems.length === 0 ? "consistent" : `${problems.length} problems (seed ${seed})`)

await fleet.stop()
for (const server of servers) server.stop()
rmSync(dir, { recursive: true, force: true })
process.exit(problems.length === 0 ? 0 : 1)
