/** Errors as the protocol has them: JSON-RPC's own for what is wrong with a message, and ours with their status as code. */
import { errorBody, errorStatus, type ServiceError } from "../../protocol/error.ts"
import { errorCodes, type JsonObject, type MessageError, type MessageId } from "../../protocol/mcp/message.ts"
import { mcpVersions } from "../../protocol/mcp/versions.ts"

/** A message that cannot be answered, with the status of its reply. */
export interface McpRefusal {
  readonly status: number
  readonly error: MessageError
}

export const invalidRequest = (message: string): McpRefusal => ({
  status: 400,
  error: { code: errorCodes.invalidRequest, message },
})

export const headerMismatch = (header: string): McpRefusal => ({
  status: 400,
  error: { code: errorCodes.headerMismatch, message: `The header ${header} is missing, or differs from the message` },
})

export const unsupportedVersion = (requested: string): McpRefusal => ({
  status: 400,
  error: {
    code: errorCodes.unsupportedVersion,
    message: "Unsupported protocol version",
    data: { supported: [...mcpVersions], requested },
  },
})

export const methodNotFound = (method: string, isStateless: boolean): McpRefusal => ({
  status: isStateless ? 404 : 200,
  error: { code: errorCodes.methodNotFound, message: `Method not found: ${method.slice(0, 100)}` },
})

export const invalidParams = (message: string): McpRefusal => ({
  status: 200,
  error: { code: errorCodes.invalidParams, message },
})

export const foreignOrigin: McpRefusal = {
  status: 403,
  error: { code: errorCodes.invalidRequest, message: "Pages of this origin may not use the gateway" },
}

export const unknownSession: McpRefusal = {
  status: 404,
  error: { code: errorCodes.invalidRequest, message: "The session is not known: begin a new one" },
}

/** The same for what does not exist and for what the caller may not use. */
export const unknownName = (method: string, { name, uri, ref }: JsonObject): McpRefusal => {
  const named = [name, uri, ref].find((each) => each !== undefined)
  const shown = typeof named === "string" ? `: ${named.slice(0, 200)}` : ""
  const message =
    method === "resources/read" ? "Resource not found" : method === "tools/call" ? "Unknown tool" : "Unknown name"
  return {
    status: 200,
    error: {
      code: errorCodes.invalidParams,
      message: `${message}${shown}`,
      ...(method === "resources/read" && typeof uri === "string" && { data: { uri } }),
    },
  }
}

/** An error of the gateway: its code is outside the numbers that JSON-RPC keeps for itself. */
export const errorOf = (error: ServiceError, requestId: string): MessageError => ({
  code: errorStatus[error.code],
  message: error.message,
  data: {
    ...errorBody(error, requestId),
    ...(error.retryAfterMs !== undefined && { retryAfterMs: error.retryAfterMs }),
  },
})

export const errorText = (id: MessageId | undefined, error: MessageError): string =>
  JSON.stringify({ jsonrpc: "2.0", ...(id !== undefined && { id }), error })

export const resultText = (id: MessageId, result: object): string => JSON.stringify({ jsonrpc: "2.0", id, result })

export const answerText = (
  id: MessageId,
  answer: { readonly result: JsonObject } | { readonly error: MessageError },
): string => ("result" in answer ? resultText(id, answer.result) : errorText(id, answer.error))
