/** Marks of Anthropic's cache on blocks and tools. */
import type { Cacheable } from "../../protocol/block.ts"

/** Anthropic accepts this many cache breakpoints per request; the last ones are the most useful. */
const maxCacheBreakpoints = 4

/** Without a life of its own, a prefix is kept for five minutes. */
interface CacheMark {
  readonly type: "ephemeral"
  readonly ttl?: "5m" | "1h"
}

/** The member that has the original text of a block. */
export const ownText = Symbol("ownText")

/** A block, or a tool. */
export interface Markable {
  cache_control?: CacheMark
  /** The text of a block of Anthropic's own tools, or of such a tool. */
  readonly [ownText]?: string
  readonly [key: string]: unknown
}

export interface WireBlock extends Markable {
  readonly type: string
}

export interface WireMessage {
  readonly role: "user" | "assistant" | "system"
  readonly content: Array<WireBlock>
}

/** The mark of a block that is, or is not, the end of a prefix. */
export const marked = (cacheable: Cacheable = false): { cache_control?: CacheMark } => {
  if (cacheable === false) return {}
  return { cache_control: { type: "ephemeral", ...(cacheable !== true && { ttl: cacheable }) } }
}

const isCacheable = ({ type }: WireBlock): boolean => type !== "thinking" && type !== "redacted_thinking"

const lastsLong = ({ cache_control: mark }: Markable): boolean => mark?.ttl === "1h"

/**
 * Marks the end of the thread, as long as its last breakpoint, unless this is a one-shot request, and keeps the last
 * breakpoints that fit. Nothing may be kept for an hour after what is kept for less:
 * https://platform.claude.com/docs/en/build-with-claude/prompt-caching
 */
export function setCacheBreakpoints(
  blocks: ReadonlyArray<Markable>,
  messages: ReadonlyArray<WireMessage>,
  skipWrite: boolean,
): void {
  const tail = messages.at(-1)?.content.at(-1)
  const isMarked = ({ cache_control: mark }: Markable) => mark !== undefined
  if (!skipWrite && tail !== undefined && isCacheable(tail)) {
    tail.cache_control = blocks.findLast(isMarked)?.cache_control ?? { type: "ephemeral" }
  }
  const marks = blocks.filter(isMarked)
  clearCacheBreakpoints(marks.slice(0, -maxCacheBreakpoints))
  for (const block of marks.slice(-maxCacheBreakpoints, marks.findLastIndex(lastsLong) + 1)) {
    block.cache_control = { type: "ephemeral", ttl: "1h" }
  }
}

export function clearCacheBreakpoints(blocks: ReadonlyArray<Markable>): void {
  for (const block of blocks) delete block.cache_control
}
