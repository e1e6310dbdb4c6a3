/** A node that is killed while it passes a reply through: another bills the bytes and the time until then, once. */
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
    if (call.path === "/v1/objects") {
      call.head(200, { "content-type": "application/json" })
      return call.end('{"id":"obj_0123456789"}')
    }
    call.head(200, { "content-type": "application/octet-stream" })
    await call.write(Buffer.alloc(1_000_000))
  })
  vendor = await Effect.runPromise(Scope.provide(stalls, scope))
})
afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))

const { serve, dir } = useProcesses()

const key = "wk_of_the_test"
const catalogue = () => `
version: 1
vendors: [{ id: v, dialect: openai-chat, baseUrl: "${vendor.url}/v1" }]
passThrough:
  - { id: files, vendor: v, path: /files/**, methods: [GET], price: { currency: USD, call: "0.5", megabyte: "0.25" }, hold: "2" }
  - { id: objects, vendor: v, path: /objects/**, methods: [GET, POST], price: free, owners: [$.id] }
orgs: [{ id: acme, name: Acme, currency: USD }]
apps: [{ id: app, org: acme }, { id: other, org: acme }]
keys: [{ id: key, app: app, secret: "env:KILL_KEY" }, { id: other, app: other, secret: "env:KILL_KEY" }]
topups: [{ id: first, org: acme, amount: "10" }]
`

it("is billed as its checkpoint says, and ids stay their owner's", async () => {
  const file = join(dir(), "weir.yaml")
  writeFileSync(file, catalogue())
  const env = { SVC_CATALOGUE: file, KILL_KEY: key, ...quickToNotice }
  const first = await serve(env)
  const send = (baseUrl: string, path: string, init?: RequestInit, keyId = "key") =>
    fetch(`${baseUrl}${path}`, { ...init, headers: { "x-svc-key-id": keyId, "x-svc-key": key } })
  expect((await send(first.ready.baseUrl, "/pass/objects/objects", { method: "POST" })).status).toBe(200)
  const reply = await send(first.ready.baseUrl, "/pass/files/files/a")
  let bytes = 0
  const read = (async () => {
    for await (const chunk of reply.body ?? []) bytes += chunk.length
  })().catch(() => {})
  await eventually(() => bytes === 1_000_000)
  // A checkpoint of the call that runs is written.
  await new Promise((resolve) => setTimeout(resolve, 1500))
  first.child.kill("SIGKILL")
  await read
  await first.exit
  rmSync(join(dir(), "ready"))

  const second = await serve(env)
  const usage = async () => (await second.run("usage", "acme")).text
  await eventually(async () => (await usage()).includes("interrupted"), 30_000)
  const [line, ...others] = (await usage()).split("\n").filter((each) => each.includes("pass/files"))
  expect(others).toEqual([])
  expect(line).toMatch(/ 0\.75 +USD +interrupted/)
  expect((await second.run("ledger", "acme")).text).toContain("9.25 USD available, 0 held")
  const statuses = await Promise.all(
    ["key", "other"].map(async (keyId) => {
      const { status } = await send(second.ready.baseUrl, "/pass/objects/objects/obj_0123456789", {}, keyId)
      return status
    }),
  )
  expect(statuses).toEqual([200, 404])
}, 90_000)
