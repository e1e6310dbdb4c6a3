/**
 * Many exchanges over one connection (`GET /t1/socket`). Each exchange gives the gateway room as its events are taken, so
 * that a slow reader of one stops only that one. A socket that has ended does not reconnect: its owner opens another.
 */
import { socketProtocol } from "../protocol/labels.ts"
import type { ServerMessage } from "../protocol/socket.ts"
import { newUlid } from "../protocol/values/ulid.ts"
import type { Ask } from "./calls.ts"
import { type WeirError, WeirRefused, WeirStillRunning, type WeirUnreachable, WeirUnreadable } from "./errors.ts"
import { isEvent, isEventName, refusalOf, type StreamedEvent } from "./exchange-stream.ts"
import { Inbox } from "./inbox.ts"
import { ended, openSocket } from "./open-socket.ts"
import { type CallOptions, checkBaseUrl, type WeirOptions } from "./options.ts"
import { isReply, type Reply, withText } from "./reply.ts"
import { isRecord, parseJson } from "./shape.ts"
import type { SocketLike } from "./socket-like.ts"
import { errorOf, runningOf } from "./transport.ts"

/** Exchanges of one socket. */
export interface ExchangeSocket {
  /** Creates an exchange and returns the whole reply. */
  readonly exchange: (ask: Ask, options?: CallOptions) => Promise<Reply>
  /** Creates a streamed exchange. Leaving the loop ends it at the vendor too; what was received until then is billed. */
  readonly stream: (ask: Ask, options?: CallOptions) => AsyncGenerator<StreamedEvent, void, undefined>
  /** Ends it, with the exchanges that run on it. */
  readonly close: () => void
}

/** A message that belongs to an exchange. */
type Message = Extract<ServerMessage, { readonly id: string }>

interface Received {
  readonly message: Message
  readonly bytes: number
}

/** Bytes of events that may wait for their reader. */
const roomBytes = 256 * 1024

export const openExchangeSocket = async (options: WeirOptions, more?: CallOptions): Promise<ExchangeSocket> => {
  checkBaseUrl(options.baseUrl)
  const target = "/t1/socket"
  const open = new Map<string, Inbox<Received>>()
  let lastId = 0
  let over: WeirUnreachable | undefined
  const failAll = (error: WeirError) => {
    for (const inbox of open.values()) inbox.fail(error)
  }
  const listen = (opened: SocketLike) => {
    opened.addEventListener("message", ({ data }) => {
      if (typeof data !== "string") return
      const message = parseJson(data)
      if (isMessage(message)) open.get(message.id)?.put({ message, bytes: bytesOf(data) })
      else if (!isRefusal(message) && !isNewEvent(message))
        failAll(unreadable("A message does not match its schema", target))
    })
    opened.addEventListener("close", (event) => {
      over ??= ended(event, target)
      failAll(over)
    })
  }
  const opening = { target, protocol: socketProtocol, tokenPrefix: "x-svc-app-token.", subject: target }
  const socket = await openSocket(options, opening, listen, more)
  const send = (message: object) => {
    if (over === undefined) socket.send(JSON.stringify(message))
  }

  /** The messages of one exchange, to its last one. */
  const messages = async function* (ask: Ask, stream: boolean, signal?: AbortSignal) {
    signal?.throwIfAborted()
    if (over !== undefined) throw ended({ reason: "it was over before this call" }, `model ${ask.model}`)
    const id = String(++lastId)
    const inbox = new Inbox<Received>()
    open.set(id, inbox)
    let isOver = false
    let taken = 0
    const { client } = options
    const meta = { requestId: newUlid(Date.now()), ...(client !== undefined && { client }), ...ask.meta }
    send({ id, exchange: { ...ask, meta, stream }, room: roomBytes })
    try {
      for (;;) {
        const received = await inbox.take(signal)
        if (received === undefined) return
        const { message, bytes } = received
        taken += bytes
        isOver = isLast(message)
        if (taken >= roomBytes / 2 && !isOver) {
          send({ id, room: taken })
          taken = 0
        }
        yield message
        if (isOver) return
      }
    } finally {
      open.delete(id)
      if (!isOver) send({ id, cancel: true })
    }
  }

  return {
    exchange: async (ask, { signal } = {}) => {
      let last: Message | undefined
      for await (const message of messages(ask, false, signal)) last = message
      return wholeOf(last, `model ${ask.model}`)
    },
    stream: async function* (ask, { signal } = {}) {
      let count = 0
      for await (const message of messages(ask, true, signal)) yield eventOf(message, count++, `model ${ask.model}`)
    },
    close: () => {
      over ??= ended({ code: 1000, reason: "it was closed" }, target)
      failAll(over)
      socket.close(1000)
    },
  }
}

/** The bytes of a message in UTF-8, which is how the gateway counts them. */
const bytesOf = (text: string): number => (ascii.test(text) ? text.length : encoder.encode(text).length)
const ascii = /^[\0-\x7f]*$/
const encoder = new TextEncoder()

const isMessage = (value: unknown): value is Message =>
  isRecord(value) &&
  typeof value["id"] === "string" &&
  ("event" in value
    ? isEvent(value)
    : "cancelled" in value || ("status" in value && typeof value["status"] === "number"))

/** An error of a message that belongs to no exchange. */
const isRefusal = (value: unknown): boolean => isRecord(value) && value["event"] === "t.err" && isEvent(value)

/** An event of a newer gateway, which this client does not know. */
const isNewEvent = (value: unknown): boolean =>
  isRecord(value) && typeof value["event"] === "string" && !isEventName(value["event"])

const isLast = (message: Message): boolean =>
  !("event" in message) || message.event === "t.close" || message.event === "t.err"

const unreadable = (message: string, subject: string) => new WeirUnreadable({ message, subject, status: 101 })

const eventOf = (message: Message, count: number, subject: string): StreamedEvent => {
  if (!("event" in message)) throw replyFailure(message, subject)
  if (message.event === "t.err") throw refusalOf(message.data, subject)
  return { ...message, id: String(count) }
}

const wholeOf = (message: Message | undefined, subject: string): Reply => {
  if (message !== undefined && "event" in message && message.event === "t.err") throw refusalOf(message.data, subject)
  if (message === undefined || !("status" in message) || message.status !== 200) throw replyFailure(message, subject)
  if (!isReply(message.body)) throw replyFailure(undefined, subject)
  return withText(message.body)
}

/** A reply without an answer: the first call of a request id is running, or its content was withheld. */
const replyFailure = (message: Message | undefined, subject: string): WeirError => {
  if (message === undefined || !("status" in message))
    return unreadable("The reply is no reply to an exchange", subject)
  const running = runningOf(message.body)
  if (running !== undefined) return new WeirStillRunning({ subject, requestId: running.requestId })
  const error = errorOf(message.body)
  return error === undefined
    ? unreadable("The reply is no reply to an exchange", subject)
    : new WeirRefused({ ...error, status: message.status, subject })
}
