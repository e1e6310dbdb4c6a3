/** Tools that a vendor runs: had where the organisation, the price and the target allow it, refused by name elsewhere. */

import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import { formatAmount } from "../../../src/money/amount.ts"
import { newTestIds, testCatalogue } from "../../../src/testing/gateway.ts"
import type { VendorScript } from "../../../src/testing/scripted-vendor.ts"
import { answering } from "../../../src/testing/vendor-replies.ts"
import { balanceOf, eventually, useGateway } from "../../support/gateway.ts"
import { ask } from "./served.ts"
import { vendorBodyOf } from "./vendors.ts"

const searching = newTestIds()
const allowed = "capabilities: { webSearch: true, fileSearch: true, codeExecution: true, imageGen: true, maps: true }"
const priced = `dims: { web_search: "10000", file_search: "2500", code_execution: "30000", image_generation: "40000", maps: "25000" },`
const gateway = useGateway({
  ids: searching,
  catalogue: (urls) =>
    testCatalogue(urls, searching)
      .replace("name: Test,", `name: Test, ${allowed},`)
      .replace("{ vendor: openai, model: a, tier: 1 }", "{ vendor: responses, model: a, tier: 1 }")
      .replace(/(model: (?:claude|responses|gemini|main|pool), )/g, `$1${priced} `),
})
const without = useGateway()
const refusingIds = newTestIds()
const refusing = useGateway({
  ids: refusingIds,
  catalogue: (urls) => testCatalogue(urls, refusingIds).replace("name: Test,", "name: Test, hostedTools: refuse,"),
})
const carryingIds = newTestIds()
const carrying = useGateway({
  ids: carryingIds,
  catalogue: (urls) =>
    testCatalogue(urls, carryingIds)
      .replaceAll(/(id: (?:responses|anthropic), )/g, "$1hostedTools: carry, ")
      .replace(/(model: (?:claude|responses), )/g, `$1${priced} `),
})
const omittingIds = newTestIds()
const omitting = useGateway({
  ids: omittingIds,
  catalogue: (urls) =>
    testCatalogue(urls, omittingIds)
      .replace("name: Test,", `name: Test, hostedTools: omit, ${allowed},`)
      .replace("{ vendor: openai, model: a, tier: 1 }", "{ vendor: responses, model: a, tier: 1 }")
      .replace(/(model: (?:main|pool), )/g, `$1${priced} `),
})

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

  it("is left out and told where its own vendor has no price for it, refused by name where only others could answer", async () => {
    const asked = (model: string, stream: boolean) => ({ model, ...request, stream })
    for (const stream of [false, true]) {
      for (const [of, model] of [[gateway, "main"] as const, [without, "responses"] as const]) {
        const calls = of().vendor.calls.length
        of().vendor.script(answer)
        const { status, text, warning } = await ask(of(), path, asked(model, stream))
        const isOwn = path === { main: "/openai/v1/chat/completions", responses: "/openai/v1/responses" }[model]
        if (isOwn) {
          expect([status, warning]).toEqual([200, "tools_omitted=web_search"])
          expect(vendorBodyOf(of().vendor)).not.toContain("web_search")
          continue
        }
        expect([status, text]).toEqual([
          400,
          expect.stringMatching(/(tools\.0\.type|web_search_options): is web_search/),
        ])
        expect(of().vendor.calls.length).toBe(calls)
      }
      omitting().vendor.script(answer)
      const reply = await ask(omitting(), path, asked("main", stream))
      expect(reply).toMatchObject({ status: 200, warning: expect.stringMatching(/^tools_omitted=web_search/) })
      expect(vendorBodyOf(omitting().vendor)).not.toContain("web_search")
    }
  })
})

