/**
 * WebSockets to vendors. Connections are made as those of HTTP calls are: through the same proxies, with the same
 * certificates, behind the same egress guard.
 */
import { Agent } from "node:http"
import type { Socket } from "node:net"
import { Context, Data, Effect, Layer, Result } from "effect"
import { WebSocket } from "ws"
import { UpstreamBroken } from "./client.ts"
import { makeConnector } from "./connector.ts"
import { makeWays } from "./dispatchers.ts"
import { Egress } from "./egress.ts"
import type { Network } from "./network.ts"

export interface VendorSocketRequest {
  readonly baseUrl: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  /** Whether a user chose the address. */
  readonly isGuarded: boolean
  readonly network: Network | undefined
}

/** The vendor answered, and not with an upgrade. */
export class UpgradeRefused extends Data.TaggedError("UpgradeRefused")<{
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}> {}

export interface VendorSocketListener {
  /** A whole message, in UTF-8. */
  readonly message: (bytes: Buffer) => void
  /** The vendor has taken what was waiting. */
  readonly room: () => void
  /** Called once. */
  readonly closed: (code: number, reason: string) => void
}

/** An open socket. */
export interface VendorSocket {
  /** Sets the listener. It gets the messages that came before at once. */
  readonly listen: (listener: VendorSocketListener) => void
  /** @returns whether there is room for more; if not, the listener is called when there is */
  readonly send: (message: string | Buffer) => boolean
  /** Stops reading; messages that were read already may still come. */
  readonly pause: () => void
  readonly resume: () => void
  /** Ends with the closing handshake. */
  readonly close: () => void
}

export class VendorSockets extends Context.Service<
  VendorSockets,
  {
    /** Opens a socket; interrupted, the connection is cut. */
    readonly open: (request: VendorSocketRequest) => Effect.Effect<VendorSocket, UpstreamBroken | UpgradeRefused>
  }
>()("weir/upstream/VendorSockets") {
  static readonly layer = Layer.effect(
    VendorSockets,
    Effect.gen(function* () {
      const egress = yield* Egress
      const wayTo = yield* makeWays
      return VendorSockets.of({
        open: (request) => {
          const { isGuarded, network, baseUrl } = request
          const checked = isGuarded ? egress.check(baseUrl) : undefined
          if (checked !== undefined && Result.isFailure(checked)) return broken(checked.failure)
          if (network?.problem !== undefined) return broken(new Error(network.problem))
          return openSocket(request, makeConnector(wayTo(isGuarded, network)))
        },
      })
    }),
  )
}

const broken = (cause: unknown) => Effect.fail(new UpstreamBroken({ cause }))

const openSocket = (
  { baseUrl, path, headers }: VendorSocketRequest,
  connect: ReturnType<typeof makeConnector>,
): Effect.Effect<VendorSocket, UpstreamBroken | UpgradeRefused> =>
  Effect.callback((resume) => {
    const url = new URL(baseUrl)
    let connection: Socket | undefined
    const ws = new WebSocket(`${baseUrl.replace(/^http/, "ws").replace(/\/$/, "")}${path}`, {
      headers: { "user-agent": "weir", ...headers },
      perMessageDeflate: false,
      // The session's own tiers apply.
      handshakeTimeout: 0,
      followRedirects: false,
      maxPayload: mostMessageBytes,
      agent: connecting(connect, url, (opened) => {
        connection = opened
      }),
    })
    ws.on("error", (cause) => resume(broken(cause)))
    ws.once("unexpected-response", (_, response) => {
      const chunks: Array<Buffer> = []
      let bytes = 0
      const told = () => {
        const body = Buffer.concat(chunks).toString("utf8")
        resume(
          Effect.fail(new UpgradeRefused({ status: response.statusCode ?? 0, headers: flat(response.headers), body })),
        )
        ws.terminate()
      }
      response.on("data", (chunk: Buffer) => {
        chunks.push(chunk)
        bytes += chunk.length
        if (bytes > mostRefusalBytes) told()
      })
      response.once("end", told)
      response.once("error", told)
    })
    ws.once("open", () => {
      if (connection !== undefined) resume(Effect.succeed(new ConnectedSocket(ws, connection)))
    })
    return Effect.sync(() => ws.terminate())
  })

/** No event of a vendor is larger: a whole reply with its sound comes in parts. */
const mostMessageBytes = 16 * 1024 * 1024
const mostRefusalBytes = 64 * 1024

/** The options of one connection, which our connector makes. */
const connecting = (
  connect: ReturnType<typeof makeConnector>,
  { protocol, hostname, host, port }: URL,
  use: (connection: Socket) => void,
): Agent => {
  const isSecure = protocol === "https:"
  const address = { hostname, host, protocol, port, ...(isSecure && { servername: hostname }) }
  return Object.assign(new Agent(), {
    protocol,
    createConnection: (_: unknown, opened: (error: Error | null, connection?: Socket) => void) => {
      connect(address, (error, connection) => {
        if (connection === null) return opened(error)
        use(connection)
        opened(null, connection)
      })
    },
  })
}

const flat = (headers: NodeJS.Dict<string | Array<string>>): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]))

/** Bytes that may wait for a vendor before its client waits too. */
const waitingBytes = 1024 * 1024

class ConnectedSocket implements VendorSocket {
  readonly #ws: WebSocket
  readonly #connection: Socket
  /** The messages that came before a listener was set. */
  #early: Array<Buffer> | undefined = []
  #listener: VendorSocketListener | undefined
  #isClosed = false
  #isCorked = false
  #code = 1006
  #reason = ""

  constructor(ws: WebSocket, connection: Socket) {
    this.#ws = ws
    this.#connection = connection
    ws.on("message", (data: Buffer) => {
      if (this.#listener === undefined) this.#early?.push(data)
      else this.#listener.message(data)
    })
    ws.once("close", (code, reason) => this.#ended(code, reason.toString("utf8")))
    connection.on("drain", () => this.#listener?.room())
  }

  listen(listener: VendorSocketListener): void {
    this.#listener = listener
    const early = this.#early ?? []
    this.#early = undefined
    for (const data of early) listener.message(data)
    if (this.#isClosed) listener.closed(this.#code, this.#reason)
  }

  send(message: string | Buffer): boolean {
    if (this.#isClosed) return true
    // All messages of one turn of the event loop are sent in one write.
    if (!this.#isCorked) {
      this.#isCorked = true
      this.#connection.cork()
      setImmediate(this.#uncork)
    }
    this.#ws.send(message, { binary: false })
    return this.#connection.writableLength < waitingBytes
  }

  pause(): void {
    if (!this.#isClosed) this.#ws.pause()
  }

  resume(): void {
    if (!this.#isClosed) this.#ws.resume()
  }

  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#ws.close(1000)
  }

  readonly #uncork = (): void => {
    this.#isCorked = false
    this.#connection.uncork()
  }

  #ended(code: number, reason: string): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#code = code
    this.#reason = reason
    this.#listener?.closed(code, reason)
  }
}
