/**
 * Realtime sessions, from the request for one to its end. In this order, before the client's upgrade is accepted: plan,
 * rates and concurrency, a hold for the first response, the vendor's socket.
 */
import { Context, Effect, Layer, Queue } from "effect"
import { Overload } from "../../admission/overload.ts"
import { Calls } from "../../calls/calls.ts"
import { reportRefusal } from "../../calls/settle/report.ts"
import { WeirConfig } from "../../config.ts"
import type { Caller } from "../../identity/caller.ts"
import { Marks } from "../../policies/masks/marks.ts"
import { maskingOf } from "../../policies/masks/mask-request.ts"
import type { ServiceError } from "../../protocol/error.ts"
import { type StoreUnavailable, toServiceError } from "../../store/unavailable.ts"
import { VendorSockets } from "../../upstream/vendor-sockets.ts"
import { connectVendor } from "./connect.ts"
import type { Job } from "./mailbox.ts"
import { type Opening, planOf, reviewOpening } from "./opening.ts"
import { makeRealtimePlan, type RealtimePlan } from "./plan.ts"
import type { RealtimeProtocol } from "./protocol.ts"
import { RealtimeSession } from "./session.ts"
import { asOneCall, responseLimits } from "./session-limits.ts"
import { SessionMoney } from "./session-money.ts"
import type { ClientConnection } from "./sockets.ts"

/** A client whose upgrade was accepted. */
export interface AcceptedClient {
  readonly socket: ClientConnection
  /** Receives its session when it runs. @returns what must be called when it has ended */
  readonly running: (session: Pick<RealtimeSession, "drain" | "endNow">) => () => void
}

export interface RealtimeRequest {
  /** The API of the client. */
  readonly protocol: RealtimeProtocol
  /** The first message; undefined if the API has none. */
  readonly opening?: Opening
  readonly requestId: string
  readonly caller: Caller
  /** The caller as it is now. */
  readonly again: Effect.Effect<Caller, ServiceError | StoreUnavailable>
  /** The model's handle. */
  readonly model: string
  /** The model as the client named it. */
  readonly named: string
  /** The session of the caller that it is part of; one of its own if absent. */
  readonly sessionId: string | undefined
  readonly purpose: string | undefined
  /** The headers of the client that the vendor must know, such as the preview of the API that it speaks. */
  readonly headers: Readonly<Record<string, string>>
  /** Accepts the upgrade; undefined if the client has left. */
  readonly accept: () => AcceptedClient | undefined
}

export class Realtime extends Context.Service<
  Realtime,
  {
    /** Runs a session to its end. Fails only before the upgrade is accepted. */
    readonly run: (request: RealtimeRequest) => Effect.Effect<void, ServiceError | StoreUnavailable>
  }
>()("weir/kinds/realtime/Realtime") {
  static readonly layer = Layer.effect(
    Realtime,
    Effect.gen(function* () {
      const { services, open } = yield* Calls
      const overload = yield* Overload
      const vendorSockets = yield* VendorSockets
      const { realtimeIdleMs } = yield* WeirConfig
      const { sessions, catalogue, nowMs } = services

      const asked = (caller: Caller, plan: RealtimePlan) => ({ ...responseLimits(caller, plan), keyId: caller.keyId })

      /** A session counts among those that its caller may have at a time. */
      const enter = ({ caller, sessionId }: RealtimeRequest, plan: RealtimePlan) =>
        sessionId === undefined
          ? sessions.heartbeat(asked(caller, plan), caller, undefined)
          : Effect.as(sessions.admit(asked(caller, plan), caller, sessionId), sessionId)

      const run = Effect.fnUntraced(function* (
        request: RealtimeRequest,
      ): Effect.fn.Return<void, ServiceError | StoreUnavailable> {
        const { caller } = request
        yield* overload.check(open())
        const { model, protocol, opening } = request
        const any = yield* Effect.fromResult(makeRealtimePlan(model, protocol, caller, catalogue.current(), nowMs()))
        const plan = opening === undefined ? any : yield* planOf(any, opening)
        yield* asOneCall(services, caller, plan, runAs(request, plan))
      })

      const runAs = Effect.fnUntraced(function* (
        request: RealtimeRequest,
        plan: RealtimePlan,
      ): Effect.fn.Return<void, ServiceError | StoreUnavailable> {
        const { caller, requestId, protocol, opening, accept } = request
        const sessionId = yield* enter(request, plan)
        const renewed = { owner: caller.org.id, keyId: caller.keyId, rates: [] }
        const options = {
          services,
          requestId,
          protocol,
          caller,
          plan,
          sessionId,
          purpose: request.purpose ?? "realtime",
          models: [request.named, request.model],
          idleMs: realtimeIdleMs,
          again: request.again,
          renew: Effect.ignore(sessions.heartbeat(renewed, caller, sessionId)),
        }
        const money = new SessionMoney(services, options)
        const masking = maskingOf(caller, services.config.masterKey)
        const masks = masking && { masking, marks: new Marks(masking.key) }
        const opened = Effect.gen(function* () {
          const first = opening && (yield* reviewOpening(services, options, opening, money, masks))
          yield* money.cover()
          const vendor = yield* connectVendor(services, vendorSockets, plan, request.headers, first)
          const jobs = yield* Queue.unbounded<Job>()
          const client = accept()
          if (client === undefined) return vendor.socket.close()
          const session = new RealtimeSession(options, money, client.socket, vendor, jobs, masks)
          const ended = client.running(session)
          yield* Effect.ensuring(session.run, Effect.sync(ended))
        })
        // A session that was opened for it ends with it.
        const leave = request.sessionId === undefined ? Effect.ignore(sessions.archive(caller, sessionId)) : Effect.void
        yield* Effect.ensuring(opened, Effect.andThen(money.end("client_disconnected"), leave))
      })

      return Realtime.of({
        run: (request) =>
          Effect.tapError(run(request), (error) =>
            Effect.sync(() => reportRefusal(services, request, "realtime", toServiceError(error).code)),
          ),
      })
    }),
  )
}
