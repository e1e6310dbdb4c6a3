/** Keeps connections of clients within their share of files: those that wait for a next request are closed first. */
import type { Server } from "node:http"
import type { Socket } from "node:net"

/** Above this share of its connections, a server closes waiting ones. */
const waitingShare = 0.75
/** How long a new connection may be without a request while connections are short. */
const firstRequestMs = 1000

/**
 * Limits a server's connections.
 * Node's own `closeIdleConnections` also closes connections that were just accepted, whose request is on its way.
 */
export const limitConnections = (server: Server, most: number | undefined): void => {
  if (most === undefined) return
  server.maxConnections = most
  const keepMost = most * waitingShare
  let open = 0
  /** Connections without a request, the longest waiting first, with the time from which they may be closed. */
  const waiting = new Map<Socket, number>()

  server.on("connection", (socket) => {
    open++
    waiting.set(socket, performance.now() + firstRequestMs)
    socket.once("close", () => {
      open--
      waiting.delete(socket)
    })
    closeWaiting(open - keepMost)
  })
  server.on("drop", () => closeWaiting(open - keepMost))

  server.prependListener("request", ({ socket }, response) => {
    waiting.delete(socket)
    // Room is made before somebody needs it, and the client is told: a connection beyond the limit is closed at once.
    if (open > keepMost) response.shouldKeepAlive = false
    response.once("close", () => {
      if (!socket.destroyed) waiting.set(socket, 0)
    })
  })

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
}
