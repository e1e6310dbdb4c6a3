/** Conservative token counts, where nobody has told the real ones. */
import type { Block } from "../protocol/block.ts"
import type { ExchangeRequest } from "../protocol/exchange.ts"

/** Real text has about four bytes a token; three errs on the safe side. */
const bytesPerToken = 3
/** What vendors count for a large image. */
const tokensPerImage = 1600
/** A PDF page is about 50 kB and 3,000 tokens. */
const fileBytesPerToken = 16
const tokensPerMessage = 8

/** Tokens of a text of this many UTF-8 bytes. */
export const tokensOfBytes = (bytes: number): number => Math.ceil(bytes / bytesPerToken)

/** Tokens of a whole prompt, tools included. */
export const estimatePrompt = ({ thread, tools = [] }: ExchangeRequest): number => {
  let tokens = tools.length === 0 ? 0 : tokensOfBytes(Buffer.byteLength(JSON.stringify(tools)))
  for (const { blocks } of thread) {
    tokens += tokensPerMessage
    for (const block of blocks) tokens += tokensOfBlock(block)
  }
  return tokens
}

const tokensOfBlock = (block: Block): number => {
  switch (block.t) {
    case "image":
      return tokensPerImage
    case "file":
      return Math.ceil((block.data?.length ?? tokensPerImage * fileBytesPerToken) / fileBytesPerToken)
    case "tool_call":
      return tokensOfBytes(Buffer.byteLength(JSON.stringify(block.input)))
    default:
      return tokensOfBytes(Buffer.byteLength(block.v))
  }
}
