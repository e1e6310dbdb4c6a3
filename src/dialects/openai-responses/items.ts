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

/** An item of the input with an id: its own, or one that names its response and place. */
export const withItemId = (text: string, responseId: string, at: number): JsonObject => {
  const item = parseObject(text) ?? {}
  const type = typeof item["type"] === "string" ? item["type"] : "message"
  if (typeof item["id"] === "string") return { type, ...item }
  const prefix = Object.hasOwn(prefixes, type) ? prefixes[type] : "item"
  return { id: `${prefix}_${responseId.slice("resp_".length)}_i${at}`, type, ...item }
}

/** The items of a request that is to be kept; undefined if it says that it is not. @param from the first that is returned */
export const keptInput = (body: string | Uint8Array, from: number): ReadonlyArray<string> | undefined =>
  new JsonSource(body).textAt(["store"]) === "false" ? undefined : inputItems(body, from)
