/**
 * Refuses a request whose body is still on its way. Many clients read only when they have sent everything. If the connection
 * is closed before, it is reset, and the refusal is lost. So the rest of the body is read and discarded for a while. Source:
 * RFC 9112 section 9.6.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import { EventLoopBudget } from "../event-loop-budget.ts"
import { freeChunk } from "../media/free-chunk.ts"
import { isShared } from "./listener.ts"

/** Bytes of a refused request's body that are still read, so that the connection can be reused. */
const maxReadOnBytes = 256 * 1024
/** The time for which a client may send nothing, and the time for which it may go on. */
const idleMs = 5000
const longestMs = 30_000

/** Must be called before the head is written. A connection whose client sends more than a little is closed after the reply. */
export const closeIfSending = (response: ServerResponse): void => {
  const { req: request } = response
  if (request.complete || Number(request.headers["content-length"]) < maxReadOnBytes) return
  response.shouldKeepAlive = false
  // Connections of HTTP/2 end the stream alone.
  if (isShared(response)) return
  response.prependOnceListener("finish", () => {
    if (!request.complete) linger(request)
  })
}

const linger = (request: IncomingMessage): void => {
  const { socket } = request
  // Node calls this next, and would reset the connection.
  const destroySoon = () => void socket.end()
  socket.destroySoon = destroySoon
  const longest = setTimeout(() => socket.destroy(), longestMs).unref()
  socket.once("close", () => clearTimeout(longest))
  socket.setTimeout(idleMs, () => socket.destroy())
  void drop(request).finally(() => socket.destroy())
}

const turn = new EventLoopBudget(256 * 1024)

const drop = async (request: IncomingMessage): Promise<void> => {
  try {
    for await (const part of request.iterator({ destroyOnReturn: false })) {
      const later = turn.take(part.length)
      freeChunk(part)
      if (later !== undefined) await later
    }
  } catch {
    // The client has left.
  }
}
