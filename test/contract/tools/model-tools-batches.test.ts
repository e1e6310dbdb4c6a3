/** Requests of a batch that name a server of tools are run by the gateway, also where their vendor runs batches; the books agree. */
import { afterAll, expect, it } from "vitest"
import { makeOpenaiBatches, openaiTwin, serveBatches, serveTwin, type TwinScript } from "../../../src/testing/index.ts"
import { useBatches } from "../../support/batches.ts"
import { startToolServer, textResult } from "../../support/tool-server.ts"

const server = await startToolServer({ isStateless: true, tools: { level: () => textResult("high") } })
afterAll(() => server.stop())

const { gateway, create, ended, linesOf, books } = useBatches(
  (text) =>
    `${text.replaceAll(/id: (openai|anthropic|gemini), /g, "id: $1, batch: vendor, ").replace("unpriced] }", "unpriced], tools: ['*'] }")}
toolServers:
  - { id: river, url: "${server.url}", price: { currency: USD, calls: "1000" } }
`,
  { publicUrl: "https://weir.example.com" },
)

const script: TwinScript = ({ hasResults, texts }) =>
  hasResults
    ? { blocks: [{ t: "text", pieces: [`It is ${texts.join()}.`] }] }
    : { blocks: [{ t: "call", id: "call_1", name: "river__level", args: "{}" }] }

it("has the calls of each request, and no batch at the vendor", async () => {
  const twin = makeOpenaiBatches(script)
  gateway().vendor.script(serveBatches(twin, serveTwin(openaiTwin, script)))
  const tool = {
    type: "mcp",
    server_label: "river",
    server_url: "https://weir.example.com/mcp/river",
    require_approval: "never",
  }
  const line = (name: string) => ({
    custom_id: name,
    method: "POST",
    url: "/v1/responses",
    body: { model: "main", input: "How high?", tools: [tool] },
  })
  const made = await create([line("a"), line("b")], { endpoint: "/v1/responses" })
  const batch = await ended(made.id)
  expect(batch).toMatchObject({ status: "completed", request_counts: { completed: 2, failed: 0 } })
  expect(twin.batches()).toEqual([])
  const lines = await linesOf(batch.output_file_id)
  for (const { response } of lines) {
    expect(JSON.stringify(response?.body)).toContain("It is high.")
    expect(JSON.stringify(response?.body)).toContain('"type":"mcp_call"')
  }
  expect(server.runs.get("level")).toBe(2)
  const { findings, left } = await books(made.id)
  expect(findings).toEqual([])
  expect(left).toBe(0)
}, 60_000)
