/** Vendor replies for scripts: the same answer, streamed and whole, in each dialect. */
import type { ChatDialectName } from "../protocol/catalogue/vendor.ts"
import type { VendorCall, VendorScript } from "./scripted-vendor.ts"
import { anthropicFrame, bedrockFrame, openaiFrame } from "./twins/frames.ts"

export interface Answer {
  readonly words: ReadonlyArray<string>
  readonly inTokens: number
  readonly outTokens: number
  /** Included in `inTokens`. */
  readonly cachedTokens?: number
}

export { anthropicFrame, bedrockFrame, openaiFrame } from "./twins/frames.ts"

const openaiUsage = ({ inTokens, outTokens, cachedTokens = 0 }: Answer) => ({
  prompt_tokens: inTokens,
  completion_tokens: outTokens,
  total_tokens: inTokens + outTokens,
  prompt_tokens_details: { cached_tokens: cachedTokens },
})

const chunk = (more: object): string =>
  openaiFrame({ id: "chatcmpl-1", object: "chat.completion.chunk", created: 1, model: "upstream", ...more })

/** One content chunk of a chat completion. */
export const openaiChunk = (content: string): string =>
  chunk({ choices: [{ index: 0, delta: { content }, finish_reason: null }] })

/** The frames of a whole streamed chat completion. */
export const openaiFrames = (answer: Answer): ReadonlyArray<string> => [
  chunk({ choices: [{ index: 0, delta: { role: "assistant", content: "" }, finish_reason: null }] }),
  ...answer.words.map(openaiChunk),
  chunk({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] }),
  chunk({ choices: [], usage: openaiUsage(answer) }),
  openaiFrame("[DONE]"),
]

export const openaiBody = (answer: Answer): string =>
  JSON.stringify({
    id: "chatcmpl-1",
    object: "chat.completion",
    created: 1,
    model: "upstream",
    choices: [{ index: 0, message: { role: "assistant", content: answer.words.join("") }, finish_reason: "stop" }],
    usage: openaiUsage(answer),
  })

const anthropicUsage = ({ inTokens, outTokens, cachedTokens = 0 }: Answer) => ({
  input_tokens: inTokens - cachedTokens,
  cache_read_input_tokens: cachedTokens,
  cache_creation_input_tokens: 0,
  output_tokens: outTokens,
})

const message = { id: "msg_1", type: "message", role: "assistant", model: "upstream" }

export const anthropicFrames = (answer: Answer): ReadonlyArray<string> => [
  anthropicFrame({
    type: "message_start",
    message: {
      ...message,
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: { ...anthropicUsage(answer), output_tokens: 1 },
    },
  }),
  anthropicFrame({ type: "content_block_start", index: 0, content_block: { type: "text", text: "" } }),
  ...answer.words.map((text) =>
    anthropicFrame({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text } }),
  ),
  anthropicFrame({ type: "content_block_stop", index: 0 }),
  anthropicFrame({
    type: "message_delta",
    delta: { stop_reason: "end_turn", stop_sequence: null },
    usage: { output_tokens: answer.outTokens },
  }),
  anthropicFrame({ type: "message_stop" }),
]

export const anthropicBody = (answer: Answer): string =>
  JSON.stringify({
    ...message,
    content: [{ type: "text", text: answer.words.join("") }],
    stop_reason: "end_turn",
    stop_sequence: null,
    usage: anthropicUsage(answer),
  })

const responsesUsage = ({ inTokens, outTokens, cachedTokens = 0 }: Answer) => ({
  input_tokens: inTokens,
  input_tokens_details: { cached_tokens: cachedTokens },
  output_tokens: outTokens,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: inTokens + outTokens,
})

const response = { id: "resp_1", object: "response", created_at: 1, model: "upstream" }

const responsesReply = (answer: Answer) => ({
  ...response,
  status: "completed",
  output: [
    {
      type: "message",
      id: "msg_1",
      status: "completed",
      role: "assistant",
      content: [{ type: "output_text", text: answer.words.join(""), annotations: [] }],
    },
  ],
  usage: responsesUsage(answer),
})

/** The frames of a streamed response; the event name is in the data, as in {@link anthropicFrame}. */
export const responsesFrames = (answer: Answer): ReadonlyArray<string> => {
  const item = responsesReply(answer).output[0]
  const place = { item_id: "msg_1", output_index: 0, content_index: 0 }
  return [
    anthropicFrame({ type: "response.created", response: { ...response, status: "in_progress", output: [] } }),
    anthropicFrame({ type: "response.in_progress", response: { ...response, status: "in_progress", output: [] } }),
    anthropicFrame({
      type: "response.output_item.added",
      output_index: 0,
      item: { ...item, status: "in_progress", content: [] },
    }),
    anthropicFrame({ type: "response.content_part.added", ...place, part: { type: "output_text", text: "" } }),
    ...answer.words.map((delta) => anthropicFrame({ type: "response.output_text.delta", ...place, delta })),
    anthropicFrame({ type: "response.output_text.done", ...place, text: answer.words.join("") }),
    anthropicFrame({ type: "response.content_part.done", ...place, part: item?.content[0] }),
    anthropicFrame({ type: "response.output_item.done", output_index: 0, item }),
    anthropicFrame({ type: "response.completed", response: responsesReply(answer) }),
  ]
}

export const responsesBody = (answer: Answer): string => JSON.stringify(responsesReply(answer))

const geminiUsage = ({ inTokens, outTokens, cachedTokens = 0 }: Answer) => ({
  promptTokenCount: inTokens,
  cachedContentTokenCount: cachedTokens,
  candidatesTokenCount: outTokens,
  totalTokenCount: inTokens + outTokens,
})

