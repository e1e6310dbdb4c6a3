/**
 * `GET /t1/socket`: many exchanges over one connection, with the same handlers as `POST /t1/exchange` and `POST
 * /t1/heartbeat`.
 */
import { Effect, Result } from "effect"
import { Overload } from "../../admission/overload.ts"
import { Calls, newRequestId } from "../../calls/calls.ts"
import { type DecodedCall, withMasked } from "../../calls/held-call.ts"
import { Keyed, makeForkIn } from "../../collections.ts"
import { WeirConfig } from "../../config.ts"
import type { Caller } from "../../identity/caller.ts"
import { chat } from "../../kinds/chat/chat.ts"
import type { ChatRequest } from "../../kinds/chat/chat-request.ts"
import type { PromptContent } from "../../kinds/chat/prompt.ts"
import { promptOf } from "../../kinds/chat/sent-prompt.ts"
import { messagesFrom } from "../../kinds/chat/thread-texts.ts"
import { checkExchange } from "../../kinds/decode.ts"
import { type Masking, maskBody, textsWithMarks } from "../../policies/masks/mask-request.ts"
import { closing } from "../../protocol/closing-code.ts"
import { errorBody, type ServiceError, serviceError, shuttingDown } from "../../protocol/error.ts"
import { ExchangeRequest } from "../../protocol/exchange.ts"
import { type Decoded, decodeJson, parseBody } from "../../protocol/json/json-body.ts"
import { ClientMessage, socketProtocol } from "../../protocol/socket.ts"
import { toServiceError } from "../../store/unavailable.ts"
import { logCause } from "../../telemetry/logs.ts"
import { makeForCaller } from "../caller-request.ts"
import { makeMaskedReading } from "../masked-reading.ts"
import { NodeConnection } from "../node-connection.ts"
import type { RouteError } from "../respond.ts"
import { makeKeptExchanges } from "../routes/kept-exchanges.ts"
import { makeRuntime } from "../routes/session.ts"
import type { ClientSocket } from "./client-socket.ts"
import { ExchangeStream, tellingRetry } from "./exchange-stream.ts"
import { OpenSockets } from "./open-sockets.ts"
import { makeSocketCallers, type SocketCaller } from "./socket-callers.ts"
import { SocketEvents } from "./socket-events.ts"
import type { UpgradeHandler } from "./upgrades.ts"

/** The place of an exchange in its message. */
const place = ["exchange"]

type Message<Field extends string> = Extract<ClientMessage, { readonly [F in Field]: unknown }>

/** Exchanges of one socket at a time, and heartbeats: as many as streams of one connection of HTTP/2. */
const mostStreams = 250

