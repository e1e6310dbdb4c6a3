/**
 * JSON that is a client's, a model's or a vendor's own: it is written as its text if the text is known, and otherwise as its
 * value.
 */
import type { ToolCallBlock } from "../../protocol/block.ts"
import { JsonText, textUnlike } from "../../protocol/json/json-text.ts"
import type { AskedOutput, OfferedTool } from "../chat-dialect.ts"
import { argumentsOf } from "../client/client-parts.ts"

const exact = (value: object, text: string | undefined): object => (text === undefined ? value : new JsonText(text))

type Call = Pick<ToolCallBlock, "input" | "json">

/** The input of a call, as an object. */
export const inputOf = ({ input, json }: Call): object => exact(input, json)

/** The input of a call, as a text. */
export const inputText = ({ input, json }: Call): string => json ?? JSON.stringify(input)

/** The same for the client of a reply: arguments that were no JSON object are returned as the model wrote them. */
export const argumentsText = (call: Call): string => {
  const { $raw } = call.input
  return typeof $raw === "string" && Object.keys(call.input).length === 1 ? $raw : inputText(call)
}

/** Arguments that a model wrote, as an object. */
export const objectOfArguments = (text: string): object => {
  const input = argumentsOf(text)
  const isRaw = text === "" || input["$raw"] === text
  return isRaw ? input : exact(input, textUnlike(text, input))
}

/** The schema of a tool's input. */
export const schemaOf = ({ inputSchema, schemaJson }: OfferedTool): object => exact(inputSchema, schemaJson)

/** The schema of an output. */
export const outputSchemaOf = ({ schema, schemaJson }: AskedOutput): object => exact(schema, schemaJson)
