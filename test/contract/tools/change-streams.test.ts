/** Streams of changes: of what the client may use, for clients that read them, and within the rates of their caller. */
import { connect } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"
import { afterAll, afterEach, describe, expect, it } from "vitest"
import { newTestIds, testCatalogue, testKey } from "../../../src/testing/gateway.ts"
import { eventually, useGateway } from "../../support/gateway.ts"
import { startToolServer, textResult } from "../../support/tool-server.ts"

const server = await startToolServer({
  isStateless: true,
  tools: { one: () => textResult("1"), two: () => textResult("2") },
})
afterAll(() => server.stop())

const ids = newTestIds()
const name = (suffix: string) => `${ids.org}-${suffix}`
const gateway = useGateway({
  ids,
  catalogue: (urls) =>
    testCatalogue(urls, ids, `toolServers:\n  - { id: srv, url: "${server.url}" }\n`)
      .replace("unpriced] }", "unpriced], tools: [srv] }")
      .replace("apps:\n", `apps:\n  - { id: ${name("narrow")}, org: ${ids.org}, tools: [srv__one] }\n`)
      .replace(
        "keys:\n",
        `keys:
  - { id: ${name("narrow")}, app: ${name("narrow")}, secret: "env:WEIR_TEST_KEY" }
  - { id: ${name("slow")}, app: ${ids.app}, secret: "env:WEIR_TEST_KEY", rates: [{ requests: 3, per: 1m }] }
`,
      ),
})

const version = "2026-07-28"
const requestOf = (method: string, params: object, key: string) => ({
  headers: {
    authorization: `Bearer ${key}~${testKey}`,
    "content-type": "application/json",
    "mcp-protocol-version": version,
    "mcp-method": method,
  },
  body: JSON.stringify({
    jsonrpc: "2.0",
    id: 1,
    method,
    params: {
      ...params,
      _meta: {
        "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientCapabilities": {},
      },
    },
  }),
})
const listenFor = (resourceSubscriptions: ReadonlyArray<string>) => ({
  notifications: { toolsListChanged: true, resourcesListChanged: true, resourceSubscriptions },
})

const leave = new Set<AbortController>()
afterEach(async () => {
  for (const each of leave) each.abort()
  await eventually(() => server.listeners() === 0)
})
/** @returns everything that the client has been sent */
const listen = async (uris: ReadonlyArray<string>, key = ids.key) => {
  const left = new AbortController()
  leave.add(left)
  const request = requestOf("subscriptions/listen", listenFor(uris), key)
  const reply = await fetch(`${gateway().baseUrl}/mcp`, { ...request, method: "POST", signal: left.signal })
  let text = ""
  const read = async () => {
    for await (const part of reply.body?.pipeThrough(new TextDecoderStream()) ?? []) text += part
  }
  void read().catch(() => {})
  await eventually(() => text.includes("acknowledged"))
  await eventually(() => server.listeners() === 1)
  return () => text
}
const updated = "notifications/resources/updated"
const uri = "file:///a"

describe("a client that listens", () => {
  it("learns of resources that it may read, and of no others", async () => {
    const all = await listen([`srv+${uri}`])
    server.announce(updated, { uri })
    await eventually(() => all().includes(updated))
    for (const each of leave) each.abort()
    await eventually(() => server.listeners() === 0)
    const before = server.asked.length
    const narrow = await listen([`srv+${uri}`], name("narrow"))
    expect(JSON.stringify(server.asked.slice(before))).not.toContain(uri)
    server.announce(updated, { uri })
    server.announce("notifications/tools/list_changed")
    await eventually(() => narrow().includes("tools/list_changed"))
    expect(narrow()).not.toContain(updated)
  })

  it("gets changes that come together as one", async () => {
    const all = await listen([])
    for (let each = 0; each < 5000; each++) server.announce("notifications/tools/list_changed")
    await eventually(() => all().includes("list_changed"))
    await sleep(1000)
    expect(all().split("list_changed").length).toBeLessThan(10)
  })

  it("and does not read is left", async () => {
    const long = `${uri}${"x".repeat(4000)}`
    const { headers, body } = requestOf("subscriptions/listen", listenFor([`srv+${long}`]), ids.key)
    const { hostname, port } = new URL(gateway().baseUrl)
    const socket = connect(Number(port), hostname)
    socket.on("error", () => {})
    const lines = Object.entries({ ...headers, host: "gateway", "content-length": Buffer.byteLength(body) })
    socket.write(`POST /mcp HTTP/1.1\r\n${lines.map(([key, value]) => `${key}: ${value}`).join("\r\n")}\r\n\r\n${body}`)
    await eventually(() => server.listeners() === 1)
    socket.pause()
    // Far less than the gateway reads of one stream.
    for (let each = 0; each < 5000; each++) {
      server.announce(updated, { uri: long })
      if (each % 100 === 0) await sleep(1)
    }
    await eventually(() => server.listeners() === 0)
    socket.destroy()
  })
})

it("messages that are no calls count in the rates of their caller", async () => {
  const statuses: Array<number> = []
  for (let each = 0; each < 5; each++) {
    const request = requestOf("tools/list", {}, name("slow"))
    statuses.push((await fetch(`${gateway().baseUrl}/mcp`, { ...request, method: "POST" })).status)
  }
  expect(statuses).toEqual([200, 200, 200, 429, 429])
})
