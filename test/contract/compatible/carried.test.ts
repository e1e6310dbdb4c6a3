/** Calls that go to a vendor of the client's own API: what is sent arrives, and what is answered comes back. */
import { Record, Redacted } from "effect"
import { describe, expect, it } from "vitest"
import { type JsonObject, parseObject } from "../../../src/dialects/parse/json.ts"
import { newTestIds, testCatalogue, type VendorScript } from "../../../src/testing/index.ts"
import { answering, anthropicFrame, openaiFrame } from "../../../src/testing/vendor-replies.ts"
import { useGateway } from "../../support/gateway.ts"
import { ask, modelsAt, serving, targetAt } from "./served.ts"
import { message } from "./vendors.ts"

const ids = newTestIds()
const vendors = {
  strict: "dialect: openai-chat, newFields: refuse",
  dropping: "dialect: openai-chat, endUser: drop",
  telling: "dialect: openai-chat, endUser: carry, hostedTools: carry",
  mistral: "dialect: openai-chat, profile: mistral",
  unknown: "dialect: openai-chat, profile: generic",
  dear: "dialect: anthropic",
}
const capable = "maxOutput: 1000, capabilities: [tools, images, files, reasoning, cache]"
const gateway = useGateway({
  ids,
  config: { masterKey: Redacted.make("the master key of these tests") },
  catalogue: (urls) =>
    serving(testCatalogue(urls, ids), {
      org: "hostedTools: omit",
      vendors: Record.map(vendors, (fields) => `baseUrl: "${urls.vendor}/v1", ${fields}`),
      models: {
        ...modelsAt({ chat: "openai", resp: "responses", cl: "anthropic", gem: "gemini" }, capable),
        both: `${capable}, targets: [{ vendor: anthropic, model: upstream, tier: 1 }, { vendor: openai, model: upstream, tier: 2 }]`,
        clamped: `${capable}, params: { temperature: { max: 1 }, seed: { strip: true } }, ${targetAt("openai")}`,
        ...modelsAt(
          Record.map(vendors, (_, id) => id),
          capable,
        ),
      },
      price: (model) => `input: "${model === "dear" ? 100_000 : 3}", output: "15"`,
    }),
})

const post = (path: string, body: string, headers?: Readonly<Record<string, string>>) =>
  ask(gateway(), path, body, headers)
const sent = (): string => gateway().vendor.calls.at(-1)?.sent.toString("utf8") ?? ""
const sentHeaders = () => gateway().vendor.calls.at(-1)?.headers ?? {}
const answer = answering({ words: ["Rain"], inTokens: 100, outTokens: 10 })

