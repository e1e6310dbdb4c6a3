/** Breakpoints of a client of Anthropic's API, at each block and tool, reach vendors that support them there. */
import { Result, Schema } from "effect"
import { describe, expect, it } from "vitest"
import { decodeMessagesRequest } from "../../../src/dialects/anthropic/client-request.ts"
import type { VendorRequest } from "../../../src/dialects/chat-dialect.ts"
import { type JsonObject, objectAt, objectsAt, parseObject } from "../../../src/dialects/parse/json.ts"
import { promptOf } from "../../../src/kinds/chat/sent-prompt.ts"
import { ExchangeRequest } from "../../../src/protocol/exchange.ts"
import { isFunctionTool } from "../../../src/protocol/tool.ts"
import { chatOf } from "../../support/chat-of.ts"

const mark = { cache_control: { type: "ephemeral", ttl: "1h" } }
const png = { type: "base64", media_type: "image/png", data: "iVBORw0KGgo=" }
const pdf = { type: "base64", media_type: "application/pdf", data: "JVBERi0=" }
const tool = (more: object = {}) => ({ name: "f", input_schema: { type: "object", properties: {} }, ...more })
const user = (...content: ReadonlyArray<object>) => ({ role: "user", content })
const text = { type: "text", text: "Hi" }
const loop = (call: object, result: object) => ({
  tools: [tool()],
  messages: [
    user(text),
    { role: "assistant", content: [{ type: "tool_use", id: "t1", name: "f", input: {}, ...call }] },
    user({ type: "tool_result", tool_use_id: "t1", ...result }, text),
  ],
})

/** Each with a place for a mark: the marked part in Anthropic's format, and the part before the mark in Converse's. */
const bodies: ReadonlyArray<readonly [marked: string, converse: string, body: object]> = [
  ["input_schema", "toolSpec", { tools: [tool(mark)], messages: [user(text)] }],
  ["source", "image", { messages: [user({ type: "image", source: png, ...mark }, text)] }],
  ["source", "document", { messages: [user({ type: "document", source: pdf, ...mark }, text)] }],
  ["input", "toolUse", loop(mark, { content: "7" })],
  ["tool_use_id", "toolResult", loop({}, { content: "7", ...mark })],
  ["tool_use_id", "toolResult", loop({}, { content: [{ type: "image", source: png, ...mark }] })],
  ["tool_use_id", "toolResult", loop({}, { content: [{ ...text, ...mark }] })],
]

const requestOf = (body: object, model: string): VendorRequest => {
  const place = { model: "", stream: false, isArray: false, counts: false }
  const { exchange } = Result.getOrThrow(decodeMessagesRequest({ model: "m", max_tokens: 9, ...body }, place))
  const { thread, tools = [] } = promptOf(Schema.decodeUnknownSync(ExchangeRequest)(exchange))
  return {
    model,
    thread,
    tools: tools.filter(isFunctionTool),
    maxTokens: 9,
    stop: [],
    stream: false,
    canReason: false,
    cache: { enabled: true, skipWrite: true },
  }
}

const sent = (dialect: "anthropic" | "bedrock", request: VendorRequest): JsonObject => {
  const { body } = Result.getOrThrow(chatOf({ dialect }).encode(request))
  return parseObject(String(body)) ?? {}
}

/** All objects in a value, from the outermost inwards. */
const within = (value: unknown): ReadonlyArray<JsonObject> => {
  if (Array.isArray(value)) return value.flatMap(within)
  const object = objectsAt({ list: [value] }, "list")
  return object.flatMap((each) => [each, ...Object.values(each).flatMap(within)])
}

describe.each(bodies)("a mark of what has %s (%s)", (marked, converse, body) => {
  it("reaches Claude in one place", () => {
    const found = within(sent("anthropic", requestOf(body, "claude-opus-4-7"))).filter(
      (each) => "cache_control" in each,
    )
    expect(found).toHaveLength(1)
    expect(found[0]).toMatchObject({ [marked]: expect.anything(), ...mark })
  })

  it("reaches Converse behind it", () => {
    const told = sent("bedrock", requestOf(body, "anthropic.claude-opus-4-7"))
    const lists = [
      objectsAt(objectAt(told, "toolConfig"), "tools"),
      ...objectsAt(told, "messages").map((message) => objectsAt(message, "content")),
    ]
    const before = lists.flatMap((list) =>
      list.flatMap((_, at) => ("cachePoint" in (list[at + 1] ?? {}) ? list[at] : [])),
    )
    expect(before).toMatchObject([{ [converse]: expect.anything() }])
    expect(within(told).filter((each) => "cachePoint" in each)).toEqual([
      { cachePoint: { type: "default", ttl: "1h" } },
    ])
  })
})

it("no more marks than a vendor takes are sent, those of tools included", () => {
  const four = Array.from({ length: 4 }, () => ({ ...text, ...mark }))
  const body = { tools: [tool(mark)], messages: [user(...four)] }
  const claude = sent("anthropic", requestOf(body, "claude-opus-4-7"))
  expect(objectsAt(claude, "tools")[0]).not.toHaveProperty("cache_control")
  expect(within(claude).filter((each) => "cache_control" in each)).toHaveLength(4)
  const converse = sent("bedrock", requestOf(body, "anthropic.claude-opus-4-7"))
  expect(within(converse).filter((each) => "cachePoint" in each)).toHaveLength(4)
  expect(objectsAt(objectAt(converse, "toolConfig"), "tools")).toHaveLength(1)
})

const profile = "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc"
it.each(["amazon.nova-pro-v1:0", profile])("tools of %s have none, which is told", (model) => {
  const request = requestOf({ tools: [tool(mark)], messages: [user(text)] }, model)
  expect(within(sent("bedrock", request)).filter((each) => "cachePoint" in each)).toEqual([])
  expect(chatOf({ dialect: "bedrock" }).hasWords(request).marks).toBe("blocks")
})
