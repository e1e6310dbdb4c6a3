/** The block of a call in a whole reply. */
import { parseObject } from "../../dialects/parse/json.ts"
import type { ToolCallBlock } from "../../protocol/block.ts"
import { isDeeperThan } from "../../protocol/json/depth.ts"
import { JsonText, overflows, textUnlike } from "../../protocol/json/json-text.ts"

/** @param args as the model wrote them */
export const calledBlock = (id: string, name: string, args: string): ToolCallBlock => {
  if (args.trim() === "") return { t: "tool_call", id, name, input: {} }
  const input: unknown = parseObject(args)
  if (!isJsonObject(input) || overflows(args, input) || isDeeperThan(input, maxInputDepth)) {
    // Nothing is lost: such arguments are kept as text.
    return { t: "tool_call", id, name, input: { $raw: args } }
  }
  const json = textUnlike(args, input)
  return json === undefined ? { t: "tool_call", id, name, input } : new ExactCall(id, name, input, json)
}

/** The maximum depth of a request, so that a reply can be sent back. */
const maxInputDepth = 48

/** A call whose input would change if it were written again: its JSON has the text of the input as it arrived. */
class ExactCall implements ToolCallBlock {
  readonly t = "tool_call"
  readonly id: string
  readonly name: string
  readonly input: ToolCallBlock["input"]
  readonly json: string

  constructor(id: string, name: string, input: ToolCallBlock["input"], json: string) {
    this.id = id
    this.name = name
    this.input = input
    this.json = json
  }

  toJSON(): object {
    return { ...this, input: new JsonText(this.json) }
  }
}

/** A parsed value is JSON; only the outermost type is checked. */
const isJsonObject = (value: unknown): value is ToolCallBlock["input"] =>
  typeof value === "object" && value !== null && !Array.isArray(value)
