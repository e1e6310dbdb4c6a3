/**
 * The client's connection of one exchange on a socket that carries many. Its client may give it room in bytes: then it
 * sends messages while there is room, and a client that is slow with one exchange stops only that one.
 */

import type { Connection, ConnectionListener, ReplyError, StreamPart, WholeReply } from "../../calls/connection.ts"
import { errorBody, type ServiceError, serviceError } from "../../protocol/error.ts"
import type { WarnEvent } from "../../protocol/event.ts"
import type { ExchangeResponse } from "../../protocol/exchange.ts"
import { writeJson } from "../../protocol/json/json-text.ts"
import { toServiceError } from "../../store/unavailable.ts"
import type { ClientSocket } from "./client-socket.ts"
import { type Frame, framesIn } from "./frames.ts"
import { SocketEvents } from "./socket-events.ts"

interface StreamOptions {
  readonly socket: ClientSocket
  /** The id that the client chose. */
  readonly id: string
  /** The gateway's own request id. */
  readonly requestId: string
  /** The number of bytes that the client takes; undefined if only the socket limits them. */
  readonly room: number | undefined
  /** Called with the last message, after which the client may use the id again. */
  readonly ended: () => void
}

export class ExchangeStream implements Connection<ExchangeResponse> {
  readonly events: SocketEvents
  readonly #socket: ClientSocket
  readonly #requestId: string
  /** Bytes that may be sent; undefined if only the socket limits them. Below 0 by a part of one message. */
  #room: number | undefined
  /** Bytes of room that the client has given, in all. */
  #given = 0
  /** Messages for which there is no room. */
  #held: ReadonlyArray<Frame> = []
  #heldBytes = 0
  /** Called when the last message has left. */
  #atEnd: (() => void) | undefined
  #listener: ConnectionListener | undefined
  readonly #ended: () => void
  #isOver = false
  #isNotKept = false

  constructor({ socket, id, requestId, room, ended }: StreamOptions) {
    this.events = new SocketEvents(id)
    this.#socket = socket
    this.#requestId = requestId
    this.#room = room
    this.#ended = ended
  }

  /** The client allows so many more bytes. */
  give(bytes: number): void {
    this.#given += bytes
    this.#room = (this.#room ?? 0) + bytes
    this.#sendHeld()
    this.#tellRoom()
  }

  /** Called when the socket has taken the waiting messages. */
  drained(): void {
    this.#tellRoom()
  }

  /** It is to be kept, and its organisation keeps nothing: its client gets a warning. */
  notice(): void {
    this.#isNotKept = true
  }

  /** The client has left, or has cancelled the exchange. */
  gone(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#held = []
    this.#listener?.gone()
  }

  listen(listener: ConnectionListener): void {
    this.#listener = listener
    if (this.#isOver) listener.gone()
  }

  send({ status, headers, body }: WholeReply<ExchangeResponse>): void {
    if (this.#isOver) return
    const told = JSON.stringify({ ...headersOf(headers), ...(this.#isNotKept && { "x-svc-warning": notKept.code }) })
    const json = typeof body === "string" ? body : writeJson(body)
    this.#socket.sendFrames(this.events.message(`"status":${status},"headers":${told},"body":${json}`))
    this.#ended()
  }

  refuse(failure: ReplyError): void {
    if (this.#isOver) return
    this.#socket.sendFrames(this.events.error(errorBody(tellingRetry(toServiceError(failure)), this.#requestId)))
    this.#ended()
  }

  write(part: StreamPart): boolean {
    if (this.#isOver || typeof part !== "string") return true
    const warned = this.#isNotKept ? part + this.events.warn(notKept) : part
    this.#isNotKept = false
    if (this.#room === undefined) return this.#socket.sendFrames(warned)
    const frames = framesIn(warned)
    this.#held = [...this.#held, ...frames]
    for (const { bytes } of frames) this.#heldBytes += bytes
    this.#sendHeld()
    return this.#hasRoom()
  }

  end(flushed: () => void): void {
    if (this.#held.length > 0) this.#atEnd = flushed
    else this.#finish(flushed)
  }

  /** A client that takes nothing of the socket loses the socket; one that gives an exchange no room loses that exchange. */
  cut(): void {
    if (this.#isOver) return
    if (this.#room === undefined || this.#room > 0) {
      this.#socket.cut()
      return
    }
    this.#socket.sendFrames(this.events.error(errorBody(noRoom, this.#requestId)))
    this.#ended()
    this.gone()
  }

  unsentBytes(): number {
    return this.#heldBytes + this.#socket.unsentBytes()
  }

  takenBytes(): number {
    const mayGoOn = this.#room === undefined || this.#room > 0
    return this.#given + (mayGoOn ? this.#socket.takenBytes() : 0)
  }

  #sendHeld(): void {
    let frames = ""
    let sent = 0
    for (const { text, bytes } of this.#held) {
      if (this.#room !== undefined && this.#room <= 0) break
      sent++
      frames += text
      this.#heldBytes -= bytes
      if (this.#room !== undefined) this.#room -= bytes
    }
    if (sent === 0) return
    this.#held = this.#held.slice(sent)
    this.#socket.sendFrames(frames)
    if (this.#held.length === 0 && this.#atEnd !== undefined) this.#finish(this.#atEnd)
  }

  #finish(flushed: () => void): void {
    this.#ended()
    this.#socket.flush(flushed)
  }

  #hasRoom(): boolean {
    return this.#held.length === 0 && (this.#room === undefined || this.#room > 0)
  }

  #tellRoom(): void {
    if (!this.#isOver && this.#hasRoom()) this.#listener?.room()
  }
}

const notKept: WarnEvent = {
  code: "not_kept",
  message: "The organisation keeps no responses: nothing can go on from this exchange",
}

const noRoom = serviceError("stream_backpressure", "The client gave the exchange no room in time")

/** A message has no head: it has the reply's own headers, without those that only HTTP needs. */
const headersOf = ({ "content-type": _, ...headers }: Readonly<Record<string, string>>) => headers

/** A socket has no `Retry-After`. */
export const tellingRetry = (error: ServiceError): ServiceError => {
  const { code, message, detail, retryAfterMs } = error
  if (retryAfterMs === undefined) return error
  return serviceError(code, message, { detail: { ...detail, retryAfterMs: Math.ceil(retryAfterMs) } })
}
