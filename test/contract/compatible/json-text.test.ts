/** JSON that is not the gateway's goes through it as its text: large integers, `1.10`, the order of members, white space. */
import { Schema } from "effect"
import { describe, expect, it } from "vitest"
import { ExchangeResponse } from "../../../src/protocol/exchange.ts"
import { JsonSource } from "../../../src/protocol/json/json-source.ts"
import { newTestIds, testCatalogue, type VendorScript } from "../../../src/testing/index.ts"
import { useGateway } from "../../support/gateway.ts"
import { openSocket } from "../../support/socket-client.ts"
import { ask, modelsAt, serving } from "./served.ts"

const ids = newTestIds()
const gateway = useGateway({
  ids,
  catalogue: (urls) =>
    serving(testCatalogue(urls, ids), {
      models: modelsAt(
        { chat: "openai", resp: "responses", cl: "anthropic", gem: "gemini" },
        "maxOutput: 1000, capabilities: [tools, images, files, reasoning, cache]",
        "claude-sonnet-4-5",
      ),
    }),
})

const post = (path: string, body: string, headers?: Readonly<Record<string, string>>) =>
  ask(gateway(), path, body, headers)
const sent = (): JsonSource => new JsonSource(gateway().vendor.calls.at(-1)?.sent ?? "{}")

const args = `{"id": 1234567890123456789, "2":1.10,"1":[]}`
const string = (text: string): string => JSON.stringify(text)
const json = { "content-type": "application/json" }

/** Answers a chat completion with one call. */
const calls: VendorScript = async ({ head, write, end }) => {
  head(200, json)
  await write(
    `{"choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"get","arguments":${string(args)}}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15}}`,
  )
  end()
}

const request = `{"model":"chat","thread":[{"role":"user","blocks":[{"t":"text","v":"x"}]}],"tools":[{"name":"get","inputSchema":{"type":"object","properties":{}}}]}`
const thread = (call: string) =>
  `[{"role":"user","blocks":[{"t":"text","v":"x"}]},{"role":"assistant","blocks":[${call}]},{"role":"tool","blocks":[{"t":"tool_result","id":"call_1","v":"1"}]}]`

describe("the arguments of a call", () => {
  it("reach a client of another API with their integers", async () => {
    gateway().vendor.script(calls)
    const tools = `"tools":[{"name":"get","input_schema":{"type":"object","properties":{}}}]`
    const { text } = await post(
      "/anthropic/v1/messages",
      `{"model":"chat","max_tokens":10,"messages":[{"role":"user","content":"x"}],${tools}}`,
    )
    expect(new JsonSource(text).textAt(["content", 0, "input"])).toBe(args)
  })

  it("are the input of a whole reply of twp/1, and its text where a reader would lose some", async () => {
    gateway().vendor.script(calls)
    const { text } = await post("/t1/exchange", request)
    expect(new JsonSource(text).textAt(["blocks", 0])).toBe(
      `{"t":"tool_call","id":"call_1","name":"get","input":${args},"json":${string(args)}}`,
    )
  })

  it("are the same in a reply that is repeated", async () => {
    gateway().vendor.script(calls)
    const key = { "idempotency-key": "text-1" }
    const body = `{"model":"chat","max_tokens":10,"messages":[{"role":"user","content":"x"}]}`
    const first = await post("/anthropic/v1/messages", body, key)
    const again = await post("/anthropic/v1/messages", body, key)
    expect(new JsonSource(again.text).textAt(["content", 0, "input"])).toBe(args)
    expect(JSON.parse(again.text).content).toEqual(JSON.parse(first.text).content)
  })

  it("come back from a client that lost some of them, and reach each vendor", async () => {
    gateway().vendor.script(calls)
    const { text } = await post("/t1/exchange", request)
    const { blocks } = Schema.decodeUnknownSync(ExchangeResponse)(JSON.parse(text))
    const call = string(JSON.parse(JSON.stringify(blocks))[0])
    expect(call).toContain("1234567890123456800")
    const places = {
      chat: ["messages", 1, "tool_calls", 0, "function", "arguments"],
      resp: ["input", 1, "arguments"],
      cl: ["messages", 1, "content", 0, "input"],
      gem: ["contents", 1, "parts", 0, "functionCall", "args"],
    }
    for (const [model, place] of Object.entries(places)) {
      await post("/t1/exchange", `{"model":"${model}","thread":${thread(call)}}`)
      const found = sent().textAt(place)
      expect({ model, args: found?.startsWith(`"`) ? JSON.parse(found) : found }).toEqual({ model, args })
    }
  })

  it("reach the vendor of a long request, and of one that comes over a socket", async () => {
    const { baseUrl, keyId, key } = gateway()
    const call = `{"t":"tool_call","id":"call_1","name":"get","input":${args}}`
    const place = ["messages", 1, "content", 0, "input"]
    const long = `"tools":[{"name":"get","description":"${"x".repeat(300_000)}","inputSchema":{ "type":"object" ,"properties":{}}}]`
    await post("/t1/exchange", `{"model":"cl","thread":${thread(call)},${long}}`)
    expect(sent().textAt(place)).toBe(args)
    expect(sent().textAt(["tools", 0, "input_schema"])).toBe(`{ "type":"object" ,"properties":{}}`)
    const socket = await openSocket(`${baseUrl}/t1/socket`, { "x-svc-key-id": keyId, "x-svc-key": key })
    const before = gateway().vendor.calls.length
    socket.ws.send(`{"id":"a","exchange":{"model":"cl","thread":${thread(call)}}}`)
    await socket.until(() => gateway().vendor.calls.length > before)
    expect(sent().textAt(place)).toBe(args)
    socket.ws.close()
  })
})

