/** Anthropic's replies. Source: https://platform.claude.com/docs/en/build-with-claude/streaming */
import { JsonText } from "../../../protocol/json/json-text.ts"
import { anthropicFrame } from "../frames.ts"
import { idOfCall, type TwinBlock, type TwinCitation, type TwinStop, type WrittenReply } from "../twin.ts"

const signed = "TWlubmVzb3RhIHR3aW4"

/** A signature of thinking, which twins of Claude take back wherever it runs. */
export const signatureOf = (thinking: string): string => signed + Buffer.from(thinking).toString("base64").slice(0, 24)

export const isOwnSignature = (signature: string): boolean => signature.startsWith(signed)

const stops: Readonly<Record<TwinStop, string>> = {
  end: "end_turn",
  max_tokens: "max_tokens",
  stop_sequence: "stop_sequence",
  tool_call: "tool_use",
  refusal: "refusal",
  filtered: "refusal",
}

const usageOf = ({ usage: { inTokens, outTokens, cachedTokens } }: WrittenReply) => ({
  input_tokens: inTokens - cachedTokens,
  cache_read_input_tokens: cachedTokens,
  cache_creation_input_tokens: 0,
  output_tokens: outTokens,
})

const messageOf = ({ model }: WrittenReply) => ({ id: "msg_1", type: "message", role: "assistant", model })

const citationOf = ({ url, title, text }: TwinCitation) => ({
  type: "web_search_result_location",
  url,
  title,
  cited_text: text,
  encrypted_index: "MQ==",
})

const contentOf = (block: TwinBlock, at: number): object => {
  switch (block.t) {
    case "text":
      return {
        type: "text",
        text: block.pieces.join(""),
        ...(block.citations !== undefined && { citations: block.citations.map(citationOf) }),
      }
    case "reasoning": {
      const thinking = block.pieces.join("")
      return { type: "thinking", thinking, signature: signatureOf(thinking) }
    }
    case "call":
      return { type: "tool_use", id: idOfCall(block, at, "toolu_"), name: block.name, input: new JsonText(block.args) }
    case "refusal":
      return { type: "text", text: block.text }
  }
}

export const wholeMessage = (reply: WrittenReply): object => ({
  ...messageOf(reply),
  content: reply.blocks.map(contentOf),
  stop_reason: stops[reply.stop],
  stop_sequence: null,
  usage: usageOf(reply),
})

/** The block as it begins, and its deltas. */
const partsOf = (block: TwinBlock, at: number): readonly [start: object, deltas: ReadonlyArray<object>] => {
  switch (block.t) {
    case "text":
      return [
        { type: "text", text: "", ...(block.citations !== undefined && { citations: [] }) },
        [
          ...(block.citations ?? []).map((each) => ({ type: "citations_delta", citation: citationOf(each) })),
          ...block.pieces.map((text) => ({ type: "text_delta", text })),
        ],
      ]
    case "reasoning":
      return [
        { type: "thinking", thinking: "", signature: "" },
        [
          ...block.pieces.map((thinking) => ({ type: "thinking_delta", thinking })),
          { type: "signature_delta", signature: signatureOf(block.pieces.join("")) },
        ],
      ]
    case "call": {
      const middle = Math.ceil(block.args.length / 2)
      // A call without arguments has an empty piece alone.
      const pieces = block.args === "{}" ? [""] : ["", block.args.slice(0, middle), block.args.slice(middle)]
      return [
        { type: "tool_use", id: idOfCall(block, at, "toolu_"), name: block.name, input: {} },
        pieces.map((partial_json) => ({ type: "input_json_delta", partial_json })),
      ]
    }
    case "refusal":
      return [{ type: "text", text: "" }, [{ type: "text_delta", text: block.text }]]
  }
}

export const messageFrames = (reply: WrittenReply): ReadonlyArray<string> => [
  anthropicFrame({
    type: "message_start",
    message: {
      ...messageOf(reply),
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: { ...usageOf(reply), output_tokens: 1 },
    },
  }),
  ...reply.blocks.flatMap((block, index) => {
    const [start, deltas] = partsOf(block, index)
    return [
      anthropicFrame({ type: "content_block_start", index, content_block: start }),
      ...deltas.map((delta) => anthropicFrame({ type: "content_block_delta", index, delta })),
      anthropicFrame({ type: "content_block_stop", index }),
    ]
  }),
  anthropicFrame({
    type: "message_delta",
    delta: { stop_reason: stops[reply.stop], stop_sequence: null },
    usage: { output_tokens: reply.usage.outTokens },
  }),
  anthropicFrame({ type: "message_stop" }),
]
