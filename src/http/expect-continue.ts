/**
 * Requests with `Expect: 100-continue`, which curl sends with every body above 1 MiB. They are handled like all others, and
 * their client is asked for the body when a handler reads it. A client that is refused before does not send it. Source: RFC
 * 9110 section 10.1.1.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import { eventsOf, type NodeServer } from "./listener.ts"

/** Replaces the router's own listener, which would answer them without the interceptors. */
export const continueRequests = (server: NodeServer): void => {
  const emitter = eventsOf(server)
  emitter.removeAllListeners("checkContinue")
  emitter.on("checkContinue", (request: IncomingMessage, response: ServerResponse) => {
    continueWhenRead(request, response)
    emitter.emit("request", request, response)
  })
}

const continueWhenRead = (request: IncomingMessage, response: ServerResponse): void => {
  const { _read: read } = request
  const wasKeptAlive = response.shouldKeepAlive
  // A client that is refused may send its body or not: the next bytes on its connection are ambiguous.
  response.shouldKeepAlive = false
  const continueFirst = (size: number) => {
    request._read = read
    if (!response.headersSent) {
      response.shouldKeepAlive = wasKeptAlive
      response.writeContinue()
    }
    read.call(request, size)
  }
  request._read = continueFirst
}
