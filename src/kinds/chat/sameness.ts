/** What can change the answer to an exchange: all that a vendor is told, but for what only its own cache reads. */
import type { VendorRequest } from "../../dialects/dialect.ts"
import type { Block, Message } from "../../protocol/block.ts"

/** Undefined if the request names links, or files that a vendor keeps: what is behind them may change. */
export const samenessOf = (request: Omit<VendorRequest, "model">): object | undefined => {
  const { thread, cache: _cache, stream: _stream, ...rest } = request
  if (thread.some(({ blocks }) => blocks.some(isLinked))) return undefined
  return { ...rest, thread: thread.map(meaningOfMessage) }
}

const isLinked = (block: Block): boolean =>
  ("url" in block && block.url !== undefined) || ("kept" in block && block.kept !== undefined)

const meaningOfMessage = ({ role, blocks }: Message) => ({ role, blocks: blocks.map(meaningOf) })

/** Marks of a vendor's cache, and what a reply told beside its text, mean nothing to a model. */
const meaningOf = (block: Block): object => {
  const {
    cacheable: _cacheable,
    logprobs: _logprobs,
    ...rest
  }: Block & Partial<Record<"cacheable" | "logprobs", unknown>> = block
  return rest
}
