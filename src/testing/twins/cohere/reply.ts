/** Cohere's replies. Source: https://docs.cohere.com/v2/docs/streaming */
import { anthropicFrame as typedFrame } from "../frames.ts"
import { idOfCall, type TwinBlock, type TwinStop, type WrittenReply } from "../twin.ts"

const stops: Readonly<Record<TwinStop, string>> = {
  end: "COMPLETE",
  max_tokens: "MAX_TOKENS",
  stop_sequence: "STOP_SEQUENCE",
  tool_call: "TOOL_CALL",
  refusal: "COMPLETE",
  filtered: "ERROR_TOXIC",
}

const usageOf = ({ usage: { inTokens, outTokens } }: WrittenReply) => ({
  billed_units: { input_tokens: inTokens, output_tokens: outTokens },
})

const contentsOf = ({ blocks }: WrittenReply): ReadonlyArray<Exclude<TwinBlock, { readonly t: "call" }>> =>
  blocks.flatMap((block) => (block.t === "call" ? [] : [block]))

const callsOf = ({ blocks }: WrittenReply) =>
  blocks.flatMap((block, at) =>
    block.t === "call"
      ? [{ id: idOfCall(block, at, "call_"), type: "function", function: { name: block.name, arguments: block.args } }]
      : [],
  )

const contentOf = (block: Exclude<TwinBlock, { readonly t: "call" }>) => {
  if (block.t === "refusal") return { type: "text", text: block.text }
  const text = block.pieces.join("")
  return block.t === "reasoning" ? { type: "thinking", thinking: text } : { type: "text", text }
}

export const wholeChat = (reply: WrittenReply): object => {
  const content = contentsOf(reply).map(contentOf)
  const calls = callsOf(reply)
  return {
    id: "c",
    finish_reason: stops[reply.stop],
    message: {
      role: "assistant",
      ...(content.length > 0 && { content }),
      ...(calls.length > 0 && { tool_calls: calls }),
    },
    usage: usageOf(reply),
  }
}

export const chatFrames = (reply: WrittenReply): ReadonlyArray<string> => [
  typedFrame({ type: "message-start", id: "c", delta: { message: { role: "assistant", content: [] } } }),
  ...contentsOf(reply).flatMap((block, index) => {
    const name = block.t === "reasoning" ? "thinking" : "text"
    const pieces = block.t === "refusal" ? [block.text] : block.pieces
    return [
      typedFrame({ type: "content-start", index, delta: { message: { content: { type: name, [name]: "" } } } }),
      ...pieces.map((text) =>
        typedFrame({ type: "content-delta", index, delta: { message: { content: { [name]: text } } } }),
      ),
      typedFrame({ type: "content-end", index }),
    ]
  }),
  ...callsOf(reply).flatMap((call, index) => [
    typedFrame({
      type: "tool-call-start",
      index,
      delta: { message: { tool_calls: { ...call, function: { name: call.function.name, arguments: "" } } } },
    }),
    typedFrame({
      type: "tool-call-delta",
      index,
      delta: { message: { tool_calls: { function: { arguments: call.function.arguments } } } },
    }),
    typedFrame({ type: "tool-call-end", index }),
  ]),
  typedFrame({ type: "message-end", delta: { finish_reason: stops[reply.stop], usage: usageOf(reply) } }),
]
