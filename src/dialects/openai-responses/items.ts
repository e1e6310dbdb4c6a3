/** The items of threads of OpenAI's Responses as texts of JSON, which are kept and sent again unchanged. Pure. */
import { JsonSource } from "../../protocol/json/json-source.ts"
import { isObject, type JsonObject, parseObject, placedObjectsAt } from "../parse/json.ts"

/** A text that stands for a message of the user. */
const messageOf = (text: string): string => JSON.stringify({ type: "message", role: "user", content: text })

/**
 * The items of a request's input.
 * @param body a request that was read
 * @param from the first that is returned
 */
export const inputItems = (body: string | Uint8Array, from = 0): ReadonlyArray<string> => {
  const source = new JsonSource(body)
  const text = source.textAt(["input"])
  const input: unknown = text === undefined ? undefined : JSON.parse(text)
  if (typeof input === "string") return [messageOf(input)].slice(from)
  if (!Array.isArray(input)) return []
  return input.flatMap((_, at) => (at < from ? [] : (source.textAt(["input", at]) ?? [])))
}

/** The texts of a list of items in a body. @param count their number */
export const textsOfItems = (body: string | Uint8Array, count: number): ReadonlyArray<string> => {
  const source = new JsonSource(body)
  return Array.from({ length: count }, (_, at) => source.textAt(["items", at]) ?? "null")
}

/** The items of a response's output. */
export const outputItems = (response: string): ReadonlyArray<string> => {
  const source = new JsonSource(response)
  return placedObjectsAt(parseObject(response), "output").map(([at]) => source.textAt(["output", at]) ?? "null")
}

/** The ids of the items of a response's output. */
export const outputIds = (response: JsonObject): ReadonlyArray<string> =>
  placedObjectsAt(response, "output").flatMap(([, { id }]) => (typeof id === "string" ? [id] : []))

/** The id of an item that a request references; undefined if it is another item. */
export const referenceIn = (item: unknown): string | undefined => {
  if (!isObject(item)) return undefined
  const { type, id, role, content } = item
  // SDKs may leave the type out.
  const isReference = type === "item_reference" || ((type === undefined || type === null) && role === undefined)
  return isReference && content === undefined && typeof id === "string" ? id : undefined
}

/** Whether an item with this id can be stored and referenced. */
export const isItemId = (id: string): boolean => /^[\w-]{1,128}$/.test(id)

/** The response whose own form of ids an item's id has; undefined for ids of vendors. */
export const responseOfItem = (itemId: string): string | undefined => {
  const [, response] = /^[a-z]{1,8}_([\w-]{16}[0-9a-z]{4})_i?\d{1,6}$/.exec(itemId) ?? []
  return response === undefined ? undefined : `resp_${response}`
}

/** The number of an input item in its id; undefined for others. */
export const inputNumber = (itemId: string): number | undefined => {
  const [, number] = /_i(\d{1,6})$/.exec(itemId) ?? []
  return number === undefined ? undefined : Number(number)
}

const prefixes: Readonly<Record<string, string>> = {
  message: "msg",
  reasoning: "rs",
  function_call: "fc",
  function_call_output: "fco",
  custom_tool_call: "ctc",
  custom_tool_call_output: "ctco",
}

const typeOf = (item: JsonObject): string => (typeof item["type"] === "string" ? item["type"] : "message")

/** The prefix of an item's id. */
const prefixOf = (type: string): string => (Object.hasOwn(prefixes, type) ? (prefixes[type] ?? "item") : "item")

/** The id of an item: its own, or its type's prefix with a name. */
export const itemIdOf = (item: JsonObject, name: string): string => {
  const { id } = item
  return typeof id === "string" && isItemId(id) ? id : `${prefixOf(typeOf(item))}_${name}`
}

/** An item of a request in a name of its id. */
export const inputName = (responseId: string, at: number): string => `${responseId.slice("resp_".length)}_i${at}`

/** The items of a response and its request, with ids. @param input the items of the request */
export const namedItems = (
  responseId: string,
  input: ReadonlyArray<string>,
  response: string,
): ReadonlyArray<{ readonly id: string; readonly text: string }> => {
  const named = (text: string, name: string) => ({ id: itemIdOf(parseObject(text) ?? {}, name), text })
  return [
    ...input.map((text, at) => named(text, inputName(responseId, at))),
    ...outputItems(response).map((text, at) => named(text, `${responseId.slice("resp_".length)}_${at}`)),
  ]
}

/** An item of the input with an id: its own, or one that names its response and place. */
export const withItemId = (text: string, responseId: string, at: number): JsonObject => {
  const item = parseObject(text) ?? {}
  const type = typeOf(item)
  if (typeof item["id"] === "string") return { type, ...item }
  return { id: `${prefixOf(type)}_${inputName(responseId, at)}`, type, ...item }
}

/** An item of a conversation as clients read it: with its id, and a message with its state and parts. */
export const conversationItem = (id: string, text: string): JsonObject => {
  const item = parseObject(text) ?? {}
  const type = typeOf(item)
  if (type !== "message") return { ...item, id, type }
  const { content, role } = item
  const isReply = role === "assistant"
  const parts =
    typeof content !== "string"
      ? content
      : [isReply ? { type: "output_text", text: content, annotations: [] } : { type: "input_text", text: content }]
  return { status: "completed", ...item, id, type, content: parts }
}

/** The items of a request that is to be kept; undefined if it says that it is not. @param from the first that is returned */
export const keptInput = (body: string | Uint8Array, from: number): ReadonlyArray<string> | undefined =>
  new JsonSource(body).textAt(["store"]) === "false"
    ? undefined
    : inputItems(body, from).filter((text) => !isTriggerText(text))

/** Whether an item asks for a summary of those before it: it is no part of a thread. */
export const isTrigger = (item: unknown): boolean => isObject(item) && item["type"] === "compaction_trigger"

const isTriggerText = (text: string): boolean => text.includes("compaction_trigger") && isTrigger(parseObject(text))
