/** Calls without arguments: their streams end as whole replies do, with an empty object that clients can parse. */
import { describe, expect, it } from "vitest"
import type { VendorEvent } from "../../../src/dialects/chat-dialect.ts"
import { clientApis } from "../../../src/dialects/client/client-apis.ts"
import { objectAt, objectsAt, parseObject, stringAt } from "../../../src/dialects/parse/json.ts"
import { chatOf } from "../../support/chat-of.ts"

const context = { requestId: "req_1", model: "main", createdS: 0, includesUsage: false }
const usage = {
  inTokens: 1,
  outTokens: 1,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  estimated: false,
  cost: "0",
  cacheNetSaving: "0",
  balance: "0",
  currency: "EUR",
}

const framesOf = (api: "openai-chat" | "openai-responses", events: ReadonlyArray<VendorEvent>) => {
  const encoder = clientApis[api].events(context)
  const text = [
    ...events.map((event) => (event.kind === "delta" ? encoder.delta(event.delta) : "")),
    encoder.close({ stop: "tool_call", usage }),
  ].join("")
  return text.split("\n").flatMap((line) => {
    const frame = parseObject(line.replace(/^data: /, ""))
    return frame === undefined ? [] : [frame]
  })
}

/** The arguments of each call, as a chat client joins them. */
const chatArguments = (events: ReadonlyArray<VendorEvent>): ReadonlyArray<string> => {
  const joined: Array<string> = []
  for (const frame of framesOf("openai-chat", events)) {
    for (const call of objectsAt(objectAt(objectsAt(frame, "choices")[0], "delta"), "tool_calls")) {
      const index = Number(call["index"])
      joined[index] = (joined[index] ?? "") + (stringAt(objectAt(call, "function"), "arguments") ?? "")
    }
  }
  return joined
}

/** The arguments of each call in an API of responses: joined, in their last event, in the item, and in the response. */
const responsesArguments = (events: ReadonlyArray<VendorEvent>) => {
  const frames = framesOf("openai-responses", events)
  const of = (type: string) => frames.filter((frame) => frame["type"] === type)
  const joined: Array<string> = []
  for (const frame of of("response.function_call_arguments.delta")) {
    const index = Number(frame["output_index"])
    joined[index] = (joined[index] ?? "") + String(frame["delta"])
  }
  return {
    joined,
    done: of("response.function_call_arguments.done").map((frame) => frame["arguments"]),
    items: of("response.output_item.done").map((frame) => objectAt(frame, "item")?.["arguments"]),
    response: objectsAt(objectAt(of("response.completed")[0], "response"), "output").map((item) => item["arguments"]),
  }
}

const sse = (...frames: ReadonlyArray<object>) => frames.map((frame) => `data: ${JSON.stringify(frame)}\n\n`).join("")
const chatCall = (index: number, args: string, head?: { readonly id: string; readonly name: string }) => ({
  choices: [
    {
      index: 0,
      delta: {
        tool_calls: [
          {
            index,
            ...(head && { id: head.id, type: "function" }),
            function: { ...(head && { name: head.name }), arguments: args },
          },
        ],
      },
    },
  ],
})

const vendors = {
  anthropic: sse(
    { type: "content_block_start", index: 0, content_block: { type: "tool_use", id: "a", name: "now", input: {} } },
    { type: "content_block_delta", index: 0, delta: { type: "input_json_delta", partial_json: "" } },
    { type: "content_block_stop", index: 0 },
  ),
  gemini: sse({ candidates: [{ content: { parts: [{ functionCall: { id: "a", name: "now" } }] } }] }),
  "openai-chat": sse(chatCall(0, "", { id: "a", name: "now" })),
  "openai-responses": sse({
    type: "response.output_item.added",
    output_index: 0,
    item: { type: "function_call", call_id: "a", name: "now", arguments: "" },
  }),
  cohere: sse({
    type: "tool-call-start",
    index: 0,
    delta: { message: { tool_calls: { id: "a", function: { name: "now", arguments: "" } } } },
  }),
} as const

describe.each(Object.entries(vendors))("a streamed call without arguments of %s", (name, text) => {
  const dialect = Object.keys(vendors).find((each): each is keyof typeof vendors => each === name) ?? "anthropic"
  const events = chatOf({ dialect }).decoder().push(Buffer.from(text))

  it("ends as an empty object for clients of chat completions", () => {
    expect(chatArguments(events)).toEqual(["{}"])
  })

  it("ends as an empty object for clients of responses", () => {
    const all = { joined: ["{}"], done: ["{}"], items: ["{}"], response: ["{}"] }
    expect(responsesArguments(events)).toEqual(all)
  })
})

describe("calls that begin before the first one has its arguments", () => {
  const text = sse(
    chatCall(0, "", { id: "a", name: "one" }),
    chatCall(1, "", { id: "b", name: "two" }),
    chatCall(0, '{"n":1}'),
    chatCall(1, ""),
  )
  const events = chatOf({ dialect: "openai-chat" }).decoder().push(Buffer.from(text))

  it("keep their own arguments", () => {
    const own = ['{"n":1}', "{}"]
    expect(chatArguments(events)).toEqual(own)
    expect(responsesArguments(events)).toEqual({ joined: own, done: own, items: own, response: own })
  })
})