export const makeExchangeSocket = Effect.gen(function* () {
  const calls = yield* Calls
  const masked = yield* makeMaskedReading
  const overload = yield* Overload
  const openSockets = yield* OpenSockets
  const callers = yield* makeSocketCallers
  const { traced } = yield* makeForCaller
  const { heartbeat } = yield* makeRuntime
  const run = yield* makeForkIn
  const { socketFrameBytes } = yield* WeirConfig
  // A thread is read here as a message is, and has the same limit.
  const keptExchange = yield* makeKeptExchanges({ path: place, mostBytes: socketFrameBytes })

  /**
   * Reads the exchange of a message, with the marks of its caller's masks.
   * @param exchange undefined if the text is not the one that the client sent
   */
  const read = (
    exchange: Message<"exchange">["exchange"] | undefined,
    text: Uint8Array,
    masking: Masking | undefined,
  ): { readonly decoded: Decoded<DecodedCall<ChatRequest>>; readonly body: Uint8Array } => {
    const { body, masked } = maskBody(text, masking)
    const message = masked === undefined && exchange !== undefined ? undefined : readMessage(body)
    if (message !== undefined && Result.isFailure(message)) return { decoded: Result.fail(message.failure), body }
    const again = message?.success
    const asked = (again !== undefined && "exchange" in again ? again.exchange : exchange) ?? {}
    const decoded = checkExchange({ stream: true, ...asked }, asked, { body, read: promptIn }, "exchange.")
    return { decoded: withMasked(decoded, masked), body }
  }

  const serve = (socket: ClientSocket, from: SocketCaller) => {
    /** Exchanges that may still send messages, by their ids. */
    const streams = new Keyed<ExchangeStream>()
    let running = 0
    let beats = 0
    let isDraining = false

    const refuse = (error: ServiceError, id?: string) => {
      const told = errorBody(tellingRetry(error), newRequestId())
      if (id !== undefined) socket.sendFrames(new SocketEvents(id).error(told))
      else socket.send(JSON.stringify({ event: "t.err", data: told }))
    }

    const restart = () => socket.close(closing.restart, "the service is shutting down")

    const start = ({ id, exchange, room }: Message<"exchange">, text: Buffer) => {
      const requestId = newRequestId()
      const stream = new ExchangeStream({ socket, id, requestId, room, ended: () => streams.delete(id) })
      streams.set(id, stream)
      running++
      const refused = (error: RouteError) =>
        Effect.map(logCause(toServiceError(error), requestId), () => stream.refuse(error))
      const kept = keptExchange(requestId, stream)
      const readAs = (caller: Caller, whole: Uint8Array, asked?: typeof exchange) =>
        masked.read({
          caller,
          requestId,
          texts: (masking) => Effect.sync(() => textsWithMarks(whole, masking)),
          read: (masking) =>
            Effect.sync(() => {
              const { decoded, body } = read(asked, whole, masking)
              return { caller, decoded: kept.keeping(caller, decoded, () => messagesFrom(body, kept.from(), place)) }
            }),
        })
      const admitted = Effect.flatMap(Effect.andThen(overload.check(calls.open()), from.again), (caller) => {
        const continued = kept.continued(caller, [text])
        return continued === undefined
          ? readAs(caller, text, exchange)
          : Effect.flatMap(continued, (whole) => readAs(caller, whole))
      })
      const exchanged = Effect.flatMap(Effect.result(admitted), (read) =>
        Result.isFailure(read) ? refused(read.failure) : calls.run({ requestId, kind: chat, ...read.success }, stream),
      )
      run(
        Effect.ensuring(
          traced(from.request, requestId, () => 200)(exchanged),
          Effect.sync(() => {
            running--
            if (streams.get(id) === stream) cancelled(id, stream)
            if (isDraining && running === 0) restart()
          }),
        ),
      )
    }

    /** It has ended without a last message. */
    const cancelled = (id: string, stream: ExchangeStream) => {
      streams.delete(id)
      socket.sendFrames(stream.events.message('"cancelled":true'))
    }

    const beat = ({ id, heartbeat: sent }: Message<"heartbeat">) => {
      const requestId = newRequestId()
      const events = new SocketEvents(id)
      const answered = Effect.flatMap(from.again, (caller) =>
        heartbeat({ requestId, caller, request: from.request, body: Buffer.from(JSON.stringify(sent)) }),
      )
      beats++
      const told = Effect.matchEffect(answered, {
        onSuccess: ({ status, body }) =>
          Effect.sync(() => {
            const json = body._tag === "Uint8Array" ? Buffer.from(body.body).toString("utf8") : "null"
            socket.sendFrames(events.message(`"status":${status},"headers":{},"body":${json}`))
          }),
        onFailure: (error) =>
          Effect.map(logCause(toServiceError(error), requestId), () => refuse(toServiceError(error), id)),
      })
      run(
        Effect.ensuring(
          told,
          Effect.sync(() => {
            beats--
          }),
        ),
      )
    }

    const take = (message: ClientMessage, text: Buffer) => {
      if ("exchange" in message) {
        if (streams.has(message.id)) refuse(idInUse(message.id))
        else if (isDraining) refuse(shuttingDown(), message.id)
        else if (streams.size >= mostStreams) refuse(tooManyStreams(), message.id)
        else start(message, text)
      } else if ("room" in message) streams.get(message.id)?.give(message.room)
      else if ("cancel" in message) streams.get(message.id)?.gone()
      else if (beats >= mostStreams) refuse(tooManyStreams(), message.id)
      else beat(message)
    }

    const remove = openSockets.add({
      kind: "exchanges",
      ping: () => socket.ping(),
      drain: () => {
        isDraining = true
        if (running === 0) restart()
      },
      end: restart,
    })
    from.watch(socket)
    socket.listen({
      message: (text) => {
        const message = readMessage(text)
        if (Result.isSuccess(message)) take(message.success, text)
        else refuse(message.failure)
      },
      room: () => {
        for (const stream of streams.values()) stream.drained()
      },
      closed: () => {
        remove()
        for (const stream of streams.values()) stream.gone()
      },
    })
  }

  const handler: UpgradeHandler = (upgrade) => {
    const requestId = newRequestId()
    return Effect.matchEffect(Effect.andThen(openSockets.check, callers.first(upgrade)), {
      onSuccess: (from) =>
        Effect.sync(() => {
          const { protocols } = upgrade
          const socket = upgrade.accept(protocols.includes(socketProtocol) ? socketProtocol : protocols[0])
          if (socket !== undefined) serve(socket, from)
        }),
      onFailure: (error) =>
        Effect.map(logCause(toServiceError(error), requestId), () =>
          new NodeConnection(upgrade.refusedAt(), requestId).refuse(error),
        ),
    })
  }
  return handler
})

const readMessage = (text: Uint8Array): Decoded<ClientMessage> =>
  Result.flatMap(parseBody(text), (json) => decodeJson(ClientMessage, json))

/** The prompt of an exchange that was read before. */
const promptIn = (text: Uint8Array): PromptContent =>
  promptOf(
    Result.getOrThrow(
      Result.flatMap(readMessage(text), (message) =>
        decodeJson(ExchangeRequest, "exchange" in message ? message.exchange : message),
      ),
    ),
  )

const idInUse = (id: string) =>
  serviceError("conflict", "An exchange with this id is open on the socket", { detail: { id } })

const tooManyStreams = () =>
  serviceError("rate_limited", `A socket carries ${mostStreams} exchanges and ${mostStreams} heartbeats at a time`, {
    detail: { scope: "socket" },
    retryAfterMs: 1000,
  })
