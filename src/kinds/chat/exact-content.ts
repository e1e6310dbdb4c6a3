/** A prompt with the texts that its client wrote: inputs of calls, schemas, and blocks that were JSON. */
import type { AskedOutput, OfferedTool } from "../../dialects/chat-dialect.ts"
import { type ExactPlaces, pathOf } from "../../dialects/parse/exact-places.ts"
import { parseObject } from "../../dialects/parse/json.ts"
import type { Block, Message } from "../../protocol/block.ts"
import type { ExchangeRequest } from "../../protocol/exchange.ts"
import { textUnlike } from "../../protocol/json/json-text.ts"
import { textsAt } from "../../protocol/json/json-texts.ts"
import { isFunctionTool, isServerTools, type TextTool, type VendorTool } from "../../protocol/tool.ts"

/** The body of a request, and the positions of such texts in it. */
export interface ExactSource {
  readonly body: Uint8Array
  readonly places: ExactPlaces
}

export type ExactTool = OfferedTool | TextTool | VendorTool

export interface ExactContent {
  readonly thread: ReadonlyArray<Message>
  readonly tools: ReadonlyArray<ExactTool>
  /** The text of the output's schema, if writing it would give another. */
  readonly outputJson?: string | undefined
}

/**
 * The positions in an exchange of twp/1 itself; undefined if it has nothing of this kind.
 * @param before the path of the exchange in its body, e.g. `exchange.`
 */
export const placesOfExchange = (
  { thread, tools = [], params }: Pick<ExchangeRequest, "thread" | "tools" | "params">,
  before: string,
): ExactPlaces | undefined => {
  const blocks = thread.flatMap((one, message) =>
    one.blocks.flatMap(({ t }, block) =>
      t === "tool_call" ? [{ message, block, path: `${before}thread.${message}.blocks.${block}.input` }] : [],
    ),
  )
  const output = typeof params?.output === "object" ? `${before}params.output.schema` : undefined
  if (blocks.length === 0 && tools.length === 0 && output === undefined) return undefined
  return {
    blocks,
    tools: tools.flatMap((each, tool) =>
      !isServerTools(each) && isFunctionTool(each) ? [{ tool, path: `${before}tools.${tool}.inputSchema` }] : [],
    ),
    output,
  }
}

export const exactContent = (
  { thread, tools }: Pick<ExactContent, "thread" | "tools">,
  output: AskedOutput | undefined,
  { body, places }: ExactSource,
): ExactContent => {
  const paths = [...places.tools, ...places.blocks].map(({ path }) => pathOf(path))
  const found = textsAt(body, places.output === undefined ? paths : [...paths, pathOf(places.output)])
  const schemas = new Map(places.tools.map(({ tool }, at) => [tool, found[at]]))
  const texts = new Map<number, Map<number, string | undefined>>()
  for (const [at, { message, block }] of places.blocks.entries()) {
    const inMessage = texts.get(message) ?? new Map<number, string | undefined>()
    texts.set(message, inMessage.set(block, found[places.tools.length + at]))
  }
  return {
    thread: thread.map((message, at) => {
      const inMessage = texts.get(at)
      return inMessage === undefined ? message : exactMessage(message, inMessage)
    }),
    tools: tools.map((tool, at) => {
      if (!isFunctionTool(tool)) return tool
      const schemaJson = schemaText(tool.inputSchema, schemas.get(at))
      return schemaJson === undefined ? tool : { ...tool, schemaJson }
    }),
    outputJson: output && schemaText(output.schema, found[paths.length]),
  }
}

const schemaText = (schema: object, text: string | undefined): string | undefined =>
  text === undefined ? undefined : textUnlike(text, schema)

const exactMessage = (message: Message, texts: ReadonlyMap<number, string | undefined>): Message => {
  const exact = <B extends Block>(block: B, at: number): B => exactBlock(block, texts.get(at))
  switch (message.role) {
    case "system":
      return message
    case "user":
      return { ...message, blocks: message.blocks.map(exact) }
    case "assistant":
      return { ...message, blocks: message.blocks.map(exact) }
    case "tool":
      return { ...message, blocks: message.blocks.map(exact) }
  }
}

/** @param text in the body: of an object, or of a string that has one */
const exactBlock = <B extends Block>(block: B, text: string | undefined): B => {
  if (text === undefined) return block
  if (block.t === "tool_call") {
    if (block.json !== undefined) return block
    const written = text.startsWith(`"`) ? stringIn(text) : text
    const json = sameText(written, JSON.stringify(block.input))
    return json === undefined ? block : { ...block, json }
  }
  if (block.t === "tool_result" && block.blocks !== undefined) {
    const [first, ...others] = block.blocks
    const v = first?.t === "text" ? sameText(text, first.v) : undefined
    return v === undefined ? block : { ...block, blocks: [{ t: "text", v }, ...others] }
  }
  if ((block.t !== "vendor" && block.t !== "tool_result") || block.v === undefined) return block
  const v = sameText(text, block.v)
  return v === undefined ? block : { ...block, v }
}

const stringIn = (text: string): string => {
  const value: unknown = JSON.parse(text)
  return typeof value === "string" ? value : ""
}

/** A text, if it differs from what was written of its value. Arguments that are no JSON object have become another value. */
const sameText = (text: string, written: string): string | undefined => {
  if (text === written) return undefined
  const value = parseObject(text)
  return value !== undefined && JSON.stringify(value) === written ? textUnlike(text, value) : undefined
}
