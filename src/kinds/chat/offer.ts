/** The tools of an exchange, and the calls in its thread, in the form that the dialect of a target supports. Pure. */
import { Result } from "effect"
import type { ChatDialect, OfferedTool, VendorRequest } from "../../dialects/chat-dialect.ts"
import { parseObject } from "../../dialects/parse/json.ts"
import { checkedTool, nameOfTool } from "../../dialects/vendor/vendor-tools.ts"
import type { EncodeRefusal } from "../../dialects/wire.ts"
import type { Block, Message, ReplyBlock } from "../../protocol/block.ts"
import { isFunctionTool, isTextTool, type TextTool, type VendorTool } from "../../protocol/tool.ts"
import type { ExactTool } from "./exact-content.ts"

export interface Offer extends Pick<VendorRequest, "thread" | "tools" | "textTools" | "ownTools"> {
  /** Tools of texts that functions replace. */
  readonly functionsOfTexts: ReadonlyArray<string>
}

export const offerTo = (
  { takesTexts = false, seals }: Pick<ChatDialect, "takesTexts" | "seals">,
  thread: ReadonlyArray<Message>,
  tools: ReadonlyArray<ExactTool>,
): Result.Result<Offer, EncodeRefusal> => {
  const texts = tools.filter(isTextTool)
  const own: Array<VendorTool> = []
  for (const tool of tools.filter(isVendorTool)) {
    const checked = checkedTool(tool)
    if (checked === undefined) return Result.fail(lackOf(tool, "it is no tool that a client runs"))
    if (checked.dialect !== seals) return Result.fail(lackOf(tool, "another vendor defines it"))
    own.push(checked)
  }
  const functions = tools.filter(isFunctionTool)
  if (takesTexts) {
    return Result.succeed({
      thread,
      tools: functions,
      ...(texts.length > 0 && { textTools: texts }),
      ...(own.length > 0 && { ownTools: own }),
      functionsOfTexts: [],
    })
  }
  return Result.succeed({
    thread: thread.some(({ blocks }) => blocks.some(isTextCall)) ? thread.map(withFunctionCalls) : thread,
    tools: texts.length === 0 ? functions : [...functions, ...texts.map(functionOf)],
    ...(own.length > 0 && { ownTools: own }),
    functionsOfTexts: texts.map(({ name }) => name),
  })
}

const isVendorTool = (tool: ExactTool): tool is VendorTool => tool.kind === "vendor"
const isTextCall = (block: Block): boolean => block.t === "tool_call" && block.text !== undefined

const lackOf = (tool: VendorTool, why: string): EncodeRefusal => ({
  capability: "tools",
  message: `this model has no tool ${nameOfTool(tool)}: ${why}`,
})

/** The single field of a function that replaces a tool of texts. */
export const field = "input"

const functionOf = ({ name, description, grammar }: TextTool): OfferedTool => {
  const form = grammar && `The input follows this grammar (${grammar.syntax}):\n${grammar.definition}`
  const about = [description, form].filter((text) => text !== undefined).join("\n\n")
  return {
    name,
    ...(about !== "" && { description: about }),
    inputSchema: {
      type: "object",
      properties: { [field]: { type: "string", description: "The whole input of the tool, as plain text." } },
      required: [field],
      additionalProperties: false,
    },
  }
}

const withFunctionCalls = (message: Message): Message =>
  message.role === "assistant" ? { ...message, blocks: message.blocks.map(asFunctionCall) } : message

const asFunctionCall = (block: ReplyBlock): ReplyBlock => {
  if (block.t !== "tool_call" || block.text === undefined) return block
  const { text, ...call } = block
  return { ...call, input: { [field]: text } }
}

/** The text in the arguments that a model wrote for such a function; arguments of another form are the text themselves. */
export const textOfArguments = (args: string): string => {
  const text = parseObject(args)?.[field]
  return typeof text === "string" ? text : args
}
