/** The dialect openai-responses, by the vendor's documentation. */
import { Result } from "effect"
import { describe, expect, it } from "vitest"
import type { VendorRequest } from "../../../src/dialects/chat-dialect.ts"
import { openaiResponses } from "../../../src/dialects/openai-responses/vendor.ts"
import { anthropicFrame as frame } from "../../../src/testing/index.ts"
import { decodeText, fold } from "../../support/replay.ts"

const base: VendorRequest = {
  model: "gpt",
  thread: [{ role: "user", blocks: [{ t: "text", v: "hi" }] }],
  tools: [],
  maxTokens: 100,
  stop: [],
  canReason: true,
  cache: { enabled: true, skipWrite: false },
  stream: false,
}
const encode = (request: Partial<VendorRequest>) =>
  JSON.parse(Result.getOrThrow(openaiResponses.encode({ ...base, ...request })).body)

describe("encode", () => {
  it("writes messages, calls, results and sealed reasoning as items in order; nothing is stored at the vendor", () => {
    const body = encode({
      thread: [
        { role: "system", blocks: [{ t: "text", v: "be brief" }] },
        { role: "user", blocks: [{ t: "text", v: "weather?" }] },
        {
          role: "assistant",
          blocks: [
            { t: "reasoning", v: "hm", signature: "openai:rs_1:gAAA" },
            { t: "reasoning", v: "another vendor's", signature: "gemini:sig" },
            { t: "text", v: "let me look" },
            { t: "tool_call", id: "a", name: "weather", input: { city: "Bern" } },
          ],
        },
        { role: "tool", blocks: [{ t: "tool_result", id: "a", v: "sun" }] },
      ],
    })
    expect(body).toMatchObject({ store: false, include: ["reasoning.encrypted_content"], max_output_tokens: 100 })
    expect(body.input).toEqual([
      { type: "message", role: "system", content: [{ type: "input_text", text: "be brief" }] },
      { type: "message", role: "user", content: [{ type: "input_text", text: "weather?" }] },
      { type: "reasoning", id: "rs_1", summary: [{ type: "summary_text", text: "hm" }], encrypted_content: "gAAA" },
      { type: "message", role: "assistant", content: [{ type: "output_text", text: "let me look" }] },
      { type: "function_call", call_id: "a", name: "weather", arguments: `{"city":"Bern"}` },
      { type: "function_call_output", call_id: "a", output: "sun" },
    ])
  })

  it("writes images, files, tools, the tool choice and the level of reasoning", () => {
    const blocks = [
      { t: "image", mime: "image/png", data: "AAAA" },
      { t: "file", mime: "application/pdf", name: "a.pdf", data: "BBBB" },
      { t: "file", mime: "application/pdf", url: "https://x.test/a" },
    ] as const
    const tools = [{ name: "f", description: "d", inputSchema: { type: "object" } }]
    const body = encode({
      thread: [{ role: "user", blocks }],
      tools,
      toolChoice: { name: "f" },
      reasoning: "low",
      stream: true,
    })
    expect(body.input[0].content).toEqual([
      { type: "input_image", image_url: "data:image/png;base64,AAAA", detail: "auto" },
      { type: "input_file", filename: "a.pdf", file_data: "data:application/pdf;base64,BBBB" },
      { type: "input_file", file_url: "https://x.test/a" },
    ])
    expect(body).toMatchObject({
      stream: true,
      reasoning: { effort: "low", summary: "auto" },
      tools: [{ type: "function", name: "f", description: "d", parameters: { type: "object" }, strict: false }],
      tool_choice: { type: "function", name: "f" },
    })
    expect(encode({ canReason: false })).not.toHaveProperty("include")
  })

  it("refuses stop sequences, which it has no field for", () => {
    expect(Result.isFailure(openaiResponses.encode({ ...base, stop: ["END"] }))).toBe(true)
  })
})

const text = (delta: string) => frame({ type: "response.output_text.delta", output_index: 0, content_index: 0, delta })
const end = (response: object, type = "response.completed") =>
  frame({ type, response: { status: type.slice("response.".length), ...response } })

