/** The protocol's official SDK for Python at the endpoint of tools. SVC_TEST_PYTHON is an interpreter that has `mcp`. */
import { afterAll, expect, it } from "vitest"
import { newTestIds, testCatalogue } from "../../../src/testing/gateway.ts"
import { useGateway } from "../../support/gateway.ts"
import { startToolServer, textResult } from "../../support/tool-server.ts"
import { python, runPython } from "../compatible/run-python.ts"

const server = await startToolServer({
  isStateless: "both",
  tools: {
    echo: ({ params }) => textResult(JSON.stringify(params)),
    steps: async ({ send, token }) => {
      for (const progress of [1, 2])
        send({ method: "notifications/progress", params: { progressToken: token, progress, total: 2 } })
      return textResult("done")
    },
  },
  resources: [{ uri: "file:///a.txt", text: "A" }],
  prompts: { greet: "Hello" },
})
afterAll(() => server.stop())

const ids = newTestIds()
const gateway = useGateway({
  ids,
  catalogue: (urls) =>
    testCatalogue(urls, ids, `toolServers: [{ id: srv, url: "${server.url}" }]\n`).replace(
      "unpriced] }",
      "unpriced], tools: ['*'] }",
    ),
})

it.skipIf(python === undefined)("lists, calls, repeats, reads and follows progress", async () => {
  const env = { BASE_URL: gateway().baseUrl, API_KEY: `${gateway().keyId}~${gateway().key}` }
  const { code, out, errors } = await runPython("tools.py", env)
  expect(code, errors).toBe(0)
  expect(out).toContain("12 checks")
  expect(server.runs.get("echo")).toBe(2)
})