/** A body with all that a rewriting would change: numbers, escapes, order, white space, fields and blocks of tomorrow. */
const odd = String.raw`{ "n" : 1.10, "big": 12345678901234567890, "e":1E2, "s": "\u00e9\/é" }`
const requests = [
  [
    "/openai/v1/chat/completions",
    String.raw`{"messages":[{"content":[{"type":"text","text":"Hi\u0021","shade":${odd}}],"role":"user","name":"ada"},
 {"role":"assistant","tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{\"x\": 1.10}"}},{"id":"c2","type":"custom","custom":{"name":"g","input":"raw"}}]},
 {"role":"tool","tool_call_id":"c1","content":"1"},{"role":"tool","tool_call_id":"c2","content":"2"}],
 "tools":[{"type":"function","function":{"strict":true,"name":"f","parameters":{"type":"object","properties":{"x":{"type":"number","maximum":1.10}}}}},{"type":"custom","custom":{"name":"g"}}],
 "tomorrow":${odd}, "model":"chat", "max_tokens":50}`,
  ],
  [
    "/openai/v1/responses",
    String.raw`{"instructions":"Be brief","input":[{"role":"user","content":"Hi","phase":"x"},{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"c2VhbGVk"},
 {"type":"future_item","v":${odd}},{"type":"function_call","call_id":"c1","name":"f","namespace":"n","arguments":"{\"x\": 1.10}"},{"type":"function_call_output","call_id":"c1","output":[{"type":"input_image","image_url":"data:image/png;base64,iVBORw0KGgo=","detail":"low"}]}],
 "tools":[{"type":"namespace","name":"n","description":"","tools":[{"type":"function","name":"f","strict":true,"defer_loading":true,"parameters":${odd}}]},{"type":"tool_search"}],
 "model":"resp","max_output_tokens":50,"store":false,"include":["reasoning.encrypted_content"]}`,
  ],
  [
    "/anthropic/v1/messages",
    `{"model":"cl","max_tokens":50,"system":[{"type":"text","text":"Be brief","cache_control":{"type":"ephemeral","ttl":"1h"}}],"messages":[{"role":"user","content":[{"type":"document","source":{"type":"text","media_type":"text/plain","data":"A"},"citations":{"enabled":true},"context":"c"},{"type":"future_block","v":${odd}},{"type":"text","text":"Hi"}]},
 {"role":"assistant","content":[{"type":"thinking","thinking":"Hm.","signature":"c2lnbmVk"},{"type":"tool_use","id":"t1","name":"f","input":${odd},"caller":{"type":"direct"}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":[{"type":"search_result","title":"t","source":"s","content":[]}]}]}],
 "tools":[{"name":"f","input_schema":{"type":"object"},"strict":true,"defer_loading":true,"input_examples":[${odd}]},{"type":"bash_20250124","name":"bash"},{"type":"tool_search_tool_bm25_20251119","name":"s"}],"context_management":{"edits":[]}}`,
  ],
  [
    "/gemini/v1beta/models/gem:generateContent",
    `{"contents":[{"role":"user","parts":[{"text":"Hi","future":${odd}}]},{"role":"model","parts":[{"functionCall":{"name":"f","args":${odd}},"thoughtSignature":"c2lnbmVk"}]},{"role":"user","parts":[{"functionResponse":{"name":"f","response":${odd},"parts":[]}}]}],
 "system_instruction":{"role":"system","parts":[{"text":"Be brief"}]},"tools":[{"function_declarations":[{"name":"f","parameters_json_schema":${odd}}]},{"urlContext":{}}],
 "generation_config":{"max_output_tokens":50,"response_modalities":["TEXT"]},"safetySettings":[]}`,
  ],
] as const

describe.each(requests)("a request at %s", (path, body) => {
  it("reaches a vendor of its API byte for byte, but for the model's name", async () => {
    gateway().vendor.script(answer)
    const reply = await post(path, body)
    expect(reply).toMatchObject({ status: 200 })
    const [, handle = ""] = /"model":("\w+")/.exec(body) ?? []
    const wanted = handle === "" ? body : body.replace(`"model":${handle}`, '"model":"upstream"')
    expect(sent()).toBe(wanted)
  })

  it("is refused where an object names a member twice, or in two spellings", async () => {
    const calls = gateway().vendor.calls.length
    const inside = body.replace(odd, '{"n":1,"n":2}')
    expect(await post(path, inside)).toMatchObject({ status: 400, text: expect.stringContaining("twice") })
    const spelled = body.replace("{", '{"MAX_TOKENS":1,"max-output-tokens":1,"GenerationConfig":{},')
    expect(await post(path, spelled)).toMatchObject({ status: 400, text: expect.stringContaining("spelling") })
    expect(gateway().vendor.calls.length).toBe(calls)
  })

  it("is refused by the field's name where no vendor of the model has its API", async () => {
    const other = path.startsWith("/anthropic") || path.startsWith("/gemini") ? "chat" : "cl"
    const moved = body.replace(/"model":"\w+"/, `"model":"${other}"`)
    const calls = gateway().vendor.calls.length
    const reply = await post(path.replace("gem:", `${other}:`), moved)
    expect(reply).toMatchObject({ status: 400, text: expect.stringMatching(/tomorrow|shade|future|phase|bad_request/) })
    expect(gateway().vendor.calls.length).toBe(calls)
  })
})

const hi = (model: string, more: object = {}) =>
  JSON.stringify({ model, messages: [{ role: "user", content: "Hi" }], ...more })
const chat = "/openai/v1/chat/completions"
const many = "words ".repeat(5000)

