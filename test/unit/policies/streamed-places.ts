/** The places of vendors' frames in which a model's text is, each in two pieces. */
import type { ClientApiName } from "../../../src/dialects/carry/carried-request.ts"

export type Frame = Readonly<Record<string, unknown>>

export const choice = (delta: Frame, index = 0) => ({ index, delta, finish_reason: null })
export const chunk = (...choices: ReadonlyArray<Frame>) => ({
  id: "c",
  object: "chat.completion.chunk",
  created: 1,
  model: "u",
  choices,
})
export const say = (delta: Frame, index = 0) => chunk(choice(delta, index))
export const call = (index: number, args: string, id?: string) =>
  say({
    tool_calls: [
      {
        index,
        ...(id !== undefined && { id, type: "function" }),
        function: { ...(id !== undefined && { name: "f" }), arguments: args },
      },
    ],
  })

export const response = (type: string, more: Frame) => ({
  type: `response.${type}`,
  sequence_number: 1,
  output_index: 0,
  item_id: "i",
  content_index: 0,
  summary_index: 0,
  ...more,
})
export const item = (type: string, more: Frame = {}) =>
  response("output_item.added", { item: { id: "i", type, ...more } })
const aCall = (type: string) => item(type, { call_id: "c", name: "f", arguments: "", input: "", server_label: "s" })

const message = {
  type: "message_start",
  message: {
    id: "m",
    type: "message",
    role: "assistant",
    content: [],
    model: "x",
    usage: { input_tokens: 1, output_tokens: 1 },
  },
}
const start = (content_block: Frame, index = 0) => ({ type: "content_block_start", index, content_block })
const delta = (of: Frame, index = 0) => ({ type: "content_block_delta", index, delta: of })
const stop = (index = 0) => ({ type: "content_block_stop", index })

export const parts = (...all: ReadonlyArray<Frame>) => ({
  candidates: [{ index: 0, content: { role: "model", parts: all } }],
})

export type Case = readonly [
  name: string,
  dialect: ClientApiName,
  frames: (a: string, b: string) => ReadonlyArray<Frame>,
]

/** Texts of two pieces. */
export const cases: ReadonlyArray<Case> = [
  ["words", "openai-chat", (a, b) => [say({ content: a }), say({ content: b })]],
  [
    "words of one choice of two",
    "openai-chat",
    (a, b) => [say({ content: a }), say({ content: "x" }, 1), say({ content: b })],
  ],
  [
    "words of choices in one frame",
    "openai-chat",
    (a, b) => [
      chunk(choice({ content: a }), choice({ content: "x" }, 1)),
      chunk(choice({ content: "x" }, 1), choice({ content: b })),
    ],
  ],
  ["a refusal", "openai-chat", (a, b) => [say({ refusal: a }), say({ refusal: b })]],
  ["reasoning", "openai-chat", (a, b) => [say({ reasoning_content: a }), say({ reasoning_content: b })]],
  [
    "reasoning that is there twice",
    "openai-chat",
    (a, b) =>
      [a, b].map((text) => say({ reasoning: text, reasoning_details: [{ type: "reasoning.text", text, index: 0 }] })),
  ],
  ["a transcript", "openai-chat", (a, b) => [say({ audio: { transcript: a } }), say({ audio: { transcript: b } })]],
  [
    "a member that nobody knows",
    "openai-chat",
    (a, b) => [say({ content: "x", musing: a }), say({ content: "y", musing: b })],
  ],
  ["arguments", "openai-chat", (a, b) => [call(0, "", "a"), call(0, `{"q":"${a}`), call(0, `${b}"}`)]],
  [
    "arguments of calls at the same time",
    "openai-chat",
    (a, b) => [
      call(0, "", "a"),
      call(1, "", "b"),
      call(0, `{"q":"${a}`),
      call(1, '{"q":"x'),
      call(0, `${b}"}`),
      call(1, '"}'),
    ],
  ],
  [
    "words in a Response",
    "openai-responses",
    (a, b) => [
      item("message", { content: [] }),
      response("output_text.delta", { delta: a }),
      response("output_text.delta", { delta: b }),
    ],
  ],
  [
    "a refusal in a Response",
    "openai-responses",
    (a, b) => [
      item("message", { content: [] }),
      response("refusal.delta", { delta: a }),
      response("refusal.delta", { delta: b }),
    ],
  ],
  ...(
    [
      "reasoning_text",
      "reasoning_summary_text",
      "audio.transcript",
      "code_interpreter_call_code",
      "shell_call_command",
    ] as const
  ).map(
    (type): Case => [
      type,
      "openai-responses",
      (a, b) => [response(`${type}.delta`, { delta: a }), response(`${type}.delta`, { delta: b })],
    ],
  ),
  ...(["function_call", "mcp_call"] as const).map(
    (type): Case => [
      type,
      "openai-responses",
      (a, b) => [
        aCall(type),
        response(`${type}_arguments.delta`, { delta: `{"q":"${a}` }),
        response(`${type}_arguments.delta`, { delta: `${b}"}` }),
      ],
    ],
  ),
  [
    "a custom call",
    "openai-responses",
    (a, b) => [
      aCall("custom_tool_call"),
      response("custom_tool_call_input.delta", { delta: a }),
      response("custom_tool_call_input.delta", { delta: b }),
    ],
  ],
  [
    "words in a message",
    "anthropic",
    (a, b) => [
      message,
      start({ type: "text", text: "" }),
      delta({ type: "text_delta", text: a }),
      delta({ type: "text_delta", text: b }),
    ],
  ],
  [
    "words in two blocks",
    "anthropic",
    (a, b) => [
      message,
      start({ type: "text", text: "" }),
      delta({ type: "text_delta", text: a }),
      stop(),
      start({ type: "text", text: "" }, 1),
      delta({ type: "text_delta", text: b }, 1),
    ],
  ],
  [
    "thinking",
    "anthropic",
    (a, b) => [
      message,
      start({ type: "thinking", thinking: "" }),
      delta({ type: "thinking_delta", thinking: a }),
      delta({ type: "thinking_delta", thinking: b }),
    ],
  ],
  ...(["tool_use", "server_tool_use"] as const).map(
    (type): Case => [
      type,
      "anthropic",
      (a, b) => [
        message,
        start({ type, id: "t", name: "f", input: {} }),
        delta({ type: "input_json_delta", partial_json: `{"q":"${a}` }),
        delta({ type: "input_json_delta", partial_json: `${b}"}` }),
      ],
    ],
  ),
  ["words of Gemini", "gemini", (a, b) => [parts({ text: a }), parts({ text: b })]],
  ["words of Gemini in one frame", "gemini", (a, b) => [parts({ text: a }, { text: b })]],
  ["thoughts of Gemini", "gemini", (a, b) => [parts({ text: a, thought: true }), parts({ text: b, thought: true })]],
  [
    "arguments of Gemini",
    "gemini",
    (a, b) => [parts({ functionCall: { name: "f", args: { name: a + b, id: [a + b] } } })],
  ],
  ["code of Gemini", "gemini", (a, b) => [parts({ executableCode: { language: "PYTHON", code: a + b } })]],
]
