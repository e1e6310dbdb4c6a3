/** A node that is killed while it calls a tool for a model: the rounds that were made are billed once, and no call is made again. */
import { rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Effect, Exit, Scope } from "effect"
import { afterAll, beforeAll, expect, it } from "vitest"
import {
  openaiTwin,
  type ScriptedVendor,
  serveTwin,
  startScriptedVendor,
  type TwinScript,
} from "../../src/testing/index.ts"
import { eventually } from "../support/gateway.ts"
import { startToolServer, textResult } from "../support/tool-server.ts"
import { quickToNotice, useProcesses } from "../support/use-processes.ts"

/** Calls the tool once a round, and answers when there are two results. */
const twice: TwinScript = ({ calls }) =>
  calls < 2
    ? {
        blocks: [{ t: "call", id: `call_${calls}`, name: "counter__count", args: "{}" }],
        usage: { inTokens: 1000, outTokens: 10 },
      }
    : { blocks: [{ t: "text", pieces: ["Two."] }], usage: { inTokens: 1000, outTokens: 10 } }

const scope = Scope.makeUnsafe()
let vendor: ScriptedVendor
beforeAll(async () => {
  vendor = await Effect.runPromise(Scope.provide(startScriptedVendor(serveTwin(openaiTwin, twice)), scope))
})
afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))

let hangs = true
let runs = 0
const server = await startToolServer({
  isStateless: true,
  tools: { count: () => (++runs === 2 && hangs ? new Promise(() => {}) : textResult("counted")) },
})
afterAll(() => server.stop())

const { serve, dir } = useProcesses()

const key = "wk_of_the_test"
const catalogue = () => `
version: 1
vendors: [{ id: v, dialect: openai-chat, baseUrl: "${vendor.url}/v1", credential: "env:KILL_KEY" }]
models: [{ handle: main, maxOutput: 100, capabilities: [tools], targets: [{ vendor: v, model: gpt-5 }] }]
prices: [{ model: main, currency: USD, input: "1000", output: "1000", from: 2026-01-01 }]
toolServers: [{ id: counter, url: "${server.url}", price: { currency: USD, calls: "500000" } }]
orgs: [{ id: acme, name: Acme, currency: USD, models: [main], tools: [counter] }]
apps: [{ id: app, org: acme }]
keys: [{ id: key, app: app, secret: "env:KILL_KEY" }]
topups: [{ id: first, org: acme, amount: "1000" }]
`

it("bills what was made, once", async () => {
  const file = join(dir(), "weir.yaml")
  writeFileSync(file, catalogue())
  const env = { SVC_CATALOGUE: file, KILL_KEY: key, ...quickToNotice }
  const exchange = async (baseUrl: string, requestId: string) => {
    const reply = await fetch(`${baseUrl}/t1/exchange`, {
      method: "POST",
      headers: { "x-svc-key-id": "key", "x-svc-key": key, "content-type": "application/json" },
      body: JSON.stringify({
        model: "main",
        thread: [{ role: "user", blocks: [{ t: "text", v: "Count" }] }],
        tools: [{ kind: "mcp", server: "counter" }],
        meta: { requestId },
      }),
    })
    return reply.json() as Promise<{ stop?: string; error?: { code: string } }>
  }
  const first = await serve(env)
  const lost = exchange(first.ready.baseUrl, "the-lost-one").catch(() => undefined)
  await eventually(() => runs === 2)
  // A checkpoint has the two requests of the model.
  await new Promise((resolve) => setTimeout(resolve, 500))
  first.child.kill("SIGKILL")
  await lost
  await first.exit
  rmSync(join(dir(), "ready"))
  hangs = false

  const second = await serve(env)
  await eventually(async () => (await second.run("ledger", "acme")).text.includes(" 0 held"), 30_000)
  // Two calls of the tool at 0.5, and two requests of the model at 1.01.
  expect((await second.run("ledger", "acme")).text).toContain("996.98 USD available, 0 held")
  expect(runs).toBe(2)
  expect((await exchange(second.ready.baseUrl, "the-lost-one")).error?.code).toBe("idempotency_conflict")
  expect(runs).toBe(2)
  expect(await exchange(second.ready.baseUrl, "another")).toMatchObject({ stop: "end" })
  // Three requests and two calls more.
  expect((await second.run("ledger", "acme")).text).toContain("992.95 USD available, 0 held")
}, 90_000)