describe("a carried request", () => {
  it("tells the fields that are new, unless the vendor's are refused", async () => {
    gateway().vendor.script(answer)
    expect(await post(chat, hi("chat", { tomorrow: { a: 1 } }))).toMatchObject({
      status: 200,
      warning: "fields_carried=tomorrow",
    })
    const metrics = await (
      await gateway().call("GET", "/metrics", undefined, { "x-svc-admin-key": gateway().adminKey })
    ).text()
    expect(metrics).toMatch(/weir_new_fields_total\{(?=.*dialect="openai-chat").*field="tomorrow".*\} \d/)
    expect(await post(chat, hi("strict", { tomorrow: { a: 1 } }))).toMatchObject({
      status: 400,
      text: expect.stringContaining("tomorrow"),
    })
  })

  it("has few fields that are new", async () => {
    const many = Object.fromEntries(Array.from({ length: 40_000 }, (_, at) => [`f${at}`, at]))
    const reply = await post(chat, hi("chat", many))
    expect(reply).toMatchObject({ status: 400, text: expect.stringContaining("more than 64") })
  })

  it("has what the model's profile allows, and a limit", async () => {
    gateway().vendor.script(answer)
    await post(chat, hi("clamped", { temperature: 1.5, seed: 7, max_tokens: 5000 }))
    expect(parseObject(sent())).toMatchObject({ temperature: 1, max_tokens: 1000 })
    expect(sent()).not.toContain("seed")
    await post(chat, hi("chat"))
    expect(parseObject(sent())).toMatchObject({ max_completion_tokens: 1000 })
  })

  it("has one limit, which is the one that is held", async () => {
    gateway().vendor.script(answer)
    const limits = async (model: string, more: object) => {
      await post(chat, hi(model, more))
      const { max_tokens: old, max_completion_tokens: now } = parseObject(sent()) ?? {}
      return [old, now]
    }
    const both = { max_completion_tokens: 5, max_tokens: 900 }
    expect(await limits("chat", both)).toEqual([undefined, 5])
    expect(await limits("mistral", both)).toEqual([5, undefined])
    expect(await limits("mistral", { max_completion_tokens: 5 })).toEqual([5, undefined])
    expect(await limits("unknown", both)).toEqual([5, 5])
    expect(await limits("chat", { max_tokens: 7 })).toEqual([7, undefined])
  })

  it.each([
    ["another model", chat, hi("chat", { models: ["dear/model"] })],
    ["a search that is billed", chat, hi("chat", { search_parameters: { mode: "on" } })],
    ["a vendor's plugin", chat, hi("unknown", { plugins: [{ id: "web" }] })],
    [
      "features in the body",
      "/anthropic/v1/messages",
      hi("cl", { max_tokens: 5, anthropic_beta: ["context-1m-2025-08-07"] }),
    ],
    ["a dearer speed", "/anthropic/v1/messages", hi("cl", { max_tokens: 5, speed: "fast" })],
    ["work that goes on", "/openai/v1/responses", JSON.stringify({ model: "resp", input: "Hi", background: true })],
  ])("asks for nothing that is billed beyond its hold: %s", async (_what, path, body) => {
    const calls = gateway().vendor.calls.length
    expect(await post(path, body)).toMatchObject({ status: 400 })
    expect(gateway().vendor.calls.length).toBe(calls)
  })

  it("names no end user but as the vendor's `endUser` says", async () => {
    gateway().vendor.script(answer)
    const user = async (model: string) => {
      await post(chat, hi(model, { user: "ada@example.com", safety_identifier: "ada@example.com" }))
      const { user: named, safety_identifier: other } = parseObject(sent()) ?? {}
      return [named, other]
    }
    const hash = expect.stringMatching(/^[\w-]{43}$/)
    expect(await user("chat")).toEqual([hash, hash])
    expect(await user("chat")).toEqual(await user("chat"))
    expect(await user("dropping")).toEqual([undefined, undefined])
    expect(await user("telling")).toEqual(["ada@example.com", "ada@example.com"])
    await post("/anthropic/v1/messages", hi("cl", { max_tokens: 5, metadata: { user_id: "ada@example.com" } }))
    expect(sent()).not.toContain("ada@example.com")
  })

  it("loses the tools that a vendor bills, and is told, unless the operator carries them", async () => {
    gateway().vendor.script(answer)
    const tools = [{ type: "code_interpreter", container: { type: "auto" } }]
    const omitted = await post(chat, hi("chat", { tools, tool_choice: "auto" }))
    expect(omitted).toMatchObject({ status: 200, warning: "tools_omitted=code_interpreter" })
    expect(sent()).not.toMatch(/tools|tool_choice/)
    const carried = await post(chat, hi("telling", { tools }))
    expect([carried.status, carried.warning]).toEqual([200, null])
    expect(parseObject(sent())).toMatchObject({ tools })
  })

  it("is asked for an effort that Weir does not know as its client asks", async () => {
    gateway().vendor.script(answer)
    expect((await post(chat, hi("chat", { reasoning_effort: "ultra" }))).status).toBe(200)
    expect(parseObject(sent())).toMatchObject({ reasoning_effort: "ultra" })
  })

  it("thinks as it likes where the model's name does not tell its version, also beside a tool that it must call", async () => {
    gateway().vendor.script(answer)
    const thinking = { thinking: { type: "adaptive" }, output_config: { effort: "high" }, tool_choice: { type: "any" } }
    const tools = [{ name: "f", input_schema: { type: "object" } }]
    await post("/anthropic/v1/messages", hi("cl", { max_tokens: 5, tools, ...thinking }))
    expect(parseObject(sent())).toMatchObject({ tools, ...thinking })
  })

  it("loses such tools wherever they stand, in a thread too", async () => {
    gateway().vendor.script(answer)
    const fn = { type: "function", name: "f", parameters: { type: "object", properties: {} } }
    const group = { type: "namespace", name: "n", description: "", tools: [fn, { type: "image_generation" }] }
    const input = [
      { type: "additional_tools", role: "developer", tools: [fn, { type: "web_search" }] },
      { type: "tool_search_output", call_id: null, tools: [{ type: "code_interpreter", container: "auto" }, group] },
      { role: "user", content: "Hi" },
    ]
    const responses = await post("/openai/v1/responses", JSON.stringify({ model: "resp", input }))
    expect(responses.status).toBe(200)
    expect(responses.warning).toContain("web_search")
    expect(parseObject(sent())?.["input"]).toMatchObject([{ tools: [fn] }, { tools: [{ tools: [fn] }] }, input[2]])
    expect(sent()).not.toMatch(/web_search|code_interpreter|image_generation/)
    const added = (definition: object) => ({ type: "tool_addition", tool: { type: "tool_definition", definition } })
    const content = [
      added({ type: "web_search_20250305", name: "web_search" }),
      added({ name: "f", input_schema: { type: "object" } }),
    ]
    const messages = [
      { role: "user", content: "Hi" },
      { role: "system", content },
      { role: "system", content: [content[0], content[0]] },
      { role: "assistant", content: [{ type: "thinking", thinking: "Hm", signature: "openai:c2VhbA==" }] },
      { role: "user", content: "Hi" },
    ]
    const anthropic = await post("/anthropic/v1/messages", JSON.stringify({ model: "cl", max_tokens: 5, messages }))
    expect(anthropic.status).toBe(200)
    expect(parseObject(sent())?.["messages"]).toEqual([
      messages[0],
      { role: "system", content: content.slice(1) },
      messages[4],
    ])
  })

  it.each([
    [{ googleSearch: {} }, undefined],
    [{ google_search: {}, functionDeclarations: [{ name: "f" }] }, { functionDeclarations: [{ name: "f" }] }],
  ])("loses such tools of Gemini without a list: %j", async (tools, left) => {
    gateway().vendor.script(answer)
    const body = { contents: [{ role: "user", parts: [{ text: "Hi" }] }], tools }
    const reply = await post("/gemini/v1beta/models/gem:generateContent", JSON.stringify(body))
    expect(reply).toMatchObject({ status: 200, warning: "tools_omitted=googleSearch" })
    expect(parseObject(sent())?.["tools"]).toEqual(left)
  })

  it.each<[string, object]>([
    ["examples of a tool", { tools: [{ name: "f", input_schema: { type: "object" }, input_examples: [{ a: many }] }] }],
    [
      "what is said of a document",
      {
        messages: [
          {
            role: "user",
            content: [
              { type: "document", source: { type: "text", media_type: "text/plain", data: "A" }, context: many },
              { type: "text", text: "Hi" },
            ],
          },
        ],
      },
    ],
    ["a schema", { output_config: { format: { type: "json_schema", schema: { type: "object", description: many } } } }],
  ])("holds for all that its vendor counts: %s", async (_what, more) => {
    const calls = gateway().vendor.calls.length
    gateway().vendor.script(answer)
    const ask = (body: string) => post("/anthropic/v1/messages", body)
    const body = hi("dear", { max_tokens: 5, ...more })
    expect((await ask(body.replaceAll(many, "few"))).status).toBe(200)
    expect(await ask(body)).toMatchObject({ status: 402, text: expect.stringContaining("balance") })
    expect(gateway().vendor.calls.length).toBe(calls + 1)
  })

  it("stores nothing, and asks for the usage of a stream", async () => {
    gateway().vendor.script(answer)
    const { text } = await post(chat, hi("chat", { store: true, stream: true }))
    expect(parseObject(sent())).toMatchObject({ store: false, stream_options: { include_usage: true } })
    expect(text).not.toContain("prompt_tokens")
    expect(text).toContain('"x_svc"')
  })

  it("sends replies back as the vendor takes them", async () => {
    gateway().vendor.script(answer)
    const said = { role: "assistant", content: "Yes" }
    const echoed = { ...said, refusal: null, annotations: [], audio: null, function_call: null }
    const messages = [{ role: "user", content: "Hi" }, echoed, { role: "user", content: "Why?" }]
    await post(chat, hi("mistral", { messages }))
    expect(parseObject(sent())?.["messages"]).toEqual([messages[0], said, messages[2]])
    await post(chat, hi("chat", { messages }))
    expect(parseObject(sent())?.["messages"]).toEqual(messages)
  })

  it("speaks the vendor's own words", async () => {
    gateway().vendor.script(answer)
    const thought = [
      { role: "user", content: "Hi" },
      { role: "assistant", content: "Yes", reasoning_content: "Hm." },
      { role: "user", content: "Why?" },
    ]
    const said = { messages: thought, tool_choice: "required", reasoning_effort: "low", provider: { order: [] } }
    const tools = [{ type: "function", function: { name: "f", parameters: {} } }]
    // Mistral takes two efforts, and refuses others.
    await post(chat, hi("mistral", { ...said, tools }))
    expect(parseObject(sent())).toMatchObject({ tool_choice: "any", reasoning_effort: "high" })
    expect(sent()).not.toMatch(/reasoning_content|provider/)
    await post(chat, hi("unknown", { ...said, tools }))
    expect(parseObject(sent())).toMatchObject({ tool_choice: "required", provider: { order: [] } })
    await post(chat, hi("chat", { thinking: { type: "disabled" } }))
    expect(parseObject(sent())).toMatchObject({ reasoning_effort: "none" })
    expect(sent()).not.toContain("thinking")
  })

  it("takes the features along that are on the list", async () => {
    gateway().vendor.script(answer)
    const headers = { "anthropic-beta": "interleaved-thinking-2025-05-14, context-1m-2025-08-07" }
    const reply = await post("/anthropic/v1/messages", hi("cl", { max_tokens: 5 }), headers)
    expect(reply.warning).toBe("betas_omitted=context-1m-2025-08-07")
    expect(sentHeaders()["anthropic-beta"]).toBe("interleaved-thinking-2025-05-14")
  })

  it("leaves out reasoning that another vendor sealed", async () => {
    gateway().vendor.script(answer)
    const content = [
      { type: "thinking", thinking: "Hm.", signature: "openai:rs_1:c2VhbGVk" },
      { type: "text", text: "Yes" },
    ]
    const messages = [
      { role: "user", content: "Hi" },
      { role: "assistant", content },
      { role: "user", content: "Why?" },
    ]
    await post("/anthropic/v1/messages", JSON.stringify({ model: "cl", max_tokens: 5, messages }))
    expect(parseObject(sent())?.["messages"]).toEqual([
      messages[0],
      { role: "assistant", content: [content[1]] },
      messages[2],
    ])
  })

  it("is translated for a vendor with another API that takes over", async () => {
    gateway().vendor.script((call) => {
      if (!call.path.endsWith("/messages")) return answer(call)
      call.head(503, { "content-type": "application/json" })
      call.end(JSON.stringify({ type: "error", error: { type: "overloaded_error", message: "busy" } }))
    })
    const body = { model: "both", max_tokens: 5, messages: [{ role: "user", content: "Hi" }] }
    const reply = await post("/anthropic/v1/messages", JSON.stringify(body))
    expect(parseObject(reply.text)).toMatchObject({ type: "message", content: [{ type: "text", text: "Rain" }] })
    const calls = gateway().vendor.calls.slice(-2)
    expect(calls.map(({ path }) => path)).toEqual(["/v1/messages", "/v1/chat/completions"])
  })
})

