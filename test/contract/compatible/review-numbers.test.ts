/** Policies read numbers and names of members of JSON, in each API. */
import { describe, expect, it } from "vitest"
import { answering, newTestIds, testCatalogue } from "../../../src/testing/index.ts"
import { useGateway } from "../../support/gateway.ts"
import { ask, modelsAt, serving } from "./served.ts"

const ids = newTestIds()
const policies = `
policies:
  - { id: cards, direction: inbound, match: { entities: [card] }, reason: card }
  - { id: names, direction: inbound, match: { keywords: [forbidden] }, reason: bad_word }
`
const gateway = useGateway({
  ids,
  catalogue: (urls) =>
    serving(testCatalogue(urls, ids, policies), {
      models: modelsAt(
        { chat: "openai", resp: "responses", cl: "anthropic", gem: "gemini" },
        "maxOutput: 10000, capabilities: [tools, reasoning]",
      ),
      org: "policies: [cards, names]",
    }),
})

/** A card with more digits than a reader of JSON keeps. */
const long = "4123456789012345685"
const card = "4111111111111111"
const generate = "/gemini/v1beta/models/gem:generateContent"
const schema = (more: string) => `{"type":"object","properties":{"a":{"type":"number"${more}}}}`

/** @param args JSON of an object */
const withArguments: ReadonlyArray<readonly [api: string, path: string, body: (args: string) => string]> = [
  [
    "chat",
    "/openai/v1/chat/completions",
    (args) =>
      `{"model":"chat","messages":[{"role":"user","content":"Hi"},{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":${JSON.stringify(args)}}}]},{"role":"tool","tool_call_id":"a","content":"b"}]}`,
  ],
  [
    "responses",
    "/openai/v1/responses",
    (args) =>
      `{"model":"resp","input":[{"role":"user","content":"Hi"},{"type":"function_call","call_id":"a","name":"f","arguments":${JSON.stringify(args)}},{"type":"function_call_output","call_id":"a","output":"b"}]}`,
  ],
  [
    "messages",
    "/anthropic/v1/messages",
    (args) =>
      `{"model":"cl","max_tokens":100,"messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":${args}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"b"}]}]}`,
  ],
  [
    "generate",
    generate,
    (args) =>
      `{"contents":[{"role":"user","parts":[{"text":"Hi"}]},{"role":"model","parts":[{"functionCall":{"name":"f","args":${args}}}]},{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"a":"b"}}}]}]}`,
  ],
  [
    "t1",
    "/t1/exchange",
    (args) =>
      `{"model":"chat","thread":[{"role":"user","blocks":[{"t":"text","v":"Hi"}]},{"role":"assistant","blocks":[{"t":"tool_call","id":"a","name":"f","input":${args}}]},{"role":"tool","blocks":[{"t":"tool_result","id":"a","v":"b"}]}]}`,
  ],
]

const isDenied = async (path: string, body: string) => {
  gateway().vendor.script(answering({ words: ["ok"], inTokens: 10, outTokens: 20 }))
  const { status, text } = await ask(gateway(), path, body)
  expect([200, 403]).toContain(status)
  return text.includes("policy denied")
}

describe.each(withArguments)("arguments in %s", (_api, path, body) => {
  it.each([
    ["a number", `{"a":${card}}`],
    ["a number in a list", `{"a":[1,{"b":[${card}]}]}`],
    ["a number with an exponent", `{"a":4.111111111111111e15}`],
    ["a long number", `{"a":${long}}`],
    ["a name", `{"forbidden":1}`],
    ["a name with an escape", String.raw`{"forb\u0069dden":1}`],
    ["a name in a list", `{"a":[{"b":{"forbidden":1}}]}`],
  ])("%s is found", async (_what, args) => {
    expect(await isDenied(path, body(args))).toBe(true)
  })

  it("others go on", async () => {
    expect(await isDenied(path, body(`{"a":4111111111111112,"b":[1,2.5e3]}`))).toBe(false)
  })
})

describe("beside arguments", () => {
  it.each([
    [
      "a number in an answer of Gemini's tool",
      generate,
      `{"contents":[{"role":"user","parts":[{"text":"Hi"}]},{"role":"model","parts":[{"functionCall":{"name":"f","args":{}}}]},{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"a":${long}}}}]}]}`,
    ],
    ["a number in metadata", "/openai/v1/responses", `{"model":"resp","input":"Hi","metadata":{"a":${card}}}`],
    [
      "a number in a schema of Anthropic's",
      "/anthropic/v1/messages",
      `{"model":"cl","max_tokens":100,"messages":[{"role":"user","content":"Hi"}],"tools":[{"name":"f","input_schema":${schema(`,"default":${long}`)}}]}`,
    ],
    [
      "a name in a schema of a chat",
      "/openai/v1/chat/completions",
      `{"model":"chat","messages":[{"role":"user","content":"Hi"}],"tools":[{"type":"function","function":{"name":"f","parameters":${schema("").replace(`"a"`, String.raw`"\u0066orbidden"`)}}}]}`,
    ],
    [
      "a name in a schema of twp/1",
      "/t1/exchange",
      `{"model":"chat","thread":[{"role":"user","blocks":[{"t":"text","v":"Hi"}]}],"tools":[{"name":"f","inputSchema":${schema("").replace(`"a"`, `"forbidden"`)}}]}`,
    ],
    [
      "a number in a schema of twp/1",
      "/t1/exchange",
      `{"model":"chat","thread":[{"role":"user","blocks":[{"t":"text","v":"Hi"}]}],"tools":[{"name":"f","inputSchema":${schema(`,"const":${long}`)}}]}`,
    ],
  ])("%s is found", async (_what, path, body) => {
    gateway().vendor.script(answering({ words: ["ok"], inTokens: 10, outTokens: 20 }))
    expect((await ask(gateway(), path, body)).text).toContain("policy denied")
  })
})
