/** Tools of servers, through the endpoint of their protocol: by the official clients of both generations, with money. */
import {
  Client as StatelessClient,
  StreamableHTTPClientTransport as StatelessTransport,
} from "@modelcontextprotocol/client"
import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import { afterAll, describe, expect, it } from "vitest"
import { formatAmount } from "../../../src/money/amount.ts"
import { newTestIds, testKey } from "../../../src/testing/gateway.ts"
import { balanceOf, useGateway } from "../../support/gateway.ts"
import { toolCatalogue } from "../../support/tool-catalogue.ts"
import { startToolServer, textResult } from "../../support/tool-server.ts"

const tools = {
  echo: ({ params }: { params: Record<string, unknown> }) => textResult(JSON.stringify(params)),
  rows: () => textResult("three", { structuredContent: { rows: 3 } }),
  secret: () => textResult("hidden"),
  hang: () => new Promise(() => {}),
  steps: async ({ send, token }: { send: (message: object) => void; token: unknown }) => {
    for (const progress of [1, 2])
      send({ method: "notifications/progress", params: { progressToken: token, progress, total: 2 } })
    return textResult("done")
  },
}
const modern = await startToolServer({
  isStateless: true,
  tools,
  resources: [{ uri: "file:///a.txt", text: "A" }],
  prompts: { greet: "Hello" },
})
const legacy = await startToolServer({ isStateless: false, tools, resources: [{ uri: "file:///b.txt", text: "B" }] })
afterAll(() => {
  modern.stop()
  legacy.stop()
})

const ids = newTestIds()
const gateway = useGateway({
  ids,
  catalogue: (urls) =>
    toolCatalogue(
      urls,
      ids,
      `toolServers:
  - { id: new, url: "${modern.url}", price: { currency: USD, calls: "1000" },
      tools: { deny: [secret, hang], rename: { echo: say }, describe: { echo: Says it again },
        price: { rows: { currency: USD, calls: "1000", units: { rows: { at: $.structuredContent.rows, price: "500" } }, hold: "0.1" } } } }
  - { id: old, url: "${legacy.url}", tools: { deny: [hang] } }
  - { id: brief, url: "${modern.url}", timeouts: { total: 700ms }, tools: { allow: [hang] } }
`,
    ),
})

const headers = { authorization: `Bearer ${ids.key}~${testKey}` }
const url = (server = "") => new URL(`${gateway().baseUrl}/mcp${server}`)

const first = async (server?: string) => {
  const client = new Client({ name: "test", version: "1" }, { capabilities: {} })
  await client.connect(new StreamableHTTPClientTransport(url(server), { requestInit: { headers } }))
  return client
}
const second = async (server?: string) => {
  const client = new StatelessClient({ name: "test", version: "1" }, { versionNegotiation: { mode: "auto" } })
  await client.connect(new StatelessTransport(url(server), { requestInit: { headers } }))
  return client
}

