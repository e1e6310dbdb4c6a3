/** JSON-RPC messages that are forwarded as their text: only ids and tokens of progress are replaced in it. */
import { isObject, type JsonObject, objectAt, parseObject, stringAt } from "../../dialects/parse/json.ts"
import { editJsonText, type JsonEdit, type JsonPath, set } from "../../protocol/json/json-edit.ts"
import { textsAt } from "../../protocol/json/json-texts.ts"
import { version } from "../../protocol/version.ts"
import type { LongLine } from "./lines.ts"
import type { ServerSession } from "./options.ts"

/** Names in `_meta`, and in it the version of stateless servers. */
const reserved = "io.modelcontextprotocol/"
export const statelessVersion = "2026-07-28"
const subscriptionId = `${reserved}subscriptionId`
export const clientInfo = { name: "weir", version }

export const metaOf = (protocolVersion: string, capabilities: JsonObject): JsonObject => ({
  [`${reserved}protocolVersion`]: protocolVersion,
  [`${reserved}clientInfo`]: clientInfo,
  [`${reserved}clientCapabilities`]: capabilities,
})

/** The name and version that a server has in the `_meta` of a result. */
export const serverInfoOf = (result: JsonObject): JsonObject | undefined =>
  objectAt(objectAt(result, "_meta"), `${reserved}serverInfo`)

/** A message of the gateway to a server. */
export interface SentMessage {
  readonly json: string
  readonly method: string
  /** The JSON of the client's id; undefined for a notification. */
  readonly id: string | undefined
  /** The JSON of the client's token of progress. */
  readonly token: string | undefined
  /** The names that `params._meta` has. */
  readonly meta: ReadonlyArray<string>
}

/** Reads a request or a notification; undefined for every other text. */
export const readSent = (json: string): SentMessage | undefined => {
  const message = parseObject(json)
  const method = stringAt(message, "method")
  if (message === undefined || method === undefined) return undefined
  const [id, token] = textsAt(Buffer.from(json), [["id"], tokenPath])
  const meta = Object.keys(objectAt(objectAt(message, "params"), "_meta") ?? {})
  return { json, method, id: id === "null" ? undefined : id, token, meta }
}

const tokenPath: JsonPath = ["params", "_meta", "progressToken"]

/** One line with a request under the gateway's own id. A stateless server gets the members of `_meta` that are missing. */
export const lineOf = (sent: SentMessage, id: number, session: ServerSession, capabilities: JsonObject): string => {
  const edits: Array<JsonEdit> = [set(id, "id")]
  if (sent.token !== undefined) edits.push(set(id, ...tokenPath))
  if (session.isStateless) {
    for (const [name, value] of Object.entries(metaOf(session.version, capabilities))) {
      if (!sent.meta.includes(name)) edits.push(set(value, "params", "_meta", name))
    }
  }
  return onOneLine(editJsonText(sent.json, edits))
}

/** Line feeds in JSON are white space between its parts. */
export const onOneLine = (json: string): string => (/[\r\n]/.test(json) ? json.replace(/[\r\n]+/g, " ") : json)

/** A message of a server. */
export type ReceivedMessage =
  | { readonly kind: "response"; readonly id: unknown; readonly message: JsonObject }
  | { readonly kind: "request"; readonly id: string | number; readonly method: string; readonly message: JsonObject }
  | { readonly kind: "notification"; readonly method: string; readonly message: JsonObject }

/** Undefined for a text that is no message. */
export const readReceived = (line: string): ReceivedMessage | undefined => {
  const message = parseObject(line)
  if (message === undefined) return undefined
  const { id, method } = message
  if (typeof method === "string") {
    if (id === undefined || id === null) return { kind: "notification", method, message }
    return typeof id === "string" || typeof id === "number" ? { kind: "request", id, method, message } : undefined
  }
  return "result" in message || isObject(message["error"]) ? { kind: "response", id, message } : undefined
}

/** The messages of a batch, which servers of 2025-03-26 may write; undefined for a text that is none. */
export const readBatch = (line: string): ReadonlyArray<string> | undefined => {
  if (!line.startsWith("[")) return undefined
  const list = parseObject(`{"list":${line}}`)?.["list"]
  return Array.isArray(list) && list.length > 0 ? list.map((each: unknown) => JSON.stringify(each)) : undefined
}

/** The id of the call that a notification belongs to. */
export const callOf = (method: string, message: JsonObject): unknown => {
  const params = objectAt(message, "params")
  if (method === "notifications/progress") return params?.["progressToken"]
  if (method === "notifications/cancelled") return params?.["requestId"]
  return objectAt(params, "_meta")?.[subscriptionId]
}

/** A notification with the client's own token or id. */
export const notificationOf = (json: string, method: string, { id = "null", token = "null" }: SentMessage): string => {
  if (method === "notifications/progress")
    return editJsonText(json, [{ path: ["params", "progressToken"], json: token }])
  const path = method === "notifications/cancelled" ? ["params", "requestId"] : ["params", "_meta", subscriptionId]
  return editJsonText(json, [{ path, json: id }])
}

/** A response with the client's own id. */
export const responseOf = (json: string, message: JsonObject, { id = "null" }: SentMessage): string => {
  const edits: Array<JsonEdit> = [{ path: ["id"], json: id }]
  const meta = objectAt(objectAt(message, "result"), "_meta")
  if (meta !== undefined && subscriptionId in meta) edits.push({ path: ["result", "_meta", subscriptionId], json: id })
  return editJsonText(json, edits)
}

/** The id of a response that is too long or too complex to be read: SDKs write it at one of the ends. */
export const idOfLong = ({ head, tail }: LongLine): number | undefined => {
  const found =
    /"id"\s*:\s*(\d{1,15})\s*\}\s*$/.exec(tail) ??
    /^\s*\{(?:\s*"jsonrpc"\s*:\s*"2\.0"\s*,)?\s*"id"\s*:\s*(\d{1,15})\s*,/.exec(head)
  return found === null ? undefined : Number(found[1])
}
