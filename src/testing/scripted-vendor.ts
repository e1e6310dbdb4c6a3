/**
 * A scripted vendor: a real HTTP server on loopback whose replies are functions, so that latency, stalls, resets,
 * invalid replies and floods take one line each. It records its requests and disconnects.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { Socket } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"
import { Effect, type Schema, type Scope } from "effect"
import { acceptLive, isLivePath, type LiveScript } from "./live-twin.ts"
import { portOf } from "./port.ts"
import { acceptRealtime, type RealtimeScript } from "./scripted-realtime.ts"

type Json = Schema.Json

/** One request, as a script sees it. */
export interface VendorCall {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string | ReadonlyArray<string> | undefined>>
  /** The body if it is JSON; otherwise it has no members. */
  readonly body: { readonly [key: string]: Json }
  /** The body as it arrived. */
  readonly sent: Buffer
  /** Whether the request asks for a stream. */
  readonly streaming: boolean
  /** When the caller disconnected before the reply was complete, in `Date.now()` milliseconds. */
  readonly hungUpAt: number | undefined
  /** Sends status and headers; those of an event stream by default. */
  readonly head: (status?: number, headers?: Record<string, string>) => void
  /** Sends bytes and waits until they are accepted; false if the caller has disconnected. */
  readonly write: (bytes: string | Uint8Array) => Promise<boolean>
  readonly end: (text?: string) => void
  /** Resets the connection. */
  readonly reset: () => void
  readonly wait: (ms: number) => Promise<void>
}

export type VendorScript = (call: VendorCall) => Promise<void> | void

export interface ScriptedVendor {
  /** The base URL for a catalogue. */
  readonly url: string
  /** Every request so far. */
  readonly calls: ReadonlyArray<VendorCall>
  /** Replaces the script. */
  readonly script: (script: VendorScript) => void
  /** Open connections. */
  readonly openSockets: () => number
}

/**
 * Starts a vendor; it stops when the scope closes.
 * @param realtime answers upgrades to WebSockets
 * @param wantedPort its port, if nobody has it
 * @param live answers sessions with Google's Live API, which need no key here
 */
export const startScriptedVendor = (
  script: VendorScript,
  realtime?: RealtimeScript,
  wantedPort = 0,
  live?: LiveScript,
): Effect.Effect<ScriptedVendor, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.callback<ScriptedVendor & { readonly stop: () => void }>((resume) => {
      let current = script
      const calls: Array<VendorCall> = []
      const sockets = new Set<{ destroy: () => void }>()
      const server = createServer((request, response) => {
        void receive(request, response).then((call) => {
          calls.push(call)
          return current(call)
        })
      })
      const accept = realtime && acceptRealtime(realtime)
      const acceptGoogle = live && acceptLive(live)
      if (accept !== undefined || acceptGoogle !== undefined) {
        server.on("upgrade", (request, socket: Socket, head) => {
          const answer = isLivePath(request.url ?? "") ? acceptGoogle : accept
          if (answer === undefined) socket.destroy()
          else answer(request, socket, head)
        })
      }
      server.on("connection", (socket) => {
        sockets.add(socket)
        socket.on("close", () => sockets.delete(socket))
      })
      server.once("error", () => server.listen(0, "127.0.0.1"))
      server.once("listening", () => {
        const port = portOf(server)
        resume(
          Effect.succeed({
            url: `http://127.0.0.1:${port}`,
            calls,
            script: (next) => {
              current = next
            },
            openSockets: () => sockets.size,
            stop: () => {
              server.close()
              for (const socket of sockets) socket.destroy()
            },
          }),
        )
      })
      server.listen(wantedPort, "127.0.0.1")
    }),
    (vendor) => Effect.sync(() => vendor.stop()),
  )

/** Paths that ask for a stream, in dialects whose body does not. */
const streamingPath = /:streamGenerateContent|:streamRawPredict$|\/(converse|invoke-with-response)-stream$/

const receive = async (request: IncomingMessage, response: ServerResponse): Promise<VendorCall> => {
  const chunks: Array<Buffer> = []
  for await (const chunk of request) chunks.push(chunk)
  const sent = Buffer.concat(chunks)
  const body = parseBody(sent.toString("utf8"))
  let hungUpAt: number | undefined
  response.on("close", () => {
    if (!response.writableFinished) hungUpAt = Date.now()
  })
  response.on("error", () => {})
  return {
    method: request.method ?? "",
    path: request.url ?? "",
    headers: request.headers,
    body,
    sent,
    streaming: body["stream"] === true || streamingPath.test(request.url ?? ""),
    get hungUpAt() {
      return hungUpAt
    },
    head: (status = 200, headers = { "content-type": "text/event-stream" }) => {
      response.writeHead(status, headers)
      response.flushHeaders()
    },
    write: (bytes) => write(response, bytes),
    end: (text) => {
      if (text === undefined) response.end()
      else response.end(text)
    },
    reset: () => request.socket.resetAndDestroy(),
    wait: (ms) => sleep(ms),
  }
}

const parseBody = (text: string): { readonly [key: string]: Json } => {
  try {
    return JSON.parse(text)
  } catch {
    return {}
  }
}

const write = (response: ServerResponse, bytes: string | Uint8Array): Promise<boolean> =>
  new Promise((resolve) => {
    if (response.destroyed) return resolve(false)
    const done = (taken: boolean) => () => {
      response.off("drain", onDrain)
      response.off("close", onClose)
      resolve(taken)
    }
    const onDrain = done(true)
    const onClose = done(false)
    response.on("close", onClose)
    if (response.write(bytes)) onDrain()
    else response.on("drain", onDrain)
  })
