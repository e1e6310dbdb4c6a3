/** Requests that are kept unchanged: their prompt is read again if its first target fails, or reports no usage. */
import { Schema } from "effect"
import { beforeEach, describe, expect, it } from "vitest"
import { answering, newTestIds, testCatalogue } from "../../src/testing/index.ts"
import { lastUsage, useGateway } from "../support/gateway.ts"

const ids = newTestIds()
const gateway = useGateway({
  ids,
  catalogue: (urls) =>
    testCatalogue(urls, ids)
      .replaceAll(/maxOutput: 2000,/g, "maxOutput: 2000, contextWindow: 2000000,")
      .replace("- { handle: pool,", "- { handle: pool, capabilities: [tools],"),
})

/** 40 KB, with what an escape or a part of a letter would change. */
const long = `é\u2028"\\ ${"words of a river ".repeat(2400)}`
const schema = { type: "object", properties: { city: { type: "string" } } }
const input = { city: "Oslo" }

const twp = {
  thread: [
    { role: "system", blocks: [{ t: "text", v: "Be brief." }] },
    { role: "user", blocks: [{ t: "text", v: long }] },
    { role: "assistant", blocks: [{ t: "tool_call", id: "call_1", name: "weather", input }] },
    { role: "tool", blocks: [{ t: "tool_result", id: "call_1", v: "12 degrees" }] },
  ],
  tools: [{ name: "weather", description: "of a city", inputSchema: schema }],
}
const chat = {
  messages: [
    { role: "system", content: "Be brief." },
    { role: "user", content: long },
    {
      role: "assistant",
      tool_calls: [{ id: "call_1", type: "function", function: { name: "weather", arguments: JSON.stringify(input) } }],
    },
    { role: "tool", tool_call_id: "call_1", content: "12 degrees" },
  ],
  tools: [{ type: "function", function: { name: "weather", description: "of a city", parameters: schema } }],
}
const messages = {
  max_tokens: 100,
  system: "Be brief.",
  messages: [
    { role: "user", content: long },
    { role: "assistant", content: [{ type: "tool_use", id: "call_1", name: "weather", input }] },
    { role: "user", content: [{ type: "tool_result", tool_use_id: "call_1", content: "12 degrees" }] },
  ],
  tools: [{ name: "weather", description: "of a city", input_schema: schema }],
}
const responses = {
  store: false,
  instructions: "Be brief.",
  input: [
    { role: "user", content: long },
    { type: "function_call", call_id: "call_1", name: "weather", arguments: JSON.stringify(input) },
    { type: "function_call_output", call_id: "call_1", output: "12 degrees" },
  ],
  tools: [{ type: "function", name: "weather", description: "of a city", parameters: schema }],
}
const generate = {
  systemInstruction: { parts: [{ text: "Be brief." }] },
  contents: [
    { role: "user", parts: [{ text: long }] },
    { role: "model", parts: [{ functionCall: { name: "weather", args: input } }] },
    { role: "user", parts: [{ functionResponse: { name: "weather", response: { result: "12 degrees" } } }] },
  ],
  tools: [{ functionDeclarations: [{ name: "weather", description: "of a city", parameters: schema }] }],
}

const apis: ReadonlyArray<readonly [string, (model: string) => Promise<Response>]> = [
  ["twp/1", (model) => gateway().call("POST", "/t1/exchange", { model, ...twp })],
  ["chat completions", (model) => gateway().call("POST", "/openai/v1/chat/completions", { model, ...chat })],
  ["messages", (model) => gateway().call("POST", "/anthropic/v1/messages", { model, ...messages })],
  ["responses", (model) => gateway().call("POST", "/openai/v1/responses", { model, ...responses })],
  ["Gemini's", (model) => gateway().call("POST", `/gemini/v1beta/models/${model}:generateContent`, generate)],
]

const decodeCount = Schema.decodeUnknownSync(Schema.Struct({ input_tokens: Schema.Number }))

beforeEach(() => {
  const script = answering({ words: ["Hello"], inTokens: 10_000, outTokens: 20 })
  gateway().vendor.script(script)
  gateway().second.script(script)
})

describe.each(apis)("a long request of %s", (_, ask) => {
  it("reaches the next vendor as it reached the first", async () => {
    gateway().vendor.script((call) => {
      call.head(503, { "content-type": "application/json" })
      call.end("{}")
    })
    expect((await ask("pool")).status).toBe(200)
    const [first, second] = [gateway().vendor, gateway().second].map(({ calls }) => calls.at(-1)?.body)
    expect(JSON.stringify(second)).toContain(JSON.stringify(long).slice(1, -1))
    expect({ ...second, model: "" }).toEqual({ ...first, model: "" })
  })

  it("is counted where the vendor reports nothing, as it is where it is counted beforehand", async () => {
    gateway().vendor.script((call) => {
      call.head(200, { "content-type": "application/json" })
      const message = { role: "assistant", content: "Hi" }
      call.end(JSON.stringify({ choices: [{ index: 0, message, finish_reason: "stop" }] }))
    })
    const reply = await ask("main")
    expect(reply.status).toBe(200)
    await reply.text()
    const counted = await gateway().call("POST", "/anthropic/v1/messages/count_tokens", { model: "main", ...messages })
    const { input_tokens } = decodeCount(await counted.json())
    const told = await lastUsage(gateway())
    expect(Math.abs(Number(told?.in_tokens) - input_tokens)).toBeLessThan(20)
  })
})
