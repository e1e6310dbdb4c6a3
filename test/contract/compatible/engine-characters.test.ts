/** Engines get each text of a request once, in each API, and are paid for no more. */
import { Effect } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { answering, newTestIds, testCatalogue } from "../../../src/testing/index.ts"
import { type EnginesOfTest, startEngines } from "../../support/engines/kinds.ts"
import { useGateway } from "../../support/gateway.ts"
import { type Api, ask, modelsAt, paths, serving } from "./served.ts"

const ids = newTestIds()
let engines: EnginesOfTest
beforeAll(async () => {
  engines = await startEngines()
})
afterAll(() => engines.stop())

const gateway = useGateway({ ids })

const models = modelsAt(
  { chat: "openai", resp: "responses", cl: "anthropic", gem: "gemini" },
  "maxOutput: 10000, capabilities: [tools, reasoning]",
)
const apply = () => {
  const { vendor, second, catalogue } = gateway()
  const policy = {
    id: "guarded",
    direction: "inbound",
    reason: "flagged",
    match: engines.of("lakera").match(),
    price: { currency: "USD", perCall: "0.25" },
  }
  const urls = { vendor: vendor.url, second: second.url }
  const text = testCatalogue(urls, ids, `policies: ${JSON.stringify([policy])}`)
  return Effect.runPromise(catalogue.apply(serving(text, { models, org: "policies: [guarded]" })))
}

const characters = async () => {
  const { sql, orgId } = gateway()
  const rows = await Effect.runPromise(
    sql<{ dims: { readonly engine_characters?: number } }>`
      select dims from usage_records where org_id = ${orgId} and purpose = 'policy' order by at desc limit 1`,
  )
  return rows[0]?.dims.engine_characters
}

const send = async (api: Api, model: string, body: object) => {
  gateway().vendor.script(answering({ words: ["ok"], inTokens: 10, outTokens: 2 }))
  engines.of("lakera").twin.received.length = 0
  const reply = await ask(gateway(), paths[api](model), api === "generate" ? body : { model, ...body })
  expect(reply.status, reply.text).toBe(200)
  const sent = JSON.stringify(engines.of("lakera").twin.received)
  return { characters: await characters(), sent }
}

const apis = [
  ["chat", "chat"],
  ["responses", "resp"],
  ["messages", "cl"],
  ["generate", "gem"],
  ["t1", "chat"],
] as const

const schema = { type: "object", properties: { q: { type: "string", description: "The question" } }, required: ["q"] }
const input = { q: "weather in Zürich", n: 3 }
const words = "a word ".repeat(143).slice(0, 1000)

const plain: Readonly<Record<Api, object>> = {
  chat: { messages: [{ role: "user", content: words }] },
  responses: { input: words },
  messages: { max_tokens: 100, messages: [{ role: "user", content: words }] },
  generate: { contents: [{ role: "user", parts: [{ text: words }] }] },
  t1: { thread: [{ role: "user", blocks: [{ t: "text", v: words }] }] },
}

