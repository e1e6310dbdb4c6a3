/**
 * Answers requests that Node's parser refuses, before a route could answer: with the envelope, like every other failure, and
 * the connection ends. Without this, Node sends a bare 431, 408 or 400. Source: https://nodejs.org/api/http.html, "Event:
 * 'clientError'".
 */
import type { Duplex } from "node:stream"
import { Predicate } from "effect"
import { newRequestId } from "../calls/calls.ts"
import { errorBody, errorStatus, type ServiceError, serviceError } from "../protocol/error.ts"
import { eventsOf, type NodeServer } from "./listener.ts"
import { noSniff } from "./security-headers.ts"

const tooLarge = serviceError("bad_request", "The URL and the headers may have 16 KiB together")
const tooSlow = serviceError("bad_request", "The request did not arrive in time")
const notHttp = serviceError("bad_request", "This is not a request of HTTP/1.1")

const refusals = new Map([
  ["HPE_HEADER_OVERFLOW", tooLarge],
  ["HPE_CHUNK_EXTENSIONS_OVERFLOW", tooLarge],
  ["ERR_HTTP_REQUEST_TIMEOUT", tooSlow],
])

/** Answers for connections of HTTP/1.1; HTTP/2 has its own codes for unreadable requests. */
export const answerUnreadable = (server: NodeServer): void => {
  eventsOf(server).on("clientError", (error: unknown, socket: Duplex) => {
    const code = Predicate.hasProperty(error, "code") ? String(error.code) : ""
    // Node's own listener checks this too: a reply that is under way must not get a second head.
    const isAnswering = Predicate.hasProperty(socket, "_httpMessage") && socket._httpMessage !== null
    if (code !== "ECONNRESET" && socket.writable && !isAnswering) socket.write(replyOf(refusals.get(code) ?? notHttp))
    socket.destroy()
  })
}

const replyOf = (error: ServiceError): string => {
  const requestId = newRequestId()
  const body = JSON.stringify({ error: errorBody(error, requestId) })
  return [
    `HTTP/1.1 ${errorStatus[error.code]} ${error.code}`,
    "content-type: application/json",
    `content-length: ${Buffer.byteLength(body)}`,
    `x-svc-request-id: ${requestId}`,
    noSniff.join(": "),
    "connection: close",
    "",
    body,
  ].join("\r\n")
}