const geminiReply = (text: string, more: object = {}, rest: object = {}) => ({
  candidates: [{ content: { role: "model", parts: [{ text }] }, index: 0, ...more }],
  ...rest,
  modelVersion: "upstream",
  responseId: "r1",
})

export const geminiFrames = (answer: Answer): ReadonlyArray<string> => [
  ...answer.words.map((word) => openaiFrame(geminiReply(word))),
  openaiFrame(geminiReply("", { finishReason: "STOP" }, { usageMetadata: geminiUsage(answer) })),
]

export const geminiBody = (answer: Answer): string =>
  JSON.stringify(geminiReply(answer.words.join(""), { finishReason: "STOP" }, { usageMetadata: geminiUsage(answer) }))

const cohereUsage = ({ inTokens, outTokens }: Answer) => ({
  billed_units: { input_tokens: inTokens, output_tokens: outTokens },
})

export const cohereFrames = (answer: Answer): ReadonlyArray<string> => [
  anthropicFrame({ type: "message-start", id: "c", delta: { message: { role: "assistant", content: [] } } }),
  anthropicFrame({ type: "content-start", index: 0, delta: { message: { content: { type: "text", text: "" } } } }),
  ...answer.words.map((text) =>
    anthropicFrame({ type: "content-delta", index: 0, delta: { message: { content: { text } } } }),
  ),
  anthropicFrame({ type: "content-end", index: 0 }),
  anthropicFrame({ type: "message-end", delta: { finish_reason: "COMPLETE", usage: cohereUsage(answer) } }),
]

export const cohereBody = (answer: Answer): string =>
  JSON.stringify({
    id: "c",
    finish_reason: "COMPLETE",
    message: { role: "assistant", content: [{ type: "text", text: answer.words.join("") }] },
    usage: cohereUsage(answer),
  })

const bedrockUsage = ({ inTokens, outTokens, cachedTokens = 0 }: Answer) => ({
  inputTokens: inTokens - cachedTokens,
  cacheReadInputTokens: cachedTokens,
  outputTokens: outTokens,
  totalTokens: inTokens + outTokens,
})

export const bedrockFrames = (answer: Answer): ReadonlyArray<Uint8Array> => [
  bedrockFrame("messageStart", { role: "assistant" }),
  ...answer.words.map((text) => bedrockFrame("contentBlockDelta", { contentBlockIndex: 0, delta: { text } })),
  bedrockFrame("contentBlockStop", { contentBlockIndex: 0 }),
  bedrockFrame("messageStop", { stopReason: "end_turn" }),
  bedrockFrame("metadata", { usage: bedrockUsage(answer), metrics: { latencyMs: 1 } }),
]

export const bedrockBody = (answer: Answer): string =>
  JSON.stringify({
    output: { message: { role: "assistant", content: [{ text: answer.words.join("") }] } },
    stopReason: "end_turn",
    usage: bedrockUsage(answer),
  })

/** Events of a text stream, each in a frame of Amazon's. */
export const inAmazonFrames = (frames: ReadonlyArray<string>): ReadonlyArray<Uint8Array> =>
  frames.flatMap((frame) => {
    const [, data] = /^data: (.*)$/m.exec(frame) ?? []
    return data === undefined ? [] : [bedrockFrame("chunk", { bytes: Buffer.from(data).toString("base64") })]
  })

export const bedrockClaudeFrames = (answer: Answer): ReadonlyArray<Uint8Array> =>
  inAmazonFrames(anthropicFrames(answer))

/** Dialects whose frames are text. */
type TextDialectName = Exclude<ChatDialectName, "bedrock">

/** The same answer, streamed and whole, in each dialect that streams text. */
export const vendorReplies: Readonly<
  Record<
    TextDialectName,
    { readonly frames: (answer: Answer) => ReadonlyArray<string>; readonly body: (answer: Answer) => string }
  >
> = {
  "openai-chat": { frames: openaiFrames, body: openaiBody },
  "openai-responses": { frames: responsesFrames, body: responsesBody },
  anthropic: { frames: anthropicFrames, body: anthropicBody },
  gemini: { frames: geminiFrames, body: geminiBody },
  cohere: { frames: cohereFrames, body: cohereBody },
}

const repliesOf = (call: VendorCall) =>
  call.path.includes("/converse")
    ? { frames: bedrockFrames, body: bedrockBody }
    : call.path.startsWith("/model/")
      ? { frames: bedrockClaudeFrames, body: anthropicBody }
      : vendorReplies[dialectOf(call)]

const dialectOf = ({ path }: VendorCall): TextDialectName => {
  if (path.endsWith("/v2/chat")) return "cohere"
  if (path.endsWith("/messages") || /rawPredict$/i.test(path)) return "anthropic"
  if (path.includes("enerateContent")) return "gemini"
  return path.split("?")[0]?.endsWith("/responses") === true ? "openai-responses" : "openai-chat"
}

/** Answers in the dialect and mode that the request asks for. @param pauseMs pause before each frame */
export const answering =
  (answer: Answer, pauseMs = 0): VendorScript =>
  async (call) => {
    const { frames, body } = repliesOf(call)
    if (!call.streaming) {
      await call.wait(pauseMs)
      call.head(200, { "content-type": "application/json" })
      return call.end(body(answer))
    }
    call.head(200, {
      "content-type": call.path.startsWith("/model/") ? "application/vnd.amazon.eventstream" : "text/event-stream",
    })
    for (const frame of frames(answer)) {
      if (pauseMs > 0) await call.wait(pauseMs)
      if (!(await call.write(frame))) return
    }
    call.end()
  }
