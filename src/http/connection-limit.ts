/**
 * Keeps connections of clients within their share of files. When few are left, connections without a known caller are closed
 * first: those that wait for a next request, and those that send a request whose caller is not known. The rules are the same
 * for HTTP/1.1, HTTP/2 and requests for WebSockets.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import { Http2ServerRequest, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2"
import type { Socket } from "node:net"
import { Server as TlsServer } from "node:tls"
import { eventsOf, type NodeServer } from "./listener.ts"

/** The share of its connections above which a server closes those without a known caller. */
const neededShare = 0.75
/** The time that a connection may take for a request of an unknown caller while connections are short. */
const sendingMs = 1000
/** The time that the gateway may take to answer it. */
const answeringMs = 30_000

/** A socket, or a session of HTTP/2, whose sockets no request has. */
interface Connection {
  readonly destroyed: boolean
  readonly destroy: () => void
}

export interface ConnectionLimit {
  readonly request: (request: IncomingMessage, response: ServerResponse) => void
  readonly upgrade: (request: IncomingMessage) => void
}

/** The protection of a request's connection from being closed. */
const places = new WeakMap<object, () => void>()

/** The caller of a request is known: its connection is not closed for others as long as the request runs. */
export const keepPlace = (request: object): void => places.get(request)?.()

/**
 * Limits a server's connections. Node's own `closeIdleConnections` also closes connections that were just accepted, whose
 * request is on its way.
 *
 * @returns the functions to call for every request, before it is answered, and for every upgrade
 */
export const limitConnections = (server: NodeServer, most: number | undefined): ConnectionLimit => {
  if (most === undefined) return { request: () => {}, upgrade: () => {} }
  server.maxConnections = most
  const keepMost = most * neededShare
  let open = 0
  /** Connections without a known caller, the longest waiting first, with the time from which they may be closed. */
  const unneeded = new Map<Connection, number>()
  /** Requests of known callers that run on a connection. */
  const needs = new Map<Connection, number>()

  const closableFrom = (connection: Connection, fromMs: number) => {
    unneeded.delete(connection)
    if (!connection.destroyed && !needs.has(connection)) unneeded.set(connection, fromMs)
  }
  const forget = (connection: Connection) => {
    unneeded.delete(connection)
    needs.delete(connection)
  }

  const events = eventsOf(server)
  events.on(server instanceof TlsServer ? "secureConnection" : "connection", (socket: Socket) => {
    open++
    const hasSession = "alpnProtocol" in socket && socket.alpnProtocol === "h2"
    if (!hasSession) closableFrom(socket, performance.now() + sendingMs)
    socket.once("close", () => {
      open--
      forget(socket)
    })
    closeUnneeded(open - keepMost)
  })
  events.on("session", (session: ServerHttp2Session) => {
    closableFrom(session, performance.now() + sendingMs)
    session.once("close", () => forget(session))
  })
  events.on("drop", () => closeUnneeded(open - keepMost))

  /** @returns the function to call when the request has its answer */
  const begin = (request: IncomingMessage, connection: Connection) => {
    let isKnown = false
    let isOver = false
    const sends = sendsBody(request)
    closableFrom(connection, performance.now() + (sends ? sendingMs : answeringMs))
    if (sends) {
      request.once("end", () => {
        if (!isKnown && !isOver) closableFrom(connection, performance.now() + answeringMs)
      })
    }
    places.set(request, () => {
      if (isKnown || isOver || connection.destroyed) return
      isKnown = true
      needs.set(connection, (needs.get(connection) ?? 0) + 1)
      unneeded.delete(connection)
    })
    return () => {
      isOver = true
      const left = (needs.get(connection) ?? 0) - (isKnown ? 1 : 0)
      if (left > 0) needs.set(connection, left)
      else needs.delete(connection)
      closableFrom(connection, 0)
    }
  }

  const request = (request: IncomingMessage, response: ServerResponse) => {
    const connection = connectionOf(request)
    // Room is made in advance, and the client is notified: a connection beyond the limit is closed at once.
    if (connection === request.socket && open > keepMost) response.shouldKeepAlive = false
    response.once("close", begin(request, connection))
  }

  const closeUnneeded = (count: number) => {
    const nowMs = performance.now()
    let left = count
    for (const [connection, fromMs] of unneeded) {
      if (left <= 0) return
      if (fromMs > nowMs) continue
      unneeded.delete(connection)
      connection.destroy()
      left--
    }
  }
  return { request, upgrade: (request) => void begin(request, request.socket) }
}

const connectionOf = (request: IncomingMessage): Connection => streamOf(request)?.session ?? request.socket

/** The stream of a request of HTTP/2, which Node's servers hand to the same listeners. */
const streamOf = (request: object): ServerHttp2Stream | undefined =>
  request instanceof Http2ServerRequest ? request.stream : undefined

const sendsBody = (request: IncomingMessage): boolean => {
  const stream = streamOf(request)
  if (stream !== undefined) return !stream.endAfterHeaders
  const { "content-length": length = "0", "transfer-encoding": encoding } = request.headers
  return length !== "0" || encoding !== undefined
}
