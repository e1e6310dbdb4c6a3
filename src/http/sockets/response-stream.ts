/** The client's connection of one response on a socket of OpenAI's Responses: the events of SSE, one a message. */

import type { Connection, ConnectionListener, ReplyError, StreamPart, WholeReply } from "../../calls/connection.ts"
import type { EventEncoder } from "../../dialects/client/client-api.ts"
import { conversationAfter, messagesOf } from "../../dialects/openai-responses/socket.ts"
import type { ServiceError } from "../../protocol/error.ts"
import type { ExchangeResponse } from "../../protocol/exchange.ts"
import { writeJson } from "../../protocol/json/json-text.ts"
import { toServiceError } from "../../store/unavailable.ts"
import type { ClientSocket } from "./client-socket.ts"

interface ResponseStreamOptions {
  readonly socket: ClientSocket
  readonly events: EventEncoder
  /** The input of the model. */
  readonly input: ReadonlyArray<unknown>
  readonly refused: (error: ServiceError) => void
  /** Called when the response has ended well. */
  readonly answered: (conversation: NonNullable<ReturnType<typeof conversationAfter>>) => void
}

export class ResponseStream implements Connection<ExchangeResponse> {
  readonly events: EventEncoder
  readonly #options: ResponseStreamOptions
  #listener: ConnectionListener | undefined
  #isGone = false

  constructor(options: ResponseStreamOptions) {
    this.events = options.events
    this.#options = options
  }

  listen(listener: ConnectionListener): void {
    this.#listener = listener
    if (this.#isGone) listener.gone()
  }

  /** Called when the socket has taken the waiting messages. */
  drained(): void {
    this.#listener?.room()
  }

  gone(): void {
    this.#isGone = true
    this.#listener?.gone()
  }

  /** Every response is streamed, and no socket has a request id that could be repeated. */
  send({ body }: WholeReply<ExchangeResponse>): void {
    this.#options.socket.send(typeof body === "string" ? body : writeJson(body))
  }

  refuse(error: ReplyError): void {
    this.#options.refused(toServiceError(error))
  }

  write(part: StreamPart): boolean {
    const { socket, input, answered } = this.#options
    if (typeof part !== "string") return true
    let hasRoom = true
    for (const message of messagesOf(part)) {
      hasRoom = socket.send(message)
      const conversation = conversationAfter(message, input)
      if (conversation !== undefined) answered(conversation)
    }
    return hasRoom
  }

  end(flushed: () => void): void {
    this.#options.socket.flush(flushed)
  }

  cut(): void {
    this.#options.socket.cut()
  }

  unsentBytes(): number {
    return this.#options.socket.unsentBytes()
  }

  takenBytes(): number {
    return this.#options.socket.takenBytes()
  }
}
