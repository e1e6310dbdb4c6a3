/**
 * Any split of the bytes gives the same events; merging a stream gives the whole reply; random bytes give typed
 * outcomes.
 */

import { describe, expect, it } from "@effect/vitest"
import { Schema, Struct } from "effect"
import { chatDialects } from "../../../src/dialects/index.ts"
import { anthropicFrame, openaiFrame, vendorReplies } from "../../../src/testing/index.ts"
import { cutAt, decodeBytes, decodePieces, decodeText, fold } from "../../support/replay.ts"

const Share = Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 0.999 }))
const Shares = Schema.Array(Share).check(Schema.isMaxLength(12))
const Words = Schema.Array(Schema.String.check(Schema.isMinLength(1))).check(
  Schema.isMinLength(1),
  Schema.isMaxLength(8),
)
const Count = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1_000_000 }))
const Answer = Schema.Struct({ words: Words, inTokens: Count, outTokens: Count })

/** Replacements for random bytes: JSON's punctuation, valid and invalid escapes, line ends, nothing. */
const Flaw = Schema.Literals([
  '"',
  "\\",
  '\\"',
  "\\n",
  "\\u00e9",
  "\\u12",
  "\n",
  "\n\n",
  "\r\n",
  "\t",
  "{",
  "}",
  "",
  "🌊",
  '","v":"',
])

/** A stream with everything that can be split badly. */
const thorny = {
  "openai-chat": [
    ": keep-alive\r\n\r\n",
    openaiFrame({ choices: [{ index: 0, delta: { content: "grüße 🌊 漢字" } }] }),
    `data: {"choices":[{"index":0,\r\ndata: "delta":{"content":"two lines"}}]}\r\n\r\n`,
    openaiFrame({
      choices: [
        { index: 0, delta: { tool_calls: [{ index: 0, id: "a", function: { name: "f", arguments: `{"é":` } }] } },
      ],
    }),
    openaiFrame({ choices: [{ index: 0, delta: { tool_calls: [{ index: 0, function: { arguments: `"🌊"}` } }] } }] }),
    openaiFrame({
      choices: [{ index: 0, delta: {}, finish_reason: "tool_calls" }],
      usage: { prompt_tokens: 3, completion_tokens: 4 },
    }),
    openaiFrame("[DONE]"),
  ].join(""),
  anthropic: [
    anthropicFrame({ type: "message_start", message: { usage: { input_tokens: 3, output_tokens: 1 } } }),
    anthropicFrame({ type: "content_block_start", index: 0, content_block: { type: "text", text: "" } }).replaceAll(
      "\n",
      "\r\n",
    ),
    anthropicFrame({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "grüße 🌊 漢字" } }),
    anthropicFrame({ type: "ping" }),
    anthropicFrame({
      type: "content_block_start",
      index: 1,
      content_block: { type: "tool_use", id: "a", name: "f", input: {} },
    }),
    anthropicFrame({
      type: "content_block_delta",
      index: 1,
      delta: { type: "input_json_delta", partial_json: `{"é":"🌊"}` },
    }),
    anthropicFrame({ type: "message_delta", delta: { stop_reason: "tool_use" }, usage: { output_tokens: 4 } }),
    anthropicFrame({ type: "message_stop" }),
  ].join(""),
  "openai-responses": [
    anthropicFrame({ type: "response.created", response: { status: "in_progress" } }),
    anthropicFrame({
      type: "response.reasoning_summary_text.delta",
      output_index: 0,
      summary_index: 0,
      delta: "größer",
    }),
    anthropicFrame({
      type: "response.output_item.done",
      output_index: 0,
      item: {
        type: "reasoning",
        id: "rs_1",
        encrypted_content: "gAAA",
        summary: [{ type: "summary_text", text: "größer" }],
      },
    }).replaceAll("\n", "\r\n"),
    anthropicFrame({ type: "response.output_text.delta", output_index: 1, content_index: 0, delta: "grüße 🌊 漢字" }),
    anthropicFrame({
      type: "response.output_item.added",
      output_index: 2,
      item: { type: "function_call", call_id: "a", name: "f", arguments: "" },
    }),
    anthropicFrame({ type: "response.function_call_arguments.delta", output_index: 2, delta: `{"é":"🌊"}` }),
    anthropicFrame({
      type: "response.completed",
      response: { status: "completed", usage: { input_tokens: 3, output_tokens: 4 } },
    }),
  ].join(""),
  gemini: [
    openaiFrame({ candidates: [{ content: { parts: [{ text: "größer", thought: true }] } }] }),
    openaiFrame({ candidates: [{ content: { parts: [{ text: "grüße 🌊 漢字" }] } }] }).replaceAll("\n", "\r\n"),
    openaiFrame({
      candidates: [
        { content: { parts: [{ functionCall: { name: "f", willContinue: true }, thoughtSignature: "sig" }] } },
      ],
    }),
    openaiFrame({
      candidates: [
        { content: { parts: [{ functionCall: { partialArgs: [{ jsonPath: "$.é", stringValue: "🌊" }] } }] } },
      ],
    }),
    openaiFrame({
      candidates: [{ content: { parts: [{ text: "" }] }, finishReason: "STOP" }],
      usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 4 },
    }),
  ].join(""),
  cohere: [
    anthropicFrame({ type: "tool-plan-delta", delta: { message: { tool_plan: "ü" } } }),
    anthropicFrame({ type: "content-start", index: 0, delta: { message: { content: { type: "thinking" } } } }),
    anthropicFrame({ type: "content-delta", index: 0, delta: { message: { content: { thinking: "é\u2028" } } } }),
    anthropicFrame({ type: "content-delta", index: 1, delta: { message: { content: { text: "🌊 \n" } } } }),
    anthropicFrame({
      type: "tool-call-start",
      index: 0,
      delta: { message: { tool_calls: { id: "c", type: "function", function: { name: "f", arguments: "" } } } },
    }),
    anthropicFrame({
      type: "tool-call-delta",
      index: 0,
      delta: { message: { tool_calls: { function: { arguments: '{"é":"🌊"}' } } } },
    }),
    anthropicFrame({
      type: "message-end",
      delta: { finish_reason: "TOOL_CALL", usage: { billed_units: { input_tokens: 3, output_tokens: 4 } } },
    }),
  ].join(""),
} as const

