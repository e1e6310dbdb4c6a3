/** The client's connection of a call of a tool: one message, or events if messages come before it or it takes long. */
import type { ServerResponse } from "node:http"
import { Option, Schema } from "effect"
import type { ConnectionListener, WholeReply } from "../../calls/connection.ts"
import { withId } from "../../kinds/tool/tool-message.ts"
import { ToolReply } from "../../kinds/tool/tool-request.ts"
import { ErrorEnvelope, errorStatus, type ServiceError, serviceError } from "../../protocol/error.ts"
import { errorCodes, type MessageId } from "../../protocol/mcp/message.ts"
import { inProgress } from "../compatible/error-reply.ts"
import { NodeConnection } from "../node-connection.ts"
import { type AccountAsking, accountAnswer, neededIn } from "./account-needed.ts"
import { answerText, errorOf, errorText } from "./mcp-errors.ts"

const readKept = Schema.decodeUnknownOption(Schema.fromJsonString(ToolReply))
const readEnvelope = Schema.decodeUnknownOption(Schema.fromJsonString(ErrorEnvelope))

/** The time after which a client gets a head, so that nothing between closes its connection. */
const silentMs = 5000
const beatMs = 15_000

export class ToolConnection extends NodeConnection<ToolReply> {
  readonly #response: ServerResponse
  readonly #requestId: string
  readonly #id: MessageId
  #listener: ConnectionListener | undefined
  #timer: NodeJS.Timeout | undefined

  readonly #asking: AccountAsking

  constructor(response: ServerResponse, requestId: string, id: MessageId, asking: AccountAsking) {
    super(response, requestId)
    this.#asking = asking
    this.#response = response
    this.#requestId = requestId
    this.#id = id
    this.#timer = setTimeout(() => this.#beat(), silentMs).unref()
    response.once("close", () => clearTimeout(this.#timer))
  }

  override listen(listener: ConnectionListener): void {
    super.listen(listener)
    this.#listener = listener
  }

  /** The client does not want the result any more: it gets none. */
  cancel(): void {
    this.#listener?.gone()
    const response = this.#response
    if (response.destroyed || response.writableEnded) return
    if (!response.headersSent) this.#open()
    response.end()
  }

  /** Sends a message that comes before the result. */
  notify(text: string): void {
    const response = this.#response
    if (response.destroyed || response.writableEnded) return
    if (!response.headersSent) this.#open()
    // A client that does not read gets its result only.
    if (response.writableLength < mostWaiting) response.write(eventOf(text))
  }

  override send({ status, headers, body }: WholeReply<ToolReply>): void {
    const reply = typeof body === "string" ? (status === 200 ? Option.getOrUndefined(readKept(body)) : undefined) : body
    if (reply !== undefined)
      this.#finish(withId(reply.message, this.#id), headers, this.#asking.isStateless ? statusOf(reply) : 200)
    else if (status === 202) this.sendError(inProgress)
    else {
      const kept = typeof body === "string" ? Option.getOrUndefined(readEnvelope(body)) : undefined
      const { code, message, detail } = kept?.error ?? unreadable
      this.sendError(serviceError(code, message, { detail }))
    }
  }

  protected override sendError(error: ServiceError): void {
    const { retryAfterMs } = error
    const needed = neededIn(error)
    if (needed !== undefined) {
      this.#finish(answerText(this.#id, accountAnswer(needed, this.#asking)), {})
      return
    }
    const later = retryAfterMs === undefined ? {} : { "retry-after": String(Math.ceil(retryAfterMs / 1000)) }
    // Clients take a status for a failure of the connection, and try again: only a wrong credential has its own.
    const status = errorStatus[error.code] === 401 ? 401 : 200
    this.#finish(errorText(this.#id, errorOf(error, this.#requestId)), later, status)
  }

  #finish(text: string, headers: Readonly<Record<string, string>>, status = 200): void {
    clearTimeout(this.#timer)
    const response = this.#response
    if (response.destroyed || response.writableEnded) return
    if (response.headersSent) {
      response.end(eventOf(text))
      return
    }
    const type = { "content-type": "application/json", "content-length": Buffer.byteLength(text) }
    response.writeHead(status, { ...this.headers(), ...headers, ...type })
    response.end(text)
  }

  #open(): void {
    this.#response.writeHead(200, {
      ...this.headers(),
      "content-type": "text/event-stream",
      "cache-control": "no-store",
      "x-accel-buffering": "no",
    })
  }

  #beat(): void {
    const response = this.#response
    if (response.destroyed || response.writableEnded) return
    if (!response.headersSent) this.#open()
    response.write(": \n\n")
    this.#timer = setTimeout(() => this.#beat(), beatMs).unref()
  }
}

const mostWaiting = 1024 * 1024
const unreadable = {
  code: "internal_error",
  message: "The service could not complete the request",
  detail: undefined,
} as const

/** JSON on one line, as an event has it. */
const eventOf = (text: string): string => `event: message\ndata: ${text.replace(/[\r\n]+/g, " ")}\n\n`

/** The status of the protocol's own errors, in the version that has one for each. */
const statusOf = ({ errorCode }: ToolReply): number => {
  if (errorCode === errorCodes.methodNotFound) return 404
  return errorCode !== undefined && errorCode <= -32020 && errorCode >= -32099 ? 400 : 200
}
