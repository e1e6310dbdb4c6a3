/** Servers that are equal to one: they are asked for what the first one has certainly not run. */
import { afterAll, describe, expect, it } from "vitest"
import { newTestIds, testKey } from "../../../src/testing/gateway.ts"
import { balanceOf, eventually, holdsOf, useGateway } from "../../support/gateway.ts"
import { toolCatalogue } from "../../support/tool-catalogue.ts"
import { type Answering, startToolServer, textResult } from "../../support/tool-server.ts"

const refusing =
  (status: number) =>
  ({ response }: Answering) =>
    void response.writeHead(status, { "content-type": "text/plain" }).end("no")
const statuses = [500, 502, 503, 504, 520]
const refusals = Object.fromEntries(statuses.map((status) => [`status_${status}`, refusing(status)]))
const one = await startToolServer({ isStateless: true, tools: { ...refusals, good: () => textResult("good") } })
const two = await startToolServer({ isStateless: true, tools: { ...refusals, good: () => textResult("good") } })
afterAll(() => {
  one.stop()
  two.stop()
})

const ids = newTestIds()
const gateway = useGateway({
  ids,
  catalogue: (urls) =>
    toolCatalogue(
      urls,
      ids,
      `toolServers:
  - { id: pair, url: "${one.url}", replicas: ["${two.url}"], price: { currency: USD, calls: "1000" } }
  - { id: reads, url: "${one.url}", replicas: ["${two.url}"], isReadOnly: true }
  - { id: lost, url: "http://127.0.0.1:9/mcp", replicas: ["${two.url}"], price: { currency: USD, calls: "1000" } }
`,
    ),
})

const call = async (server: string, name: string, id?: string) => {
  const params = { name, arguments: {}, ...(id !== undefined && { _meta: { "x-svc-request-id": id } }) }
  const reply = await fetch(`${gateway().baseUrl}/mcp/${server}`, {
    method: "POST",
    headers: { authorization: `Bearer ${ids.key}~${testKey}`, "content-type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params }),
  })
  const text = await reply.text()
  await eventually(async () => !(await holdsOf(gateway())).some(({ state }) => state === "held"))
  return text
}
const runsOf = (name: string) => (one.runs.get(name) ?? 0) + (two.runs.get(name) ?? 0)
const costOf = async (work: () => Promise<unknown>) => {
  const before = await balanceOf(gateway())
  await work()
  return before - (await balanceOf(gateway()))
}

describe("a call that a server fails with a status after which it may have run", () => {
  it.each(statuses.filter((status) => status !== 503))(
    "%i is sent once, is paid, and is not repeated",
    async (status) => {
      const name = `status_${status}`
      expect(await costOf(() => call("pair", name, `${ids.org}-${status}`))).toBe(10_000_000n)
      expect(await costOf(() => call("pair", name, `${ids.org}-${status}`))).toBe(0n)
      expect(runsOf(name)).toBe(1)
    },
  )

  it("goes to an equal server if its tools only read", async () => {
    const before = runsOf("status_504")
    await call("reads", "status_504")
    expect(runsOf("status_504")).toBe(before + 2)
  })
})

it("a call that a server has not begun goes to an equal server, and costs nothing", async () => {
  expect(await costOf(() => call("pair", "status_503"))).toBe(0n)
  expect([one, two].map(({ runs }) => runs.get("status_503"))).toEqual([1, 1])
})

it("a call of a server that cannot be reached goes to an equal server", async () => {
  expect(await costOf(async () => expect(await call("lost", "good")).toContain('"good"'))).toBe(10_000_000n)
})