describe.each(Struct.keys(thorny))("%s", (name) => {
  const dialect = chatDialects[name]
  const bytes = Buffer.from(thorny[name])
  const whole = decodeText(dialect, thorny[name])

  it("reads a stream byte by byte", () => {
    expect(decodeBytes(dialect, bytes)).toEqual(whole)
    expect(fold(whole)).toMatchObject({ done: true, faults: [], stop: "tool_call" })
  })

  it.prop("any split gives the same events", [Shares], ([shares]) => {
    expect(decodePieces(dialect, cutAt(bytes, shares))).toEqual(whole)
  })

  it.prop(
    "a frame that repeats the one before means what the full parser says, whatever is wrong with it",
    [Answer, Schema.Array(Schema.Tuple([Share, Flaw])).check(Schema.isMaxLength(6))],
    ([answer, flaws]) => {
      let text = vendorReplies[name].frames({ ...answer, words: [...answer.words, "plain", ...answer.words] }).join("")
      for (const [share, flaw] of flaws) {
        const at = Math.floor(share * text.length)
        text = text.slice(0, at) + flaw + text.slice(at + 1)
      }
      expect(decodeText(dialect, text)).toEqual(decodeBytes(dialect, Buffer.from(text)))
    },
  )

  it.prop("folding a stream gives the whole reply", [Answer], ([answer]) => {
    const streamed = fold(decodeText(dialect, vendorReplies[name].frames(answer).join("")))
    expect(streamed).toEqual(fold(dialect.decodeBody(vendorReplies[name].body(answer))))
  })

  it.prop(
    "truncation and flipped bytes give typed outcomes only",
    [Share, Shares, Schema.Int],
    ([cut, flips, mask]) => {
      const noisy = Buffer.from(bytes.subarray(0, Math.floor(cut * bytes.length)))
      for (const flip of flips) {
        const at = Math.floor(flip * noisy.length)
        noisy[at] = (noisy[at] ?? 0) ^ (mask & 0xff)
      }
      const kinds = new Set(decodePieces(dialect, cutAt(noisy, flips)).map(({ kind }) => kind))
      for (const kind of kinds) expect(["delta", "usage", "stop", "done", "fault"]).toContain(kind)
    },
  )

  it.prop("any body is an outcome", [Schema.String], ([body]) => {
    expect(fold(dialect.decodeBody(body)).faults.length).toBeLessThanOrEqual(1)
  })
})