describe("a search", () => {
  const filtered = [{ type: "web_search", filters: { allowed_domains: ["example.com"] } }]

  it("that asks for more than a search is for its own vendor: filters would be lost", async () => {
    gateway().vendor.script(answer)
    const asked = (model: string) => ask(gateway(), "/openai/v1/responses", { model, input: "Hi", tools: filtered })
    expect(await asked("responses")).toMatchObject({ status: 200, warning: null })
    expect(JSON.parse(vendorBodyOf(gateway().vendor))).toMatchObject({ tools: filtered, max_tool_calls: 5 })
    expect(await asked("claude")).toMatchObject({ status: 400, text: expect.stringContaining("tools.0.type") })
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
    const told = { status: 200, warning: "tools_omitted=web_search_20250305" }
    expect(await offered([weather, search], "gemini")).toMatchObject(told)
    expect(await offered([{ ...weather, name: "web_search" }, search], "claude")).toMatchObject(told)
  })

  it("is told as left out, or is why a call fails, when the target that would have searched fails", async () => {
    const body = { model: "pool", ...requests["/openai/v1/responses"], stream: true }
    for (const of of [omitting, gateway]) {
      of().vendor.script((call) => {
        call.head(500)
        call.end("{}")
      })
      of().second.script(answer)
    }
    const reply = await ask(omitting(), "/openai/v1/responses", body)
    expect(reply).toMatchObject({ status: 200, warning: "tools_omitted=web_search" })
    expect((await ask(gateway(), "/openai/v1/responses", body)).status).toBe(502)
  })
})

