/** A WebSocket client for tests: the received messages, in order, and functions that wait for the next ones. */
import { WebSocket } from "ws"

export interface SocketMessage {
  readonly id?: string
  readonly event?: string
  readonly type?: string
  readonly status?: number
  readonly cancelled?: boolean
  readonly [key: string]: unknown
}

export interface TestSocket {
  readonly ws: WebSocket
  readonly messages: ReadonlyArray<SocketMessage>
  readonly send: (message: unknown) => void
  /** Waits until a message is there for which it is true, and returns it. */
  readonly until: (is: (message: SocketMessage) => boolean) => Promise<SocketMessage>
  /** Waits for the end. */
  readonly closed: Promise<{ readonly code: number; readonly reason: string }>
}

/** Opens a socket; rejects with the reply if the upgrade is refused. */
export const openSocket = (
  url: string,
  headers: Readonly<Record<string, string>> = {},
  protocols: ReadonlyArray<string> = [],
): Promise<TestSocket> =>
  new Promise((resolve, reject) => {
    const ws = new WebSocket(url.replace(/^http/, "ws"), [...protocols], { headers: { ...headers } })
    const messages: Array<SocketMessage> = []
    let waiting: Array<() => void> = []
    const told = () => {
      for (const wake of waiting.splice(0)) wake()
    }
    ws.on("message", (data: Buffer) => {
      messages.push(JSON.parse(data.toString("utf8")))
      told()
    })
    const closed = new Promise<{ readonly code: number; readonly reason: string }>((end) => {
      ws.on("close", (code, reason) => {
        end({ code, reason: reason.toString("utf8") })
        told()
      })
    })
    const until = async (is: (message: SocketMessage) => boolean): Promise<SocketMessage> => {
      for (let from = 0; ; ) {
        const found = messages.slice(from).find(is)
        if (found !== undefined) return found
        if (ws.readyState === WebSocket.CLOSED)
          throw new Error(`closed; came: ${JSON.stringify(messages).slice(0, 2000)}`)
        from = messages.length
        await new Promise<void>((wake) => {
          waiting = [...waiting, wake]
        })
      }
    }
    ws.on("open", () => resolve({ ws, messages, send: (message) => ws.send(JSON.stringify(message)), until, closed }))
    ws.on("unexpected-response", (_, response) => {
      const chunks: Array<Buffer> = []
      response.on("data", (chunk: Buffer) => chunks.push(chunk))
      response.on("end", () => {
        const body = Buffer.concat(chunks).toString("utf8")
        reject(new RefusedUpgrade(response.statusCode ?? 0, body))
      })
    })
    ws.on("error", reject)
  })

export class RefusedUpgrade extends Error {
  readonly status: number
  readonly body: string
  constructor(status: number, body: string) {
    super(`${status} ${body}`)
    this.status = status
    this.body = body
  }
  get error(): Readonly<Record<string, unknown>> {
    return JSON.parse(this.body).error
  }
}