describe("decode", () => {
  it("reads summaries as paragraphs, with the sealed reasoning to send back", () => {
    const summary = (summary_index: number, delta: string) =>
      frame({ type: "response.reasoning_summary_text.delta", output_index: 0, summary_index, delta })
    const item = {
      type: "reasoning",
      id: "rs_1",
      encrypted_content: "gAAA",
      summary: [
        { type: "summary_text", text: "first" },
        { type: "summary_text", text: "second" },
      ],
    }
    const streamed = fold(
      decodeText(
        openaiResponses,
        summary(0, "fir") +
          summary(0, "st") +
          summary(1, "second") +
          frame({ type: "response.output_item.done", output_index: 0, item }) +
          end({ output: [item] }),
      ),
    )
    expect(streamed.blocks).toEqual([{ t: "reasoning", v: "first\n\nsecond", signature: "openai:rs_1:gAAA" }])
    const whole = openaiResponses.decodeBody(JSON.stringify({ status: "completed", output: [item] }))
    expect(fold(whole)).toEqual(streamed)
  })

  it("reads parallel calls, whose arguments may arrive in parts or whole; skips server-side tools", () => {
    const added = (output_index: number, item: object) =>
      frame({ type: "response.output_item.added", output_index, item })
    const args = (output_index: number, delta: string) =>
      frame({ type: "response.function_call_arguments.delta", output_index, delta })
    const closed = { type: "function_call", call_id: "b", name: "g", arguments: `{"y":2}` }
    const folded = fold(
      decodeText(
        openaiResponses,
        added(0, { type: "function_call", call_id: "a", name: "f", arguments: "" }) +
          added(1, { type: "mcp_call", id: "m", name: "secret" }) +
          args(0, `{"x"`) +
          args(1, `{"q":"secret"}`) +
          args(0, ":1}") +
          frame({ type: "response.output_item.done", output_index: 2, item: closed }) +
          end({}),
      ),
    )
    expect(folded).toMatchObject({ stop: "tool_call", done: true })
    expect(folded.blocks).toEqual([
      { t: "tool_call", id: "a", name: "f", input: { x: 1 } },
      { t: "tool_call", id: "b", name: "g", input: { y: 2 } },
    ])
  })

  it.each([
    ["response.completed", {}, "end"],
    ["response.incomplete", { incomplete_details: { reason: "max_output_tokens" } }, "max_tokens"],
    ["response.incomplete", { incomplete_details: { reason: "content_filter" } }, "filtered"],
    ["response.cancelled", {}, "interrupted"],
  ])("%s %j is stop %s", (type, response, stop) => {
    expect(fold(decodeText(openaiResponses, text("x") + end(response, type)))).toMatchObject({ stop, done: true })
  })

  it("a refusal is text, and a stop of its own, streamed or not", () => {
    const refusal = frame({ type: "response.refusal.delta", output_index: 0, content_index: 0, delta: "no" })
    const content = [{ type: "refusal", refusal: "no" }]
    const whole = JSON.stringify({ status: "completed", output: [{ type: "message", content }] })
    for (const events of [decodeText(openaiResponses, refusal + end({})), openaiResponses.decodeBody(whole)]) {
      expect(fold(events)).toMatchObject({ stop: "refusal", blocks: [{ t: "text", v: "no" }] })
    }
  })

  it("lesson 8: cached counts are parts of the input, and never more than it", () => {
    const usage = (cached_tokens: number) => ({
      input_tokens: 1000,
      input_tokens_details: { cached_tokens },
      output_tokens: 50,
      output_tokens_details: { reasoning_tokens: 20 },
    })
    expect(fold(decodeText(openaiResponses, text("x") + end({ usage: usage(600) }))).usage).toEqual({
      inTokens: 400,
      outTokens: 50,
      cacheReadTokens: 600,
      cacheWriteTokens: 0,
      dims: { reasoning: 20 },
    })
    expect(fold(decodeText(openaiResponses, end({ usage: usage(5000) }))).usage).toMatchObject({
      inTokens: 0,
      cacheReadTokens: 1000,
    })
  })

  it.each([
    [frame({ type: "error", code: "rate_limit_exceeded", message: "m" }), 429, "rate_limit_exceeded"],
    [frame({ type: "error", error: { code: "server_error" } }), 500, "server_error"],
    [end({ error: { code: "invalid_prompt" } }, "response.failed"), 400, "invalid_prompt"],
    [end({}, "response.failed"), 502, "unknown"],
  ])("a failure inside a stream is a fault with a status: %#", (stream, status, code) => {
    expect(decodeText(openaiResponses, stream).at(-1)).toMatchObject({ kind: "fault", fault: { status, code } })
  })
})

describe("the phase of a message", () => {
  const item = (phase: string, text: string) => ({
    type: "message",
    id: `msg_${phase}`,
    role: "assistant",
    status: "completed",
    phase,
    content: [{ type: "output_text", text, annotations: [] }],
  })
  const output = [item("commentary", "I look."), item("final_answer", "It rains.")]
  const phased = [
    { t: "text", v: "I look.", phase: "commentary" },
    { t: "text", v: "It rains.", phase: "final_answer" },
  ]

  it("is read, whole and streamed", () => {
    const whole = JSON.stringify({ status: "completed", output })
    expect(fold(openaiResponses.decodeBody(whole)).blocks).toMatchObject(phased)
    const frames = output.flatMap((one, output_index) => [
      { type: "response.output_item.added", output_index, item: { ...one, content: [] } },
      ...[...(one.content[0]?.text ?? "")].map((delta) => ({
        type: "response.output_text.delta",
        output_index,
        content_index: 0,
        delta,
      })),
      { type: "response.output_item.done", output_index, item: one },
    ])
    expect(fold(decodeText(openaiResponses, frames.map(frame).join(""))).blocks).toMatchObject(phased)
  })

  it("goes back with its text, or with its message", () => {
    const said = (phase: string, text: string) => ({
      type: "message",
      role: "assistant",
      phase,
      content: [{ type: "output_text", text }],
    })
    const both = [
      { t: "text", v: "I look.", phase: "commentary" },
      { t: "text", v: "It rains.", phase: "final_answer" },
    ] as const
    const user = { role: "user", blocks: [{ t: "text", v: "hi" }] } as const
    expect(encode({ thread: [user, { role: "assistant", blocks: both }, user] }).input.slice(1, -1)).toEqual([
      said("commentary", "I look."),
      said("final_answer", "It rains."),
    ])
    const message = { role: "assistant", phase: "commentary", blocks: [{ t: "text", v: "I look." }] } as const
    expect(encode({ thread: [user, message, user] }).input.slice(1, -1)).toEqual([said("commentary", "I look.")])
  })
})
