/** The text of a request or a reply that is reviewed: everything that a model reads or writes as text. Pure. */
import { isUtf8 } from "node:buffer"
import type { Block, Message, ReplyBlock } from "../protocol/block.ts"
import { type FunctionTool, isFunctionTool, type TextTool, type VendorTool } from "../protocol/tool.ts"
import { withLongNumbers } from "./json-numbers.ts"
import { joinedTextsOf, stringsIn } from "./json-texts.ts"
import { everyPart, type Parts, partOfBlock } from "./parts.ts"

/**
 * One text: messages as lines, with the blocks of a message joined as vendors join them, so that nothing is missed
 * between. Messages of one role are one turn at some vendors, also where those between are left out, and instructions one list.
 */
export const textOfPrompt = (
  thread: ReadonlyArray<Message>,
  tools: ReadonlyArray<ReviewedTool>,
  parts: Parts = everyPart,
): string => {
  const texts = thread.map(({ role, blocks }) => ({ role, text: textOfBlocks(blocks, parts) }))
  const joined = roles.flatMap((role) => {
    const said = texts.filter((each) => each.role === role)
    return said.length < 2 ? [] : [said.map(({ text }) => text).join("")]
  })
  const offered = parts.has("text") ? tools.map(textOfTool) : []
  return [...offered, ...texts.map(({ text }) => text), ...joined].join("\n")
}

const roles = ["system", "user"] as const

/** Texts that some vendors get as lines, and others one after the other. */
const asLinesAndJoined = (texts: ReadonlyArray<string>): ReadonlyArray<string> =>
  texts.length < 2 ? texts : [...texts, texts.join("")]

/** A tool that is offered. */
export type ReviewedTool =
  | (FunctionTool & {
      /** The text of its schema, if writing it would give another. */
      readonly schemaJson?: string | undefined
    })
  | TextTool
  | VendorTool

const textOfTool = (tool: ReviewedTool): string => {
  if (tool.kind === "vendor") return textOfJson(tool.v)
  if (!isFunctionTool(tool)) return `${tool.name} ${tool.description ?? ""} ${tool.grammar?.definition ?? ""}`
  const { name, description = "", inputSchema, schemaJson = "" } = tool
  return `${name} ${description} ${JSON.stringify(inputSchema)} ${schemaJson}`
}

export const textOfReply = (blocks: ReadonlyArray<ReplyBlock>, parts: Parts = everyPart): string =>
  textOfBlocks(blocks, parts)

const textOfBlocks = (blocks: ReadonlyArray<Block>, parts: Parts): string =>
  blocks.map((block) => (parts.has(partOfBlock(block)) ? textOf(block) : "")).join("")

function textOf(block: Block): string {
  switch (block.t) {
    case "image":
    case "video":
    case "audio":
      return textOfMedia(block)
    case "vendor":
      return `${block.text ?? ""} ${textOfJson(block.v)}`
    case "file": {
      const text = textOfMedia(block)
      return block.name === undefined ? text : `${block.name} ${text}`
    }
    case "tool_call":
      return [
        `${block.name} ${block.text ?? JSON.stringify(block.input)}`,
        ...(block.json === undefined ? [] : [block.json]),
        ...stringsIn(block.input),
      ].join("\n")
    case "tool_result":
      return block.v ?? textOfResult(block.blocks ?? [])
    case "reasoning":
      return block.redacted === true ? "" : block.v
    default:
      return block.v
  }
}

const textOfResult = (blocks: ReadonlyArray<Block>): string => asLinesAndJoined(blocks.map(textOf)).join("\n")

/** JSON that a client wrote, without the escapes in which it may hide a word; other text is as it is. */
const textOfJson = (json: string): string => {
  try {
    const value = withLongNumbers(json)
    return [JSON.stringify(value), ...joinedTextsOf(value)].join("\n")
  } catch {
    return json
  }
}

/** Media that no model reads as text; SVG is text. */
const isSeenOrHeard = /^(image|video|audio)\/(?!svg)/

/** The text of a file's or a picture's own bytes. */
export const textOfMedia = ({ t, mime, data }: Extract<Block, { readonly mime: string }>): string =>
  data === undefined || (t !== "file" && isSeenOrHeard.test(mime)) ? "" : textOfData({ mime, data })

/** Data is text if its bytes are, for any declared type: JSON has the type of an application. */
const textOfData = ({ mime, data = "" }: { readonly mime: string; readonly data?: string }): string => {
  const bytes = Buffer.from(data, "base64")
  return mime.startsWith("text/") || isUtf8(bytes) ? bytes.toString("utf8") : ""
}
