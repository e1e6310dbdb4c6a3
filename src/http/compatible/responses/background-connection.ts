/**
 * The connection of a response that runs without its client: its events go into a log, which readers follow. The client that
 * asked for it gets the response as it begins, or follows the log.
 */
import type { ServerResponse } from "node:http"
import { Option, Schema } from "effect"
import { HttpServerResponse } from "effect/http"
import type { Connection, ConnectionListener, ReplyError, StreamPart, WholeReply } from "../../../calls/connection.ts"
import type { VendorRun } from "../../../calls/vendor/vendor-run.ts"
import type { EventEncoder } from "../../../dialects/client/client-api.ts"
import { NumberedEvents } from "../../../dialects/openai-responses/numbered-events.ts"
import { usageOf } from "../../../dialects/openai-responses/response-object.ts"
import { messagesOf } from "../../../dialects/openai-responses/socket.ts"
import { EventLog } from "../../../kept-responses/event-log.ts"
import type { ChatReply } from "../../../kinds/chat/chat-reply.ts"
import { type ErrorBody, ErrorEnvelope, errorBody, serviceError } from "../../../protocol/error.ts"
import { protocolLabel } from "../../../protocol/event.ts"
import { editJsonText, set } from "../../../protocol/json/json-edit.ts"
import { JsonSource } from "../../../protocol/json/json-source.ts"
import type { Usage } from "../../../protocol/usage.ts"
import { toServiceError } from "../../../store/unavailable.ts"
import { sendResponse } from "../../node-connection.ts"
import type { CompatibleConnection } from "../connection.ts"

export interface BackgroundOptions {
  readonly requestId: string
  readonly model: string
  readonly events: EventEncoder
  /** The client that asked for it. */
  readonly client: CompatibleConnection
  readonly response: ServerResponse
  /** Whether that client follows it. */
  readonly isStreamed: boolean
  /** The time in which a client that follows it may take nothing. */
  readonly stallMs: number
  /** Its run at a vendor; undefined if the gateway runs it. */
  readonly run: VendorRun | undefined
  /** A whole reply as JSON of the API. */
  readonly textOf: (reply: ChatReply) => string
}

export class BackgroundConnection implements Connection<ChatReply> {
  readonly events: EventEncoder
  readonly log = new EventLog()
  readonly #options: BackgroundOptions
  readonly #events = new NumberedEvents()
  #listener: ConnectionListener | undefined
  #isBegun = false
  #isStopped = false
  #failed: string | undefined
  #beat: ((heartbeat: string) => void) | undefined

  #usage: Usage | undefined
  #isLeft = false

  constructor(options: BackgroundOptions) {
    this.events = notingUsage(options.events, (usage) => {
      this.#usage = usage
    })
    this.#options = options
  }

  /** The response as it failed; undefined if it did not. */
  get failed(): string | undefined {
    return this.#failed
  }

  /** The usage for which it was billed, if it broke off: its own events may have left nobody to write them to. */
  get usage(): object | undefined {
    return this.#usage && usageOf(this.#usage)
  }

  /** Whether this node ends, and the response goes on at its vendor. */
  get isLeft(): boolean {
    return this.#isLeft
  }

  get isBegun(): boolean {
    return this.#isBegun
  }

  /**
   * The response is held and stored: its client gets it.
   * @param text as it runs
   * @param again whether its first events have been written before
   */
  begun(text: string, again = false): void {
    this.#isBegun = true
    const queued = editJsonText(text, [set("queued", "status")])
    const first = this.#events.begin(queued, text)
    if (!again) this.log.add(first)
    const { client, response, isStreamed, requestId, stallMs } = this.#options
    const headers = { "x-svc-request-id": requestId, "x-request-id": requestId }
    if (isStreamed) this.#beat = followLog(this.log, client, stallMs)
    else if (!response.destroyed)
      sendResponse(HttpServerResponse.text(queued, { contentType: "application/json", headers }), response)
  }

  /** Ends its call. */
  stop(): void {
    this.#isStopped = true
    const { run } = this.#options
    if (run === undefined) this.#listener?.gone()
    else run.cancel()
  }

