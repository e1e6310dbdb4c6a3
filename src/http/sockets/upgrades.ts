/**
 * Upgrades to WebSockets. Only the paths of sockets are upgraded; a request for another path that asks for an upgrade is
 * answered like any request. A refused upgrade gets a plain HTTP reply. Sources: RFC 6455 section 4.2; RFC 9110 section 7.8.
 */
import { type IncomingMessage, ServerResponse } from "node:http"
import { Socket } from "node:net"
import { Effect, Fiber, type Scope } from "effect"
import { WebSocketServer } from "ws"
import type { UploadRequest } from "../caller-request.ts"
import { fromNode } from "../hot-routes.ts"
import { eventsOf, type NodeServer } from "../listener.ts"
import { noSniff } from "../security-headers.ts"
import { ClientSocket, type MessageFormat } from "./client-socket.ts"

/** A request for an upgrade, which is accepted once, or refused with a reply. */
export interface Upgrade {
  readonly request: UploadRequest
  /** Subprotocols that the client offers. */
  readonly protocols: ReadonlyArray<string>
  /** Makes the handshake. Undefined if it cannot be made: the client has its reply then, or has left. */
  readonly accept: (protocol: string | undefined, format?: MessageFormat) => ClientSocket | undefined
  /** Writes a refusal; the connection ends after it. */
  readonly refusedAt: () => ServerResponse
}

export type UpgradeHandler = (upgrade: Upgrade) => Effect.Effect<void>

export interface SocketRoute {
  readonly handle: UpgradeHandler
  /** The largest message of a client. */
  readonly frameBytes: number
}

/**
 * Hands requests for upgrades to the handlers of their paths, until the scope closes. Replaces the router's own listener,
 * which would answer them too.
 *
 * @param before called with each of them
 */
export const answerUpgrades = Effect.fnUntraced(function* (
  server: NodeServer,
  routes: ReadonlyMap<string, SocketRoute>,
  before: (request: IncomingMessage) => void,
): Effect.fn.Return<void, never, Scope.Scope> {
  const scope = yield* Effect.scope
  const fork = Effect.runForkWith(yield* Effect.context<never>())
  const served = new Map(
    [...routes].map(([path, { handle, frameBytes }]) => [path, { handle, sockets: socketsWith(frameBytes) }]),
  )
  const isSocket = ({ url = "" }: Pick<IncomingMessage, "url">) => served.has(pathOf(url))
  Object.assign(server, { shouldUpgradeCallback: isSocket })
  const upgrade = (request: IncomingMessage, connection: unknown, head: Buffer) => {
    if (!(connection instanceof Socket)) return
    const route = served.get(pathOf(request.url ?? ""))
    if (route === undefined) {
      connection.destroy()
      return
    }
    connection.on("error", ignore)
    before(request)
    Fiber.runIn(fork(route.handle(upgradeOf(route.sockets, request, connection, head))), scope)
  }
  const emitter = eventsOf(server)
  yield* Effect.acquireRelease(
    Effect.sync(() => emitter.removeAllListeners("upgrade").on("upgrade", upgrade)),
    () => Effect.sync(() => emitter.off("upgrade", upgrade)),
  )
})

const socketsWith = (frameBytes: number): WebSocketServer =>
  new WebSocketServer({
    noServer: true,
    clientTracking: false,
    maxPayload: frameBytes,
    perMessageDeflate: false,
    autoPong: false,
    ...ending,
    handleProtocols: (_, request) => chosenOf.get(request) ?? false,
  }).on("wsClientError", ({ message }, connection, request) => {
    if (!(connection instanceof Socket)) return
    const response = replyOn(request, connection)
    response.writeHead(400, { "content-type": "text/plain", upgrade: "websocket" }).end(`${message}\n`)
  })

/** The time in which a client may end a socket that the gateway has ended; the library's types lack this option. */
const ending = { closeTimeout: 5000 }

/** The subprotocol that was chosen for a request. */
const chosenOf = new WeakMap<IncomingMessage, string>()

const ignore = () => {}

const upgradeOf = (sockets: WebSocketServer, request: IncomingMessage, connection: Socket, head: Buffer): Upgrade => ({
  request: fromNode(request),
  protocols: (request.headers["sec-websocket-protocol"] ?? "").split(",").flatMap((each) => each.trim() || []),
  accept: (protocol, format) => {
    if (protocol !== undefined) chosenOf.set(request, protocol)
    let accepted: ClientSocket | undefined
    sockets.handleUpgrade(request, connection, head, (ws) => {
      connection.off("error", ignore)
      accepted = new ClientSocket(ws, connection, format)
    })
    return accepted
  },
  refusedAt: () => replyOn(request, connection),
})

const replyOn = (request: IncomingMessage, connection: Socket): ServerResponse => {
  const response = new ServerResponse(request)
  response.shouldKeepAlive = false
  response.setHeader(...noSniff)
  response.assignSocket(connection)
  response.once("finish", () => connection.end())
  return response
}

const pathOf = (url: string): string => {
  const end = url.indexOf("?")
  return end === -1 ? url : url.slice(0, end)
}
