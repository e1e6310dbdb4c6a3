/** Results of tools: their text, and pictures, files and sound in them, which not every vendor takes there. */
import type { Cacheable, Message, ToolResultBlock } from "../../protocol/block.ts"
import type { VendorRequest } from "../chat-dialect.ts"
import type { JsonObject } from "../parse/json.ts"

type ResultBlock = NonNullable<ToolResultBlock["blocks"]>[number]
type ResultMedia = Exclude<ResultBlock, { readonly t: "text" }>

export const resultText = ({ v, blocks = [] }: ToolResultBlock): string =>
  v ?? blocks.flatMap((block) => (block.t === "text" ? [block.v] : [])).join("\n")

export const resultMedia = ({ blocks = [] }: ToolResultBlock): ReadonlyArray<ResultMedia> =>
  blocks.filter((block) => block.t !== "text")

/** The mark of a client's result: that of its parts, which have none of their own. */
export const markWithin = (parts: ReadonlyArray<JsonObject>): JsonObject => {
  const cacheable = parts.findLast((part) => part["cacheable"] !== undefined)?.["cacheable"]
  return cacheable === undefined ? {} : { cacheable }
}

/** The content of a client's result: its text alone, or its parts where there are others. @param parts as blocks */
export const resultOf = (parts: ReadonlyArray<JsonObject>): JsonObject => {
  const said = parts
    .map(({ cacheable: _cacheable, ...part }): JsonObject => part)
    .filter(({ t, v }) => t !== "text" || v !== "")
  return said.some(({ t }) => t !== "text") ? { blocks: said } : { v: said.map(({ v }) => v).join("\n") }
}

/** The cache breakpoint of a result: its own, or the last one of its pictures and files. */
export const markOfResult = (result: ToolResultBlock): Cacheable => {
  const inner = resultMedia(result).findLast(({ cacheable = false }) => cacheable !== false)
  return result.cacheable ?? inner?.cacheable ?? false
}

/**
 * A change that moves media out of results, behind the results of their turn, where a vendor takes none in a result. The results of
 * `pairCalls` have messages of their own. @param stays whether the vendor takes it in a result
 */
export const movesMedia =
  (stays: (block: ResultMedia) => boolean) =>
  (request: VendorRequest): VendorRequest => {
    const moves = (block: ResultBlock): block is ResultMedia => block.t !== "text" && !stays(block)
    const hasMedia = request.thread.some(
      ({ role, blocks }) => role === "tool" && blocks.some((result) => result.blocks?.some(moves) === true),
    )
    return hasMedia ? { ...request, thread: movedBehind(request.thread, moves) } : request
  }

const movedBehind = (
  thread: ReadonlyArray<Message>,
  moves: (block: ResultBlock) => block is ResultMedia,
): ReadonlyArray<Message> => {
  const moved: Array<Message> = []
  let media: ReadonlyArray<ResultMedia> = []
  for (const message of thread) {
    if (media.length > 0 && message.role === "user") {
      moved.push({ role: "user", blocks: [...media, ...message.blocks] })
      media = []
      continue
    }
    if (media.length > 0) moved.push({ role: "user", blocks: media })
    media = message.role === "tool" ? message.blocks.flatMap(({ blocks = [] }) => blocks.filter(moves)) : []
    moved.push(message.role === "tool" ? { role: "tool", blocks: message.blocks.map(withoutMoved(moves)) } : message)
  }
  return media.length > 0 ? [...moved, { role: "user", blocks: media }] : moved
}

const withoutMoved =
  (moves: (block: ResultBlock) => boolean) =>
  ({ blocks, ...result }: ToolResultBlock): ToolResultBlock => {
    if (blocks === undefined) return result
    const left = blocks.filter((block) => !moves(block))
    return left.some(({ t }) => t !== "text")
      ? { ...result, blocks: left }
      : { ...result, v: resultText({ ...result, blocks: left }) }
  }
