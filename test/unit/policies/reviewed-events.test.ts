/** Streams under policies, frame by frame: in each place of a vendor's frames, and with other text between. */
import { Result } from "effect"
import { describe, expect, it } from "vitest"
import type { ClientApiName } from "../../../src/dialects/carry/carried-request.ts"
import type { ClientApi } from "../../../src/dialects/client/client-api.ts"
import { clientApis } from "../../../src/dialects/client/client-apis.ts"
import { chatDialects } from "../../../src/dialects/index.ts"
import { stringAt } from "../../../src/dialects/parse/json.ts"
import { EventWriter } from "../../../src/kinds/chat/event-writer.ts"
import { Marks, markKey } from "../../../src/policies/masks/marks.ts"
import { compilePolicy } from "../../../src/policies/policy.ts"
import { ReplyReview } from "../../../src/policies/reply/reply-review.ts"
import { ReviewedEvents } from "../../../src/policies/reply/reviewed-events.ts"
import type { Policy } from "../../../src/protocol/catalogue/policy.ts"
import { type Case, call, cases, choice, chunk, type Frame, item, parts, response, say } from "./streamed-places.ts"

const compiled = (policy: Omit<Policy, "direction" | "reason">) =>
  Result.getOrThrow(compilePolicy({ direction: "outbound", reason: "leak", ...policy }, () => undefined))
const policies = [
  compiled({ id: "words", match: { keywords: ["kumquat"] }, streams: "enforce" }),
  compiled({ id: "mails", match: { entities: ["email"] }, action: "mask" }),
]
const marks = new Marks(markKey(undefined, "org"))
const value = 'Ann "the\\boss"'
const restored = new Marks(markKey(undefined, "org"))
const mark = restored.of("NAME", value)

/** @param client that gets the vendor's frames, or their translation */
const stream = (dialect: ClientApiName, frames: ReadonlyArray<Frame>, client: ClientApi, puts = false) => {
  const decoder = chatDialects[dialect].decoder(client === clientApis[dialect])
  const options = { restored: puts ? restored : undefined, marks: () => marks, onDenied: () => {} }
  const review = new ReplyReview({ policies: puts ? [] : policies, ...options })
  const context = { requestId: "r", model: "main", createdS: 1, includesUsage: true }
  const reviewed = new ReviewedEvents(client.events(context), review)
  const text = frames.map((frame) => {
    const type = stringAt(frame, "type")
    return `${type === undefined ? "" : `event: ${type}\n`}data: ${JSON.stringify(frame)}\n\n`
  })
  const events = [...decoder.push(Buffer.from(text.join(""))), ...decoder.end()]
  const isCarried = events.some(({ kind }) => kind === "frame")
  let out = isCarried ? "" : reviewed.open({ requestId: "r", model: "main", protocol: "twp/1" })
  const writes: Array<string> = []
  for (const [at, event] of events.entries()) {
    const made =
      event.kind === "frame"
        ? (reviewed.frame?.(event.frame, events, at) ?? "")
        : event.kind === "delta"
          ? reviewed.delta(event.delta, event.json)
          : ""
    writes.push(made)
    out += made
  }
  return { text: out + reviewed.rest(), denial: review.denial, hits: review.hits, writes }
}

/** The strings of frames of one place, joined. */
const joined = (text: string): string =>
  text
    .split("\n")
    .filter((line) => line.startsWith("data: {"))
    .map((line) => line.slice(6))
    .join("\n")

const splits = (text: string) =>
  Array.from({ length: text.length - 1 }, (_, at) => [text.slice(0, at + 1), text.slice(at + 1)] as const)

describe("the vendor's frames under policies", () => {
  it.each(cases)("%s: a word never leaves, whatever the split", (_, dialect, frames) => {
    for (const [a, b] of splits("kumquat")) {
      const { text, denial, hits } = stream(dialect, frames(`x ${a}`, `${b} y`), clientApis[dialect])
      expect(denial?.policy).toBe("words")
      expect(hits).toMatchObject([{ policy: "words" }])
      expect(joined(text)).not.toMatch(/kum|quat/)
    }
  })

  it.each(cases)("%s: a mask replaces what it finds, whatever the split", (_, dialect, frames) => {
    for (const [a, b] of splits("ann@example.com")) {
      const { text, denial } = stream(dialect, frames(`x ${a}`, `${b} y`), clientApis[dialect])
      expect(denial).toBeUndefined()
      expect(text).toContain("<EMAIL_")
      expect(text).not.toMatch(/ann@|example|@e/)
      for (const line of joined(text).split("\n")) JSON.parse(line)
    }
  })

  it.each(cases)("%s: a value comes back, whatever the split", (_, dialect, frames) => {
    for (const [a, b] of splits(mark)) {
      const { text } = stream(dialect, frames(`x ${a}`, `${b} y`), clientApis[dialect], true)
      expect(text).not.toContain("<NAME_")
      expect(text).toContain("the")
      for (const line of joined(text).split("\n")) JSON.parse(line)
    }
  })
})

