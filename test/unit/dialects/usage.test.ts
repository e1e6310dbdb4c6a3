/** Counts as vendors must not send them: in every dialect, in a stream and in a whole reply. */
import { Struct } from "effect"
import { describe, expect, it } from "vitest"
import type { ChatDialect, UsageSide, VendorUsage } from "../../../src/dialects/chat-dialect.ts"
import { chatDialects } from "../../../src/dialects/index.ts"

type Counts = readonly [input: unknown, output: unknown]

/** A whole reply with usage as given, and a stream of the same. */
const replies: Readonly<
  Record<
    Exclude<keyof typeof chatDialects, "bedrock">,
    (counts: Counts) => readonly [whole: object, ...frames: Array<object>]
  >
> = {
  "openai-chat": ([prompt_tokens, completion_tokens]) => {
    const usage = { prompt_tokens, completion_tokens }
    return [
      { choices: [{ message: { content: "Hi" }, finish_reason: "stop" }], usage },
      { choices: [{ index: 0, delta: { content: "Hi" }, finish_reason: "stop" }] },
      { choices: [], usage },
    ]
  },
  "openai-responses": ([input_tokens, output_tokens]) => {
    const response = {
      status: "completed",
      output: [{ type: "message", content: [{ type: "output_text", text: "Hi" }] }],
      usage: { input_tokens, output_tokens },
    }
    return [response, { type: "response.completed", response }]
  },
  cohere: ([input_tokens, output_tokens]) => {
    const end = { finish_reason: "COMPLETE", usage: { billed_units: { input_tokens, output_tokens } } }
    return [
      { message: { content: [{ type: "text", text: "Hi" }] }, ...end },
      { type: "content-delta", index: 0, delta: { message: { content: { text: "Hi" } } } },
      { type: "message-end", delta: end },
    ]
  },
  anthropic: ([input_tokens, output_tokens]) => [
    { content: [{ type: "text", text: "Hi" }], stop_reason: "end_turn", usage: { input_tokens, output_tokens } },
    { type: "message_start", message: { usage: { input_tokens, output_tokens: 1 } } },
    { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens } },
  ],
  gemini: ([promptTokenCount, candidatesTokenCount]) => {
    const reply = {
      candidates: [{ content: { parts: [{ text: "Hi" }] }, finishReason: "STOP" }],
      usageMetadata: { promptTokenCount, candidatesTokenCount },
    }
    return [reply, reply]
  },
}

const usageIn = (dialect: ChatDialect, [whole, ...frames]: readonly [object, ...Array<object>], streams: boolean) => {
  const decoder = dialect.decoder()
  const text = frames.map((frame) => `data: ${JSON.stringify(frame)}\n\n`).join("")
  const events = streams
    ? [...decoder.push(Buffer.from(text)), ...decoder.end()]
    : dialect.decodeBody(JSON.stringify(whole))
  return events.findLast((event) => event.kind === "usage")?.usage
}

const told = (usage: VendorUsage | undefined) =>
  usage && [usage.inTokens, usage.outTokens, ...(usage.missing ?? ["none missing"])]

describe.each(Struct.keys(replies))("%s", (name) => {
  const { [name]: dialect } = chatDialects
  const { [name]: reply } = replies
  describe.each([
    ["streamed", true],
    ["whole", false],
  ])("%s", (_how, streams) => {
    it.each<readonly [string, Counts, ReadonlyArray<number | UsageSide | "none missing">]>([
      ["numbers", [70, 9], [70, 9, "none missing"]],
      ["numeric strings", ["70", "9"], [70, 9, "none missing"]],
      ["decimal strings without a fraction", ["70.0", "9.00"], [70, 9, "none missing"]],
      ["zeros", [0, 0], [0, 0, "none missing"]],
      ["a negative input", [-70, 9], [0, 9, "input"]],
      ["a fraction", [70.5, 9], [0, 9, "input"]],
      ["a word", ["many", 9], [0, 9, "input"]],
      ["an object", [{ count: 3 }, 9], [0, 9, "input"]],
      ["a count beyond 2^53", [2 ** 53, 9], [0, 9, "input"]],
      ["a string beyond 2^53", ["9007199254740993", 9], [0, 9, "input"]],
      ["a string with an exponent", ["7e1", 9], [0, 9, "input"]],
      ["an empty string", ["", 9], [0, 9, "input"]],
      ["a negative output", [70, -9], [70, 0, "output"]],
      ["an output word", [70, "some"], [70, 0, "output"]],
      ["an output fraction", [70, 0.5], [70, 0, "output"]],
      ["nonsense on both sides", [true, []], [0, 0, "input", "output"]],
    ])("reads %s", (_what, counts, expected) => {
      expect(told(usageIn(dialect, reply(counts), streams))).toEqual(expected)
    })
  })

  it("reads null as absent in a whole reply", () => {
    const usage = usageIn(dialect, reply([null, 9]), false)
    expect(usage && [usage.outTokens, usage.missing]).toEqual([9, ["input"]])
  })
})
