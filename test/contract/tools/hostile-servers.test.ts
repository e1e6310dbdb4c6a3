/** Servers of tools that lie, change, answer without end or not at all: each is bounded, and the client learns of it. */
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { afterAll, describe, expect, it } from "vitest"
import { newTestIds, testCatalogue, testKey } from "../../../src/testing/gateway.ts"
import { balanceOf, eventually, holdsOf, useGateway } from "../../support/gateway.ts"
import { startToolServer, textResult } from "../../support/tool-server.ts"

const huge = "x".repeat(1024 * 1024)
const server = await startToolServer({
  isStateless: true,
  tools: {
    good: () => textResult("good"),
    vast: async ({ send, response }) => {
      for (let sent = 0; sent < 100 && !response.destroyed; sent++) {
        send({ method: "notifications/message", params: { level: "info", data: huge } })
        await new Promise((resolve) => setImmediate(resolve))
      }
      return textResult("never")
    },
    silent: () => new Promise(() => {}),
    slow: async ({ send, response }) => {
      while (!response.destroyed) {
        send({ method: "notifications/message", params: { level: "info", data: "." } })
        await new Promise((resolve) => setTimeout(resolve, 100))
      }
    },
    redirect: ({ response }) => void response.writeHead(307, { location: "http://169.254.169.254/latest" }).end(),
    garbage: ({ response }) =>
      void response.writeHead(200, { "content-type": "application/json" }).end("<html>secret</html>"),
    breaks: ({ response, send }) => {
      send({ method: "notifications/message", params: { level: "info", data: "." } })
      setTimeout(() => response.destroy(), 50)
    },
    refuses: ({ response }) => void response.writeHead(503, { "content-type": "text/plain" }).end("internal secret"),
    "in\u0000jected": () => textResult("no"),
  },
  definitions: { good: { description: "Good" } },
})
afterAll(() => server.stop())

/** A server that accepts connections and says nothing. */
const silent = createServer(() => {})
await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve))
afterAll(() => silent.closeAllConnections())
afterAll(() => silent.close())
const hung = `http://127.0.0.1:${(silent.address() as AddressInfo).port}/mcp`

const ids = newTestIds()
const gateway = useGateway({
  ids,
  config: { upstreamTimeouts: { ttfb: 1500, idle: 1000, total: 4000 } },
  catalogue: (urls) =>
    testCatalogue(
      urls,
      ids,
      `toolServers:
  - { id: bad, url: "${server.url}", price: { currency: USD, calls: "1000" } }
  - { id: hung, url: "${hung}" }
`,
    ).replace("unpriced] }", "unpriced], tools: [bad, hung] }"),
})

const send = async (method: string, params: object = {}, path = "/bad") => {
  const reply = await fetch(`${gateway().baseUrl}/mcp${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${ids.key}~${testKey}`, "content-type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 7, method, params }),
  })
  const text = await reply.text()
  const events = text.startsWith("{")
    ? [text]
    : text.split("\n").flatMap((line) => (line.startsWith("data: ") ? [line.slice(6)] : []))
  const last = JSON.parse(events.at(-1) ?? "{}")
  return {
    status: reply.status,
    text,
    message: last as {
      id?: number
      result?: { tools: ReadonlyArray<{ name: string }> }
      error?: { code: number; message: string; data: { code: string } }
    },
  }
}
const call = (name: string) => send("tools/call", { name, arguments: {} })
const isSettled = async () => !(await holdsOf(gateway())).some(({ state }) => state === "held")

describe("a call of a tool", () => {
  it.each([
    ["that answers without end", "vast", "upstream_error"],
    ["that does not answer", "silent", "upstream_ttfb_timeout"],
    ["that only talks", "slow", "upstream_total_timeout"],
    ["that redirects to a private address", "redirect", "upstream_error"],
    ["that answers with no message", "garbage", "upstream_error"],
    ["that breaks off", "breaks", "upstream_disconnected"],
    ["that is refused", "refuses", "upstream_error"],
  ])("%s fails in its time, and says nothing of the server's text", async (_, name, code) => {
    const { message, text } = await call(name)
    expect(message).toMatchObject({ id: 7, error: { data: { code } } })
    expect(text).not.toContain("secret")
    await eventually(isSettled)
    expect(server.asked.filter(({ message: { params } }) => params?.["name"] === name)).toHaveLength(1)
  })

  it("that its server refused costs nothing; one that may have run costs its price", async () => {
    const before = await balanceOf(gateway())
    await call("refuses")
    await eventually(isSettled)
    expect(await balanceOf(gateway())).toBe(before)
    await call("breaks")
    await eventually(async () => (await balanceOf(gateway())) < before)
    expect(before - (await balanceOf(gateway()))).toBe(10_000_000n)
  })

  it("goes on for others", async () => {
    expect((await call("good")).message).toMatchObject({ result: { content: [{ text: "good" }] } })
  })
})

describe("a list", () => {
  it("of several servers does not wait for one that hangs, and calls ask their server once", async () => {
    const startedAt = Date.now()
    const listed = async () => {
      const { message } = await send("tools/list", {}, "")
      return message.result?.tools.map(({ name }) => name) ?? []
    }
    const names = await listed()
    expect(names).toContain("bad__good")
    expect(names.filter((name) => name.startsWith("hung"))).toEqual([])
    expect(Date.now() - startedAt).toBeLessThan(15_000)
    const before = server.asked.length
    await call("good")
    await call("good")
    expect(server.asked.slice(before).map(({ message: { method } }) => method)).toEqual(["tools/call", "tools/call"])
  }, 40_000)

  it("has no names with control characters", async () => {
    const { message } = await send("tools/list")
    const names = message.result?.tools.map(({ name }) => name) ?? []
    expect(names).toContain("good")
    expect(names.filter((name) => /\p{C}/u.test(name))).toEqual([])
  })
})
