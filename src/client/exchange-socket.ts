/**
 * Many exchanges over one connection (`GET /t1/socket`). Each exchange gives the gateway room as its events are taken, so
 * that a slow reader of one stops only that one.
 */
import { Cause, Effect, Option, Queue, Schema, type Scope, Stream } from "effect"
import { ErrorEnvelope, errorStatus } from "../protocol/error.ts"
import { ExchangeResponse, InProgress } from "../protocol/exchange.ts"
import { ServerMessage, socketProtocol } from "../protocol/socket.ts"
import { newUlid } from "../protocol/values/ulid.ts"
import type { Ask } from "./client.ts"
import { type WeirError, WeirRefused, WeirStillRunning, type WeirUnreachable, WeirUnreadable } from "./errors.ts"
import type { StreamedEvent } from "./exchange-stream.ts"
import { ended, openSocket } from "./open-socket.ts"
import type { SocketLike } from "./socket-like.ts"
import type { WeirOptions } from "./transport.ts"

export interface ExchangeSocketShape {
  /** Creates an exchange and returns the whole reply. */
  readonly exchange: (ask: Ask) => Effect.Effect<ExchangeResponse, WeirError>
  /** Creates a streamed exchange. Interrupting ends it at the vendor too; what was received until then is billed. */
  readonly stream: (ask: Ask) => Stream.Stream<StreamedEvent, WeirError>
}

type Message = ServerMessage

interface Received {
  readonly message: Message
  readonly bytes: number
}

/** Bytes of events that may wait for their reader. */
const roomBytes = 256 * 1024

const decode = Schema.decodeUnknownOption(Schema.fromJsonString(ServerMessage))

/** Opens the socket; it is closed with the scope. */
export const makeExchangeSocket = (
  options: WeirOptions,
): Effect.Effect<ExchangeSocketShape, WeirUnreachable, Scope.Scope> =>
  Effect.gen(function* () {
    const open = new Map<string, Queue.Queue<Received, WeirError>>()
    let lastId = 0
    let over: WeirUnreachable | undefined
    const failAll = (error: WeirError) => {
      for (const queue of open.values()) Queue.failCauseUnsafe(queue, Cause.fail(error))
    }
    const listen = (socket: SocketLike) => {
      socket.addEventListener("message", ({ data }) => {
        if (typeof data !== "string") return
        const message = Option.getOrUndefined(decode(data))
        if (message === undefined) {
          failAll(new WeirUnreadable({ message: "A message does not match its schema", status: 101 }))
          return
        }
        const queue = "id" in message ? open.get(message.id) : undefined
        if (queue !== undefined) Queue.offerUnsafe(queue, { message, bytes: bytesOf(data) })
      })
      socket.addEventListener("close", (event) => {
        over = ended(event)
        failAll(over)
      })
    }
    const socket = yield* openSocket(
      options,
      { target: "/t1/socket", protocol: socketProtocol, tokenPrefix: "x-svc-app-token." },
      listen,
    )
    const send = (message: object) => {
      if (over === undefined) socket.send(JSON.stringify(message))
    }

    /** The messages of one exchange, to its last one. */
    const messages = (ask: Ask, stream: boolean): Stream.Stream<Message, WeirError> =>
      Stream.unwrap(
        Effect.gen(function* () {
          if (over !== undefined) return yield* over
          const id = String(++lastId)
          const queue = yield* Queue.unbounded<Received, WeirError>()
          open.set(id, queue)
          let isOver = false
          let taken = 0
          const { client } = options
          const meta = { requestId: newUlid(Date.now()), ...(client !== undefined && { client }), ...ask.meta }
          send({ id, exchange: { ...ask, meta, stream }, room: roomBytes })
          return Stream.fromQueue(queue).pipe(
            Stream.map(({ message, bytes }) => {
              taken += bytes
              isOver = isLast(message)
              if (taken >= roomBytes / 2 && !isOver) {
                send({ id, room: taken })
                taken = 0
              }
              return message
            }),
            Stream.takeUntil(isLast),
            Stream.ensuring(
              Effect.sync(() => {
                open.delete(id)
                if (!isOver) send({ id, cancel: true })
              }),
            ),
          )
        }),
      )

    return {
      exchange: (ask) =>
        Stream.runLast(messages(ask, false)).pipe(
          Effect.flatMap((last) => (Option.isSome(last) ? wholeOf(last.value) : Effect.fail(unreadable()))),
        ),
      stream: (ask) => {
        let count = 0
        return Stream.mapEffect(messages(ask, true), (message) => eventOf(message, String(count++)))
      },
    }
  })

/** The bytes of a message in UTF-8, which is how the gateway counts them. */
const bytesOf = (text: string): number => (ascii.test(text) ? text.length : encoder.encode(text).length)
const ascii = /^[\0-\x7f]*$/
const encoder = new TextEncoder()

const isLast = (message: Message): boolean =>
  !("event" in message) || message.event === "t.close" || message.event === "t.err"

const unreadable = () => new WeirUnreadable({ message: "The reply is no reply to an exchange", status: 101 })

const refusalOf = (message: Extract<Message, { readonly event: "t.err" }>): WeirRefused => {
  const { data } = message
  const retryAfterMs = data.detail?.["retryAfterMs"]
  return new WeirRefused({
    ...data,
    status: errorStatus[data.code],
    ...(typeof retryAfterMs === "number" && { retryAfterMs }),
  })
}

const eventOf = (message: Message, id: string): Effect.Effect<StreamedEvent, WeirError> => {
  if (!("event" in message)) return Effect.fail(replyFailure(message))
  return message.event === "t.err" ? Effect.fail(refusalOf(message)) : Effect.succeed({ ...message, id })
}

const readReply = Schema.decodeUnknownOption(ExchangeResponse)

const wholeOf = (message: Message): Effect.Effect<ExchangeResponse, WeirError> => {
  if ("event" in message && message.event === "t.err") return Effect.fail(refusalOf(message))
  if (!("status" in message) || message.status !== 200) return Effect.fail(replyFailure(message))
  const reply = readReply(message.body)
  return Option.isSome(reply) ? Effect.succeed(reply.value) : Effect.fail(unreadable())
}

const readRunning = Schema.decodeUnknownOption(InProgress)
const readRefusal = Schema.decodeUnknownOption(ErrorEnvelope)

/** A reply without an answer: the first call of a request id is running, or its content was withheld. */
const replyFailure = (message: Message): WeirError => {
  if (!("status" in message)) return unreadable()
  const { status, body } = message
  const running = Option.getOrUndefined(readRunning(body))
  if (running !== undefined) {
    const { requestId } = running
    return new WeirStillRunning({ message: "The first call with this requestId is still running", requestId })
  }
  const refusal = Option.getOrUndefined(readRefusal(body))
  return refusal === undefined ? unreadable() : new WeirRefused({ ...refusal.error, status })
}
