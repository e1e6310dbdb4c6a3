/** Tool calls as vendors that speak chat completions stream them. */
import { describe, expect, it } from "vitest"
import { malformed, type VendorEvent } from "../../../src/dialects/chat-dialect.ts"
import { openaiFrame } from "../../../src/testing/vendor-replies.ts"
import { chatOf } from "../../support/chat-of.ts"
import { decodeText, fold } from "../../support/replay.ts"

const chat = chatOf({ dialect: "openai-chat" })
const chunk = (delta: object, more: object = {}) => openaiFrame({ choices: [{ index: 0, delta, ...more }] })
const calls = (...tool_calls: ReadonlyArray<object>) => chunk({ tool_calls })
const end = (reason = "tool_calls") => chunk({}, { finish_reason: reason }) + openaiFrame("[DONE]")
const events = (...frames: ReadonlyArray<string>) => decodeText(chat, frames.join("") + end())
const read = (...frames: ReadonlyArray<string>) => fold(events(...frames))
const get = (args: string) => ({ name: "get", arguments: args })

const two = [
  { t: "tool_call", id: "a1", name: "get", input: { id: "1" } },
  { t: "tool_call", id: "a2", name: "get", input: { id: "2" } },
]

describe("parallel calls are told apart", () => {
  it.each<[string, ReadonlyArray<string>]>([
    [
      "where all have one index",
      [
        calls({ index: 0, id: "a1", function: get(`{"id":"1"}`) }),
        calls({ index: 0, id: "a2", function: get(`{"id":"2"}`) }),
      ],
    ],
    [
      "where none has an index",
      [calls({ id: "a1", function: get(`{"id":"1"}`) }), calls({ id: "a2", function: get(`{"id":"2"}`) })],
    ],
    [
      "where only their heads have an id",
      [
        calls({ index: 0, id: "a1", function: get("") }),
        calls({ index: 0, function: { arguments: `{"id":"1"}` } }),
        calls({ index: 0, id: "a2", function: get("") }),
        calls({ index: 0, function: { arguments: `{"id":"2"}` } }),
      ],
    ],
    [
      "where all heads come first",
      [
        calls({ index: 0, id: "a1", function: get("") }, { index: 1, id: "a2", function: get("") }),
        calls({ index: 0, function: { arguments: `{"id":"1` } }, { index: 1, function: { arguments: `{"id":"2` } }),
        calls({ index: 0, function: { arguments: `"}` } }, { index: 1, function: { arguments: `"}` } }),
      ],
    ],
    [
      "where one chunk has both, without an index",
      [calls({ id: "a1", function: get(`{"id":"1"}`) }, { id: "a2", function: get(`{"id":"2"}`) })],
    ],
  ])("%s", (_what, frames) => {
    const told = events(...frames)
    expect(fold(told)).toMatchObject({ blocks: two, stop: "tool_call" })
    // No delta goes back to a block that has ended.
    const blocks = told.flatMap((event) => (event.kind === "delta" ? [event.delta.i] : []))
    expect(blocks).toEqual([...blocks].sort())
  })

  it("not where each piece has an id of its own", () => {
    const { blocks } = read(
      calls({ index: 0, id: "a1", function: get(`{"id":`) }),
      calls({ index: 0, id: "zz", function: { arguments: `"1"}` } }),
    )
    expect(blocks).toEqual([two[0]])
  })
})

describe("a call of many pieces", () => {
  const text = (index: number, custom: object) => calls({ index, type: "custom", id: `c${index}`, custom })

  it("costs as much for each piece as for the first, also while another one waits", () => {
    const time = (count: number) => {
      const decoder = chat.decoder()
      const head = calls({ index: 0, id: "a1", function: get(`{"id":"`) }, { index: 1, id: "a2", function: get("{}") })
      decoder.push(Buffer.from(head))
      const piece = Buffer.from(calls({ index: 0, function: { arguments: "x".repeat(100) } }))
      const began = performance.now()
      for (let at = 0; at < count; at++) decoder.push(piece)
      return performance.now() - began
    }
    time(1000)
    // Sixteen times as many take more than a hundred times as long where each piece reads all that came before.
    expect(time(16_000)).toBeLessThan(50 * Math.max(time(1000), 100))
  })

  it("keeps all of a text, where the heads of calls come first", () => {
    const { blocks } = read(
      text(0, { name: "patch", input: "" }) + text(1, { name: "patch", input: "" }),
      text(0, { input: "a" }) + text(1, { input: "x" }),
      text(0, { input: "b" }) + text(1, { input: "y" }),
    )
    expect(blocks).toMatchObject([
      { t: "tool_call", id: "c0", text: "ab" },
      { t: "tool_call", id: "c1", text: "xy" },
    ])
  })
})

