/**
 * `GET /openai/v1/responses` with an upgrade: OpenAI's Responses over a WebSocket. One conversation, one response after the
 * other; each is an exchange, as over HTTP.
 */

import { Effect, Result } from "effect"
import { Overload } from "../../admission/overload.ts"
import { Calls, newRequestId } from "../../calls/calls.ts"
import { withKeep, withMasked } from "../../calls/held-call.ts"
import { makeForkIn } from "../../collections.ts"
import { WeirConfig } from "../../config.ts"
import { responsesApi } from "../../dialects/openai-responses/client.ts"
import { inputItems, keptInput } from "../../dialects/openai-responses/items.ts"
import {
  type Conversation,
  type ResponseCreate,
  readResponseCreate,
  type SocketRefusal,
  warmed,
} from "../../dialects/openai-responses/socket.ts"
import type { Caller } from "../../identity/caller.ts"
import { chat } from "../../kinds/chat/chat.ts"
import { type Masking, maskBody, textsWithMarks } from "../../policies/masks/mask-request.ts"
import { closing } from "../../protocol/closing-code.ts"
import { bodyTooLarge, errorStatus, type ServiceError, serviceError, shuttingDown } from "../../protocol/error.ts"
import { invalidInput } from "../../protocol/json/issues.ts"
import { parseBody } from "../../protocol/json/json-body.ts"
import { JsonText, writeJson } from "../../protocol/json/json-text.ts"
import { Sealing } from "../../store/seal.ts"
import { toServiceError } from "../../store/unavailable.ts"
import { logCause } from "../../telemetry/logs.ts"
import { makeForCaller, type RuntimeRequest } from "../caller-request.ts"
import { errorReply } from "../compatible/error-reply.ts"
import { makeInlineFiles, namesFiles } from "../compatible/files/inlined-files.ts"
import { namingField, readCompatible } from "../compatible/request.ts"
import { keepResponse, keptFor, keptNames } from "../compatible/responses/keeping.ts"
import { makeThreads } from "../compatible/responses/thread.ts"
import { LargeRequests, largeBytes } from "../large/large-requests.ts"
import type { SentIn } from "../large/protocol.ts"
import { makeMaskedReading } from "../masked-reading.ts"
import { originsOf } from "../request.ts"
import type { RouteError } from "../respond.ts"
import type { ClientSocket } from "./client-socket.ts"
import { OpenSockets } from "./open-sockets.ts"
import { chosenProtocol, queryCredential, withSocketCredential } from "./openai-credential.ts"
import { refuseUpgrade } from "./refusal.ts"
import { ResponseStream } from "./response-stream.ts"
import { makeSocketCallers, type SocketCaller } from "./socket-callers.ts"
import type { Upgrade, UpgradeHandler } from "./upgrades.ts"
import { makeWaitingEvents, mostWaiting } from "./waiting-events.ts"

/** Largest messages that may wait at one socket, and at all sockets of one key. */
const waitingOfSocket = 4
const waitingOfKey = 16

const anyPlace = { model: "", stream: true, isArray: false, counts: false }

