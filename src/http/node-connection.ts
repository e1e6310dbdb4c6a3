/** The client's connection of a call: Node's response, written directly. */
import type { ServerResponse } from "node:http"
import type { HttpServerResponse } from "effect/http"
import type { Connection, ConnectionListener, ReplyError, StreamPart, WholeReply } from "../calls/connection.ts"
import type { EventEncoder } from "../dialects/client/client-api.ts"
import { EventWriter } from "../kinds/chat/event-writer.ts"
import { freeChunk } from "../media/free-chunk.ts"
import { bytesOfParts } from "../media/marked.ts"
import type { CacheState } from "../protocol/control/reply-cache.ts"
import type { ServiceError } from "../protocol/error.ts"
import { writeJson } from "../protocol/json/json-text.ts"
import { toServiceError } from "../store/unavailable.ts"
import { closeIfSending } from "./lingering-close.ts"
import { isShared } from "./listener.ts"
import { errorResponse } from "./respond.ts"
import { warningHeader } from "./warning-header.ts"

/** Writes a reply of the router's kind. */
export const sendResponse = (
  { status, headers, body }: HttpServerResponse.HttpServerResponse,
  response: ServerResponse,
): void => {
  closeIfSending(response)
  if (body._tag !== "Uint8Array") return void response.writeHead(status, headers).end()
  response.writeHead(status, { ...headers, "content-type": body.contentType, "content-length": body.body.length })
  response.end(body.body)
}

/** The connection owns the bytes from here on. */
const writeAndFree = (response: ServerResponse, bytes: Uint8Array): boolean =>
  response.write(bytes, (error) => {
    // Bytes that were not written may still be with the socket.
    if (error == null) freeChunk(bytes)
  })

const none: ReadonlyArray<never> = []

/** @typeParam Body of a reply that is not streamed */
export class NodeConnection<Body extends object> implements Connection<Body> {
  readonly events: EventEncoder
  readonly #response: ServerResponse
  readonly #requestId: string
  #listener: ConnectionListener | undefined
  #notices: ReadonlyArray<string> = none
  /** The names of parts that were left out for the target that is asked last. */
  #omitted: ReadonlyArray<string> = none
  #clamped: ReadonlyArray<string> = none
  #cacheState: CacheState | undefined
  #isClosed = false
  /** The byte count of a reply that shares its connection: the connection's own count is not the reply's. */
  #writtenBytes = 0

  constructor(response: ServerResponse, requestId: string, events: EventEncoder = new EventWriter()) {
    this.events = events
    this.#response = response
    this.#requestId = requestId
    response.once("close", () => {
      this.#isClosed = true
      this.#listener?.gone()
    })
  }

  /** The headers of a reply of any kind. */
  protected headers(): Readonly<Record<string, string>> {
    const notices = this.notices()
    return {
      "x-svc-request-id": this.#requestId,
      ...(this.#cacheState !== undefined && { "x-svc-cache": this.#cacheState }),
      ...(notices.length > 0 && { "x-svc-warning": notices.join("; ") }),
    }
  }

  /** The type of a streamed reply. */
  protected contentType(): string {
    return this.events.contentType ?? "text/event-stream"
  }

  /** The parts of `x-svc-warning`, e.g. `budget_near=ID`. */
  protected notices(): ReadonlyArray<string> {
    return [
      ...warningHeader("blocks_omitted", this.#omitted),
      ...warningHeader("params_clamped", this.#clamped),
      ...this.#notices,
    ]
  }

  cached(state: CacheState): void {
    this.#cacheState = state
  }

  omitting(types: ReadonlyArray<string>): void {
    this.#omitted = types
  }

  clamping(names: ReadonlyArray<string>): void {
    this.#clamped = names
  }

  notice(text: string): void {
    this.#notices = [...this.#notices, text]
  }

  listen(listener: ConnectionListener): void {
    this.#listener = listener
    if (this.#isClosed) listener.gone()
  }

  send({ status, headers, body, marked }: WholeReply<Body>): void {
    if (this.#isClosed) return
    closeIfSending(this.#response)
    const text = typeof body === "string" ? body : writeJson(body)
    const parts = marked?.partsOf(text)
    const length = parts === undefined ? Buffer.byteLength(text) : bytesOfParts(parts)
    // A reply without content has no length either: RFC 9110 section 8.6.
    const sized = status === 204 ? {} : { "content-length": length }
    this.#response.writeHead(status, { ...this.headers(), ...headers, ...sized })
    if (parts === undefined) this.#response.end(text)
    else this.#listener?.parts(parts)
  }

  refuse(failure: ReplyError): void {
    const error = toServiceError(failure)
    // A caller that must come again later occupies no file descriptor until then.
    if (error.code === "rate_limited" && error.detail?.["scope"] === "gateway") this.#response.shouldKeepAlive = false
    this.sendError(error)
  }

  /** Sends a refusal in the format of the client's API. */
  protected sendError(error: ServiceError): void {
    if (!this.#isClosed) sendResponse(errorResponse(error, this.#requestId), this.#response)
  }

  write(events: StreamPart): boolean {
    const response = this.#response
    if (!response.headersSent) {
      response.writeHead(200, {
        ...this.headers(),
        "content-type": this.contentType(),
        "cache-control": "no-store",
        "x-accel-buffering": "no",
        ...(this.events.trailers !== undefined && { trailer: this.events.trailers.names }),
      })
    }
    if (isShared(response)) this.#writtenBytes += Buffer.byteLength(events)
    const hasRoom = typeof events === "string" ? response.write(events) : writeAndFree(response, events)
    if (!hasRoom) response.once("drain", () => this.#listener?.room())
    return hasRoom
  }

  end(flushed: () => void): void {
    const { trailers } = this.events
    if (trailers !== undefined) this.#response.addTrailers(trailers.values())
    this.#response.end(flushed)
  }

  cut(): void {
    this.#response.destroy()
  }

  unsentBytes(): number {
    return this.#response.writableLength
  }

  takenBytes(): number {
    if (isShared(this.#response)) return this.#writtenBytes - this.#response.writableLength
    const { socket } = this.#response
    return socket === null ? 0 : socket.bytesWritten - socket.writableLength
  }
}
