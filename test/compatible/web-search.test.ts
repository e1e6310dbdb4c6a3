/** A web search by the vendor itself: carried where the organisation, the price and the target allow it. */
import { describe, expect, it } from "vitest"
import { newTestIds, testCatalogue } from "../../src/testing/gateway.ts"
import type { VendorScript } from "../../src/testing/scripted-vendor.ts"
import { answering } from "../../src/testing/vendor-replies.ts"
import { useGateway } from "../conformance/gateway.ts"
import { ask } from "./served.ts"
import { vendorBodyOf } from "./vendors.ts"

const searching = newTestIds()
const gateway = useGateway({
  ids: searching,
  catalogue: (urls) =>
    testCatalogue(urls, searching)
      .replace("name: Test,", "name: Test, capabilities: { webSearch: true },")
      .replace("{ vendor: openai, model: a, tier: 1 }", "{ vendor: responses, model: a, tier: 1 }")
      .replace(/(model: (?:claude|responses|gemini|main|pool), )/g, `$1dims: { web_search: "10000" }, `),
})
const without = useGateway()

const weather = { name: "weather", description: "Weather", input_schema: { type: "object", properties: {} } }

/** The same request in each API. */
const requests = {
  "/openai/v1/chat/completions": { messages: [{ role: "user", content: "Hi" }], web_search_options: {} },
  "/openai/v1/responses": { input: "Hi", tools: [{ type: "web_search" }] },
  "/anthropic/v1/messages": {
    max_tokens: 100,
    messages: [{ role: "user", content: "Hi" }],
    tools: [{ type: "web_search_20250305", name: "web_search", max_uses: 3 }],
  },
} as const

const answer = answering({ words: ["Rain"], inTokens: 100, outTokens: 10 })

describe.each(Object.entries(requests))("%s", (path, request) => {
  it.each([
    [
      "claude",
      `{"type":"web_search_20250305","name":"web_search","max_uses":${path.startsWith("/anthropic") ? 3 : 5}}`,
    ],
    ["responses", `{"type":"web_search"}`, `"max_tool_calls":${path.startsWith("/anthropic") ? 3 : 5}`],
    ["gemini", `"tools":[{"googleSearch":{}}]`],
  ])("is searched by %s", async (model, ...said) => {
    gateway().vendor.script(answer)
    const reply = await ask(gateway(), path, { model, ...request })
    expect(reply).toMatchObject({ status: 200, warning: null })
    for (const each of said) expect(vendorBodyOf(gateway().vendor)).toContain(each)
  })

  it("is left out and told, where the dialect has none, streamed and whole", async () => {
    for (const stream of [false, true]) {
      gateway().vendor.script(answer)
      const reply = await ask(gateway(), path, { model: "main", ...request, stream })
      expect(reply).toMatchObject({ status: 200, warning: expect.stringMatching(/^tools_omitted=web_search/) })
      expect(vendorBodyOf(gateway().vendor)).not.toContain("web_search")
    }
  })

  it("is left out and told, where the organisation or the price has none", async () => {
    without().vendor.script(answer)
    const reply = await ask(without(), path, { model: "responses", ...request })
    expect(reply).toMatchObject({ status: 200, warning: expect.stringMatching(/^tools_omitted=web_search/) })
    expect(vendorBodyOf(without().vendor)).not.toContain("web_search")
  })
})

