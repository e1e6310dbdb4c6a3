/** A server between an SDK and a gateway, which records the requests and their replies. */
import { createServer, type IncomingMessage, request as requestTo, type Server, type ServerResponse } from "node:http"
import { connect } from "node:net"
import type { Duplex } from "node:stream"

export interface Recorded {
  readonly method: string
  /** Without its query. */
  readonly path: string
  readonly status: number
  /** The reply's text so far, or its beginning. */
  readonly text: string
}

export interface Recorder {
  readonly url: string
  /** The requests since the last time, in their order. */
  readonly take: () => ReadonlyArray<Recorded>
  /** Settles when the next WebSocket is refused: some SDKs wait for it forever. */
  readonly refusedSocket: () => Promise<void>
  readonly close: () => void
}

/** The part of a reply that is recorded. */
const recordedBytes = 64 * 1024

/**
 * Starts a recorder on a free port.
 *
 * @param gatewayUrl the gateway to which requests go; without one, each is refused
 */
export const startRecorder = async (gatewayUrl?: string): Promise<Recorder> => {
  let recorded: Array<Recorded> = []
  let socketRefused = Promise.withResolvers<void>()
  const finishOf =
    ({ method = "", url = "", headers }: IncomingMessage): Finish =>
    (status, text) => {
      recorded.push({
        method,
        path: url.replace(/\?.*/, ""),
        status,
        get text() {
          return text()
        },
      })
      if (headers.upgrade !== undefined && status !== 101) socketRefused.resolve()
    }
  const server = createServer((request, reply) => {
    if (gatewayUrl === undefined) refuse(request, reply, finishOf(request))
    else forward(gatewayUrl, request, reply, finishOf(request))
  })
  if (gatewayUrl !== undefined)
    server.on("upgrade", (request, socket) => forwardSocket(gatewayUrl, request, socket, finishOf(request)))
  const url = await listen(server)
  const take = () => {
    const taken = recorded
    recorded = []
    socketRefused = Promise.withResolvers<void>()
    return taken
  }
  const close = () => {
    server.closeAllConnections()
    server.close()
  }
  return { url, take, refusedSocket: () => socketRefused.promise, close }
}

type Finish = (status: number, text: () => string) => void

const listen = (server: Server): Promise<string> =>
  new Promise((resolve) => {
    server.listen(0, "127.0.0.1", () => {
      const address = server.address()
      resolve(`http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`)
    })
  })

const refuse = (request: IncomingMessage, reply: ServerResponse, finish: Finish): void => {
  request.resume().once("end", () => {
    finish(400, () => "")
    reply.writeHead(400, { "content-type": "application/json" })
    reply.end(JSON.stringify({ error: { message: "recorded" } }))
  })
}

const forward = (gatewayUrl: string, request: IncomingMessage, reply: ServerResponse, finish: Finish): void => {
  const { method, headers } = request
  const onward = requestTo(`${gatewayUrl}${request.url}`, { method, headers }, (answer) => {
    const chunks: Array<Buffer> = []
    let bytes = 0
    answer.on("data", (chunk: Buffer) => {
      if (bytes < recordedBytes) chunks.push(chunk)
      bytes += chunk.length
    })
    // Recorded before the SDK sees it: it may leave at its first bytes.
    finish(answer.statusCode ?? 0, () => Buffer.concat(chunks).toString("utf8"))
    reply.writeHead(answer.statusCode ?? 502, answer.headers)
    answer.pipe(reply)
  })
  onward.once("error", () => reply.destroy())
  reply.once("close", () => onward.destroy())
  request.pipe(onward)
}

/** A WebSocket: the status of its handshake is recorded. */
const forwardSocket = (gatewayUrl: string, request: IncomingMessage, socket: Duplex, finish: Finish): void => {
  const { hostname, port } = new URL(gatewayUrl)
  const onward = connect({ host: hostname, port: Number(port) })
  const headers = request.rawHeaders.map((text, at) => (at % 2 === 0 ? `${text}: ` : `${text}\r\n`)).join("")
  onward.write(`${request.method} ${request.url} HTTP/1.1\r\n${headers}\r\n`)
  onward.once("data", (chunk) => {
    const text = chunk.toString("latin1")
    finish(Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1] ?? 0), () => text.replace(/^.*?\r\n\r\n/s, ""))
  })
  for (const [from, to] of [
    [socket, onward],
    [onward, socket],
  ] as const) {
    from.pipe(to)
    from.once("error", () => to.destroy())
    from.once("close", () => to.destroy())
  }
}
