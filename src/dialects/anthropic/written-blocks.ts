/** Blocks of a thread in Anthropic's format. */
import type { Block, FileBlock, ImageBlock, ReasoningBlock, TextBlock, VendorBlock } from "../../protocol/block.ts"
import { cut, editJsonText, set } from "../../protocol/json/json-edit.ts"
import { JsonText } from "../../protocol/json/json-text.ts"
import { inputOf } from "../parse/exact-json.ts"
import { markOfResult } from "../vendor/results.ts"
import { signatureFor } from "../vendor/signature.ts"
import { ownBlock, shownText } from "../vendor/vendor-blocks.ts"
import { clearCacheBreakpoints, type Markable, marked, ownText, type WireBlock } from "./cache-marks.ts"
import { isBlank } from "./requirements.ts"

export const encodeBlocks = (blocks: ReadonlyArray<Block>): Array<WireBlock> => blocks.flatMap(encodeBlock)

function encodeBlock(block: Block): ReadonlyArray<WireBlock> {
  switch (block.t) {
    case "text":
      return encodeText(block)
    case "reasoning":
      return encodeReasoning(block)
    case "tool_call":
      return [{ type: "tool_use", id: block.id, name: block.name, input: inputOf(block), ...marked(block.cacheable) }]
    case "tool_result":
      return [
        {
          type: "tool_result",
          tool_use_id: block.id,
          content: block.v ?? block.blocks?.filter((inner) => !isBlank(inner)).flatMap(encodePart) ?? "",
          ...(block.isError === true && { is_error: true }),
          ...marked(markOfResult(block)),
        },
      ]
    case "image":
      return [{ type: "image", source: mediaSource(block), ...marked(block.cacheable) }]
    case "file":
      return [
        {
          type: "document",
          source:
            block.data !== undefined && block.mime.startsWith("text/")
              ? { type: "text", media_type: "text/plain", data: Buffer.from(block.data, "base64").toString("utf8") }
              : mediaSource(block),
          ...(block.name !== undefined && { title: block.name }),
          ...marked(block.cacheable),
        },
      ]
    case "vendor":
      return encodeOwn(block)
    case "video":
    case "audio":
      // Refused before.
      return []
  }
}

/** A part of a result, which has the mark of its parts. */
const encodePart = (part: Block): ReadonlyArray<WireBlock> => {
  const blocks = encodeBlock(part)
  clearCacheBreakpoints(blocks)
  return blocks
}

/** A block of Anthropic's tools goes back unchanged; a block of other vendors' tools becomes the text that it showed. */
function encodeOwn(block: VendorBlock): ReadonlyArray<WireBlock> {
  const own = ownBlock("anthropic", block)
  if (own !== undefined && typeof own["type"] === "string") return [{ ...own, type: own["type"], [ownText]: block.v }]
  return encodeText({ t: "text", v: shownText(block) })
}

/** A block of Anthropic's own tools is its text, with the mark that it has here. */
export const written = (block: Markable): object => {
  const { [ownText]: text, cache_control: mark } = block
  if (text === undefined) return block
  return new JsonText(editJsonText(text, [mark === undefined ? cut("cache_control") : set(mark, "cache_control")]))
}

/** Thinking without its signature, or of another vendor, is refused, so it is omitted. */
function encodeReasoning({ v, signature, redacted }: ReasoningBlock): ReadonlyArray<WireBlock> {
  if (redacted === true) return [{ type: "redacted_thinking", data: v }]
  const own = signatureFor("anthropic", signature)
  return own === undefined ? [] : [{ type: "thinking", thinking: v, signature: own }]
}

/** Anthropic refuses empty text. */
const encodeText = ({ v, cacheable }: TextBlock): ReadonlyArray<WireBlock> =>
  v === "" ? [] : [{ type: "text", text: v, ...marked(cacheable) }]

const mediaSource = ({ mime, data, url, kept }: ImageBlock | FileBlock): object => {
  if (kept !== undefined) return { type: "file", file_id: kept.id }
  return url !== undefined ? { type: "url", url } : { type: "base64", media_type: mime, data }
}