describe.each([
  ["of the first generation", first],
  ["of the second generation", second],
] as const)("a client %s", (_, connect) => {
  it("lists the tools of all servers, and calls them", async () => {
    const client = await connect()
    const { tools } = await client.listTools()
    expect(tools.map(({ name }) => name)).toEqual([
      "new__rows",
      "new__say",
      "new__steps",
      "old__echo",
      "old__rows",
      "old__secret",
      "old__steps",
      "brief__hang",
    ])
    expect(tools[1]?.description).toBe("Says it again")
    const before = await balanceOf(gateway())
    expect(await client.callTool({ name: "new__say", arguments: { a: 1 } })).toMatchObject({
      content: [{ type: "text", text: '{"a":1}' }],
    })
    expect(formatAmount(before - (await balanceOf(gateway())))).toBe("0.001")
    expect(await client.callTool({ name: "old__echo", arguments: { b: 2 } })).toMatchObject({
      content: [{ type: "text", text: '{"b":2}' }],
    })
    await client.close()
  })

  it("uses one server under its own names", async () => {
    const client = await connect("/old")
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(["echo", "rows", "secret", "steps"])
    expect(await client.callTool({ name: "secret", arguments: {} })).toMatchObject({ content: [{ text: "hidden" }] })
    expect((await client.listResources()).resources.map(({ uri }) => uri)).toEqual(["file:///b.txt"])
    expect(await client.readResource({ uri: "file:///b.txt" })).toMatchObject({ contents: [{ text: "B" }] })
    await client.close()
  })

  it("sees progress, reads resources and gets prompts", async () => {
    const client = await connect()
    const seen: Array<number> = []
    const call = { name: "old__steps", arguments: {} }
    const onprogress = ({ progress }: { progress: number }) => void seen.push(progress)
    const result =
      client instanceof Client
        ? await client.callTool(call, undefined, { onprogress })
        : await client.callTool(call, { onprogress })
    expect(result).toMatchObject({ content: [{ text: "done" }] })
    expect(seen).toEqual([1, 2])
    const { resources } = await client.listResources()
    expect(resources.map(({ uri }) => uri)).toEqual(["new+file:///a.txt", "old+file:///b.txt", "brief+file:///a.txt"])
    expect(await client.readResource({ uri: "new+file:///a.txt" })).toMatchObject({
      contents: [{ uri: "new+file:///a.txt", text: "A" }],
    })
    expect(await client.getPrompt({ name: "new__greet" })).toMatchObject({ messages: [{ content: { text: "Hello" } }] })
    await client.close()
  })

  it("pays for units of a result", async () => {
    const client = await connect()
    const before = await balanceOf(gateway())
    const result = await client.callTool({ name: "new__rows", arguments: {} })
    expect(result._meta?.["x-svc-usage"]).toMatchObject({ cost: "0.0025", currency: "USD" })
    expect(formatAmount(before - (await balanceOf(gateway())))).toBe("0.0025")
    await client.close()
  })

  it("cannot use a tool that is not offered, and learns nothing of it", async () => {
    const client = await connect()
    await expect(client.callTool({ name: "new__secret", arguments: {} })).rejects.toMatchObject({ code: -32602 })
    await expect(client.callTool({ name: "new__nothing", arguments: {} })).rejects.toMatchObject({ code: -32602 })
    await client.close()
  })
})

describe("a server that forgets its sessions", () => {
  it("gets a new one, and the call is made once", async () => {
    const client = await first()
    await client.callTool({ name: "old__echo", arguments: {} })
    const before = legacy.runs.get("echo") ?? 0
    legacy.forgetSessions()
    expect(await client.callTool({ name: "old__echo", arguments: {} })).toMatchObject({ content: [{ text: "{}" }] })
    expect(legacy.runs.get("echo")).toBe(before + 1)
    await client.close()
  })
})

describe("an id of a request", () => {
  it("makes a call once: a repeat gets the kept result", async () => {
    const client = await first()
    const before = modern.runs.get("echo") ?? 0
    const balance = await balanceOf(gateway())
    const call = { name: "new__say", arguments: { once: true }, _meta: { "x-svc-request-id": `once-${ids.org}` } }
    const [one] = [await client.callTool(call)]
    const two = await client.callTool(call)
    expect(two.content).toEqual(one.content)
    expect(modern.runs.get("echo")).toBe(before + 1)
    expect(formatAmount(balance - (await balanceOf(gateway())))).toBe("0.001")
    await client.close()
  })
})

describe("a call that does not end in time", () => {
  it("is in the metrics and the log under its tool, with the code of its error", async () => {
    const client = await first()
    await expect(client.callTool({ name: "brief__hang", arguments: {} })).rejects.toThrow()
    await client.close()
    const text = await (await fetch(`${gateway().baseUrl}/metrics`)).text()
    expect(text).toContain('{server="brief",tool="brief__hang",outcome="upstream_total_timeout"} 1')
    const admin = { "x-svc-admin-key": gateway().adminKey }
    const found = async () =>
      (await gateway().call("GET", "/v1/admin/exchanges?model=brief__hang", undefined, admin)).text()
    await expect.poll(found).toContain('"code":"upstream_total_timeout"')
    const query = "from=2020-01-01&to=2099-01-01"
    const times = async (): Promise<string> =>
      (await gateway().call("GET", `/v1/admin/tier-times?${query}`, undefined, admin)).text()
    await expect.poll(times).toMatch(/"vendor":"brief"[^{}]*(\{[^{}]*\}[^{}]*)*"limitMs":700/)
  })
})

describe("the metrics of tools", () => {
  it("have the calls by server, tool and outcome, and no names that clients invent", async () => {
    const client = await first()
    await client.callTool({ name: "old__echo", arguments: {} })
    await client.getPrompt({ name: "old__invented" }).catch(() => undefined)
    await client.close()
    const text = await (await fetch(`${gateway().baseUrl}/metrics`)).text()
    expect(text).toMatch(/^weir_tool_call_seconds_count\{[^}]*outcome="result"[^}]*\} \d+$/m)
    expect(text).toContain('tool="old__echo"')
    expect(text).not.toContain("invented")
  })
})
