/** JSON that others wrote, where its text needs care: blocks of vendors' tools, arguments in pieces, odd arguments. */
import { describe, expect, it } from "vitest"
import type { VendorEvent } from "../../../src/dialects/chat-dialect.ts"
import type { EventEncoder, ReplyContext } from "../../../src/dialects/client/client-api.ts"
import { clientApis } from "../../../src/dialects/client/client-apis.ts"
import { messagesOf } from "../../../src/dialects/openai-responses/socket.ts"
import { JsonSource } from "../../../src/protocol/json/json-source.ts"
import { writeJson } from "../../../src/protocol/json/json-text.ts"
import { chatOf } from "../../support/chat-of.ts"
import { meterOf, usageIn } from "../../support/recorded/meaning.ts"

const context: ReplyContext = { requestId: "req_1", model: "main", createdS: 0, includesUsage: false }
const big = `{ "n":12345678901234567890,\n "2":1.10,"1":"\\u00e9" }`
const sse = (...frames: ReadonlyArray<string>) =>
  frames.map((frame) => `data: ${frame.replaceAll("\n", "\ndata: ")}\n\n`).join("")
const streamed = (
  dialect: "anthropic" | "gemini" | "openai-responses" | "openai-chat",
  ...frames: ReadonlyArray<string>
) =>
  chatOf({ dialect })
    .decoder()
    .push(Buffer.from(sse(...frames)))
const written = (encoder: EventEncoder, events: ReadonlyArray<VendorEvent>): string =>
  events.map((event) => (event.kind === "delta" ? encoder.delta(event.delta) : "")).join("") +
  encoder.close({ stop: "end", usage: usageIn(events) })
const replyOf = (events: ReadonlyArray<VendorEvent>) => ({
  requestId: "req_1",
  model: "main",
  blocks: meterOf(events).blocks(),
  stop: "end" as const,
  usage: usageIn(events),
})

describe("a block of Anthropic's own tools", () => {
  const made = `{"type":"server_tool_use", "id":"s1","name":"web_search","input":${big}}`

  it("is the same, whole", () => {
    const events = chatOf({ dialect: "anthropic" }).decodeBody(`{"content":[${made}],"stop_reason":"end_turn"}`)
    const text = writeJson(clientApis.anthropic.whole(context, replyOf(events)))
    expect(new JsonSource(text).textAt(["content", 0])).toBe(made)
  })

  it("has its input as it was streamed", () => {
    const events = streamed(
      "anthropic",
      `{"type":"content_block_start","index":0,"content_block":{"type":"server_tool_use", "id":"s1","name":"web_search","input":{}}}`,
      `{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":${JSON.stringify(big)}}}`,
      `{"type":"content_block_stop","index":0}`,
    )
    expect(meterOf(events).blocks()).toEqual([{ t: "vendor", dialect: "anthropic", v: made }])
    const text = written(clientApis.anthropic.events(context), events)
    expect(text).toContain(made.replace(big, "{}"))
    expect(text).toContain(JSON.stringify(big))
  })
})

describe("an item of OpenAI's own tools", () => {
  const made = `{"type":"web_search_call", "id":"ws_1","action":${big}}`
  const done = `{"type":"response.output_item.done","output_index":0,"item":${made}}`

  it("is the same, whole and streamed", () => {
    const whole = chatOf({ dialect: "openai-responses" }).decodeBody(`{"status":"completed","output":[${made}]}`)
    const text = writeJson(clientApis["openai-responses"].whole(context, replyOf(whole)))
    expect(new JsonSource(text).textAt(["output", 0])).toBe(made)
    const frames = messagesOf(
      written(clientApis["openai-responses"].events(context), streamed("openai-responses", done)),
    )
    const ends = frames.filter((frame) => JSON.parse(frame).type === "response.output_item.done")
    expect(ends.map((frame) => new JsonSource(frame).textAt(["item"]))).toEqual([made])
  })
})

describe("a part of Gemini's own tools", () => {
  const made = `{"executableCode" : {"language":"PYTHON","code":"1","x":${big}}}`

  it("is the same, whole and streamed", () => {
    const reply = `{"candidates":[{"content":{"parts":[${made}]},"finishReason":"STOP"}]}`
    const whole = chatOf({ dialect: "gemini" }).decodeBody(reply)
    const text = writeJson(clientApis.gemini.whole(context, replyOf(whole)))
    expect(new JsonSource(text).textAt(["candidates", 0, "content", "parts", 0])).toBe(made)
    const stream = written(clientApis.gemini.events(context), streamed("gemini", reply))
    expect(stream).toContain(made.replaceAll("\n", "\ndata: "))
  })

  it("keeps the numbers and the order of arguments that come in pieces", () => {
    const call = (more: string) => `{"candidates":[{"content":{"parts":[{"functionCall":{${more}}}]}}]}`
    const events = streamed(
      "gemini",
      call(`"name":"f","id":"c1","willContinue":true`),
      call(`"partialArgs":[{"jsonPath":"$.2","numberValue":12345678901234567890}],"willContinue":true`),
      call(`"partialArgs":[{"jsonPath":"$.1","numberValue":1.10}]`),
    )
    expect(meterOf(events).keptText()).toBe(`f{"2":12345678901234567890,"1":1.10}`)
  })
})

describe("arguments", () => {
  const called = (args: string) =>
    chatOf({ dialect: "openai-chat" }).decodeBody(
      JSON.stringify({
        choices: [{ index: 0, message: { tool_calls: [{ id: "c", function: { name: "f", arguments: args } }] } }],
      }),
    )
  const inputFor = (args: string): string | undefined =>
    new JsonSource(writeJson(clientApis.anthropic.whole(context, replyOf(called(args))))).textAt([
      "content",
      0,
      "input",
    ])

  it.each([
    ["that are no JSON", "nonsense"],
    ["with a number that is not finite", `{"a":1e400}`],
    ["that are nested too deeply", `{"a":${"[".repeat(60)}${"]".repeat(60)}}`],
  ])("%s are kept as text", (_what, args) => {
    expect(meterOf(called(args)).blocks()).toEqual([{ t: "tool_call", id: "c", name: "f", input: { $raw: args } }])
    expect(inputFor(args)).toBe(JSON.stringify({ $raw: args }))
  })

  it.each([
    ["with a member twice are those that the last one gives", `{"a":1,"a":2.0}`, `{"a":2}`],
    ["with half a character have its escape", `{ "a":"\ud800" }`, `{ "a":"\\ud800" }`],
    ["of white space are none", " \n", "{}"],
    ["with a member of the name toJSON are themselves", `{ "toJSON":1.0 }`, `{ "toJSON":1.0 }`],
  ])("%s", (_what, args, input) => {
    expect(inputFor(args)).toBe(input)
  })
})
