/** The timeouts over real sockets that need an unusual vendor: one that never accepts, and one that never ends. */
import { spawn } from "node:child_process"
import { connect, type Socket } from "node:net"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { hello, openaiChunk, readEvents } from "../../src/testing/index.ts"
import { errorOf, eventually, useGateway } from "../support/gateway.ts"

const listener = `
const server = require("node:net").createServer()
server.listen({ port: 0, host: "127.0.0.1", backlog: 1 }, () => {
  console.log(server.address().port)
  setTimeout(() => process.kill(process.pid, "SIGSTOP"), 50)
})`
const deaf = spawn(process.execPath, ["-e", listener])
const fillers: Array<Socket> = []
let deafPort = 0

/** A stopped process accepts nothing: once its backlog is full, connections to it hang. */
beforeAll(async () => {
  deafPort = Number(await new Promise((resolve) => deaf.stdout.once("data", resolve)))
  await new Promise((resolve) => setTimeout(resolve, 200))
  for (let at = 0; at < 8; at++) fillers.push(connect(deafPort, "127.0.0.1").on("error", () => undefined))
})
afterAll(() => {
  for (const socket of fillers) socket.destroy()
  deaf.kill("SIGKILL")
})

describe("unusual vendors", () => {
  const gateway = useGateway({
    catalogue: ({ vendor }) => `
version: 1
vendors:
  - { id: deaf, dialect: openai-chat, baseUrl: "http://127.0.0.1:${deafPort}", timeouts: { connect: 300ms } }
  - { id: endless, dialect: openai-chat, baseUrl: "${vendor}", timeouts: { total: 5s } }
models:
  - { handle: deaf, maxOutput: 10, targets: [{ vendor: deaf, model: m }] }
  - { handle: endless, maxOutput: 10, timeouts: { total: 500ms }, targets: [{ vendor: endless, model: m }] }
prices:
  - { model: deaf, currency: USD, input: "1", output: "1", from: 2026-01-01 }
  - { model: endless, currency: USD, input: "1", output: "1", from: 2026-01-01 }
orgs: [{ id: o, name: O, currency: USD, models: [deaf, endless] }]
apps: [{ id: a, org: o }]
keys: [{ id: k, app: a, secret: "env:WEIR_TEST_KEY" }]
topups: [{ id: t, org: o, amount: "10" }]
`,
  })
  const exchange = (model: string, stream: boolean) =>
    gateway().exchange({ ...hello, model, stream }, { headers: { "x-svc-key-id": "k" } })

  it.each([false, true])("connect (stream: %s): 504 with the vendor's own setting", async (stream) => {
    expect(await errorOf(await exchange("deaf", stream))).toMatchObject({
      status: 504,
      code: "upstream_connect_timeout",
      detail: { tier: "connect", timeoutMs: 300 },
    })
  })

  it("total (stream: false): 504 with the model's setting over the vendor's", async () => {
    gateway().vendor.script(async (call) => {
      call.head(200, { "content-type": "application/json" })
      while (await call.write(" ")) await call.wait(50)
    })
    expect(await errorOf(await exchange("endless", false))).toMatchObject({
      status: 504,
      code: "upstream_total_timeout",
      detail: { tier: "total", timeoutMs: 500 },
    })
    await eventually(() => gateway().vendor.calls.at(-1)?.hungUpAt !== undefined)
  })

  it("total (stream: true): t.err, and what was seen is billed", async () => {
    gateway().vendor.script(async (call) => {
      call.head()
      while (await call.write(openaiChunk("on and "))) await call.wait(50)
    })
    const events = await readEvents(await exchange("endless", true))
    expect(events.at(-1)).toMatchObject({ event: "t.err", data: { code: "upstream_total_timeout" } })
    expect(events.at(-2)).toMatchObject({ data: { estimatedReason: "upstream_timeout" } })
  })
})