describe("a hosted tool", () => {
  const responses = (more: object, of = gateway) => ask(of(), "/openai/v1/responses", { input: "Hi", ...more })
  const found = { type: "tool_search" }
  const code = { type: "code_interpreter", container: { type: "auto" } }

  it("on which no answer depends is left out and told", async () => {
    gateway().vendor.script(answer)
    const main = await responses({ model: "main", tools: [found] })
    expect(main).toMatchObject({ status: 200, warning: "tools_omitted=tool_search" })
    const none = await responses({ model: "main", tools: [code], tool_choice: "none" })
    expect(none).toMatchObject({ status: 200, warning: "tools_omitted=code_interpreter" })
  })

  it("is left out and told beside tools of the client's own, unless the organisation refuses (CommandCodeAI/command-code#885)", async () => {
    const own = { type: "function", name: "f", parameters: { type: "object", properties: {} } }
    const asked = { tools: [own, { type: "web_search", external_web_access: true }] }
    for (const of of [gateway, refusing]) of().vendor.script(answer)
    expect(await responses({ model: "main", ...asked })).toMatchObject({
      status: 200,
      warning: "tools_omitted=web_search",
    })
    const refused = await responses({ model: "responses", ...asked }, refusing)
    expect([refused.status, refused.text]).toEqual([400, expect.stringContaining("tools.1.type: is web_search")])
  })

  it("that the model must call is never left out", async () => {
    const alone = { model: "main", tools: [{ type: "web_search" }], tool_choice: "required" }
    expect((await responses(alone, omitting)).status).toBe(400)
    const own = { type: "function", name: "f", parameters: { type: "object", properties: {} } }
    omitting().vendor.script(answer)
    expect((await responses({ ...alone, tools: [own, ...alone.tools] }, omitting)).status).toBe(200)
    const forced = { model: "main", tools: [{ type: "web_search" }], tool_choice: { type: "web_search" } }
    expect((await responses(forced, omitting)).status).toBe(400)
  })

  it("that is not known, and a kind with a slip in it, are refused by name", async () => {
    for (const [type, model, why] of [
      ["fuction", "responses", "is not a kind of tool; did you mean function?"],
      ["hologram", "main", "is hologram, which no vendor of this model may run"],
    ]) {
      const { status, text } = await responses({ model, tools: [{ type, name: "f" }] })
      expect([status, text]).toEqual([400, expect.stringContaining(`tools.0.type: ${why}`)])
    }
  })

  it.each<[string, object]>([
    ["/openai/v1/chat/completions", { messages: [{ role: "user", content: "Hi" }], web_search_options: {} }],
    [
      "/openai/v1/responses",
      {
        input: [
          { type: "additional_tools", role: "developer", tools: [{ type: "image_generation" }] },
          { role: "user", content: "Hi" },
        ],
      },
    ],
    [
      "/anthropic/v1/messages",
      {
        max_tokens: 100,
        messages: [
          {
            role: "user",
            content: [
              { type: "text", text: "Hi" },
              {
                type: "tool_addition",
                tool: { type: "tool_definition", definition: { type: "web_search_20250305", name: "web_search" } },
              },
            ],
          },
        ],
      },
    ],
  ])("is not left in the thread, or beside the list, where the list is cut (%s)", async (path, body) => {
    without().vendor.script(answer)
    const isMessages = path.startsWith("/anthropic")
    const [type, choice] = isMessages ? ["web_search_20250305", { type: "none" }] : ["web_search", "none"]
    const model = { "/openai/v1/chat/completions": "main", "/openai/v1/responses": "responses" }[path] ?? "claude"
    const asked = { model, tools: [{ type, name: "web_search" }], tool_choice: choice, ...body }
    expect((await ask(without(), path, asked)).status).toBe(200)
    expect(vendorBodyOf(without().vendor)).not.toMatch(/web_search|image_generation/)
  })

  it("is held and limited at a vendor that carries all tools, where a price names it", async () => {
    carrying().vendor.script(answer)
    const tools = [{ type: "web_search", filters: {} }]
    expect(await responses({ model: "responses", tools, max_tool_calls: 7 }, carrying)).toMatchObject({ warning: null })
    expect(JSON.parse(vendorBodyOf(carrying().vendor))).toMatchObject({ tools, max_tool_calls: 7 })
    const search = { type: "web_search_20250305", name: "web_search", max_uses: 1000 }
    const body = { model: "claude", ...requests["/anthropic/v1/messages"], tools: [search] }
    await ask(carrying(), "/anthropic/v1/messages", body)
    expect(JSON.parse(vendorBodyOf(carrying().vendor))).toMatchObject({ tools: [{ ...search, max_uses: 100 }] })
  })

  it("that comes twice is limited to what both hold", async () => {
    gateway().vendor.script(answer)
    const search = (name: string) => ({ type: "web_search_20250305", name, max_uses: 60 })
    const body = {
      model: "claude",
      ...requests["/anthropic/v1/messages"],
      tools: [search("web_search"), search("web")],
    }
    await ask(gateway(), "/anthropic/v1/messages", body)
    const { tools } = JSON.parse(vendorBodyOf(gateway().vendor))
    expect(tools).toMatchObject([{ max_uses: 60 }, { max_uses: 40 }])
  })

  it("keeps a limit of none", async () => {
    gateway().vendor.script(answer)
    await responses({ model: "responses", tools: [{ type: "web_search" }], max_tool_calls: 0 })
    expect(JSON.parse(vendorBodyOf(gateway().vendor))).toMatchObject({ max_tool_calls: 0 })
  })

  it("in a container that costs more than the usual one is left out", async () => {
    gateway().vendor.script(answer)
    const tools = [{ type: "code_interpreter", container: { type: "auto", memory_limit: "64g" } }]
    expect(await responses({ model: "responses", tools })).toMatchObject({ warning: "tools_omitted=code_interpreter" })
  })

  it("is held at the price of the dearest, as often as it may be used", async () => {
    const heldFor = async (tools: ReadonlyArray<object>, more: object = {}) => {
      let held = 0n
      gateway().vendor.script(async (call) => {
        const { ledger, orgId } = gateway()
        for (const each of await Effect.runPromise(ledger.allotments)) if (each.orgId === orgId) held += each.held
        await answer(call)
      })
      expect((await responses({ model: "responses", max_output_tokens: 10, tools, ...more })).status).toBe(200)
      return Number(formatAmount(held))
    }
    const without = await heldFor([])
    // A picture is 0.04, a container 0.03; each use may bring 10,000 tokens of input along.
    const pictures = await heldFor([{ type: "image_generation" }])
    expect(pictures - without).toBeGreaterThan(0.2)
    expect((await heldFor([{ type: "image_generation" }, code])) - without).toBeGreaterThan(0.4)
    expect((await heldFor([{ type: "image_generation" }, code], { max_tool_calls: 1 })) - without).toBeLessThan(0.2)
  })

  it("is limited to what is held, all of them together", async () => {
    gateway().vendor.script(answer)
    const tools = [{ type: "file_search", vector_store_ids: ["vs_1"] }, code, { type: "image_generation" }]
    await responses({ model: "responses", tools })
    expect(JSON.parse(vendorBodyOf(gateway().vendor))).toMatchObject({ tools, max_tool_calls: 15 })
    await responses({ model: "responses", tools, max_tool_calls: 3 })
    expect(JSON.parse(vendorBodyOf(gateway().vendor))).toMatchObject({ max_tool_calls: 3 })
  })
})

