/**
 * OpenAI's Responses over a WebSocket: the differences from HTTP. There is one conversation; each response may continue the
 * last one, which the connection remembers. Pure. Source: https://developers.openai.com/api/docs/guides/websocket-mode
 */
import { Result } from "effect"
import type { JsonPath } from "../../protocol/json/json-edit.ts"
import { JsonSource } from "../../protocol/json/json-source.ts"
import { JsonText } from "../../protocol/json/json-text.ts"
import type { ReplyContext } from "../client/client-api.ts"
import { isObject, type JsonObject, objectAt, parseObject, placedObjectsAt, stringAt } from "../parse/json.ts"
import { wholeResponse } from "./response-object.ts"

/** The state of a connection: the last response, with all items before it. */
export interface Conversation {
  readonly responseId: string
  readonly items: ReadonlyArray<unknown>
  /** The size of the items as JSON. */
  readonly bytes: number
  /** Whether the last response is kept, so that it can be continued elsewhere. */
  readonly isKept: boolean
}

export interface ResponseCreate {
  /** The body as over HTTP, with all items of the conversation that the connection remembers. */
  readonly body: JsonObject
  /** The kept response that the connection remembers and that this one continues, and the number of the items until there. */
  readonly kept: { readonly previous: string; readonly items: number } | undefined
  readonly input: ReadonlyArray<unknown>
  /** Whether the model is to answer; if not, the input is only remembered. */
  readonly generates: boolean
}

export interface SocketRefusal {
  readonly code: string
  readonly message: string
  readonly param: string | null
}

const refused = (message: string, param: string | null, code = "invalid_value") =>
  Result.fail<SocketRefusal>({ code, message, param })

/** Fields that exist on a socket alone, and those that it does not have. */
const ownFields: ReadonlySet<string> = new Set(["type", "stream", "generate", "previous_response_id"])

/**
 * Reads a client's event.
 * @param text the text of the event
 * @param known the state of the connection
 * @param isKeeping whether other responses are kept, which the event may name
 */
export const readResponseCreate = (
  event: unknown,
  text: Uint8Array,
  known: Conversation | undefined,
  isKeeping: boolean,
): Result.Result<ResponseCreate, SocketRefusal> => {
  if (!isObject(event)) return refused("The event must be a JSON object", null)
  const type = event["type"]
  if (type !== "response.create") return refused(`The event ${String(type).slice(0, 64)} is not supported`, "type")
  const { generate = true, previous_response_id: previous } = event
  if (typeof generate !== "boolean") return refused("generate must be a boolean", "generate")
  const source = new JsonSource(text)
  const input = itemsOf(event["input"], source)
  if (input === undefined) return refused("input must be text or an array", "input")
  const isFirst = previous === undefined || previous === null
  const remembered = isFirst ? [] : itemsAt(previous, known)
  if (remembered === undefined && !isKeeping) {
    return refused(
      `Previous response with id '${String(previous).slice(0, 128)}' not found.`,
      "previous_response_id",
      "previous_response_not_found",
    )
  }
  const before = remembered ?? []
  const items = [...before, ...input]
  const rest = Object.keys(event).flatMap((name) =>
    ownFields.has(name) || name === "input" ? [] : [[name, textIn(source, name)] as const],
  )
  return Result.succeed({
    body: {
      ...Object.fromEntries(rest),
      ...(remembered === undefined && { previous_response_id: previous }),
      input: items,
      stream: true,
    },
    kept:
      known?.isKept === true && !isFirst && remembered !== undefined
        ? { previous: known.responseId, items: before.length }
        : undefined,
    input: items,
    generates: generate,
  })
}

const itemsAt = (id: unknown, known: Conversation | undefined) => (known?.responseId === id ? known?.items : undefined)

/** A part of a text that was read: it is written unchanged. */
const textIn = (source: JsonSource, ...path: JsonPath): JsonText => new JsonText(source.textAt(path) ?? "null")

const itemsOf = (input: unknown, source: JsonSource): ReadonlyArray<unknown> | undefined => {
  if (input === undefined) return []
  if (typeof input === "string") return [{ type: "message", role: "user", content: input }]
  return Array.isArray(input) ? input.map((_, at) => textIn(source, "input", at)) : undefined
}

/** The messages of events that are written as server-sent events. */
export const messagesOf = (events: string): ReadonlyArray<string> => {
  const messages: Array<string> = []
  for (let from = 0; from < events.length; ) {
    const found = events.indexOf("\n\n", from)
    const to = found === -1 ? events.length : found
    const dataAt = events.indexOf("data: ", from)
    if (dataAt !== -1 && dataAt < to) messages.push(linesJoined(events.slice(dataAt + "data: ".length, to)))
    from = to + 2
  }
  return messages
}

/** Data of several lines has a field for each; its strings have no line breaks. */
const linesJoined = (data: string): string => (data.includes("\n") ? data.replaceAll("\ndata: ", "\n") : data)

/** The beginnings of the events with which a response ends well; an incomplete one counts too. */
const atEnd = /"type":\s*"response\.(completed|incomplete)"/

/** The state after a message; undefined if it does not end a response. */
export const conversationAfter = (
  message: string,
  input: ReadonlyArray<unknown>,
): { readonly responseId: string; readonly items: ReadonlyArray<unknown> } | undefined => {
  if (!atEnd.test(message)) return undefined
  const response = objectAt(parseObject(message), "response")
  const responseId = stringAt(response, "id")
  return responseId === undefined ? undefined : { responseId, items: [...input, ...outputOf(message, response)] }
}

const outputOf = (message: string, response: JsonObject | undefined): ReadonlyArray<JsonText> => {
  const source = new JsonSource(message)
  return placedObjectsAt(response, "output").map(([at]) => textIn(source, "response", "output", at))
}

const noUsage = {
  inTokens: 0,
  outTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  cost: "0",
  balance: "0",
  currency: "USD",
  cacheNetSaving: "0",
}

/** A response that was not generated: its id can be continued. */
export const warmed = (
  context: ReplyContext,
): { readonly responseId: string; readonly messages: ReadonlyArray<string> } => {
  const { requestId, model } = context
  const response = wholeResponse(context, { requestId, model, blocks: [], stop: "end", usage: noUsage })
  const created = { ...response, status: "in_progress" }
  return {
    responseId: response.id,
    messages: [
      JSON.stringify({ type: "response.created", sequence_number: 0, response: created }),
      JSON.stringify({ type: "response.completed", sequence_number: 1, response }),
    ],
  }
}