export const makeResponsesSocket = Effect.gen(function* () {
  const calls = yield* Calls
  const overload = yield* Overload
  const large = yield* LargeRequests
  const openSockets = yield* OpenSockets
  const callers = yield* makeSocketCallers
  const config = yield* WeirConfig
  const { bodyMaxBytes, largeBodyBytes, socketFrameBytes } = config
  const masked = yield* makeMaskedReading
  const continueThread = yield* makeThreads
  const inlineFiles = yield* makeInlineFiles
  const { sealer } = yield* Sealing
  const { traced } = yield* makeForCaller
  const forkIn = yield* makeForkIn

  const waitingAt = makeWaitingEvents({
    socketBytes: waitingOfSocket * socketFrameBytes,
    keyBytes: waitingOfKey * socketFrameBytes,
    processBytes: largeBodyBytes,
  })

  /** The memory of the conversations that connections keep. */
  let keptBytes = 0

  const readMasked = (
    bytes: Uint8Array,
    headers: RuntimeRequest["headers"],
    caller: Caller,
    masking: Masking | undefined,
    { place, inputFrom }: Pick<SentIn, "place" | "inputFrom">,
  ) => {
    const { body, masked } = maskBody(bytes, masking)
    const { sent, decoded } = readCompatible(responsesApi, { headers }, body, caller.org.aliases, place)
    const input = inputFrom === undefined || Result.isFailure(decoded) ? undefined : keptInput(body, inputFrom)
    return { sent, input, decoded: withMasked(decoded, masked) }
  }

  const serve = (socket: ClientSocket, from: SocketCaller) => {
    let known: Conversation | undefined
    let running: ResponseStream | undefined
    let isBusy = false
    let isDraining = false
    const waiting = waitingAt(from.caller.keyId)

    const refuse = (error: ServiceError, requestId: string) => {
      const { status, headers, body } = errorReply(responsesApi, namingField(responsesApi, error), requestId)
      const { error: told } = JSON.parse(body)
      const { "content-type": _, ...retry } = headers
      socket.send(JSON.stringify({ type: "error", status, error: told, headers: retry }))
    }
    const refuseEvent = (refusal: SocketRefusal) => {
      const error = { type: "invalid_request_error", ...refusal }
      socket.send(JSON.stringify({ type: "error", status: errorStatus.bad_request, error }))
    }

    const forget = () => {
      keptBytes -= known?.bytes ?? 0
      known = undefined
    }

    /** The connection goes on from here; a conversation for which there is no room is dropped, and its client sends it again. */
    const remember = ({ responseId, items, isKept }: Omit<Conversation, "bytes">) => {
      forget()
      const bytes = Buffer.byteLength(writeJson(items))
      if (socket.isClosed || bytes > bodyMaxBytes || keptBytes + bytes > largeBodyBytes) return
      keptBytes += bytes
      known = { responseId, items, bytes, isKept }
    }

    const answer = Effect.fnUntraced(function* (asked: ResponseCreate, requestId: string) {
      yield* overload.check(calls.open())
      const caller = yield* from.again
      const sentBytes = Buffer.from(writeJson(asked.body))
      if (sentBytes.length > bodyMaxBytes) return yield* bodyTooLarge(bodyMaxBytes)
      const thread = yield* continueThread(caller, sentBytes)
      if (thread.background !== undefined) return yield* notOnSockets("background")
      if (thread.conversation !== undefined) return yield* notOnSockets("conversation")
      const bytes = namesFiles(responsesApi, [thread.body]) ? yield* inlineFiles(caller, thread.body) : thread.body
      // The connection remembers all items, also those that others have kept.
      const input = bytes === sentBytes ? asked.input : inputItems(bytes).map((text) => new JsonText(text))
      const previous = thread.previous ?? asked.kept?.previous
      const inputFrom = thread.previous === undefined ? (asked.kept?.items ?? 0) : thread.from
      // A key of the upgrade would become that of each response.
      const { "idempotency-key": _, ...headers } = from.request.headers
      const { aliases } = caller.org
      const ms = keptFor(caller)
      const place = { ...anyPlace, origins: originsOf(config, from.request) }
      const sentIn = { api: responsesApi.name, place, headers, aliases, inputFrom: ms && inputFrom }
      const isLarge = bytes.length >= largeBytes
      const unread = { requestId, model: "", createdS: Math.floor(Date.now() / 1000), includesUsage: false }
      const readNow = (masking: Masking | undefined) =>
        isLarge
          ? large.read([new Uint8Array(bytes)], sentIn, masking)
          : Effect.sync(() => readMasked(bytes, headers, caller, masking, sentIn))
      const { maskedByEngines, decoded, context, named, isKept } = yield* masked.read({
        caller,
        requestId,
        texts: (masking) =>
          isLarge ? large.texts([new Uint8Array(bytes)], masking) : Effect.sync(() => textsWithMarks(bytes, masking)),
        read: (masking) =>
          Effect.map(readNow(masking), ({ sent, decoded, input: ownInput }) => {
            const context = { ...unread, ...sent?.context }
            const named = { ...context, kept: keptNames(context, { previous }) }
            const keep = ms && ownInput && keepResponse(sealer, caller, named, ownInput, ms)
            return { context, named, isKept: keep !== undefined, decoded: keep ? withKeep(decoded, keep) : decoded }
          }),
      })
      if (!asked.generates) {
        if (Result.isFailure(decoded)) return yield* decoded.failure
        const { responseId, messages } = warmed(context)
        for (const message of messages) socket.send(message)
        remember({ responseId, items: input, isKept: false })
        return
      }
      const stream = new ResponseStream({
        socket,
        events: responsesApi.events(isKept ? named : context),
        input,
        refused: (error) => refuse(error, requestId),
        answered: (conversation) => remember({ ...conversation, isKept }),
      })
      running = stream
      if (socket.isClosed) stream.gone()
      yield* calls.run({ requestId, kind: chat, caller, decoded, maskedByEngines }, stream)
    })

    const take = (text: Buffer) => {
      const event = parseBody(text)
      if (Result.isFailure(event)) return refuse(event.failure, newRequestId())
      const asked = readResponseCreate(event.success, text, known, keptFor(from.caller) !== undefined)
      if (Result.isFailure(asked)) return refuseEvent(asked.failure)
      if (isDraining) return refuse(shuttingDown(), newRequestId())
      const requestId = newRequestId()
      isBusy = true
      const refused = (error: RouteError) =>
        Effect.map(logCause(toServiceError(error), requestId), () => refuse(toServiceError(error), requestId))
      const answered = Effect.ensuring(
        Effect.scoped(Effect.catch(answer(asked.success, requestId), refused)),
        Effect.sync(() => next()),
      )
      forkIn(traced(from.request, requestId, () => 200)(answered))
    }

    const next = () => {
      isBusy = false
      running = undefined
      while (!isBusy) {
        const text = waiting.next()
        if (text === undefined) break
        take(text)
      }
      if (isDraining && !isBusy) restart()
    }

    const restart = () => socket.close(closing.restart, "the service is shutting down")
    const remove = openSockets.add({
      kind: "responses",
      ping: () => socket.ping(),
      drain: () => {
        isDraining = true
        if (!isBusy) restart()
      },
      end: restart,
    })
    from.watch(socket)
    socket.listen({
      message: (text) => {
        if (!isBusy) take(text)
        else if (!waiting.add(text)) refuse(tooManyWaiting(), newRequestId())
      },
      room: () => running?.drained(),
      closed: () => {
        remove()
        waiting.clear()
        forget()
        running?.gone()
      },
    })
  }

  const opened = Effect.fnUntraced(function* (upgrade: Upgrade): Effect.fn.Return<void, RouteError> {
    yield* openSockets.check
    const inQuery = queryCredential(upgrade.request)
    if (inQuery !== undefined) return yield* inQuery
    const from = yield* callers.first(upgrade, (request) => withSocketCredential(request, upgrade))
    const socket = upgrade.accept(chosenProtocol(upgrade.protocols, "responses"))
    if (socket !== undefined) serve(socket, from)
  })

  const handler: UpgradeHandler = (upgrade) => {
    const requestId = newRequestId()
    return Effect.catch(opened(upgrade), (error) =>
      Effect.map(logCause(toServiceError(error), requestId), () =>
        refuseUpgrade(upgrade, responsesApi, error, requestId),
      ),
    )
  }
  return handler
})

const notOnSockets = (path: string) =>
  invalidInput([{ path, message: "is not available on a socket: ask for it over HTTP" }])

const tooManyWaiting = () =>
  serviceError(
    "rate_limited",
    `At most ${mostWaiting} responses may wait for the one that runs, and ${waitingOfSocket} of the largest`,
    {
      detail: { scope: "socket" },
      retryAfterMs: 1000,
    },
  )