describe("a search", () => {
  it("that asks for more than a search is left out: filters would be lost", async () => {
    gateway().vendor.script(answer)
    const tools = [{ type: "web_search", filters: { allowed_domains: ["example.com"] } }]
    const reply = await ask(gateway(), "/openai/v1/responses", { model: "responses", input: "Hi", tools })
    expect(reply).toMatchObject({ status: 200, warning: "tools_omitted=web_search" })
  })

  it.each([0, -1, 1.5, 1e9, "3", null, {}])("limited to %j is limited", async (limit) => {
    gateway().vendor.script(answer)
    const tools = [{ type: "web_search_20250305", name: "web_search", max_uses: limit }]
    const body = { model: "claude", ...requests["/anthropic/v1/messages"], tools }
    expect(await ask(gateway(), "/anthropic/v1/messages", body)).toMatchObject({ status: 200 })
    const [, uses] = /"max_uses":(\d+)/.exec(vendorBodyOf(gateway().vendor)) ?? []
    expect(Number(uses)).toBe(limit === 1e9 ? 100 : 5)
  })

  it("beside functions: not at Gemini; not at Anthropic, if one has the name of its search", async () => {
    gateway().vendor.script(answer)
    const [search] = requests["/anthropic/v1/messages"].tools
    const offered = (tools: ReadonlyArray<object>, model: string) =>
      ask(gateway(), "/anthropic/v1/messages", { model, ...requests["/anthropic/v1/messages"], tools })
    expect(await offered([weather, search], "claude")).toMatchObject({ status: 200, warning: null })
    expect(await offered([weather, search], "gemini")).toMatchObject({
      status: 200,
      warning: expect.stringMatching(/web_search/),
    })
    expect(await offered([{ ...weather, name: "web_search" }, search], "claude")).toMatchObject({
      status: 200,
      warning: expect.stringMatching(/web_search/),
    })
  })

  it("is told as left out, when the target that would have searched fails", async () => {
    gateway().vendor.script((call) => {
      call.head(500)
      call.end("{}")
    })
    gateway().second.script(answer)
    const reply = await ask(gateway(), "/openai/v1/responses", {
      model: "pool",
      ...requests["/openai/v1/responses"],
      stream: true,
    })
    expect(reply).toMatchObject({ status: 200, warning: "tools_omitted=web_search" })
  })
})

describe("searches", () => {
  const responses: VendorScript = (call) => {
    const searched = (type: string) => ({ type: "web_search_call", id: "ws_1", status: "completed", action: { type } })
    const message = { type: "message", role: "assistant", content: [{ type: "output_text", text: "Rain" }] }
    call.head(200, { "content-type": "application/json" })
    call.end(
      JSON.stringify({
        status: "completed",
        output: [searched("search"), searched("open_page"), searched("search"), message],
        usage: { input_tokens: 0, output_tokens: 10, total_tokens: 10 },
      }),
    )
  }
  const gemini: VendorScript = (call) => {
    call.head(200, { "content-type": "application/json" })
    const content = { role: "model", parts: [{ text: "Rain" }] }
    const groundingMetadata = { webSearchQueries: ["weather oslo", "rain oslo"] }
    const usageMetadata = { promptTokenCount: 100, candidatesTokenCount: 10 }
    call.end(JSON.stringify({ candidates: [{ content, finishReason: "STOP", groundingMetadata }], usageMetadata }))
  }
  const anthropic: VendorScript = (call) => {
    call.head(200, { "content-type": "application/json" })
    const usage = { input_tokens: 100, output_tokens: 10, server_tool_use: { web_search_requests: 2 } }
    const searched = { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: { query: "rain" } }
    const found = { type: "web_search_tool_result", tool_use_id: "srvtoolu_1", content: [] }
    const content = [searched, found, { type: "text", text: "Rain" }]
    call.end(JSON.stringify({ type: "message", content, stop_reason: "end_turn", usage }))
  }

  it.each([
    ["responses", responses],
    ["gemini", gemini],
    ["claude", anthropic],
  ])("of %s are billed by their price: two for 0.02", async (model, script) => {
    gateway().vendor.script(script)
    const reply = await ask(gateway(), "/openai/v1/responses", { model, ...requests["/openai/v1/responses"] })
    expect(reply.status).toBe(200)
    expect(reply.text).toContain("Rain")
    expect(Number(reply.cost)).toBeGreaterThan(0.02)
    expect(Number(reply.cost)).toBeLessThan(0.021)
  })
})