const withTools: Readonly<Record<Api, object>> = {
  chat: {
    messages: [
      { role: "system", content: "Be brief" },
      { role: "user", content: words },
      {
        role: "assistant",
        tool_calls: [{ id: "call_1", type: "function", function: { name: "ask", arguments: JSON.stringify(input) } }],
      },
      { role: "tool", tool_call_id: "call_1", content: "rain" },
      { role: "user", content: "and then" },
    ],
    tools: [{ type: "function", function: { name: "ask", description: "Asks", parameters: schema } }],
    reasoning_effort: "low",
  },
  responses: {
    instructions: "Be brief",
    input: [
      { role: "user", content: [{ type: "input_text", text: words }] },
      { type: "function_call", call_id: "call_1", name: "ask", arguments: JSON.stringify(input) },
      { type: "function_call_output", call_id: "call_1", output: "rain" },
      { role: "user", content: "and then" },
    ],
    tools: [{ type: "function", name: "ask", description: "Asks", parameters: schema }],
    reasoning: { effort: "low" },
  },
  messages: {
    max_tokens: 100,
    system: "Be brief",
    messages: [
      { role: "user", content: words },
      { role: "assistant", content: [{ type: "tool_use", id: "call_1", name: "ask", input }] },
      {
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: "call_1", content: "rain" },
          { type: "text", text: "and then" },
        ],
      },
    ],
    tools: [{ name: "ask", description: "Asks", input_schema: schema }],
  },
  generate: {
    systemInstruction: { parts: [{ text: "Be brief" }] },
    contents: [
      { role: "user", parts: [{ text: words }] },
      { role: "model", parts: [{ functionCall: { name: "ask", args: input } }] },
      { role: "user", parts: [{ functionResponse: { name: "ask", response: { output: "rain" } } }] },
      { role: "user", parts: [{ text: "and then" }] },
    ],
    tools: [{ functionDeclarations: [{ name: "ask", description: "Asks", parameters: schema }] }],
  },
  t1: {
    thread: [
      { role: "system", blocks: [{ t: "text", v: "Be brief" }] },
      { role: "user", blocks: [{ t: "text", v: words }] },
      { role: "assistant", blocks: [{ t: "tool_call", id: "call_1", name: "ask", input }] },
      { role: "tool", blocks: [{ t: "tool_result", id: "call_1", v: "rain" }] },
      { role: "user", blocks: [{ t: "text", v: "and then" }] },
    ],
    tools: [{ name: "ask", description: "Asks", inputSchema: schema }],
  },
}

describe.each(apis)("an engine of a request in %s", (api, model) => {
  it("gets a text once", async () => {
    await apply()
    expect((await send(api, model, plain[api])).characters).toBe(1000)
  })

  it("gets each text of a conversation with tools once, and no ids", async () => {
    await apply()
    const { characters, sent } = await send(api, model, withTools[api])
    const lines = [
      `ask Asks ${JSON.stringify(schema)}`,
      "Be brief",
      words,
      `ask ${JSON.stringify(input)}`,
      "rain",
      "and then",
    ]
    expect(characters).toBe([...lines.join("\n")].length)
    expect(sent).not.toContain("call_1")
  })
})

it("an engine gets a long request in pieces of the same size in each API", async () => {
  await apply()
  const long = "a word ".repeat(60_000)
  const counts = new Set<number | undefined>()
  for (const [api, model] of apis) {
    const body = JSON.parse(JSON.stringify(plain[api]).replace(words, long))
    counts.add((await send(api, model, body)).characters)
  }
  expect(counts.size).toBe(1)
})

it("an engine gets only the texts of a request of an agent", async () => {
  await apply()
  const { characters } = await send("messages", "cl", {
    max_tokens: 100,
    metadata: { user_id: "somebody" },
    messages: [
      { role: "user", content: [{ type: "text", text: words, cache_control: { type: "ephemeral", ttl: "1h" } }] },
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: "Well", signature: "c2lnbmVk" },
          { type: "text", text: "Hello" },
        ],
      },
      { role: "user", content: "more" },
    ],
    stop_sequences: ["halt"],
  })
  expect(characters).toBe(["somebody", "halt", words, "Well", "Hello", "more"].join("\n").length)
})

it.each([
  ["an escape in arguments", { arguments: String.raw`{"q":"par\u0074ly"}` }],
  ["a number with an exponent", { arguments: `{"q":4.111111111111111e15}` }],
])("an engine gets %s as a reader has it", async (_what, more) => {
  await apply()
  const { sent } = await send("chat", "chat", {
    messages: [
      { role: "user", content: "Hi" },
      { role: "assistant", tool_calls: [{ id: "a", type: "function", function: { name: "f", ...more } }] },
      { role: "tool", tool_call_id: "a", content: "b" },
    ],
    metadata: { by: "nobody" },
    stop: ["halt"],
    new_field: { inner: ["deep"] },
  })
  expect(sent).toMatch(/partly|4111111111111111/)
  for (const word of ["by", "nobody", "halt", "new_field", "inner", "deep"]) expect(sent).toContain(word)
})