describe("uses are billed by their price", () => {
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

  const usage = { input_tokens: 0, output_tokens: 0, total_tokens: 0 }
  const said = { type: "message", role: "assistant", content: [{ type: "output_text", text: "Rain" }] }
  it.each<[string, string, object, object, string]>([
    [
      "OpenAI's other tools: two file searches, a container, a picture",
      "/openai/v1/responses",
      {
        model: "responses",
        input: "Hi",
        tools: [{ type: "file_search" }, { type: "code_interpreter" }, { type: "image_generation" }],
      },
      {
        status: "completed",
        output: [
          { type: "file_search_call", id: "fs_1" },
          { type: "file_search_call", id: "fs_2" },
          { type: "code_interpreter_call", id: "ci_1", container_id: "cntr_1" },
          { type: "code_interpreter_call", id: "ci_2", container_id: "cntr_1" },
          { type: "image_generation_call", id: "ig_1", result: "AA==" },
          said,
        ],
        usage,
      },
      "0.075",
    ],
    [
      "Anthropic's code",
      "/anthropic/v1/messages",
      {
        model: "claude",
        max_tokens: 10,
        messages: [{ role: "user", content: "Hi" }],
        tools: [{ type: "code_execution_20250825", name: "code_execution" }],
      },
      {
        type: "message",
        content: [
          { type: "server_tool_use", id: "srvtoolu_1", name: "bash_code_execution", input: { command: "ls" } },
          { type: "text", text: "Rain" },
        ],
        stop_reason: "end_turn",
        usage: { input_tokens: 0, output_tokens: 0 },
      },
      "0.03",
    ],
    [
      "Gemini's maps",
      "/gemini/v1beta/models/gemini:generateContent",
      { contents: [{ role: "user", parts: [{ text: "Hi" }] }], tools: [{ googleMaps: {} }] },
      {
        candidates: [
          {
            content: { role: "model", parts: [{ text: "Rain" }] },
            finishReason: "STOP",
            groundingMetadata: { groundingChunks: [{ maps: { uri: "https://maps.example" } }] },
          },
        ],
        usageMetadata: { promptTokenCount: 0, candidatesTokenCount: 0 },
      },
      "0.025",
    ],
  ])("%s", async (_name, path, body, reply, cost) => {
    gateway().vendor.script((call) => {
      call.head(200, { "content-type": "application/json" })
      call.end(JSON.stringify(reply))
    })
    const answered = await ask(gateway(), path, body)
    expect(answered.status).toBe(200)
    // Counts of tokens that are 0 beside text are estimated: a little is added.
    expect(answered.cost?.startsWith(cost)).toBe(true)
  })

  const search = { type: "web_search_call", id: "ws_1", status: "completed", action: { type: "search" } }
  const output = (count: number) => Array.from({ length: count }, (_, at) => ({ ...search, id: `ws_${at}` }))
  const costOf = async (reply: object, tools: ReadonlyArray<object> = [{ type: "web_search" }]) => {
    gateway().vendor.script((call) => {
      call.head(200, { "content-type": "application/json" })
      call.end(JSON.stringify(reply))
    })
    return Number((await ask(gateway(), "/openai/v1/responses", { model: "responses", input: "Hi", tools })).cost)
  }

  it("where the vendor reports no usage, and up to the most that is held", async () => {
    expect(await costOf({ status: "completed", output: [...output(3), said] })).toBeCloseTo(0.03, 2)
    expect(await costOf({ status: "completed", output: [...output(130), said], usage })).toBeCloseTo(1, 2)
  })

  it("where the client leaves, as far as they were told", async () => {
    gateway().vendor.script(async ({ head, write, end }) => {
      head()
      const frame = (event: object) => write(`data: ${JSON.stringify(event)}\n\n`)
      for (const [index, item] of output(3).entries()) {
        await frame({ type: "response.output_item.done", output_index: index, item })
        await frame({ type: "response.output_item.done", output_index: index, item })
      }
      await frame({ type: "response.output_text.delta", output_index: 3, content_index: 0, delta: "Rain" })
      end()
    })
    const before = await balanceOf(gateway())
    const body = { model: "responses", input: "Hi", tools: [{ type: "web_search" }], stream: true }
    await ask(gateway(), "/openai/v1/responses", body)
    await eventually(async () => before - (await balanceOf(gateway())) >= 300_000_000n)
    expect(before - (await balanceOf(gateway()))).toBeLessThan(320_000_000n)
  })

  it("not where the tool was not asked for", async () => {
    const ran = { type: "code_interpreter_call", id: "ci_1", container_id: "cntr_1" }
    expect(await costOf({ status: "completed", output: [ran, said], usage })).toBeLessThan(0.001)
  })
})
