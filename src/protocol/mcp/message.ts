/** Messages of JSON-RPC 2.0, as the Model Context Protocol has them. Source: https://www.jsonrpc.org/specification */
import { Option, Schema } from "effect"

export const MessageId = Schema.Union([Schema.String, Schema.Int])
export type MessageId = typeof MessageId.Type

const JsonObject = Schema.Record(Schema.String, Schema.Json)
export type JsonObject = typeof JsonObject.Type

const version = Schema.Literal("2.0")
const params = Schema.optionalKey(JsonObject)

export const RequestMessage = Schema.Struct({ jsonrpc: version, id: MessageId, method: Schema.String, params })
export type RequestMessage = typeof RequestMessage.Type

export const NotificationMessage = Schema.Struct({ jsonrpc: version, method: Schema.String, params })
export type NotificationMessage = typeof NotificationMessage.Type

export const MessageError = Schema.Struct({
  code: Schema.Int,
  message: Schema.String,
  data: Schema.optionalKey(Schema.Json),
})
export type MessageError = typeof MessageError.Type

export const ResultMessage = Schema.Struct({ jsonrpc: version, id: MessageId, result: JsonObject })
export const ErrorMessage = Schema.Struct({
  jsonrpc: version,
  /** Absent or null if the request could not be read. */
  id: Schema.optionalKey(Schema.NullOr(MessageId)),
  error: MessageError,
})
export type ResponseMessage = typeof ResultMessage.Type | typeof ErrorMessage.Type

export type Message = RequestMessage | NotificationMessage | ResponseMessage

const readRequest = Schema.decodeUnknownOption(RequestMessage)
const readNotification = Schema.decodeUnknownOption(NotificationMessage)
const readResult = Schema.decodeUnknownOption(ResultMessage)
const readError = Schema.decodeUnknownOption(ErrorMessage)

const isObject = (json: unknown): json is object => typeof json === "object" && json !== null && !Array.isArray(json)

/** The message that a value is; undefined if it is none. An id that is null is no id: it makes no request. */
export const readMessage = (json: unknown): Message | undefined => {
  if (!isObject(json)) return undefined
  const read = (): Option.Option<Message> => {
    if ("method" in json) return "id" in json ? readRequest(json) : readNotification(json)
    return "error" in json ? readError(json) : readResult(json)
  }
  return Option.getOrUndefined(read())
}

export const isRequest = (message: Message): message is RequestMessage => "method" in message && "id" in message
export const isNotification = (message: Message): message is NotificationMessage =>
  "method" in message && !("id" in message)
export const isResponse = (message: Message): message is ResponseMessage => !("method" in message)

/** Codes of errors. Source: https://modelcontextprotocol.io/specification/2026-07-28/basic#error-codes */
export const errorCodes = {
  parse: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internal: -32603,
  headerMismatch: -32020,
  unsupportedVersion: -32022,
} as const
