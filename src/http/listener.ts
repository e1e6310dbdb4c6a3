/**
 * Node's servers for clients: HTTP/1.1, or with a certificate HTTPS with HTTP/2 and HTTP/1.1. Requests of both kinds
 * reach the same listeners. Source: RFC 9113; https://nodejs.org/api/http2.html, "Compatibility API".
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import {
  constants,
  createSecureServer,
  type Http2SecureServer,
  Http2ServerRequest,
  Http2ServerResponse,
  type ServerHttp2Session,
} from "node:http2"
import type { Socket } from "node:net"
import { createSecureContext } from "node:tls"
import { Config, ConfigProvider, Effect, type Scope } from "effect"
import type { WeirConfig } from "../config.ts"
import { secretInFile } from "../secret-files.ts"
import type { NodeProblems } from "../telemetry/node-problems.ts"
import { FileRefused, watchFiles } from "../watched-files.ts"

export type NodeServer = Server | Http2SecureServer

/** The events of either kind, which have the same listeners although Node types them differently. */
export const eventsOf = (server: NodeServer): NodeJS.EventEmitter => server

/** Node's reply buffer, in bytes: small, so that backpressure from a slow client shows early. */
const responseBufferBytes = 16 * 1024

/** Limits of connections of any protocol. */
export interface ConnectionTimes {
  /** The time for which a connection may be without a whole head of a request. */
  readonly idleMs: number
  /** The time that a request may take to its last byte. */
  readonly requestMs: number
}

/** The time that a session may take to end after it was asked to. */
const closingMs = 1000

const usualTimes: ConnectionTimes = { idleMs: 65_000, requestMs: 300_000 }

/** A server for plain HTTP. */
export const makePlainServer = ({ idleMs, requestMs }: ConnectionTimes = usualTimes): Server =>
  createServer({
    highWaterMark: responseBufferBytes,
    keepAliveTimeout: idleMs,
    requestTimeout: requestMs,
    noDelay: true,
  })

/** The server for clients. Its certificate is loaded again when the files change; open connections continue. */
export const makeListener = (
  tls: WeirConfig["Service"]["tls"],
  times: ConnectionTimes = usualTimes,
): Effect.Effect<NodeServer, Config.ConfigError, NodeProblems | Scope.Scope> =>
  tls === undefined ? Effect.sync(() => makePlainServer(times)) : makeSecureServer(tls, times)

const makeSecureServer = Effect.fnUntraced(function* (
  files: { readonly cert: string; readonly key: string },
  times: ConnectionTimes,
) {
  const pair = { cert: secretInFile(files.cert) ?? "", key: secretInFile(files.key) ?? "" }
  if (!isPair(pair)) {
    return yield* Effect.fail(
      new Config.ConfigError(
        new ConfigProvider.SourceError({
          message: `SVC_TLS_CERT (${files.cert}) and SVC_TLS_KEY (${files.key}) are no certificate and its key in PEM`,
        }),
      ),
    )
  }
  const server = createSecureServer({
    ...pair,
    allowHTTP1: true,
    handshakeTimeout: 10_000,
    settings: { maxConcurrentStreams },
    maxSessionMemory,
    highWaterMark: responseBufferBytes,
    noDelay: true,
  })
  // The timeouts of its connections of HTTP/1.1; Node has no option for them.
  Object.assign(server, { keepAliveTimeout: times.idleMs, requestTimeout: times.requestMs })
  server.on("session", (session) => limitSession(session, times))
  yield* watchFiles({
    paths: [files.cert, files.key],
    before: [pair.cert, pair.key],
    take: ([cert = "", key = ""]) => {
      if (!isPair({ cert, key })) {
        return Effect.fail(new FileRefused({ message: "The new certificate and key do not fit" }))
      }
      server.setSecureContext({ cert, key })
      return Effect.logInfo("The certificate has changed; new connections use it")
    },
  })
  return server
})

/** Streams that one connection may have open; a client that needs more opens another one. */
const maxConcurrentStreams = 250
/** The window of one connection, in megabytes: room for as many streams whose client is slow. */
const maxSessionMemory = 64

/** Whether texts are a certificate and its key in PEM. */
export const isPair = (pair: { readonly cert: string; readonly key: string }): boolean => {
  try {
    createSecureContext(pair)
    return pair.cert !== "" && pair.key !== ""
  } catch {
    return false
  }
}

/**
 * HTTP/2 has no such timeouts of its own. A session without streams ends like an idle connection of HTTP/1, even if it sends
 * frames; a stream whose request is not whole in time ends alone.
 */
const limitSession = (session: ServerHttp2Session, { idleMs, requestMs }: ConnectionTimes): void => {
  let open = 0
  let idle: NodeJS.Timeout | undefined
  const wait = () => {
    clearTimeout(idle)
    idle = setTimeout(() => {
      // This notifies the client, which then begins no new request.
      session.close()
      idle = setTimeout(() => session.destroy(), closingMs).unref()
    }, idleMs).unref()
  }
  wait()
  session.once("close", () => clearTimeout(idle))
  session.on("stream", (stream) => {
    open++
    clearTimeout(idle)
    const late = stream.endAfterHeaders
      ? undefined
      : setTimeout(() => {
          if (!stream.readableEnded) stream.close(constants.NGHTTP2_CANCEL)
        }, requestMs).unref()
    stream.once("close", () => {
      open--
      clearTimeout(late)
      if (open === 0 && !session.destroyed) wait()
    })
  })
}

/**
 * Gives a request of HTTP/2 the properties that listeners for HTTP/1 expect: a host, and a reply that ends broken when
 * destroyed.
 */
export const likeHttp1 = (request: unknown, response: unknown): void => {
  if (!(request instanceof Http2ServerRequest && response instanceof Http2ServerResponse)) return
  const { headers } = request
  headers.host ??= headers[":authority"]
  const destroy = () => {
    response.stream.close(constants.NGHTTP2_INTERNAL_ERROR)
    return response
  }
  response.destroy = destroy
  // The body of a refused request is not read to its end. RFC 9113 section 8.1.
  response.stream.once("finish", () => {
    if (!request.complete) response.stream.close(constants.NGHTTP2_NO_ERROR)
  })
}

/** Whether a reply shares its connection with others. */
export const isShared = ({ req }: ServerResponse): boolean => req.httpVersionMajor === 2

/** Listens to requests before the listeners that there are; those of an interceptor may not reach them all. */
export const beforeRequest = (
  server: NodeServer,
  listen: (request: IncomingMessage, response: ServerResponse) => void,
): void => {
  eventsOf(server).prependListener("request", listen)
}

/** Closes all connections, idle or not. */
export const trackConnections = (server: NodeServer): { readonly closeAll: () => void } => {
  const sockets = new Set<Socket>()
  eventsOf(server).on("connection", (socket: Socket) => {
    sockets.add(socket)
    socket.once("close", () => sockets.delete(socket))
  })
  return {
    closeAll: () => {
      for (const socket of sockets) socket.destroy()
    },
  }
}
