/** Replies of the endpoint that are one message, or none. */
import type { ServerResponse } from "node:http"
import type { MessageId } from "../../protocol/mcp/message.ts"
import { answerText, errorText, type McpRefusal, resultText } from "./mcp-errors.ts"

type Headers = Readonly<Record<string, string>>

export const write = (response: ServerResponse, status: number, text: string, headers: Headers = {}): void => {
  response.writeHead(status, {
    ...headers,
    "content-type": "application/json",
    "content-length": Buffer.byteLength(text),
  })
  response.end(text)
}

export const sendResult = (response: ServerResponse, id: MessageId, result: object, headers: Headers = {}): void =>
  write(response, 200, resultText(id, result), headers)

export const answerWith = (response: ServerResponse, id: MessageId, answer: Parameters<typeof answerText>[1]): void =>
  write(response, 200, answerText(id, answer))

export const refuse = (response: ServerResponse, id: MessageId | undefined, { status, error }: McpRefusal): void =>
  write(response, status, errorText(id, error))

/** The answer to a message that has none. */
export const accept = (response: ServerResponse): void => {
  response.writeHead(202, { "content-length": 0 }).end()
}

/** The answer to a method of HTTP that needs a session, from a client that has none. */
export const notTaken = (response: ServerResponse): void => {
  response.writeHead(405, { allow: "POST", "content-length": 0 }).end()
}
