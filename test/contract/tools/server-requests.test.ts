/** A server that asks while it runs a call waits for an answer, also where the client does not get the request. */
import { afterAll, expect, it } from "vitest"
import { newTestIds, testCatalogue, testKey } from "../../../src/testing/gateway.ts"
import { useGateway } from "../../support/gateway.ts"
import { type Answering, startToolServer, textResult } from "../../support/tool-server.ts"

const answers = (method: string, params: object) => async (answering: Answering) => {
  const { jsonrpc: _, id: __, ...answer } = { jsonrpc: "2.0", ...(await answering.ask(method, params)) }
  return textResult(JSON.stringify(answer))
}
const server = await startToolServer({
  isStateless: false,
  tools: {
    pings: answers("ping", {}),
    asks: answers("elicitation/create", { message: "Who?" }),
    floods: ({ send }) => {
      for (let each = 0; each < 10_000; each++) send({ id: each, method: "ping" })
      return new Promise((resolve) => setTimeout(resolve, 500, textResult("done")))
    },
  },
})
afterAll(() => server.stop())

const ids = newTestIds()
const gateway = useGateway({
  ids,
  catalogue: (urls) =>
    testCatalogue(
      urls,
      ids,
      `toolServers:
  - { id: srv, url: "${server.url}" }
policies:
  - { id: no-names, direction: outbound, match: { keywords: [Bluebird] }, parts: [toolResults], reason: project }
  - { id: no-secrets, direction: inbound, match: { keywords: [classified] }, parts: [toolArguments], reason: classified }
`,
    )
      .replace("unpriced] }", "unpriced], tools: [srv] }")
      .replace(
        "apps:\n",
        `apps:
  - { id: ${ids.org}-two, org: ${ids.org}, policies: [no-names] }
  - { id: ${ids.org}-three, org: ${ids.org}, policies: [no-secrets] }
`,
      )
      .replace(
        "keys:\n",
        `keys:
  - { id: ${ids.org}-two, app: ${ids.org}-two, secret: "env:WEIR_TEST_KEY" }
  - { id: ${ids.org}-three, app: ${ids.org}-three, secret: "env:WEIR_TEST_KEY" }
`,
      ),
})

const post = (message: object, key: string, session?: string) =>
  fetch(`${gateway().baseUrl}/mcp/srv`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${key}~${testKey}`,
      "content-type": "application/json",
      ...(session !== undefined && { "mcp-session-id": session }),
    },
    body: JSON.stringify({ jsonrpc: "2.0", ...message }),
  })

const begin = async (key: string): Promise<string> => {
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "t", version: "1" } }
  const reply = await post({ id: 0, method: "initialize", params }, key)
  return reply.headers.get("mcp-session-id") ?? ""
}

const call = async (name: string, key: string, session?: string): Promise<string> => {
  const reply = await post({ id: 7, method: "tools/call", params: { name, arguments: {} } }, key, session)
  return reply.text()
}

const pong = JSON.stringify(JSON.stringify({ result: {} }))
const refusal = "The client takes no requests"

it.each([
  ["without a session", async () => undefined],
  ["in a session", () => begin(ids.key)],
])("a ping in a call %s is answered, and not passed on", async (_, session) => {
  const text = await call("pings", ids.key, await session())
  expect(text).toContain(pong)
  expect(text).not.toContain('"method"')
})

it("a question is refused where the client has no session", async () => {
  expect(await call("asks", ids.key)).toContain(refusal)
})

it.each([
  ["results", "two"],
  ["arguments", "three"],
])("a question is refused where policies review %s", async (_, app) => {
  const key = `${ids.org}-${app}`
  expect(await call("asks", key, await begin(key))).toContain(refusal)
})

it("of many pings at once, a bounded number is answered", async () => {
  const before = server.asked.length
  expect(await call("floods", ids.key)).toContain('"done"')
  const answered = server.asked.slice(before).filter(({ message }) => message.method === undefined)
  expect(answered.length).toBeGreaterThan(0)
  expect(answered.length).toBeLessThan(1000)
})
