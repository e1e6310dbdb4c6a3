/** A client with a session cancels its call at another node than the one that runs it. The embedded database has one node. */
import { Redacted } from "effect"
import { afterAll, describe, expect, it } from "vitest"
import { newTestIds, testCatalogue, testKey } from "../../../src/testing/gateway.ts"
import { eventually, useGateway } from "../../support/gateway.ts"
import { useOwnDatabase } from "../../support/own-database.ts"
import { startToolServer } from "../../support/tool-server.ts"

const databaseServer = process.env["SVC_TEST_DATABASE_URL"]
const server = await startToolServer({ isStateless: false, tools: { hangs: () => new Promise(() => {}) } })
afterAll(() => server.stop())

describe.skipIf(databaseServer === undefined)("two nodes", () => {
  const database = useOwnDatabase(databaseServer)
  const ids = newTestIds()
  const node = () =>
    useGateway(() => ({
      ids,
      config: { databaseUrl: database(), masterKey: Redacted.make("of both nodes") },
      catalogue: (urls) =>
        testCatalogue(urls, ids, `toolServers: [{ id: srv, url: "${server.url}" }]\n`).replace(
          "unpriced] }",
          "unpriced], tools: [srv] }",
        ),
    }))
  const nodes = [node(), node()] as const
  const post = (at: 0 | 1, message: object, session = "") =>
    fetch(`${nodes[at]().baseUrl}/mcp/srv`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${ids.key}~${testKey}`,
        "content-type": "application/json",
        "mcp-protocol-version": "2025-06-18",
        ...(session !== "" && { "mcp-session-id": session }),
      },
      body: JSON.stringify({ jsonrpc: "2.0", ...message }),
    })

  it("end a call that is cancelled at the other one", async () => {
    const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "test", version: "1" } }
    const begun = await post(0, { id: 1, method: "initialize", params })
    const session = begun.headers.get("mcp-session-id") ?? ""
    const call = post(0, { id: 9, method: "tools/call", params: { name: "hangs", arguments: {} } }, session)
    await eventually(() => server.runs.get("hangs") === 1)
    const cancelled = await post(1, { method: "notifications/cancelled", params: { requestId: 9 } }, session)
    expect(cancelled.status).toBe(202)
    await (await call).text()
    await eventually(() => server.closed.length === 1)
  })
})
