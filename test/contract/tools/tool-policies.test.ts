/** Policies, limits and budgets hold for calls of tools as for all others. */
import { afterAll, describe, expect, it } from "vitest"
import { newTestIds, testCatalogue, testKey } from "../../../src/testing/gateway.ts"
import { balanceOf, eventually, holdsOf, useGateway } from "../../support/gateway.ts"
import { startToolServer, ToolRefusal, textResult } from "../../support/tool-server.ts"

const base64 = (text: string) => Buffer.from(text).toString("base64")
const server = await startToolServer({
  isStateless: true,
  tools: {
    echo: ({ params }) => textResult(`You sent ${String(params["text"])}`),
    chatty: ({ send, token }) => {
      send({ method: "notifications/message", params: { level: "info", data: "Bluebird begins" } })
      send({
        method: "notifications/progress",
        params: { progressToken: token, progress: 1, message: "Bluebird runs" },
      })
      return textResult("done")
    },
    leak: () => textResult("The project is Bluebird"),
    fails: () => {
      throw new ToolRefusal(-32000, "The project is Bluebird")
    },
    reports: () => {
      throw new ToolRefusal(-32000, "No", { data: { trace: ["for ann@example.com", "in Bluebird"] } })
    },
    more: ({ response, id }) => {
      response.writeHead(200, { "content-type": "Application/JSON; charset=utf-8" })
      response.end(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"content":[],"a":{"b":1}},"more":{"c":{}}}`)
    },
    twice: ({ response, id }) => {
      response.writeHead(200, { "content-type": "application/json" })
      response.end(
        `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"content":"Bluebird"},"result":{"content":[]}}`,
      )
    },
    contact: () => textResult("Write to bob@example.com", { structuredContent: { mail: "bob@example.com" } }),
    names: () => {
      throw new ToolRefusal(-32000, "No: ann@example.com", { data: { trace: ["for ann@example.com"] } })
    },
    file: () => ({
      content: [
        { type: "resource", resource: { uri: "file:///a", blob: base64("It is about Bluebird, and more.".repeat(3)) } },
      ],
    }),
  },
})
afterAll(() => server.stop())

const ids = newTestIds()
const name = (suffix: string) => `${ids.org}-${suffix}`
const gateway = useGateway({
  ids,
  catalogue: (urls) =>
    testCatalogue(
      urls,
      ids,
      `toolServers:
  - { id: srv, url: "${server.url}", price: { currency: USD, calls: "1000000" } }
policies:
  - { id: no-secrets, direction: inbound, match: { keywords: [classified] }, parts: [toolArguments], reason: classified }
  - { id: no-names, direction: outbound, match: { keywords: [Bluebird] }, parts: [toolResults], reason: project }
  - { id: hide, direction: both, match: { entities: [email] }, action: mask, parts: [toolArguments, toolResults], reason: personal }
budgets:
  - { id: three, scope: key, subject: ${name("poor")}, unit: money, period: month, limit: "3" }
`,
    )
      .replace("unpriced] }", "unpriced], tools: [srv], policies: [no-secrets, no-names, hide] }")
      .replace("apps:\n", `apps:\n  - { id: ${name("slow")}, org: ${ids.org}, rates: [{ requests: 2, per: 60s }] }\n`)
      .replace(
        "keys:\n",
        `keys:
  - { id: ${name("poor")}, app: ${ids.app}, secret: "env:WEIR_TEST_KEY" }
  - { id: ${name("slow")}, app: ${name("slow")}, secret: "env:WEIR_TEST_KEY" }
`,
      ),
})

const call = async (tool: string, given: object, key = ids.key, more: object = {}) => {
  const reply = await fetch(`${gateway().baseUrl}/mcp/srv`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}~${testKey}`, "content-type": "application/json" },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: { name: tool, arguments: given, ...more },
    }),
  })
  return reply.json() as Promise<{
    result?: { content: ReadonlyArray<{ text: string }> }
    error?: { code: number; data: { code: string; detail?: object } }
  }>
}
const settled = async () => !(await holdsOf(gateway())).some(({ state }) => state === "held")

