/**
 * The messages of one process: calls share its streams, each under an id of the gateway's own, which is its token of progress
 * too. Responses to ids that no call has are dropped: they come after a cancellation.
 */
import { Effect } from "effect"
import { Keyed } from "../../collections.ts"
import { type JsonObject, objectAt } from "../../dialects/parse/json.ts"
import type { ProcessCall } from "./call.ts"
import { Child, type ChildOptions } from "./child.ts"
import type { LongLine } from "./lines.ts"
import {
  callOf,
  idOfLong,
  lineOf,
  metaOf,
  notificationOf,
  onOneLine,
  type ReceivedMessage,
  readBatch,
  readReceived,
  responseOf,
} from "./messages.ts"
import {
  ProcessFailed,
  type ServerAnswer,
  type ServerNotification,
  type ServerRequest,
  type ServerSession,
} from "./options.ts"

export interface ConnectionListener {
  readonly notification: (notification: ServerNotification) => void
  /** A request of the server; `respond` writes the answer. */
  readonly request: (request: ServerRequest, respond: (answer: ServerAnswer) => void) => void
  readonly errorLine: (text: string) => void
  /** A call has its response: there is room for another. */
  readonly freed: () => void
  readonly ended: (cause: ProcessFailed) => void
}

/** A message that the gateway itself waits for. */
interface Question {
  readonly answered: (message: JsonObject) => void
  readonly broken: (cause: ProcessFailed) => void
}

/** Requests of a server that are answered at a time. */
const maxRequests = 16

const tooLong = new ProcessFailed({ reason: "message", message: "its reply is too large, or too complex" })
const hangs = new ProcessFailed({ reason: "ended", message: "it does not answer any more" })
const floods = new ProcessFailed({ reason: "message", message: "it writes too many messages that belong to no call" })
const deaf = new ProcessFailed({ reason: "message", message: "it does not read the answers to its requests" })
/** The time in which messages of no call are counted. */
const countedMs = 10_000
const garbage = new ProcessFailed({ reason: "message", message: "its output has no messages" })

export class Connection {
  readonly #options: ChildOptions
  readonly #listener: ConnectionListener
  readonly #child: Child
  readonly #calls = new Keyed<ProcessCall>()
  readonly #questions = new Keyed<Question>()
  #lastId = 0
  #requests = 0
  /** Lines in a row that were no message; from its limit on nothing is read. */
  #unreadable = 0
  /** Messages of no call, since a time. */
  #unasked = 0
  #countedSince = 0
  /** Ends the process, unless it writes something before. */
  #silence: NodeJS.Timeout | undefined
  /** Lines that were skipped, in all. */
  skippedLines = 0
  /** Present when the version is negotiated. */
  session: ServerSession | undefined

