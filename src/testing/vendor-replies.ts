/** Replies as vendors write them, for scripts: the same answer as a stream and as a whole, in each dialect. */
import type { VendorCall, VendorScript } from "./scripted-vendor.ts"

export interface Answer {
  readonly words: ReadonlyArray<string>
  readonly inTokens: number
  readonly outTokens: number
  /** Part of `inTokens`. */
  readonly cachedTokens?: number
}

/** A server-sent event as OpenAI writes it. */
export const openaiFrame = (data: unknown): string =>
  `data: ${typeof data === "string" ? data : JSON.stringify(data)}\n\n`

/** A server-sent event as Anthropic writes it. */
export const anthropicFrame = (data: { readonly type: string; readonly [key: string]: unknown }): string =>
  `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`

const openaiUsage = ({ inTokens, outTokens, cachedTokens = 0 }: Answer) => ({
  prompt_tokens: inTokens,
  completion_tokens: outTokens,
  total_tokens: inTokens + outTokens,
  prompt_tokens_details: { cached_tokens: cachedTokens },
})

/** One content chunk of a chat completion. */
export const openaiChunk = (content: string): string =>
  openaiFrame({ object: "chat.completion.chunk", choices: [{ index: 0, delta: { content }, finish_reason: null }] })

/** The frames of a whole streamed chat completion. */
export const openaiFrames = (answer: Answer): ReadonlyArray<string> => [
  openaiFrame({ object: "chat.completion.chunk", choices: [{ index: 0, delta: { role: "assistant", content: "" } }] }),
  ...answer.words.map(openaiChunk),
  openaiFrame({ object: "chat.completion.chunk", choices: [{ index: 0, delta: {}, finish_reason: "stop" }] }),
  openaiFrame({ object: "chat.completion.chunk", choices: [], usage: openaiUsage(answer) }),
  openaiFrame("[DONE]"),
]

export const openaiBody = (answer: Answer): string =>
  JSON.stringify({
    object: "chat.completion",
    choices: [{ index: 0, message: { role: "assistant", content: answer.words.join("") }, finish_reason: "stop" }],
    usage: openaiUsage(answer),
  })

const anthropicUsage = ({ inTokens, outTokens, cachedTokens = 0 }: Answer) => ({
  input_tokens: inTokens - cachedTokens,
  cache_read_input_tokens: cachedTokens,
  cache_creation_input_tokens: 0,
  output_tokens: outTokens,
})

export const anthropicFrames = (answer: Answer): ReadonlyArray<string> => [
  anthropicFrame({
    type: "message_start",
    message: { role: "assistant", content: [], usage: { ...anthropicUsage(answer), output_tokens: 1 } },
  }),
  anthropicFrame({ type: "content_block_start", index: 0, content_block: { type: "text", text: "" } }),
  ...answer.words.map((text) =>
    anthropicFrame({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text } }),
  ),
  anthropicFrame({ type: "content_block_stop", index: 0 }),
  anthropicFrame({
    type: "message_delta",
    delta: { stop_reason: "end_turn" },
    usage: { output_tokens: answer.outTokens },
  }),
  anthropicFrame({ type: "message_stop" }),
]

export const anthropicBody = (answer: Answer): string =>
  JSON.stringify({
    type: "message",
    role: "assistant",
    content: [{ type: "text", text: answer.words.join("") }],
    stop_reason: "end_turn",
    usage: anthropicUsage(answer),
  })

const isAnthropic = (call: VendorCall): boolean => call.path.endsWith("/messages")

/** Gives an answer in the dialect and the mode that the request asks for. @param pauseMs before each frame */
export const answering =
  (answer: Answer, pauseMs = 0): VendorScript =>
  async (call) => {
    if (!call.streaming) {
      await call.wait(pauseMs)
      call.head(200, { "content-type": "application/json" })
      return call.end(isAnthropic(call) ? anthropicBody(answer) : openaiBody(answer))
    }
    call.head()
    for (const frame of isAnthropic(call) ? anthropicFrames(answer) : openaiFrames(answer)) {
      if (pauseMs > 0) await call.wait(pauseMs)
      if (!(await call.write(frame))) return
    }
    call.end()
  }
