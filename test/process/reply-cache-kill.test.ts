/** A node that is killed while many wait for one reply: they are cut off, and at most one bill remains. */
import { rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Effect, Exit, Scope } from "effect"
import { afterAll, beforeAll, expect, it } from "vitest"
import { type ScriptedVendor, startScriptedVendor } from "../../src/testing/index.ts"
import { eventually } from "../support/gateway.ts"
import { quickToNotice, useProcesses } from "../support/use-processes.ts"

const scope = Scope.makeUnsafe()
let vendor: ScriptedVendor
beforeAll(async () => {
  const stalls = startScriptedVendor(async (call) => {
    call.head()
    await call.write('data: {"choices":[{"index":0,"delta":{"content":"one and only"}}]}\n\n')
  })
  vendor = await Effect.runPromise(Scope.provide(stalls, scope))
})
afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))

const { serve, dir } = useProcesses()

const key = "wk_of_the_test"
const catalogue = () => `
version: 1
vendors: [{ id: v, dialect: openai-chat, baseUrl: "${vendor.url}/v1" }]
models: [{ handle: main, replyCache: { ttl: 10m }, targets: [{ vendor: v, model: a }] }]
prices: [{ model: main, currency: USD, input: "3", output: "15", cachedReply: "0.5", from: 2026-01-01 }]
orgs: [{ id: acme, name: Acme, currency: USD, models: [main] }]
apps: [{ id: app, org: acme }]
keys: [{ id: key, app: app, secret: "env:KILL_KEY" }]
topups: [{ id: first, org: acme, amount: "10" }]
`

it("50 who wait for one reply when their node is killed: no second vendor call, one bill at most", async () => {
  const file = join(dir(), "weir.yaml")
  writeFileSync(file, catalogue())
  const env = { SVC_CATALOGUE: file, KILL_KEY: key, ...quickToNotice }
  const first = await serve(env)
  const ask = () =>
    fetch(`${first.ready.baseUrl}/t1/exchange`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-svc-key-id": "key", "x-svc-key": key },
      body: JSON.stringify({
        model: "main",
        thread: [{ role: "user", blocks: [{ t: "text", v: "Hi" }] }],
        stream: true,
      }),
    })
  const replies = await Promise.all(Array.from({ length: 50 }, ask))
  const texts = replies.map(async (reply) => {
    let seen = ""
    const decoder = new TextDecoder()
    try {
      for await (const bytes of reply.body ?? []) seen += decoder.decode(bytes)
      return { seen, isCut: false }
    } catch {
      return { seen, isCut: true }
    }
  })
  // A checkpoint of the call that runs is written.
  await new Promise((resolve) => setTimeout(resolve, 1500))
  first.child.kill("SIGKILL")
  for (const { seen, isCut } of await Promise.all(texts)) {
    expect(isCut).toBe(true)
    expect(seen).toContain("one and only")
    expect(seen).not.toContain("t.close")
  }
  expect(vendor.calls.length).toBe(1)
  await first.exit
  rmSync(join(dir(), "ready"))

  const second = await serve(env)
  const bills = async () => (await second.run("usage", "acme")).text.split("\n").filter((line) => line.includes("req_"))
  await eventually(async () => (await bills()).length > 0, 30_000)
  await new Promise((resolve) => setTimeout(resolve, 3000))
  const [bill, ...others] = await bills()
  expect(others).toEqual([])
  expect(bill).toContain("interrupted")
  const ledger = await second.run("ledger", "acme")
  expect(ledger.text).toContain("0 held")
  expect((await second.run("doctor")).text).toContain("consistent")
}, 120_000)
