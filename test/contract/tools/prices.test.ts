/** Prices of calls, with results that report anything. */
import { afterAll, expect, it } from "vitest"
import { formatAmount } from "../../../src/money/amount.ts"
import { newTestIds, testKey } from "../../../src/testing/gateway.ts"
import { balanceOf, eventually, holdsOf, useGateway } from "../../support/gateway.ts"
import { toolCatalogue } from "../../support/tool-catalogue.ts"
import { startToolServer, textResult } from "../../support/tool-server.ts"

const reports = { three: 3, text: "3", zero: 0, negative: -5, word: "NaN", huge: 1e300, tiny: 1e-300, list: [1, 2] }
const asking = {
  resultType: "input_required",
  inputRequests: { who: { method: "elicitation/create", params: { message: "Who?", requestedSchema: {} } } },
}
const server = await startToolServer({
  isStateless: true,
  tools: {
    ...Object.fromEntries(
      Object.entries(reports).map(([name, rows]) => [name, () => textResult(name, { structuredContent: { rows } })]),
    ),
    boasts: () => textResult("x", { _meta: { "x-svc-usage": { cost: "77", currency: "USD" }, own: "kept" } }),
    nothing: () => textResult("nothing"),
    asks: ({ asked }) =>
      asked["inputResponses"] === undefined ? asking : textResult("Ann", { structuredContent: { rows: 1 } }),
  },
})
afterAll(() => server.stop())

const ids = newTestIds()
const gateway = useGateway({
  ids,
  catalogue: (urls) =>
    toolCatalogue(
      urls,
      ids,
      `toolServers:
  - { id: srv, url: "${server.url}", price: { currency: USD, calls: "1000", units: { rows: { at: $.structuredContent.rows, price: "500" } }, hold: "0.1" } }
  - { id: free, url: "${server.url}" }
`,
    ),
})

const version = "2026-07-28"
const call = async (name: string, more: object = {}, place = "srv") => {
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": version,
    "io.modelcontextprotocol/clientCapabilities": { elicitation: {} },
  }
  const reply = await fetch(`${gateway().baseUrl}/mcp/${place}`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${ids.key}~${testKey}`,
      "content-type": "application/json",
      "mcp-protocol-version": version,
      "mcp-method": "tools/call",
      "mcp-name": name,
    },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: { name, arguments: {}, _meta, ...more },
    }),
  })
  return reply.text()
}
const costOf = async (...asked: Parameters<typeof call>) => {
  const before = await balanceOf(gateway())
  await call(...asked)
  await eventually(async () => !(await holdsOf(gateway())).some(({ state }) => state === "held"))
  return formatAmount(before - (await balanceOf(gateway())))
}

it.each([
  ["three", "0.0025"],
  ["text", "0.0025"],
  ["zero", "0.001"],
  ["negative", "0.1"],
  ["word", "0.1"],
  ["huge", "0.1"],
  ["tiny", "0.1"],
  ["list", "0.1"],
  ["nothing", "0.1"],
])("a result that reports %s costs %s", async (name, cost) => {
  expect(await costOf(name)).toBe(cost)
})

it("a call whose server asks for input is paid once, with its result", async () => {
  expect(await costOf("asks")).toBe("0")
  expect(await costOf("asks", { inputResponses: { who: { action: "accept", content: {} } } })).toBe("0.0015")
})

it("a server says nothing of the cost", async () => {
  const text = await call("boasts", {}, "free")
  expect(text).toContain('"kept"')
  expect(text).not.toContain("77")
  expect(await call("boasts")).toContain('"cost":"0.1"')
})
