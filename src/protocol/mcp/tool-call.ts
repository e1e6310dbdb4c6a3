/**
 * One call of a tool at the gateway's endpoint, in a version without a session that needs no headers of its own. Pure; the console
 * uses it too, which has no schemas.
 */
import type { JsonObject } from "./message.ts"

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
    "mcp-protocol-version": "2025-11-25",
  },
  body: { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: given } },
})

const isJsonObject = (json: unknown): json is JsonObject =>
  typeof json === "object" && json !== null && !Array.isArray(json)

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** A text as a JSON object; undefined if it is none. */
export const readObject = (text: string): JsonObject | undefined => {
  const json = parsed(text)
  return isJsonObject(json) ? json : undefined
}

/** The outcome of a call for people. */
export type ShownOutcome =
  | {
      readonly result: JsonObject
      /** Its texts; other content is named by its type. */
      readonly text: string
      /** Whether the tool says that it has failed. */
      readonly isError: boolean
      /** The cost with its currency, if it has one. */
      readonly cost: string | undefined
    }
  /** The gateway's own code, if it has one, and the message. */
  | { readonly error: string }

/** @param text a reply of JSON or of events @returns undefined if it has no response */
export const shownOutcome = (text: string): ShownOutcome | undefined => {
  const texts = text.startsWith("{") ? [text] : text.split(/\r?\n/).flatMap(dataOf)
  const response = texts.map(readObject).findLast((message) => message !== undefined && !("method" in message))
  const { result, error } = response ?? {}
  if (isJsonObject(result)) return shownResult(result)
  return isJsonObject(error) ? { error: shownError(error) } : undefined
}

const dataOf = (line: string): ReadonlyArray<string> => (line.startsWith("data: ") ? [line.slice(6)] : [])

const shownResult = (result: JsonObject): ShownOutcome => {
  const { content, isError, _meta: meta } = result
  const usage = isJsonObject(meta) ? meta["x-svc-usage"] : undefined
  return {
    result,
    text: (Array.isArray(content) ? content : []).map(contentText).join("\n"),
    isError: isError === true,
    cost: isJsonObject(usage) ? `${usage["cost"]} ${usage["currency"]}` : undefined,
  }
}

const contentText = (content: unknown): string => {
  if (!isJsonObject(content)) return ""
  const { type, text } = content
  return typeof text === "string" ? text : `[${type}]`
}

const shownError = ({ message, data }: JsonObject): string => {
  const code = isJsonObject(data) ? data["code"] : undefined
  return typeof code === "string" ? `${code}: ${message}` : String(message)
}
