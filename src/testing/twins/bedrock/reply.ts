/** Replies of Converse. Source: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html */
import { JsonText } from "../../../protocol/json/json-text.ts"
import { signatureOf } from "../anthropic/reply.ts"
import { bedrockFrame } from "../frames.ts"
import { idOfCall, type TwinBlock, type TwinStop, type WrittenReply } from "../twin.ts"

const stops: Readonly<Record<TwinStop, string>> = {
  end: "end_turn",
  max_tokens: "max_tokens",
  stop_sequence: "stop_sequence",
  tool_call: "tool_use",
  refusal: "end_turn",
  filtered: "content_filtered",
}

const usageOf = ({ usage: { inTokens, outTokens, cachedTokens } }: WrittenReply) => ({
  inputTokens: inTokens - cachedTokens,
  cacheReadInputTokens: cachedTokens,
  outputTokens: outTokens,
  totalTokens: inTokens + outTokens,
})

/** Models of Anthropic sign what they think. */
const signed = (model: string, text: string): object => (/claude/.test(model) ? { signature: signatureOf(text) } : {})

const reasoning = (model: string, text: string): object => ({
  reasoningContent: { reasoningText: { text, ...signed(model, text) } },
})

const contentOf = (model: string, block: TwinBlock, at: number): object => {
  switch (block.t) {
    case "text":
      return { text: block.pieces.join("") }
    case "refusal":
      return { text: block.text }
    case "reasoning":
      return reasoning(model, block.pieces.join(""))
    case "call":
      return {
        toolUse: { toolUseId: idOfCall(block, at, "tooluse_"), name: block.name, input: new JsonText(block.args) },
      }
  }
}

export const wholeConverse = (reply: WrittenReply): object => ({
  output: {
    message: { role: "assistant", content: reply.blocks.map((block, at) => contentOf(reply.model, block, at)) },
  },
  stopReason: stops[reply.stop],
  usage: usageOf(reply),
  metrics: { latencyMs: 1 },
})

const deltasOf = (model: string, block: TwinBlock): ReadonlyArray<object> => {
  switch (block.t) {
    case "text":
      return block.pieces.map((text) => ({ text }))
    case "refusal":
      return [{ text: block.text }]
    case "reasoning":
      return [
        ...block.pieces.map((text) => ({ reasoningContent: { text } })),
        { reasoningContent: signed(model, block.pieces.join("")) },
      ]
    case "call":
      return [{ toolUse: { input: block.args } }]
  }
}

export const converseFrames = (reply: WrittenReply): ReadonlyArray<Uint8Array> => [
  bedrockFrame("messageStart", { role: "assistant" }),
  ...reply.blocks.flatMap((block, contentBlockIndex) => [
    // A call alone has a beginning.
    ...(block.t === "call"
      ? [
          bedrockFrame("contentBlockStart", {
            contentBlockIndex,
            start: { toolUse: { toolUseId: idOfCall(block, contentBlockIndex, "tooluse_"), name: block.name } },
          }),
        ]
      : []),
    ...deltasOf(reply.model, block).map((delta) => bedrockFrame("contentBlockDelta", { contentBlockIndex, delta })),
    bedrockFrame("contentBlockStop", { contentBlockIndex }),
  ]),
  bedrockFrame("messageStop", { stopReason: stops[reply.stop] }),
  bedrockFrame("metadata", { usage: usageOf(reply), metrics: { latencyMs: 1 } }),
]
