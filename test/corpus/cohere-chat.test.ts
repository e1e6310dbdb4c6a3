/** Recorded replies of Cohere's chat through its dialect, and the recorded requests asked again. */
import { Result } from "effect"
import { describe, expect, it } from "vitest"
import type { VendorEvent } from "../../src/dialects/chat-dialect.ts"
import type { ReplyContext } from "../../src/dialects/client/client-api.ts"
import { cohereChatApi } from "../../src/dialects/cohere/client.ts"
import { isObject, type JsonObject, objectAt, objectsAt, parseObject, stringAt } from "../../src/dialects/parse/json.ts"
import { checkCall } from "../../src/kinds/decode.ts"
import type { Message } from "../../src/protocol/block.ts"
import { ExchangeRequest } from "../../src/protocol/exchange.ts"
import { chatOf } from "../support/chat-of.ts"
import { meterOf, stopIn, usageIn } from "../support/recorded/meaning.ts"
import { recordingsOf } from "../support/recorded/recordings.ts"
import { decodeText, fold } from "../support/replay.ts"

const dialect = chatOf({ dialect: "cohere" })
const recordings = recordingsOf("cohere-chat")

const textsIn = (message: JsonObject | undefined, type: string, key: string): string =>
  objectsAt(message, "content")
    .filter((part) => part["type"] === type)
    .map((part) => stringAt(part, key) ?? "")
    .join("")

describe("replies", () => {
  it.for(recordings)("%s", ([, { response }]) => {
    const body = parseObject(response.body)
    const message = objectAt(body, "message")
    const { blocks, stop, usage, faults, done } = fold(dialect.decodeBody(response.body))
    expect([faults, done]).toEqual([[], true])
    const textOf = (kind: string) => blocks.map((block) => (block.t === kind && "v" in block ? block.v : "")).join("")
    expect(textOf("text")).toBe(textsIn(message, "text", "text"))
    expect(textOf("reasoning")).toBe((stringAt(message, "tool_plan") ?? "") + textsIn(message, "thinking", "thinking"))
    const calls = objectsAt(message, "tool_calls")
    expect(blocks.flatMap((block) => (block.t === "tool_call" ? [[block.id, block.name, block.input]] : []))).toEqual(
      calls.map((call) => [
        call["id"],
        objectAt(call, "function")?.["name"],
        JSON.parse(stringAt(objectAt(call, "function"), "arguments") ?? ""),
      ]),
    )
    const billed = objectAt(objectAt(body, "usage"), "billed_units")
    expect([usage?.inTokens, usage?.outTokens]).toEqual([billed?.["input_tokens"], billed?.["output_tokens"]])
    expect(stop).toBe(
      calls.length > 0 ? "tool_call" : body?.["finish_reason"] === "STOP_SEQUENCE" ? "stop_sequence" : "end",
    )
  })
})

describe("replies for Cohere's clients", () => {
  const context: ReplyContext = { requestId: "req_recorded", model: "main", createdS: 0, includesUsage: true }

  it.for(recordings)("%s means the same, whole and streamed", ([, { request, response }]) => {
    const asked = isObject(request?.body) ? cohereChatApi.decode(request.body, place) : undefined
    const echo = asked && Result.isSuccess(asked) ? asked.success.context.echo : undefined
    const events = dialect.decodeBody(response.body)
    const meant = fold(events)
    const { whole, stream } = replyFor({ ...context, echo }, events)
    for (const read of [fold(dialect.decodeBody(whole)), fold(decodeText(dialect, stream))]) {
      expect([read.blocks.map(untitled), read.stop, read.usage?.inTokens, read.usage?.outTokens]).toEqual([
        meant.blocks,
        meant.stop,
        meant.usage?.inTokens,
        meant.usage?.outTokens,
      ])
    }
  })

  it.for(recordings)("%s was asked for as an exchange", ([, { request }]) => {
    const sent = isObject(request?.body) ? cohereChatApi.decode(request.body, place) : undefined
    const exchange = sent && Result.isSuccess(sent) ? { ...sent.success.exchange, model: "main" } : {}
    expect(Result.isSuccess(checkCall(ExchangeRequest, exchange, null))).toBe(true)
  })
})

/** A source without a title is written under its id, because some clients need a title. */
const untitled = <B extends object>(block: B): object =>
  "citations" in block && Array.isArray(block.citations)
    ? { ...block, citations: block.citations.map(({ title: _, ...citation }) => citation) }
    : block

const place = { model: "", stream: false, isArray: false, counts: false }

const replyFor = (context: ReplyContext, events: ReadonlyArray<VendorEvent>) => {
  const encoder = cohereChatApi.events(context)
  const [stop, usage] = [stopIn(events) ?? "end", usageIn(events)]
  const blocks = [...meterOf(events).blocks()]
  const deltas = events.map((event) => (event.kind === "delta" ? encoder.delta(event.delta) : ""))
  const open = encoder.open({ requestId: context.requestId, model: "main", protocol: "twp/1" })
  return {
    whole: JSON.stringify(
      cohereChatApi.whole(context, { requestId: context.requestId, model: "main", blocks, stop, usage }),
    ),
    stream: [open, ...deltas, encoder.close({ stop, usage })].join(""),
  }
}

/** A recorded message in our words. */
const messageOf = (message: JsonObject): Message => {
  const content = message["content"]
  const parts = typeof content === "string" ? [{ t: "text" as const, v: content }] : []
  const role = stringAt(message, "role")
  if (role === "tool") {
    return { role, blocks: [{ t: "tool_result", id: String(message["tool_call_id"]), v: String(content) }] }
  }
  if (role === "system" || role === "user") return { role, blocks: parts }
  const thoughts = objectsAt(message, "content").flatMap((part) =>
    part["type"] === "thinking" ? [{ t: "reasoning" as const, v: stringAt(part, "thinking") ?? "" }] : [],
  )
  const said = textsIn(message, "text", "text")
  const calls = objectsAt(message, "tool_calls").map((call) => ({
    t: "tool_call" as const,
    id: String(call["id"]),
    name: String(objectAt(call, "function")?.["name"]),
    input: JSON.parse(stringAt(objectAt(call, "function"), "arguments") ?? "{}"),
  }))
  return {
    role: "assistant",
    blocks: [...thoughts, ...parts, ...(said === "" ? [] : [{ t: "text" as const, v: said }]), ...calls],
  }
}

describe("requests", () => {
  it.for(recordings)("%s", ([, { request }]) => {
    if (request === null || !isObject(request.body)) return
    const body = request.body
    const tools = objectsAt(body, "tools").map((tool) => {
      const named = objectAt(tool, "function")
      return {
        name: String(named?.["name"]),
        description: String(named?.["description"]),
        inputSchema: JSON.parse(JSON.stringify(named?.["parameters"])),
      }
    })
    const choice = stringAt(body, "tool_choice")
    const stops = Array.isArray(body["stop_sequences"]) ? body["stop_sequences"].map(String) : []
    const wire = dialect.encode({
      model: String(body["model"]),
      thread: objectsAt(body, "messages").map(messageOf),
      tools,
      toolChoice: choice === "NONE" ? "none" : choice === "REQUIRED" ? "required" : undefined,
      maxTokens: 1000,
      stop: stops,
      canReason: true,
      cache: { enabled: false, skipWrite: true },
      stream: false,
    })
    const { max_tokens: _ours, ...sent } = JSON.parse(Result.getOrThrow(wire).body)
    expect(sent).toEqual({ stream: false, ...body })
  })
})
