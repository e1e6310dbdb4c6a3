/** Keeps connections of clients within their share of files: those that wait for a next request are closed first. */
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Socket } from "node:net"
import { Server as TlsServer } from "node:tls"
import { eventsOf, isShared, type NodeServer } from "./listener.ts"

/** Above this share of its connections, a server closes waiting ones. */
const waitingShare = 0.75
/** How long a new connection may be without a request while connections are short. */
const firstRequestMs = 1000

export interface ConnectionLimit {
  readonly request: (request: IncomingMessage, response: ServerResponse) => void
  readonly upgrade: (request: IncomingMessage) => void
}

/**
 * Limits a server's connections.
 * Node's own `closeIdleConnections` also closes connections that were just accepted, whose request is on its way.
 *
 * @returns what must hear of every request, before it is answered, and of every upgrade
 */
export const limitConnections = (server: NodeServer, most: number | undefined): ConnectionLimit => {
  if (most === undefined) return { request: () => {}, upgrade: () => {} }
  server.maxConnections = most
  const keepMost = most * waitingShare
  let open = 0
  /** Connections without a request, the longest waiting first, with the time from which they may be closed. */
  const waiting = new Map<Socket, number>()

  const events = eventsOf(server)
  // Requests know the socket inside TLS. Connections of HTTP/2 close themselves when they are idle.
  events.on(server instanceof TlsServer ? "secureConnection" : "connection", (socket: Socket) => {
    open++
    if (!("alpnProtocol" in socket && socket.alpnProtocol === "h2")) {
      waiting.set(socket, performance.now() + firstRequestMs)
    }
    socket.once("close", () => {
      open--
      waiting.delete(socket)
    })
    closeWaiting(open - keepMost)
  })
  events.on("drop", () => closeWaiting(open - keepMost))

  const request = ({ socket }: IncomingMessage, response: ServerResponse) => {
    if (isShared(response)) return
    waiting.delete(socket)
    // Room is made before somebody needs it, and the client is told: a connection beyond the limit is closed at once.
    if (open > keepMost) response.shouldKeepAlive = false
    response.once("close", () => {
      if (!socket.destroyed) waiting.set(socket, 0)
    })
  }

  const closeWaiting = (count: number) => {
    const nowMs = performance.now()
    let left = count
    for (const [socket, fromMs] of waiting) {
      if (left <= 0) return
      if (fromMs > nowMs) continue
      waiting.delete(socket)
      socket.destroy()
      left--
    }
  }
  // A WebSocket waits for no request.
  return { request, upgrade: ({ socket }) => waiting.delete(socket) }
}
