/** A node that is killed while a tool runs: the call is billed once, and a repeat of it is never made a second time. */
import { rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll, expect, it } from "vitest"
import { eventually } from "../support/gateway.ts"
import { startToolServer, textResult } from "../support/tool-server.ts"
import { useProcesses } from "../support/use-processes.ts"

let hangs = true
const server = await startToolServer({
  isStateless: true,
  tools: { count: () => (hangs ? new Promise(() => {}) : textResult("counted")) },
})
afterAll(() => server.stop())

const { serve, dir } = useProcesses()

const key = "wk_of_the_test"
const catalogue = `
version: 1
toolServers: [{ id: counter, url: "${server.url}", price: { currency: USD, calls: "500000" } }]
orgs: [{ id: acme, name: Acme, currency: USD, tools: [counter] }]
apps: [{ id: app, org: acme }]
keys: [{ id: key, app: app, secret: "env:KILL_KEY" }]
topups: [{ id: first, org: acme, amount: "10" }]
`

it("bills it once, and does not run it again", async () => {
  const file = join(dir(), "weir.yaml")
  writeFileSync(file, catalogue)
  const env = {
    SVC_CATALOGUE: file,
    KILL_KEY: key,
    SVC_MASTER_KEY: "master",
    SVC_LEASE_MS: "2000",
    // No checkpoint but the one before the call comes in time.
    SVC_CHECKPOINT_MS: "1000",
  }
  const call = async (baseUrl: string, id: string) => {
    const reply = await fetch(`${baseUrl}/mcp/counter`, {
      method: "POST",
      headers: { authorization: `Bearer key~${key}`, "content-type": "application/json" },
      body: JSON.stringify({
        jsonrpc: "2.0",
        id: 1,
        method: "tools/call",
        params: { name: "count", arguments: {}, _meta: { "x-svc-request-id": id } },
      }),
    })
    return reply.json() as Promise<{ result?: unknown; error?: { code: number; data: { code: string } } }>
  }
  const first = await serve(env)
  const lost = call(first.ready.baseUrl, "the-lost-one").catch(() => undefined)
  await eventually(() => server.runs.get("count") === 1)
  first.child.kill("SIGKILL")
  await lost
  await first.exit
  rmSync(join(dir(), "ready"))
  hangs = false

  const second = await serve(env)
  // While nobody knows how it ended, and after that: it is not made again.
  expect((await call(second.ready.baseUrl, "the-lost-one")).error?.data.code).toBe("idempotency_conflict")
  await eventually(async () => (await second.run("usage", "acme")).text.includes("interrupted"), 30_000)
  expect((await call(second.ready.baseUrl, "the-lost-one")).error?.data.code).toBe("idempotency_conflict")
  expect(server.runs.get("count")).toBe(1)
  expect((await second.run("ledger", "acme")).text).toContain("9.5 USD available, 0 held")
  expect((await call(second.ready.baseUrl, "another")).result).toMatchObject({ content: [{ text: "counted" }] })
  expect((await second.run("ledger", "acme")).text).toContain("9 USD available, 0 held")
  const lines = (await second.run("usage", "acme")).text.split("\n").filter((each) => each.includes("counter__count"))
  expect(lines).toHaveLength(2)
}, 90_000)
