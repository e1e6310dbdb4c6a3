/** The text of a request or a reply that is reviewed: everything that a model reads or writes as text. Pure. */
import { isUtf8 } from "node:buffer"
import type { Block, Message, ReplyBlock } from "../protocol/block.ts"
import { isFunctionTool, type Tool } from "../protocol/tool.ts"

/**
 * One text: messages as lines, with the blocks of a message joined as vendors join them, so that nothing is missed
 * between.
 */
export const textOfPrompt = (thread: ReadonlyArray<Message>, tools: ReadonlyArray<Tool>): string =>
  [...tools.map(textOfTool), ...thread.map(({ blocks }) => textOfBlocks(blocks))].join("\n")

const textOfTool = (tool: Tool): string => {
  if (tool.kind === "vendor") return textOfJson(tool.v)
  const form = isFunctionTool(tool) ? JSON.stringify(tool.inputSchema) : (tool.grammar?.definition ?? "")
  return `${tool.name} ${tool.description ?? ""} ${form}`
}

export const textOfReply = (blocks: ReadonlyArray<ReplyBlock>): string => textOfBlocks(blocks)

const textOfBlocks = (blocks: ReadonlyArray<Block>): string => blocks.map(textOf).join("")

function textOf(block: Block): string {
  switch (block.t) {
    case "image":
    case "video":
    case "audio":
      return ""
    case "vendor":
      return `${block.text ?? ""} ${textOfJson(block.v)}`
    case "file": {
      const text = block.data === undefined ? "" : textOfFile(block.mime, Buffer.from(block.data, "base64"))
      return block.name === undefined ? text : `${block.name} ${text}`
    }
    case "tool_call":
      return `${block.name} ${block.text ?? JSON.stringify(block.input)}`
    case "tool_result":
      return block.v ?? textOfResult(block.blocks ?? [])
    case "reasoning":
      return block.redacted === true ? "" : block.v
    default:
      return block.v
  }
}

/** Some vendors get the parts of a result one after the other, others as lines. */
const textOfResult = (blocks: ReadonlyArray<Block>): string => {
  const texts = blocks.map(textOf)
  return texts.length < 2 ? texts.join("") : `${texts.join("")}\n${texts.join("\n")}`
}

/** JSON that a client wrote, without the escapes in which it may hide a word; other text is as it is. */
const textOfJson = (json: string): string => {
  try {
    return JSON.stringify(JSON.parse(json))
  } catch {
    return json
  }
}

/** A file is text if its bytes are, whatever it is called: JSON has the type of an application. */
const textOfFile = (mime: string, bytes: Buffer): string =>
  mime.startsWith("text/") || isUtf8(bytes) ? bytes.toString("utf8") : ""
