/** One call of a tool at the gateway's endpoint, in a version without a session that needs no headers of its own. Pure. */
import { Option, Schema } from "effect"
import { isResponse, type JsonObject, type MessageError, type ResponseMessage, readMessage } from "./message.ts"
import { sessionVersions } from "./versions.ts"

export interface ToolCallRequest {
  /** The path at the gateway, without a slash at its start. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: object
}

/** @param name the name at the server @returns the request without a credential */
export const toolCallRequest = (server: string, name: string, given: JsonObject): ToolCallRequest => ({
  path: `mcp/${encodeURIComponent(server)}`,
  headers: {
    accept: "application/json, text/event-stream",
    "content-type": "application/json",
    "mcp-protocol-version": sessionVersions[0],
  },
  body: { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: given } },
})

const readJson = Schema.decodeUnknownOption(Schema.fromJsonString(Schema.Unknown))

/** The response in a reply of JSON or of events; undefined if it has none. */
export const toolCallReply = (text: string): ResponseMessage | undefined => {
  const events = text.startsWith("{") ? [text] : text.split(/\r?\n/).flatMap(dataOf)
  const messages = events.flatMap((event) => {
    const message = readMessage(Option.getOrUndefined(readJson(event)))
    return message !== undefined && isResponse(message) ? [message] : []
  })
  return messages.at(-1)
}

const dataOf = (line: string): ReadonlyArray<string> => (line.startsWith("data: ") ? [line.slice(6)] : [])

const Content = Schema.Struct({
  content: Schema.Array(Schema.Struct({ type: Schema.String, text: Schema.optionalKey(Schema.String) })),
  isError: Schema.optionalKey(Schema.Boolean),
})
const readContent = Schema.decodeUnknownOption(Content)
const Meta = Schema.Struct({
  _meta: Schema.Struct({ "x-svc-usage": Schema.Struct({ cost: Schema.String, currency: Schema.String }) }),
})
const readMeta = Schema.decodeUnknownOption(Meta)
const readData = Schema.decodeUnknownOption(Schema.Struct({ code: Schema.String }))

export interface ShownResult {
  /** Its texts; other content is named by its type. */
  readonly text: string
  /** Whether the tool says that it has failed. */
  readonly isError: boolean
  readonly cost: { readonly cost: string; readonly currency: string } | undefined
}

/** A result for people. */
export const shownResult = (result: JsonObject): ShownResult => {
  const { content = [], isError = false } = Option.getOrUndefined(readContent(result)) ?? {}
  return {
    text: content.map(({ type, text }) => text ?? `[${type}]`).join("\n"),
    isError,
    cost: Option.getOrUndefined(readMeta(result))?._meta["x-svc-usage"],
  }
}

/** An error for people, with the gateway's own code if it has one. */
export const shownError = ({ message, data }: typeof MessageError.Type): string => {
  const code = Option.getOrUndefined(readData(data))?.code
  return code === undefined ? message : `${code}: ${message}`
}
