/** Replies of chat completions. Source: https://platform.openai.com/docs/api-reference/chat-streaming */
import { openaiFrame } from "../frames.ts"
import { idOfCall, type TwinBlock, type TwinStop, type WrittenReply } from "../twin.ts"

const stops: Readonly<Record<TwinStop, string>> = {
  end: "stop",
  max_tokens: "length",
  stop_sequence: "stop",
  tool_call: "tool_calls",
  refusal: "stop",
  filtered: "content_filter",
}

const usageOf = ({ usage: { inTokens, outTokens, cachedTokens } }: WrittenReply) => ({
  prompt_tokens: inTokens,
  completion_tokens: outTokens,
  total_tokens: inTokens + outTokens,
  prompt_tokens_details: { cached_tokens: cachedTokens },
})

type Call = Extract<TwinBlock, { readonly t: "call" }>

const callOf = (block: Call, at: number, args: string) => ({
  id: idOfCall(block, at, "call_"),
  ...(block.text === undefined
    ? { type: "function", function: { name: block.name, arguments: args } }
    : { type: "custom", custom: { name: block.name, input: args } }),
})

const inputOf = ({ args, text }: Call): string => text ?? args

const annotationsOf = (blocks: ReadonlyArray<TwinBlock>) => {
  let end = 0
  return blocks.flatMap((block) => {
    if (block.t !== "text") return []
    const start = end
    end += block.pieces.join("").length
    return (block.citations ?? []).map(({ url, title }) => ({
      type: "url_citation",
      url_citation: { url, title, start_index: start, end_index: end },
    }))
  })
}

const joined = (blocks: ReadonlyArray<TwinBlock>, t: "text" | "reasoning"): string =>
  blocks.flatMap((block) => (block.t === t ? block.pieces : [])).join("")

export const wholeChat = (reply: WrittenReply): object => {
  const { blocks } = reply
  const calls = blocks.flatMap((block) => (block.t === "call" ? [block] : []))
  const reasoning = joined(blocks, "reasoning")
  const refusal = blocks.find((block) => block.t === "refusal")
  const annotations = annotationsOf(blocks)
  const hasText = blocks.some(({ t }) => t === "text")
  return {
    id: "chatcmpl-1",
    object: "chat.completion",
    created: 1,
    model: reply.model,
    choices: [
      {
        index: 0,
        message: {
          role: "assistant",
          content: hasText ? joined(blocks, "text") : null,
          ...(refusal !== undefined && { refusal: refusal.text }),
          ...(reasoning !== "" && { reasoning_content: reasoning }),
          ...(annotations.length > 0 && { annotations }),
          ...(calls.length > 0 && { tool_calls: calls.map((block, at) => callOf(block, at, inputOf(block))) }),
        },
        finish_reason: stops[reply.stop],
      },
    ],
    usage: usageOf(reply),
  }
}

/** @param index of a call among the calls */
const deltasOf = (block: TwinBlock, index: number): ReadonlyArray<object> => {
  switch (block.t) {
    case "text":
      return block.pieces.map((content) => ({ content }))
    case "reasoning":
      return block.pieces.map((reasoning_content) => ({ reasoning_content }))
    case "refusal":
      return [{ refusal: block.text }]
    case "call": {
      const input = inputOf(block)
      const middle = Math.ceil(input.length / 2)
      const pieces = [input.slice(0, middle), input.slice(middle)]
      return [
        { tool_calls: [{ index, ...callOf(block, index, "") }] },
        ...pieces.map((piece) => ({
          tool_calls: [
            {
              index,
              ...(block.text === undefined ? { function: { arguments: piece } } : { custom: { input: piece } }),
            },
          ],
        })),
      ]
    }
  }
}

export const chatFrames = (reply: WrittenReply): ReadonlyArray<string> => {
  const base = { id: "chatcmpl-1", object: "chat.completion.chunk", created: 1, model: reply.model }
  const chunk = (delta: object, finish_reason: string | null = null) =>
    openaiFrame({ ...base, choices: [{ index: 0, delta, finish_reason }] })
  const annotations = annotationsOf(reply.blocks)
  const calls = reply.blocks.filter(({ t }) => t === "call")
  return [
    chunk({ role: "assistant", content: "" }),
    ...reply.blocks.flatMap((block) => deltasOf(block, calls.indexOf(block)).map((delta) => chunk(delta))),
    ...(annotations.length > 0 ? [chunk({ annotations })] : []),
    chunk({}, stops[reply.stop]),
    ...(reply.tellsUsage ? [openaiFrame({ ...base, choices: [], usage: usageOf(reply) })] : []),
    openaiFrame("[DONE]"),
  ]
}
