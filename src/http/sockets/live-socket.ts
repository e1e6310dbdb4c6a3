/**
 * The sockets of Google's Live API. Google accepts every upgrade, and closes the socket of a caller that it refuses with a reason:
 * its clients show that one. The first message names the model; then the session begins.
 */
import { Clock, Effect, Result } from "effect"
import { Gate } from "../../admission/gate.ts"
import { newRequestId } from "../../calls/calls.ts"
import { modelNotAuthorised } from "../../calls/model.ts"
import { WeirConfig } from "../../config.ts"
import { generateApi } from "../../dialects/gemini/client.ts"
import { configIn, readSetup } from "../../dialects/gemini-live/setup.ts"
import type { UsageNames } from "../../dialects/gemini-live/usage.ts"
import type { Caller } from "../../identity/caller.ts"
import { openingOf, refusalError } from "../../kinds/realtime/google/opening.ts"
import { liveClosing } from "../../kinds/realtime/google/own-messages.ts"
import { googleProtocol } from "../../kinds/realtime/google/protocol.ts"
import { Realtime } from "../../kinds/realtime/realtime.ts"
import type { RealtimeSession } from "../../kinds/realtime/session.ts"
import { closing } from "../../protocol/closing-code.ts"
import { serviceError } from "../../protocol/error.ts"
import { Sealing } from "../../store/seal.ts"
import { toServiceError } from "../../store/unavailable.ts"
import { logCause } from "../../telemetry/logs.ts"
import { makeForCaller } from "../caller-request.ts"
import { constrained, type LiveToken, longestLifeMs } from "../compatible/live-token.ts"
import { handleOf } from "../compatible/request.ts"
import type { RouteError } from "../respond.ts"
import { LiveClient } from "./live-client.ts"
import { liveCredential } from "./live-credential.ts"
import { OpenSockets } from "./open-sockets.ts"
import { refuseUpgrade } from "./refusal.ts"
import { sessionHeaders } from "./session-headers.ts"
import { makeSocketCallers, type SocketCaller } from "./socket-callers.ts"
import type { Upgrade, UpgradeHandler } from "./upgrades.ts"

/** The time and the size of the first message. */
const firstMs = 10_000
const firstBytes = 1024 * 1024

/** @param names of the counts that the clients of this address read */
export const makeLiveSocket = (names: UsageNames) =>
  Effect.gen(function* () {
    const openSockets = yield* OpenSockets
    const callers = yield* makeSocketCallers
    const realtime = yield* Realtime
    const gate = yield* Gate
    const { sealer } = yield* Sealing
    const clock = yield* Clock.Clock
    const { drainTimeoutMs } = yield* WeirConfig
    const { traced } = yield* makeForCaller
    const protocol = googleProtocol(names, drainTimeoutMs)

    /** A token begins so many sessions, and for so long. To resume one is no use of it. */
    const useToken = (
      { id, uses, beginsUntilMs }: LiveToken,
      { org, keyId }: Caller,
    ): Effect.Effect<void, RouteError> => {
      if (beginsUntilMs < clock.currentTimeMillisUnsafe()) return Effect.fail(tokenIsUsed)
      if (uses === 0) return Effect.void
      const rate = { bucket: `token:${id}`, limit: uses, windowMs: longestLifeMs }
      return gate.admit({ owner: org.id, keyId, rates: [rate] }).pipe(
        Effect.catchIf(isLimit, () => Effect.fail(tokenIsUsed)),
        Effect.asVoid,
      )
    }

    const session = Effect.fnUntraced(function* (
      client: LiveClient,
      { request, caller, again }: SocketCaller,
      token: LiveToken | undefined,
      requestId: string,
      running: (session: Pick<RealtimeSession, "drain" | "endNow">) => () => void,
    ): Effect.fn.Return<void, RouteError> {
      const headers = yield* sessionHeaders(request, caller)
      const first = yield* firstMessage(client)
      if (first === undefined) return
      if (first.length > firstBytes) return yield* serviceError("payload_too_large", "The first message is too large")
      const config = configIn(first)
      if (Result.isFailure(config)) return yield* refusalError(config.failure)
      const setup = readSetup(token === undefined ? config.success : constrained(token, config.success))
      if (Result.isFailure(setup)) return yield* refusalError(setup.failure)
      const { model } = setup.success
      if (model.length > 128) return yield* modelNotAuthorised
      const opening = yield* openingOf(setup.success, caller, sealer)
      if (token !== undefined && opening.resumed === undefined) yield* useToken(token, caller)
      yield* realtime.run({
        protocol,
        opening,
        requestId,
        ...headers,
        again,
        named: model,
        model: handleOf(model, caller.org.aliases),
        headers: {},
        accept: () => (client.isClosed ? undefined : { socket: client, running }),
      })
    })

    const opened = Effect.fnUntraced(function* (
      upgrade: Upgrade,
      requestId: string,
    ): Effect.fn.Return<void, RouteError> {
      yield* openSockets.check
      const { request, token } = liveCredential(upgrade.request, sealer)
      const from = yield* Effect.result(callers.first({ ...upgrade, request: { ...upgrade.request, ...request } }))
      const socket = upgrade.accept(undefined, "binary")
      if (socket === undefined) return
      const client = new LiveClient(socket)
      const close = (error: RouteError) => {
        const known = toServiceError(error)
        const { code, reason } = liveClosing(known)
        return Effect.map(logCause(known, requestId), () => client.close(code, reason))
      }
      if (Result.isFailure(from)) return yield* close(from.failure)
      from.success.watch(socket)
      let active: Pick<RealtimeSession, "drain" | "endNow"> | undefined
      const restart = () => socket.close(closing.restart, "The service is shutting down")
      const remove = openSockets.add({
        kind: "realtime",
        ping: () => socket.ping(),
        drain: () => (active === undefined ? restart() : active.drain()),
        end: () => (active === undefined ? restart() : active.endNow()),
      })
      const running = (session: Pick<RealtimeSession, "drain" | "endNow">) => {
        active = session
        if (openSockets.isDraining()) session.drain()
        return () => {}
      }
      const run = session(client, from.success, token, requestId, running)
      yield* Effect.ensuring(Effect.catch(run, close), Effect.sync(remove))
    })

    const handler: UpgradeHandler = (upgrade) => {
      const requestId = newRequestId()
      const answered = Effect.catch(opened(upgrade, requestId), (error) =>
        Effect.map(logCause(toServiceError(error), requestId), () =>
          refuseUpgrade(upgrade, generateApi, error, requestId),
        ),
      )
      return traced(upgrade.request, requestId, () => 101)(answered)
    }
    return handler
  })

const tokenIsUsed = serviceError("unauthorized", "The token begins no more sessions")

const isLimit = (error: RouteError): boolean => toServiceError(error).code === "rate_limited"

const firstMessage = (client: LiveClient): Effect.Effect<Buffer | undefined, RouteError> =>
  Effect.callback<Buffer | undefined>((resume) => {
    client.whenFirst((message) => resume(Effect.succeed(message)))
  }).pipe(Effect.timeoutOrElse({ duration: firstMs, orElse: () => Effect.fail(noSetup) }))

const noSetup = serviceError("forbidden", "The first message, setup, has not come in time")
