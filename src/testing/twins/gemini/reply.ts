/** Gemini's replies. Source: https://ai.google.dev/api/generate-content#generatecontentresponse */
import { JsonText } from "../../../protocol/json/json-text.ts"
import { openaiFrame as dataFrame } from "../frames.ts"
import { idOfCall, type TwinBlock, type TwinStop, type WrittenReply } from "../twin.ts"
import { signatureOf } from "./signature.ts"

const stops: Readonly<Record<TwinStop, string>> = {
  end: "STOP",
  max_tokens: "MAX_TOKENS",
  stop_sequence: "STOP",
  tool_call: "STOP",
  refusal: "STOP",
  filtered: "SAFETY",
}

const usageOf = ({ usage: { inTokens, outTokens, cachedTokens } }: WrittenReply) => ({
  promptTokenCount: inTokens,
  cachedContentTokenCount: cachedTokens,
  candidatesTokenCount: outTokens,
  totalTokenCount: inTokens + outTokens,
})

type Part = { readonly [name: string]: unknown }

/** The parts of a block; only the first call of a step is signed. */
const partsOf = (block: TwinBlock, at: number, isFirstCall: boolean, pieces: boolean): ReadonlyArray<Part> => {
  switch (block.t) {
    case "text":
      return (pieces ? block.pieces : [block.pieces.join("")]).map((text) => ({ text }))
    case "reasoning":
      return (pieces ? block.pieces : [block.pieces.join("")]).map((text) => ({ text, thought: true }))
    case "refusal":
      return [{ text: block.text }]
    case "call": {
      const functionCall = { id: idOfCall(block, at, ""), name: block.name, args: new JsonText(block.args) }
      return [{ functionCall, ...(isFirstCall && { thoughtSignature: signatureOf(block.name) }) }]
    }
  }
}

const allParts = ({ blocks }: WrittenReply, pieces: boolean): ReadonlyArray<Part> => {
  const first = blocks.findIndex(({ t }) => t === "call")
  return blocks.flatMap((block, at) => partsOf(block, at, at === first, pieces))
}

const groundingOf = ({ blocks }: WrittenReply): object => {
  const citations = blocks.flatMap((block) => (block.t === "text" ? (block.citations ?? []) : []))
  if (citations.length === 0) return {}
  return {
    groundingMetadata: {
      groundingChunks: citations.map(({ url, title }) => ({ web: { uri: url, title } })),
      groundingSupports: citations.map(({ text }, index) => ({
        segment: { startIndex: 0, endIndex: Buffer.byteLength(text), text },
        groundingChunkIndices: [index],
      })),
    },
  }
}

const replyOf = (reply: WrittenReply, parts: ReadonlyArray<Part>, more: object = {}, rest: object = {}) => ({
  candidates: [{ content: { role: "model", parts }, index: 0, ...more }],
  ...rest,
  modelVersion: reply.model,
  responseId: "r1",
})

const ended = (reply: WrittenReply) => ({ finishReason: stops[reply.stop], ...groundingOf(reply) })

export const wholeGenerate = (reply: WrittenReply): object =>
  replyOf(reply, allParts(reply, false), ended(reply), { usageMetadata: usageOf(reply) })

export const generateFrames = (reply: WrittenReply): ReadonlyArray<string> => [
  ...allParts(reply, true).map((part) => dataFrame(replyOf(reply, [part]))),
  dataFrame(replyOf(reply, [{ text: "" }], ended(reply), { usageMetadata: usageOf(reply) })),
]