describe("text that other text comes between", () => {
  const between: ReadonlyArray<Case> = [
    ["reasoning", "openai-chat", (a, b) => [say({ content: a }), say({ reasoning_content: "x" }), say({ content: b })]],
    ["a thought", "gemini", (a, b) => [parts({ text: a }), parts({ text: "x", thought: true }), parts({ text: b })]],
    ["a call", "openai-chat", (a, b) => [say({ content: a }), call(0, "{}", "a"), say({ content: b })]],
    [
      "a transcript",
      "openai-chat",
      (a, b) => [say({ content: a }), say({ audio: { transcript: "x" } }), say({ content: b })],
    ],
  ]
  it.each(between)("%s: the word is never whole, and the text before does not wait", (_, dialect, frames) => {
    for (const client of Object.values(clientApis)) {
      for (const [a, b] of splits("kumquat")) {
        const { text, denial } = stream(dialect, frames(`x ${a}`, `${b} y`), client)
        if (client !== clientApis[dialect] && /transcript/.test(JSON.stringify(frames("", "")))) continue
        expect(denial?.policy).toBe("words")
        expect(text).not.toContain(`${b} y`)
      }
    }
    const { writes } = stream(dialect, frames("x kum", "ple y").slice(0, 2), clientApis[dialect])
    expect(writes.join("")).toContain("x kum")
  })

  it("is found once", () => {
    const frames = [
      say({ content: "ann@example.com b" }),
      say({ reasoning_content: "x" }),
      say({ content: "ob@example.com " }),
    ]
    const { text, hits } = stream("openai-chat", frames, clientApis["openai-chat"])
    expect(hits).toMatchObject([{ policy: "mails", count: 2 }])
    expect(text).not.toContain("example")
  })
})

it("the same text of two choices in one frame is edited in the right one", () => {
  const frames = [
    chunk(choice({ content: "ann@" }), choice({ content: "ann@" }, 1)),
    chunk(choice({ content: " x" }), choice({ content: "example.com " }, 1)),
  ]
  const { text } = stream("openai-chat", frames, clientApis["openai-chat"])
  expect(text).toMatch(/"content":"ann@"\},"finish_reason":null\},\{"index":1,"delta":\{"content":"<EMAIL_/)
})

it("a text that a Response has again in later frames is counted once", () => {
  const mail = "a ann@example.com b"
  const content = [{ type: "output_text", text: mail }]
  const done = { id: "i", type: "message", role: "assistant", content }
  const { text, hits } = stream(
    "openai-responses",
    [
      item("message", { content: [] }),
      response("output_text.delta", { delta: mail }),
      response("output_text.done", { text: mail }),
      response("content_part.done", { part: content[0] }),
      response("output_item.done", { item: done }),
      { type: "response.incomplete", response: { id: "x", object: "response", status: "incomplete", output: [done] } },
    ],
    clientApis["openai-responses"],
  )
  expect(text).not.toContain("example")
  expect(hits).toMatchObject([{ policy: "mails", count: 1 }])
})

it("a constant word of a vendor's frames does not make its text wait", () => {
  const frames = Array.from({ length: 20 }, (_, at) =>
    say({ content: `${at}, `, reasoning_details: [{ type: "reasoning.text", format: "unknown", index: 0 }] }),
  )
  const { writes } = stream("openai-chat", frames, clientApis["openai-chat"])
  expect(writes.filter((each) => each !== "").length).toBeGreaterThan(18)
})

it("text that waited in many deltas is given in time linear in them", () => {
  const review = new ReplyReview({
    policies: [compiled({ id: "long", match: { regex: "a+b" }, streams: "enforce" })],
    restored: undefined,
    marks: () => marks,
    onDenied: () => {},
  })
  const reviewed = new ReviewedEvents(new EventWriter(), review)
  // A longer text is not held.
  for (let at = 0; at < 65_000; at++) reviewed.delta({ i: 0, t: "text", v: "a" })
  const startedAt = performance.now()
  expect(reviewed.rest().length).toBeGreaterThan(65_000)
  expect(performance.now() - startedAt).toBeLessThan(2000)
})

it("neither the name of a tool nor a vendor's block is written if it is denied; text before it is", () => {
  for (const denied of [
    { i: 1, t: "tool_call", id: "a", name: "kumquat" },
    { i: 1, t: "vendor", dialect: "anthropic", v: '{"type":"server_tool_use","input":{"query":"kumquat"}}' },
  ] as const) {
    const options = { restored: undefined, marks: () => marks, onDenied: () => {} }
    const reviewed = new ReviewedEvents(new EventWriter(), new ReplyReview({ policies, ...options }))
    const text = reviewed.delta({ i: 0, t: "text", v: "Fine. ku" }) + reviewed.delta(denied) + reviewed.rest()
    expect(text).toContain("Fine.")
    expect(text).not.toMatch(/kumquat|tool_call|vendor/)
  }
})
