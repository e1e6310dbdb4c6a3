/** A client's connection in memory, whose reply is a `Response`. */
import type { HttpServerResponse } from "effect/http"
import type { Connection, ConnectionListener, ReplyError, StreamPart, WholeReply } from "../calls/connection.ts"
import { errorResponse } from "../http/respond.ts"
import { EventWriter } from "../kinds/chat/event-writer.ts"
import type { ExchangeResponse } from "../protocol/exchange.ts"
import { toServiceError } from "../store/unavailable.ts"

/** Bytes that may wait for their reader, as in a socket's buffer. */
const roomBytes = 16 * 1024

const encoder = new TextEncoder()

/** A reply of the router's kind as one of `fetch`. */
export const responseOf = ({ status, headers, body }: HttpServerResponse.HttpServerResponse): Response =>
  new Response(body._tag === "Uint8Array" ? new Uint8Array(body.body) : null, {
    status,
    headers: { ...headers, ...(body._tag === "Uint8Array" && { "content-type": body.contentType }) },
  })

export class MemoryConnection implements Connection<ExchangeResponse> {
  readonly events = new EventWriter()
  /** The reply, once its head is there; rejects with the reason of the client's signal. */
  readonly response: Promise<Response>
  readonly #requestId: string
  readonly #answered: PromiseWithResolvers<Response> = Promise.withResolvers()
  #body: ReadableStreamDefaultController<Uint8Array> | undefined
  #listener: ConnectionListener | undefined
  #writtenBytes = 0
  #isOver = false
  #isFull = false

  constructor(requestId: string, signal: AbortSignal) {
    this.#requestId = requestId
    this.response = this.#answered.promise
    signal.addEventListener("abort", () => {
      this.#fail(signal.reason)
      this.#listener?.gone()
    })
  }

  listen(listener: ConnectionListener): void {
    this.#listener = listener
  }

  send({ status, headers, body }: WholeReply<ExchangeResponse>): void {
    const text = typeof body === "string" ? body : JSON.stringify(body)
    this.#answered.resolve(new Response(text, { status, headers: { ...this.#headers(), ...headers } }))
  }

  refuse(error: ReplyError): void {
    this.#answered.resolve(responseOf(errorResponse(toServiceError(error), this.#requestId)))
  }

  write(events: StreamPart): boolean {
    if (this.#isOver) return true
    const body = this.#body ?? this.#start()
    const bytes = typeof events === "string" ? encoder.encode(events) : events
    this.#writtenBytes += bytes.length
    body?.enqueue(bytes)
    this.#isFull = (body?.desiredSize ?? 1) <= 0
    return !this.#isFull
  }

  end(flushed: () => void): void {
    if (!this.#isOver) this.#body?.close()
    this.#isOver = true
    flushed()
  }

  cut(): void {
    this.#fail(new Error("The gateway closed the connection"))
  }

  #fail(reason: unknown): void {
    this.#answered.reject(reason)
    if (!this.#isOver) this.#body?.error(reason)
    this.#isOver = true
  }

  unsentBytes(): number {
    return Math.max(0, roomBytes - (this.#body?.desiredSize ?? roomBytes))
  }

  takenBytes(): number {
    return this.#writtenBytes - this.unsentBytes()
  }

  #headers(): Readonly<Record<string, string>> {
    return { "x-svc-request-id": this.#requestId }
  }

  #start(): ReadableStreamDefaultController<Uint8Array> | undefined {
    const stream = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#body = controller
        },
        // It is called within `enqueue` too, where nobody waits for room.
        pull: () => {
          if (!this.#isFull) return
          this.#isFull = false
          this.#listener?.room()
        },
        cancel: () => {
          this.#isOver = true
          this.#listener?.gone()
        },
      },
      new ByteLengthQueuingStrategy({ highWaterMark: roomBytes }),
    )
    const headers = { ...this.#headers(), "content-type": "text/event-stream" }
    this.#answered.resolve(new Response(stream, { headers }))
    return this.#body
  }
}
