/** Conservative token counts, used when there are no exact ones. */
import { tokensOfBytes } from "../../calls/tokens/tokens.ts"
import { pictureIn } from "../../dialects/vendor/reply-pictures.ts"
import { type Block, everyBlock, type Message, type VendorBlock } from "../../protocol/block.ts"
import type { Tool } from "../../protocol/tool.ts"

/** The tokens that vendors count for a large image. */
const tokensPerImage = 1600
/** The patches of a picture without any reduction: https://platform.openai.com/docs/guides/images-vision */
const tokensPerOriginal = 10_000
/** A PDF page is about 50 kB and 3,000 tokens. */
const fileBytesPerToken = 16
const tokensPerMessage = 8
/** Tokens of media that are named by an address: a page or so of a document, minutes of sound, a few minutes of video. */
const tokensOfAddress = { file: tokensPerImage, audio: 10_000, video: 50_000 }

export interface PromptParts {
  readonly text: string
  /** Tokens of images and files, and of the structure between messages. */
  readonly tokens: number
}

/** A conservative count of a prompt, tools included. */
export const tokensOfPrompt = (thread: ReadonlyArray<Message>, tools: ReadonlyArray<Tool>): number => {
  let bytes = tools.length === 0 ? 0 : Buffer.byteLength(JSON.stringify(tools))
  let tokens = 0
  for (const { blocks } of thread) {
    tokens += tokensPerMessage
    for (const block of blocks) {
      bytes += Buffer.byteLength(textOf(block))
      tokens += mediaTokens(block)
    }
  }
  return tokens + tokensOfBytes(bytes)
}

/** The text of a prompt, tools included, and the tokens of images and files. */
export const partsOfPrompt = (thread: ReadonlyArray<Message>, tools: ReadonlyArray<Tool>): PromptParts => {
  let text = tools.length === 0 ? "" : JSON.stringify(tools)
  let tokens = 0
  for (const { blocks } of thread) {
    tokens += tokensPerMessage
    for (const block of blocks) {
      text += textOf(block)
      tokens += mediaTokens(block)
    }
  }
  return { text, tokens }
}

const textOf = (block: Block): string => {
  switch (block.t) {
    case "image":
    case "file":
    case "video":
    case "audio":
      return ""
    case "tool_call":
      return block.name + (block.text ?? JSON.stringify(block.input))
    case "tool_result":
      return block.v ?? block.blocks?.map(textOf).join("") ?? ""
    case "vendor":
      return hasPicture(block) ? "" : block.v
    default:
      return block.v
  }
}

/** Whether a block is a picture that a model made. Short blocks cannot be one, and are not read. */
const hasPicture = (block: VendorBlock): boolean => block.v.length > shortestPicture && pictureIn(block) !== undefined
const shortestPicture = 1000

/** Whether a prompt names pictures or files by an address or a vendor's id: only the vendor learns how large they are. */
export const hasRemoteMedia = (thread: ReadonlyArray<Message>): boolean =>
  everyBlock(thread).some((block) => isMedia(block) && block.data === undefined)

type MediaBlock = Extract<Block, { readonly t: "image" | "file" | "video" | "audio" }>

const isMedia = (block: Block): block is MediaBlock =>
  block.t === "image" || block.t === "file" || block.t === "video" || block.t === "audio"

/** Bytes of media that were sent along, as they are written in a body. */
export const mediaBytes = (thread: ReadonlyArray<Message>): number =>
  everyBlock(thread).reduce((bytes, block) => bytes + (isMedia(block) ? (block.data?.length ?? 0) : 0), 0)

/** A file of text has as many tokens as the same text in a block. */
const isText = (mime: string): boolean => mime.startsWith("text/") || /\b(json|xml|yaml|csv|javascript)\b/.test(mime)

const mediaTokens = (block: Block): number => {
  if (block.t === "tool_result") return block.blocks?.reduce((tokens, inner) => tokens + mediaTokens(inner), 0) ?? 0
  if (block.t === "image") return block.detail === "original" ? tokensPerOriginal : tokensPerImage
  if (block.t === "vendor") return hasPicture(block) ? tokensPerImage : 0
  if (!isMedia(block)) return 0
  const { data } = block
  if (data === undefined) return tokensOfAddress[block.t]
  return isText(block.mime) ? tokensOfBytes(data.length * 0.75) : Math.ceil(data.length / fileBytesPerToken)
}