describe("a policy", () => {
  it("of arguments refuses a call before it is sent", async () => {
    const before = server.runs.get("echo") ?? 0
    const balance = await balanceOf(gateway())
    expect((await call("echo", { text: "It is classified" })).error?.data.code).toBe("content_blocked")
    expect(server.runs.get("echo") ?? 0).toBe(before)
    expect(await balanceOf(gateway())).toBe(balance)
  })

  it("of results withholds one, and the call is paid", async () => {
    const balance = await balanceOf(gateway())
    const { result, error } = await call("leak", {})
    expect(result).toBeUndefined()
    expect(error?.data.code).toBe("content_blocked")
    await eventually(settled)
    expect(balance - (await balanceOf(gateway()))).toBe(10_000_000_000n)
  })

  it("of arguments sees metadata that the server gets, and not the client's name", async () => {
    const before = server.runs.get("echo") ?? 0
    const told = { _meta: { note: { text: "It is classified" } } }
    expect((await call("echo", { text: "x" }, ids.key, told)).error?.data.code).toBe("content_blocked")
    expect(server.runs.get("echo") ?? 0).toBe(before)
    const named = { _meta: { "io.modelcontextprotocol/clientInfo": { name: "classified", version: "1" } } }
    expect((await call("echo", { text: "x" }, ids.key, named)).result).toBeDefined()
  })

  it.each(["fails", "reports", "file"])("of results withholds what is told in another way: %s", async (name) => {
    const answer = await call(name, {})
    expect(answer.error?.data.code).toBe("content_blocked")
    expect(JSON.stringify(answer)).not.toMatch(/Bluebird|ann@/)
  })

  it("reads the same of a result as its client: a member that is there twice is refused", async () => {
    const answer = await call("twice", {})
    expect(answer.error?.data.code).toBe("upstream_error")
    expect((await call("more", {})).result).toMatchObject({ content: [], a: { b: 1 } })
    expect(JSON.stringify(answer)).not.toContain("Bluebird")
  })

  it("masks values of the server in its results", async () => {
    const { result } = await call("contact", {})
    expect(result?.content[0]?.text).toMatch(/^Write to /)
    expect(JSON.stringify(result)).not.toContain("bob@")
  })

  it("masks values in an error of the server", async () => {
    const { error } = await call("names", {})
    expect(error).toMatchObject({ code: -32000 })
    expect(JSON.stringify(error)).not.toContain("ann@")
  })

  it("of results is not passed by messages before the result", async () => {
    const reply = await fetch(`${gateway().baseUrl}/mcp/srv`, {
      method: "POST",
      headers: { authorization: `Bearer ${ids.key}~${testKey}`, "content-type": "application/json" },
      body: JSON.stringify({
        jsonrpc: "2.0",
        id: 1,
        method: "tools/call",
        params: { name: "chatty", arguments: {}, _meta: { progressToken: "p" } },
      }),
    })
    const text = await reply.text()
    expect(text).toContain('"progress":1')
    expect(text).toContain("done")
    expect(text).not.toContain("Bluebird")
  })

  it("masks values for the server, and shows them to the client again", async () => {
    const { result } = await call("echo", { text: "ann@example.com" })
    const sent = server.asked.at(-1)?.message.params?.["arguments"] as { text: string }
    expect(sent.text).not.toContain("ann@example.com")
    expect(result?.content[0]?.text).toBe("You sent ann@example.com")
  })
})

describe("a limit", () => {
  it("of calls refuses the next one, with its code and time", async () => {
    const key = name("slow")
    await call("echo", { text: "1" }, key)
    await call("echo", { text: "2" }, key)
    expect(await call("echo", { text: "3" }, key)).toMatchObject({
      error: { code: 429, data: { code: "rate_limited" } },
    })
  })

  it("of money refuses a call that would exceed it", async () => {
    const key = name("poor")
    for (const text of ["1", "2", "3"]) expect((await call("echo", { text }, key)).result).toBeDefined()
    await eventually(settled)
    const before = server.runs.get("echo")
    expect((await call("echo", { text: "4" }, key)).error?.data.code).toBe("org_ceiling_exceeded")
    expect(server.runs.get("echo")).toBe(before)
  })
})