describe("the text of a call's input in a request", () => {
  const call = (input: string, text: string) =>
    `{"t":"tool_call","id":"call_1","name":"get","input":${input},"json":${string(text)}}`

  it.each<[string, string, string, string]>([
    ["no JSON", "{}", "{", "must be the text of a JSON object"],
    ["no object", "{}", "[]", "must be the text of a JSON object"],
    ["that of another input", `{"a":1}`, `{"a":2}`, "must be the text of input"],
    ["with a member twice", `{"a":2}`, `{"a":1,"a":2}`, "must name each member of an object once"],
    ["with an infinite number", `{"a":null}`, `{"a":1e400}`, "must not have a number beyond those of twp/1"],
    ["too deep", "{}", `{"a":${"[".repeat(70)}${"]".repeat(70)}}`, "must not be nested deeper than 64"],
  ])("is refused if it is %s", async (_what, input, text, message) => {
    const reply = await post("/t1/exchange", `{"model":"chat","thread":${thread(call(input, text))}}`)
    expect(reply.status).toBe(400)
    expect(JSON.parse(reply.text).error.detail.issues).toEqual([{ path: "thread.1.blocks.0.json", message }])
  })

  it("may have another order, other spaces and larger integers", async () => {
    const text = `{ "b":1.0, "a":12345678901234567890 }`
    await post("/t1/exchange", `{"model":"cl","thread":${thread(call(`{"a":12345678901234567000,"b":1}`, text))}}`)
    expect(sent().textAt(["messages", 1, "content", 0, "input"])).toBe(text)
  })
})

describe("a tool's result that is JSON", () => {
  it("is a text for Gemini, which would take `$ref` in an object for the name of a part", async () => {
    const result = `{"schema":{"$ref":"#/$defs/A"}}`
    await post(
      "/openai/v1/chat/completions",
      `{"model":"gem","messages":[{"role":"user","content":"x"},{"role":"assistant","tool_calls":[{"id":"call_1","type":"function","function":{"name":"get","arguments":"{}"}}]},{"role":"tool","tool_call_id":"call_1","content":${string(result)}}]}`,
    )
    const { contents } = JSON.parse(gateway().vendor.calls.at(-1)?.sent.toString("utf8") ?? "{}")
    expect(contents[2].parts).toEqual([
      { functionResponse: { id: "call_1", name: "get", response: { output: result } } },
    ])
  })

  it("that names an error is no failure there", async () => {
    const v = string(`{"error":"in the data"}`)
    const call = `{"t":"tool_call","id":"call_1","name":"get","input":{}}`
    await post("/t1/exchange", `{"model":"gem","thread":${thread(call).replace(`"v":"1"`, `"v":${v}`)}}`)
    expect(sent().textAt(["contents", 2, "parts", 0, "functionResponse", "response"])).toBe(`{"output":${v}}`)
  })
})

describe("a block of a vendor's own tools", () => {
  it("goes back to its vendor as it came", async () => {
    const made = `{ "type":"server_tool_use","id":"s1", "name":"web_search","input":{"q":1.10} }`
    const { text } = await post(
      "/t1/exchange",
      `{"model":"cl","thread":[{"role":"user","blocks":[{"t":"text","v":"x"}]},{"role":"assistant","blocks":[{"t":"vendor","dialect":"anthropic","v":${string(made)}},{"t":"text","v":"y"}]},{"role":"user","blocks":[{"t":"text","v":"z"}]}]}`,
    )
    expect(text).not.toContain("bad_request")
    expect(sent().textAt(["messages", 1, "content", 0])).toBe(made)
  })
})
