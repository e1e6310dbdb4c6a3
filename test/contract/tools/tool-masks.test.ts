/** A mask of results alone: it holds for each text of a result, and for nothing else. */
import { afterAll, expect, it } from "vitest"
import { newTestIds, testCatalogue, testKey } from "../../../src/testing/gateway.ts"
import { useGateway } from "../../support/gateway.ts"
import { startToolServer, textResult } from "../../support/tool-server.ts"

const server = await startToolServer({
  isStateless: true,
  tools: {
    person: ({ params }) =>
      textResult(`bo@example.com knows ${String(params["text"])}`, {
        structuredContent: { input: { arguments: "bo@example.com" } },
      }),
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
      `toolServers: [{ id: srv, url: "${server.url}" }]
policies:
  - { id: results, direction: outbound, match: { entities: [email] }, action: mask, parts: [toolResults], reason: personal }
`,
    ).replace("unpriced] }", "unpriced], tools: [srv], policies: [results] }"),
})

it("masks a result, and leaves arguments as they are", async () => {
  const reply = await fetch(`${gateway().baseUrl}/mcp/srv`, {
    method: "POST",
    headers: { authorization: `Bearer ${ids.key}~${testKey}`, "content-type": "application/json" },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: { name: "person", arguments: { text: "kim@example.com" } },
    }),
  })
  const text = await reply.text()
  expect(server.asked.at(-1)?.message.params?.["arguments"]).toEqual({ text: "kim@example.com" })
  expect(text).toMatch(/<EMAIL_\w+> knows <EMAIL_\w+>/)
  expect(text).not.toContain("@example.com")
})
