/** Reads a request of the endpoint: its message, the version that it speaks, and whether its headers agree with it. Pure. */
import { Result } from "effect"
import { isObject } from "../../dialects/parse/json.ts"
import { parsePlainly } from "../../protocol/json/json-body.ts"
import {
  errorCodes,
  isRequest,
  isResponse,
  type JsonObject,
  type Message,
  type RequestMessage,
  readMessage,
} from "../../protocol/mcp/message.ts"
import { isSessionVersion, type McpVersion, metaNames, statelessVersion } from "../../protocol/mcp/versions.ts"
import { valueOfHeader } from "../../tools/header-values.ts"
import type { RuntimeRequest } from "../caller-request.ts"
import { headerMismatch, invalidRequest, type McpRefusal, unsupportedVersion } from "./mcp-errors.ts"

type Headers = RuntimeRequest["headers"]

export interface McpMessage {
  readonly message: Message
  readonly text: string
  readonly version: McpVersion
}

const isJsonObject = (json: unknown): json is JsonObject => isObject(json)

export const metaIn = (message: Message): JsonObject => {
  const params = "method" in message ? message.params : undefined
  const meta = params?.["_meta"]
  return isJsonObject(meta) ? meta : {}
}

export const readMcp = (
  headers: Headers,
  body: Uint8Array,
): Result.Result<McpMessage, McpRefusal & { id?: RequestMessage["id"] }> => {
  const type = headers["content-type"]?.split(";", 1)[0]?.trim().toLowerCase()
  if (type !== "application/json") return refuse({ ...invalidRequest("The body is application/json"), status: 415 })
  const parsed = parsePlainly(body)
  if (Result.isFailure(parsed)) {
    return refuse({ status: 400, error: { code: errorCodes.parse, message: parsed.failure.message } })
  }
  const { json } = parsed.success
  if (Array.isArray(json)) return refuse(invalidRequest("The body is one message: batches are not taken"))
  const message = readMessage(json)
  if (message === undefined) return refuse(invalidRequest("The body is no message of JSON-RPC 2.0"))
  const version = versionOf(headers, message)
  if (typeof version !== "string") return refuse(version, message)
  const wrong = version === statelessVersion ? wrongHeader(headers, message) : undefined
  if (wrong !== undefined) return refuse(headerMismatch(wrong), message)
  return Result.succeed({ message, text: Buffer.from(body).toString("utf8"), version })
}

const refuse = (refusal: McpRefusal, message?: Message) =>
  Result.fail({ ...refusal, ...(message !== undefined && isRequest(message) && { id: message.id }) })

/** The version of a message; a message without one is of the first version that this endpoint speaks. */
const versionOf = (headers: Headers, message: Message): McpVersion | McpRefusal => {
  const inHeader = headers["mcp-protocol-version"]
  const inMessage = metaIn(message)[metaNames.version]
  const method = "method" in message ? message.method : undefined
  const isStateless = inMessage !== undefined || inHeader === statelessVersion
  if (isStateless) {
    if (isResponse(message)) return invalidRequest("This version has no responses of clients")
    if (inHeader === undefined || (inMessage !== undefined && inHeader !== inMessage)) {
      return headerMismatch("MCP-Protocol-Version")
    }
    if (inHeader !== statelessVersion) return unsupportedVersion(inHeader)
    return lackingMeta(message) ?? statelessVersion
  }
  if (inHeader === undefined || method === "initialize") return "2025-03-26"
  return isSessionVersion(inHeader) ? inHeader : unsupportedVersion(inHeader)
}

/** Requests without sessions say which version and capabilities their client has. */
const lackingMeta = (message: Message): McpRefusal | undefined => {
  if (!isRequest(message)) return undefined
  const meta = metaIn(message)
  const lacking = [metaNames.version, metaNames.capabilities].find((name) => meta[name] === undefined)
  if (lacking === undefined && isJsonObject(meta[metaNames.capabilities])) return undefined
  return {
    status: 400,
    error: { code: errorCodes.invalidParams, message: `params._meta needs ${lacking ?? metaNames.capabilities}` },
  }
}

/** The header that is missing or differs from the message. */
const wrongHeader = (headers: Headers, message: Message): string | undefined => {
  if (!isRequest(message)) return undefined
  const { method, params } = message
  if (headers["mcp-method"] !== method) return "Mcp-Method"
  const named = method === "resources/read" ? params?.["uri"] : params?.["name"]
  const needsName = method === "tools/call" || method === "prompts/get" || method === "resources/read"
  if (!needsName || typeof named !== "string") return undefined
  const sent = headers["mcp-name"]
  return sent !== undefined && valueOfHeader(sent) === named ? undefined : "Mcp-Name"
}
