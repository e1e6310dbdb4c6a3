/**
 * The fields that can change the answer to an exchange: all that a vendor gets, except for those that only its own cache
 * reads.
 */
import type { VendorRequest } from "../../dialects/chat-dialect.ts"
import { type Block, everyBlock, type Message, type ToolResultBlock } from "../../protocol/block.ts"
import type { ExactContent, ExactTool } from "./exact-content.ts"

/** @param prompt {@link samenessOfPrompt} */
export const samenessOf = (
  { cache: _cache, stream: _stream, ...params }: Omit<VendorRequest, "model" | "thread" | "tools">,
  prompt: object | undefined,
): object | undefined => prompt && { ...params, prompt }

/** Undefined if a prompt names links, or files that are stored at a vendor: their content may change. */
export const samenessOfPrompt = ({ thread, tools, outputJson }: ExactContent): object | undefined =>
  everyBlock(thread).some(isLinked)
    ? undefined
    : { thread: thread.map(meaningOfMessage), tools: tools.map(meaningOfTool), outputJson }

const isLinked = (block: Block): boolean =>
  ("url" in block && block.url !== undefined) ||
  ("kept" in block && block.kept !== undefined) ||
  (block.t === "vendor" && block.v.includes('"file_id"'))

const meaningOfMessage = ({ blocks, ...message }: Message) => ({ ...message, blocks: blocks.map(meaningOf) })

const meaningOfTool = (tool: ExactTool): object => {
  const { cacheable: _cacheable, ...rest }: ExactTool & { readonly cacheable?: unknown } = tool
  return rest
}

type ResultPart = NonNullable<ToolResultBlock["blocks"]>[number]

/** Marks of a vendor's cache, and metadata of an earlier reply's text, mean nothing to a model. */
const meaningOf = (block: Block | ResultPart): object => {
  const {
    cacheable: _cacheable,
    citations: _citations,
    logprobs: _logprobs,
    ...rest
  }: (Block | ResultPart) & Partial<Record<"cacheable" | "citations" | "logprobs", unknown>> = block
  return "blocks" in rest && rest.blocks !== undefined ? { ...rest, blocks: rest.blocks.map(meaningOf) } : rest
}
