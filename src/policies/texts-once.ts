/**
 * The texts of a request or a reply for engines, which are paid by the character: each text once. Rules read more, because a
 * word may be split over texts that vendors join. Pure.
 */
import type { Block, Message } from "../protocol/block.ts"
import { isFunctionTool } from "../protocol/tool.ts"
import { jsonLiterals } from "./json-literals.ts"
import { ownTextsOfJson } from "./json-texts.ts"
import { type Parts, partOfBlock } from "./parts.ts"
import { type ReviewedTool, textOfMedia } from "./texts.ts"

/** @param own the JSON of the client's own request, of which only texts are added that are in no message and no tool */
export const textOfPromptOnce = (
  thread: ReadonlyArray<Message>,
  tools: ReadonlyArray<ReviewedTool>,
  parts: Parts,
  own?: unknown,
): string => {
  const texts = new TextsOnce()
  if (parts.has("text")) for (const tool of tools) texts.addTool(tool)
  for (const { blocks } of thread) texts.addBlocks(blocks, parts)
  const others = own === undefined ? [] : ownTextsOfJson(own, parts).filter((each) => texts.isNew(each))
  // A request ends with its last message, which engines read beside a reply.
  return [...others, ...texts.lines].join("\n")
}

export const textOfReplyOnce = (blocks: ReadonlyArray<Block>, parts: Parts): string => {
  const texts = new TextsOnce()
  texts.addBlocks(blocks, parts)
  return texts.lines.join("\n")
}

class TextsOnce {
  readonly lines: Array<string> = []
  /** Texts that are in the lines. */
  readonly #known = new Set<string>([""])

  /** Whether a text is not in the lines, and was not asked for before. */
  isNew(text: string): boolean {
    const isKnown = this.#known.has(text)
    this.#known.add(text)
    return !isKnown
  }

  addTool(tool: ReviewedTool): void {
    if (tool.kind === "vendor") this.#addLine(() => this.#json(tool.v))
    else if (isFunctionTool(tool)) {
      const { name, description = "", inputSchema, schemaJson = JSON.stringify(inputSchema) } = tool
      this.#addLine(() => [this.#part(name), this.#part(description), this.#json(schemaJson)].join(" "))
    } else {
      const { name, description = "", grammar } = tool
      const written = [name, description, grammar?.definition ?? ""]
      this.#addLine(() => written.map((each) => this.#part(each)).join(" "))
    }
  }

  /** Texts one after the other are one line, because vendors join them. */
  addBlocks(blocks: ReadonlyArray<Block>, parts: Parts): void {
    let texts = ""
    const addTexts = () => {
      const line = texts
      texts = ""
      this.#addLine(() => line)
    }
    for (const block of blocks) {
      if (!parts.has(partOfBlock(block))) continue
      if (block.t === "text") {
        texts += this.#part(block.v)
        continue
      }
      addTexts()
      this.#addLine(() => this.#written(block))
    }
    addTexts()
  }

  /** A line, before the texts that its JSON writes in another way. */
  #addLine(make: () => string): void {
    const at = this.lines.length
    const line = make()
    if (line === "") return
    this.#known.add(line)
    this.lines.splice(at, 0, line)
  }

  #written(block: Block): string {
    switch (block.t) {
      case "image":
      case "video":
      case "audio":
        return this.#part(textOfMedia(block))
      case "file":
        return [block.name ?? "", textOfMedia(block)].map((each) => this.#part(each)).join(" ")
      case "vendor":
        return `${this.#part(block.text ?? "")} ${this.#json(block.v)}`
      case "tool_call": {
        const { name, input, text = textOfInvalid(input), json = JSON.stringify(input) } = block
        return `${this.#part(name)} ${text === undefined ? this.#json(json) : this.#part(text)}`
      }
      case "tool_result":
        return block.v === undefined
          ? (block.blocks ?? []).map((each) => this.#written(each)).join("\n")
          : this.#part(block.v)
      case "reasoning":
        return block.redacted === true ? "" : this.#part(block.v)
      default:
        return this.#part(block.v)
    }
  }

  #part(text: string): string {
    this.#known.add(text)
    return text.startsWith("{") ? this.#json(text) : text
  }

  /** JSON, with a line for each text that its escapes hide. */
  #json(json: string): string {
    this.#known.add(json)
    for (const { written, text } of jsonLiterals(json)) {
      if (written === text) this.#known.add(text)
      else if (this.isNew(text)) this.lines.push(text)
    }
    return json
  }
}

/** Arguments that are no JSON object. */
const textOfInvalid = (input: Readonly<Record<string, unknown>>): string | undefined => {
  const { $raw: raw } = input
  return typeof raw === "string" && Object.keys(input).length === 1 ? raw : undefined
}