  constructor(options: ChildOptions, listener: ConnectionListener) {
    this.#options = options
    this.#listener = listener
    this.#child = new Child(options, {
      line: (text) => this.#read(text),
      longLine: (line) => this.#breakLong(line),
      errorLine: listener.errorLine,
      ended: (cause) => this.#end(cause),
    })
  }

  get pid(): number | undefined {
    return this.#child.pid
  }

  get calls(): number {
    return this.#calls.size
  }

  /** Whether it takes another call: a process that does not read its input takes none. */
  get hasRoom(): boolean {
    const { limits, maxMessageBytes } = this.#options
    return this.#calls.size < limits.maxCalls && this.#child.unreadBytes <= maxMessageBytes
  }

  end(cause: ProcessFailed): void {
    this.#child.end(cause)
  }

  kill(cause: ProcessFailed): void {
    this.#child.kill(cause)
  }

  /** Asks on the gateway's own behalf. @returns the message with the result or the error */
  ask(method: string, params: JsonObject): Effect.Effect<JsonObject, ProcessFailed> {
    return Effect.callback((resume) => {
      const id = ++this.#lastId
      this.#questions.set(id, {
        answered: (message) => resume(Effect.succeed(message)),
        broken: (cause) => resume(Effect.fail(cause)),
      })
      this.#write({ id, method, params })
      return Effect.sync(() => this.#questions.delete(id))
    })
  }

  notify(method: string, params?: JsonObject): void {
    this.#write({ method, ...(params !== undefined && { params }) })
  }

  /** Forwards a client's notification. */
  forward(json: string): void {
    this.#child.write(onOneLine(json))
  }

  /** Sends a call. @returns cancels it */
  send(call: ProcessCall, session: ServerSession, capabilities: JsonObject): () => void {
    const id = ++this.#lastId
    const line = lineOf(call.sent, id, session, capabilities)
    this.#calls.set(id, call)
    call.connected()
    // The listener may end the call when it hears of the connection.
    if (call.isOver) this.#calls.delete(id)
    else this.#child.write(line)
    return () => {
      if (this.#calls.take(id) === undefined) return
      this.notify("notifications/cancelled", { requestId: id, reason: "the client has ended the call" })
      this.#awaitSign(session, capabilities)
    }
  }

  /** Ends the process if it answers nothing any more. Each message of it is a sign of life. */
  #awaitSign(session: ServerSession, capabilities: JsonObject): void {
    if (this.#silence !== undefined) return
    this.#silence = setTimeout(() => this.#child.kill(hangs), this.#options.limits.silentMs).unref()
    const id = ++this.#lastId
    const isStateless = session.isStateless
    this.#questions.set(id, { answered: () => {}, broken: () => {} })
    this.#write({
      id,
      method: isStateless ? "server/discover" : "ping",
      ...(isStateless && { params: { _meta: metaOf(session.version, capabilities) } }),
    })
  }

  #write(message: JsonObject): void {
    this.#child.write(JSON.stringify({ jsonrpc: "2.0", ...message }))
  }

  #read(text: string): void {
    clearTimeout(this.#silence)
    this.#silence = undefined
    const line = text.trim()
    const { maxUnreadableLines, maxUnasked } = this.#options.limits
    if (line === "" || this.#unreadable >= maxUnreadableLines || this.#unasked > maxUnasked) return
    const batch = readBatch(line)
    if (batch === undefined) this.#readMessage(line)
    else for (const message of batch) this.#readMessage(message)
  }

  #readMessage(line: string): void {
    const received = readReceived(line)
    if (received === undefined) {
      const isAnswered = this.#breakCall(idOfLong({ head: line.slice(0, 512), tail: line.slice(-512) }))
      if (!isAnswered) this.#skip()
      return
    }
    this.#unreadable = 0
    if (received.kind === "response") this.#readResponse(line, received)
    else if (received.kind === "notification") this.#readNotification(line, received)
    else this.#readRequest(received)
  }

  #readResponse(line: string, { id, message }: ReceivedMessage & { readonly kind: "response" }): void {
    if (typeof id !== "number" && typeof id !== "string") return
    const question = this.#questions.take(id)
    if (question !== undefined) {
      question.answered(message)
      return
    }
    const call = this.#calls.take(id)
    if (call === undefined) {
      this.#countUnasked()
      return
    }
    call.message(responseOf(line, message, call.sent), true)
    this.#listener.freed()
  }

  #readNotification(json: string, { method, message }: ReceivedMessage & { readonly kind: "notification" }): void {
    // In a session a server cancels its own requests, whose ids may be those of calls.
    if (method === "notifications/cancelled" && this.session?.isStateless !== true) return
    const id = callOf(method, message)
    const isOfCall = typeof id === "number" || typeof id === "string"
    const call = isOfCall ? this.#calls.get(id) : undefined
    if (call !== undefined) {
      call.message(notificationOf(json, method, call.sent), false)
      return
    }
    this.#countUnasked()
    if (!isOfCall) {
      this.#listener.notification({ method, params: objectAt(message, "params"), json })
    }
  }

  #readRequest({ id, method, message }: ReceivedMessage & { readonly kind: "request" }): void {
    this.#countUnasked()
    const respond = (answer: ServerAnswer) => {
      if (this.#child.unreadBytes > this.#options.maxMessageBytes) this.#child.kill(deaf)
      else this.#write({ id, ...answer })
    }
    if (method === "ping") {
      respond({ result: {} })
      return
    }
    // A stateless server writes no requests, and reads no responses.
    if (this.session?.isStateless === true) {
      this.#skip()
      return
    }
    if (this.#requests >= maxRequests) {
      respond({ error: { code: -32603, message: "Too many requests at a time" } })
      return
    }
    this.#requests++
    this.#listener.request({ method, params: objectAt(message, "params") }, (answer) => {
      this.#requests--
      respond(answer)
    })
  }

  #countUnasked(): void {
    const nowMs = Date.now()
    if (nowMs - this.#countedSince > countedMs) {
      this.#countedSince = nowMs
      this.#unasked = 0
    }
    if (++this.#unasked > this.#options.limits.maxUnasked) this.#child.kill(floods)
  }

  #breakLong(line: LongLine): void {
    if (!this.#breakCall(idOfLong(line))) this.#skip()
  }

  /** @returns whether a call or a question has the id */
  #breakCall(id: number | undefined): boolean {
    if (id === undefined) return false
    const waiting = this.#calls.take(id) ?? this.#questions.take(id)
    if (waiting === undefined) return false
    waiting.broken(tooLong)
    this.#listener.freed()
    return true
  }

  #skip(): void {
    this.skippedLines++
    if (++this.#unreadable >= this.#options.limits.maxUnreadableLines) this.#child.kill(garbage)
  }

  #end(cause: ProcessFailed): void {
    clearTimeout(this.#silence)
    // The pool learns of it first, so that a call that is repeated for its break does not meet this process.
    this.#listener.ended(cause)
    const waiting = [...this.#questions.values(), ...this.#calls.values()]
    for (const id of this.#calls.entries().map(([id]) => id)) this.#calls.delete(id)
    for (const each of waiting) each.broken(cause)
  }
}