describe("a call that waits", () => {
  const waiting = calls({ index: 0, id: "a1", function: get(`{"x":`) }, { index: 1, id: "a2", function: get("{}") })
  const argumentsOf = (told: ReadonlyArray<VendorEvent>, block: number) =>
    told
      .map((event) => (event.kind === "delta" && event.delta.t === "tool_call" ? event.delta : undefined))
      .map((delta) => (delta?.i === block ? delta.args : ""))
      .join("")

  it.each([
    ["no reason to end is told", openaiFrame("[DONE]")],
    ["the connection ends", ""],
  ])("is told where %s", (_what, ending) => {
    const told = decodeText(chat, waiting + ending)
    expect([argumentsOf(told, 0), argumentsOf(told, 1)]).toEqual([`{"x":`, "{}"])
  })

  it("has no more arguments once they are whole, and the next one has begun", () => {
    const late = (args: string) => calls({ index: 0, function: { arguments: args } })
    const whole = calls({ index: 0, id: "a1", function: get("{}") }, { index: 1, id: "a2", function: get("{}") })
    expect(events(whole, late(" \n"))).not.toContainEqual(malformed)
    expect(events(whole, late("}"))).toContainEqual(malformed)
  })
})

describe("a call", () => {
  it("has its name and its arguments wherever they come", () => {
    const name = calls({ index: 0, id: "a1", function: { arguments: `{"id"` } })
    const rest = calls({ index: 0, function: { name: "get", arguments: `:"1"}` } })
    expect(read(name, rest).blocks).toEqual([two[0]])
    expect(read(calls({ index: 0, id: "a1", function: { name: "get", arguments: { id: "1" } } })).blocks).toEqual([
      two[0],
    ])
  })

  it("is why a reply ended, whatever the vendor says", () => {
    const called = calls({ index: 0, id: "a1", function: get("{}") })
    expect(fold(decodeText(chat, called + end("stop"))).stop).toBe("tool_call")
    expect(fold(decodeText(chat, called + end("length"))).stop).toBe("max_tokens")
    const whole = (message: object, reason: string) =>
      fold(chat.decodeBody(JSON.stringify({ choices: [{ index: 0, message, finish_reason: reason }] }))).stop
    const message = { role: "assistant", tool_calls: [{ id: "a1", type: "function", function: get("{}") }] }
    expect(whole(message, "stop")).toBe("tool_call")
    expect(whole({ role: "assistant", content: "Hi" }, "tool_calls")).toBe("end")
  })
})

describe("a block", () => {
  it("ends where content of another kind begins", () => {
    const { blocks } = read(
      chunk({ reasoning_content: "r1" }),
      chunk({ content: "t1" }),
      chunk({ reasoning_content: "r2" }),
      chunk({ content: "t2" }),
      calls({ index: 0, id: "a1", function: get(`{"id":"1"}`) }),
      chunk({ content: "t3" }),
    )
    expect(blocks).toMatchObject([
      { t: "reasoning", v: "r1" },
      { t: "text", v: "t1" },
      { t: "reasoning", v: "r2" },
      { t: "text", v: "t2" },
      two[0],
      { t: "text", v: "t3" },
    ])
  })
})

it("the stop sequence that matched is told, as vLLM tells it", () => {
  const told = decodeText(chat, chunk({ content: "A" }) + chunk({}, { finish_reason: "stop", stop_reason: "END" }))
  expect(told).toContainEqual({ kind: "stop", stop: "stop_sequence", sequence: "END" })
})