const framesOf = (text: string): ReadonlyArray<JsonObject> =>
  text.split(/\r?\n/).flatMap((line) => {
    const frame = line.startsWith("data: ") ? parseObject(line.slice("data: ".length)) : undefined
    return frame === undefined ? [] : [frame]
  })

/** Sends frames in pieces. */
const writing =
  (frames: ReadonlyArray<string>): VendorScript =>
  async (call) => {
    call.head()
    for (const frame of frames) {
      await call.write(frame.slice(0, 7))
      await call.write(frame.slice(7))
    }
    call.end()
  }

describe("a carried reply", () => {
  it("of chat keeps all that its vendor said, whole", async () => {
    const said = String.raw`{"id":"x","organization":"org-1","choices":[{"index":0,"message":{"role":"assistant","content":"A","annotations":[{"type":"url_citation"}],"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{\"x\": 1.10}"}}]},"finish_reason":"tool_calls","future":1.10}],"model":"m","usage":{"prompt_tokens":100,"completion_tokens":10,"total_tokens":110,"more":{"a":1}},"system_fingerprint":"fp"}`
    gateway().vendor.script((call) => {
      call.head(200, { "content-type": "application/json" })
      call.end(said)
    })
    const reply = await post(chat, hi("chat", { tools: [{ type: "function", function: { name: "f" } }] }))
    const { id } = parseObject(reply.text) ?? {}
    expect(reply.text).toBe(
      said.replace('"id":"x","organization":"org-1"', `"id":"${String(id)}"`).replace('"model":"m"', '"model":"chat"'),
    )
    expect(String(id)).toMatch(/^chatcmpl-/)
    expect(reply.cost).toBe("0.00045")
  })

  it("of messages streams the vendor's frames, the last of them after the settlement", async () => {
    const citation = { type: "citations_delta", citation: { type: "page_location", cited_text: "A", start: 1 } }
    const frames = [
      { type: "message_start", message: { ...message, usage: { ...message.usage, inference_geo: "global" } } },
      { type: "content_block_start", index: 0, content_block: { type: "text", text: "", citations: [] } },
      ...["A", "B", 'C"\\', "é"].map((text) => ({
        type: "content_block_delta",
        index: 0,
        delta: { type: "text_delta", text },
      })),
      { type: "ping" },
      { type: "content_block_delta", index: 0, delta: citation },
      { type: "content_block_stop", index: 0 },
      {
        type: "message_delta",
        delta: { stop_reason: "stop_sequence", stop_sequence: "X" },
        usage: { output_tokens: 4 },
      },
      { type: "message_stop" },
    ]
    gateway().vendor.script(writing(frames.map(anthropicFrame)))
    const { text } = await post("/anthropic/v1/messages", hi("cl", { max_tokens: 5, stream: true }))
    const got = framesOf(text)
    const [begin] = got
    expect(begin).toMatchObject({ message: { model: "cl", id: expect.stringMatching(/^msg_/) } })
    expect(got.map(({ x_svc: _charge, message: _message, ...rest }) => rest)).toEqual(
      frames.map(({ message: _message, ...rest }: JsonObject) => rest),
    )
    expect(got.at(-2)).toMatchObject({ x_svc: { cost: "0.00009", currency: "USD" } })
  })

  it("of chat streams with its usage where the client asked for it", async () => {
    const chunk = (more: object) =>
      openaiFrame({ id: "x", object: "chat.completion.chunk", created: 1, model: "m", ...more })
    const frames = [
      chunk({ choices: [{ index: 0, delta: { role: "assistant", content: "" }, finish_reason: null }], usage: null }),
      ...["A", "B", "C"].map((content) =>
        chunk({ choices: [{ index: 0, delta: { content }, finish_reason: null }], usage: null }),
      ),
      chunk({ choices: [{ index: 0, delta: { annotations: [{ a: 1 }] }, finish_reason: null }], usage: null }),
      chunk({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }], usage: null }),
      chunk({ choices: [], usage: { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110, more: 1 } }),
      "data: [DONE]\n\n",
    ]
    gateway().vendor.script(writing(frames))
    const told = await post(chat, hi("chat", { stream: true, stream_options: { include_usage: true } }))
    const got = framesOf(told.text)
    expect(got.map(({ choices }) => choices)).toEqual(framesOf(frames.join("")).map(({ choices }) => choices))
    expect(got.every(({ id, model }) => String(id).startsWith("chatcmpl-") && model === "chat")).toBe(true)
    expect(got.at(-1)).toMatchObject({ usage: { total_tokens: 110, more: 1 }, x_svc: { cost: "0.00045" } })
    expect(told.text.endsWith("data: [DONE]\n\n")).toBe(true)
    const untold = await post(chat, hi("chat", { stream: true }))
    expect(untold.text).not.toContain("usage")
    expect(framesOf(untold.text).at(-1)).toMatchObject({ x_svc: { cost: "0.00045" } })
  })

  // https://github.com/ARahim3/mlx-dspark/issues/37
  it("of chat has one usage where the vendor tells it beside an empty choice", async () => {
    const chunk = (more: object) =>
      openaiFrame({ id: "x", object: "chat.completion.chunk", created: 1, model: "m", ...more })
    const usage = { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 }
    gateway().vendor.script(
      writing([
        chunk({ choices: [{ index: 0, delta: { role: "assistant", content: "A" }, finish_reason: null }] }),
        chunk({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] }),
        chunk({ choices: [{ index: 0, delta: {} }], usage }),
        "data: [DONE]\n\n",
      ]),
    )
    const told = await post(chat, hi("chat", { stream: true, stream_options: { include_usage: true } }))
    expect(framesOf(told.text).filter((frame) => "usage" in frame)).toMatchObject([
      { usage, x_svc: { cost: "0.00045" } },
    ])
    const untold = await post(chat, hi("chat", { stream: true, stream_options: { include_usage: false } }))
    expect(untold.text).not.toContain("usage")
    expect(untold.text).toContain('"x_svc"')
  })

  it("of generateContent keeps grounding and ratings, as a stream and as an array", async () => {
    const part = (text: string, more: object = {}, rest: object = {}) =>
      openaiFrame({
        candidates: [{ content: { role: "model", parts: [{ text }] }, index: 0, safetyRatings: [{ p: 1 }], ...more }],
        usageMetadata: { promptTokenCount: 100, candidatesTokenCount: 10, trafficType: "ON_DEMAND" },
        modelVersion: "m",
        responseId: "r",
        ...rest,
      })
    const frames = [part("A"), part("B"), part("C", { finishReason: "STOP", groundingMetadata: { g: 1 } })]
    gateway().vendor.script(writing(frames))
    const body = JSON.stringify({ contents: [{ role: "user", parts: [{ text: "Hi" }] }] })
    const { text } = await post("/gemini/v1beta/models/gem:streamGenerateContent?alt=sse", body)
    const got = framesOf(text)
    expect(got.map(({ candidates }) => candidates)).toEqual(
      framesOf(frames.join("")).map(({ candidates }) => candidates),
    )
    expect(got.at(-1)).toMatchObject({
      modelVersion: "gem",
      usageMetadata: { trafficType: "ON_DEMAND" },
      x_svc: { cost: "0.00045" },
    })
    const list: unknown = JSON.parse((await post("/gemini/v1beta/models/gem:streamGenerateContent", body)).text)
    expect(list).toMatchObject(got.map(({ candidates }) => ({ candidates })))
  })

  it("is the gateway's own error where the vendor's stream fails", async () => {
    const frames = [
      anthropicFrame({ type: "message_start", message }),
      anthropicFrame({ type: "content_block_start", index: 0, content_block: { type: "text", text: "" } }),
      anthropicFrame({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "A" } }),
      anthropicFrame({ type: "error", error: { type: "overloaded_error", message: "secret words" } }),
    ]
    gateway().vendor.script(writing(frames))
    const { text } = await post("/anthropic/v1/messages", hi("cl", { max_tokens: 5, stream: true }))
    expect(text).toContain('"type":"error"')
    expect(text).not.toContain("secret words")
  })

  it("is translated where the vendor streams what was asked for whole", async () => {
    gateway().vendor.script(
      writing([
        openaiFrame({ choices: [{ index: 0, delta: { content: "A" }, finish_reason: null }] }),
        openaiFrame({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] }),
        "data: [DONE]\n\n",
      ]),
    )
    const { text } = await post(chat, hi("chat"))
    expect(parseObject(text)).toMatchObject({ object: "chat.completion", choices: [{ message: { content: "A" } }] })
  })

  it("is given again for the same idempotency key as it was", async () => {
    gateway().vendor.script(answer)
    const headers = { "idempotency-key": `01J${String(Date.now()).padStart(13, "0")}AAAAAAAAAA` }
    const first = await post(chat, hi("chat"), headers)
    const again = await post(chat, hi("chat"), headers)
    expect(first.status).toBe(200)
    expect(again.text).toBe(first.text.replace(/chatcmpl-[\w-]+/, /chatcmpl-[\w-]+/.exec(again.text)?.[0] ?? ""))
  })
})