  listen(listener: ConnectionListener): void {
    this.#listener = listener
    const { run } = this.#options
    const gone = () => listener.gone()
    if (run !== undefined) run.onNothing = gone
    else if (this.#isStopped) listener.gone()
  }

  /** The reply of a vendor that ran it, or one that was stored for the same request id. */
  send(reply: WholeReply<ChatReply>): void {
    if (!this.#isBegun) this.#options.client.send(reply)
    else if (typeof reply.body === "string") this.#fail(errorIn(reply.body, this.#options.requestId))
    else {
      const { usage } = reply.body
      if (this.#isStopped) this.#usage = usage
      this.log.add(this.#events.end(this.#options.textOf(reply.body)))
    }
  }

  refuse(error: ReplyError): void {
    const { requestId, client, run } = this.#options
    if (!this.#isBegun) client.refuse(error)
    else if (run?.isOpen === true) this.#isLeft = true
    else this.#fail(errorBody(toServiceError(error), requestId))
  }

  #fail(told: ErrorBody): void {
    const { requestId, model } = this.#options
    this.write(this.events.open({ requestId, model, protocol: protocolLabel }) + this.events.error(told))
  }

  write(part: StreamPart): boolean {
    if (typeof part !== "string") return true
    if (part === this.events.heartbeat) {
      this.#beat?.(part)
      return true
    }
    const events = this.#events.renumbered(part)
    if (events !== "") this.log.add(events)
    if (part.includes("event: response.failed\n")) {
      const message = messagesOf(part).find((text) => text.includes('"type":"response.failed"'))
      this.#failed = message && new JsonSource(message).textAt(["response"])
    }
    return true
  }

  end(flushed: () => void): void {
    flushed()
  }

  cut(): void {}

  unsentBytes(): number {
    return 0
  }

  takenBytes(): number {
    return 0
  }
}

const readEnvelope = Schema.decodeUnknownOption(Schema.fromJsonString(ErrorEnvelope))
/** The error of a reply that was withheld. */
const errorIn = (body: string, requestId: string): ErrorBody =>
  Option.match(readEnvelope(body), {
    onNone: () => errorBody(serviceError("internal_error", "The service could not complete the request"), requestId),
    onSome: ({ error }) => error,
  })

/** Events whose usage is noted, also where they are not written any more. */
const notingUsage = (events: EventEncoder, note: (usage: Usage) => void): EventEncoder => {
  const { frame, heartbeat } = events
  return {
    open: (data) => events.open(data),
    delta: (delta, json) => events.delta(delta, json),
    ...(frame !== undefined && { frame: (...args) => frame.apply(events, args) }),
    warn: (data) => events.warn(data),
    usage: (usage) => {
      note(usage)
      return events.usage(usage)
    },
    close: (data) => events.close(data),
    error: (data) => events.error(data),
    heartbeat,
  }
}

/**
 * Writes a log to a client as it grows, as fast as that takes it.
 * @param stallMs the time in which it must take some of it
 * @returns a function that writes a heartbeat
 */
export const followLog = (
  log: EventLog,
  client: CompatibleConnection,
  stallMs: number,
): ((heartbeat: string) => void) => {
  let isOver = false
  let hasRoom = true
  let stall: NodeJS.Timeout | undefined
  const write = (text: string) => {
    hasRoom = client.write(text)
    if (!hasRoom) stall = setTimeout(() => client.cut(), stallMs)
  }
  const goOn = () => {
    while (hasRoom && !isOver) {
      const text = reader.next()
      if (text === undefined) break
      write(text)
    }
    if (hasRoom && log.isEnded && !isOver) {
      leave()
      client.end(() => {})
    }
  }
  const leave = () => {
    isOver = true
    clearTimeout(stall)
    reader.leave()
  }
  const room = () => {
    hasRoom = true
    clearTimeout(stall)
    goOn()
  }
  const reader = log.read(() => goOn())
  client.listen({ room, gone: leave, parts: () => {} })
  goOn()
  return (heartbeat) => {
    if (hasRoom && !isOver) write(heartbeat)
  }
}
