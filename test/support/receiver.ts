/** A receiving end of webhooks, which checks signatures with the library that receivers use. */
import { once } from "node:events"
import { createServer, type RequestListener, type Server } from "node:http"
import { createServer as createTlsServer } from "node:https"
import type { AddressInfo } from "node:net"
import { Schema } from "effect"
import { Webhook } from "standardwebhooks"
import { certificate, privateKey } from "./certificate.ts"

const Event = Schema.Struct({
  type: Schema.String,
  timestamp: Schema.String,
  data: Schema.Record(Schema.String, Schema.Json),
})
const decodeEvent = Schema.decodeUnknownSync(Event, { onExcessProperty: "error" })

export interface Received extends Schema.Schema.Type<typeof Event> {
  readonly id: string
  /** The path of the request, with the query. */
  readonly path: string
  /** The number of its signatures. */
  readonly signatures: number
  /** The status that the receiver answered. */
  readonly status: number
}

export interface Receiver {
  readonly port: number
  /** In the order in which they came. */
  readonly received: Array<Received>
  /** The secret with which signatures are checked. */
  secret: string
  /** The status of its answer; 0 breaks the connection off, -1 never answers. */
  answer: (event: Received) => number
  /** Headers of its answers. */
  headers: Readonly<Record<string, string>>
  readonly disconnect: () => void
  readonly stop: () => Promise<void>
}

export const startReceiver = async (secret: string, host = "127.0.0.1", isTls = false): Promise<Receiver> => {
  const listener: RequestListener = (request, response) => {
    const chunks: Array<Buffer> = []
    request.on("data", (chunk) => chunks.push(chunk))
    request.on("end", () => {
      const body = Buffer.concat(chunks).toString("utf8")
      const header = (name: string) => String(request.headers[name])
      const names = ["webhook-id", "webhook-timestamp", "webhook-signature"]
      const headers = Object.fromEntries(names.map((name) => [name, header(name)]))
      let event: Omit<Received, "status">
      try {
        event = {
          id: header("webhook-id"),
          path: request.url ?? "",
          signatures: header("webhook-signature").split(" ").length,
          ...decodeEvent(new Webhook(receiver.secret).verify(body, headers)),
        }
      } catch {
        // An event that was not received fails the test that waits for it.
        return response.writeHead(400).end()
      }
      const status = receiver.answer({ ...event, status: 0 })
      receiver.received.push({ ...event, status })
      if (status === -1) return
      if (status === 0) request.socket.destroy()
      else response.writeHead(status, { "content-type": "text/plain", ...receiver.headers }).end("x".repeat(100_000))
    })
  }
  const server: Server = isTls
    ? createTlsServer({ cert: certificate, key: privateKey }, listener)
    : createServer(listener)
  server.listen(0, host)
  await once(server, "listening")
  const { port } = server.address() as AddressInfo
  const receiver: Receiver = {
    port,
    received: [],
    secret,
    answer: () => 204,
    headers: {},
    disconnect: () => server.closeAllConnections(),
    stop: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, "close")
    },
  }
  return receiver
}
