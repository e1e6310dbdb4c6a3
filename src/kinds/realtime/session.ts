/**
 * A realtime session: an actor with two sockets and one hold a response. Frames are forwarded as they arrive; each step that
 * concerns money or limits is a job of its mailbox.
 */
import { Effect, Exit, type Queue } from "effect"
import { callerView, targetView } from "../../calls/call-view.ts"
import { reviewAboutOf } from "../../calls/review-about.ts"
import type { OpenSession } from "../../calls/services.ts"
import { noteDenial } from "../../calls/settle/report.ts"
import { closing } from "../../protocol/closing-code.ts"
import { withRequestId } from "../../telemetry/logs.ts"
import { recordRealtimeSeconds } from "../../telemetry/metrics.ts"
import { ClientSide, type SessionMasks } from "./client-side.ts"
import type { Reached } from "./connect.ts"
import { sealHandle } from "./handles.ts"
import { type Job, Mailbox } from "./mailbox.ts"
import { Responses } from "./responses.ts"
import { SessionDeadlines } from "./session-deadlines.ts"
import type { SessionMoney } from "./session-money.ts"
import type { SessionOptions } from "./session-options.ts"
import type { SessionParts } from "./session-parts.ts"
import { type ClientConnection, SocketPair } from "./sockets.ts"
import { VendorSide } from "./vendor-side.ts"

/** A session whose client and vendor are connected. */
export class RealtimeSession {
  readonly #parts: SessionParts
  readonly #reached: Reached
  readonly #responses: Responses
  readonly #clientSide: ClientSide
  readonly #vendorSide: VendorSide

  /**
   * @param money with a hold for the first response
   * @param masks undefined if nothing is masked
   */
  constructor(
    options: SessionOptions,
    money: SessionMoney,
    client: ClientConnection,
    reached: Reached,
    jobs: Queue.Queue<Job>,
    masks: SessionMasks | undefined,
  ) {
    const { caller, services, requestId, protocol } = options
    const denied = { caller, requestId, model: options.plan.handle }
    const mailbox = new Mailbox(jobs)
    this.#parts = {
      options,
      sockets: new SocketPair(client, reached.socket),
      mailbox,
      meter: money.meter,
      money,
      own: protocol.makeOwnMessages({ client, requestId, end: (ending) => mailbox.end(ending) }),
      deadlines: new SessionDeadlines(options, reached.target, client, mailbox),
      about: reviewAboutOf(services, caller),
      noteDenial: (denial, at) => noteDenial(services.denials, denied, denial, at),
    }
    this.#reached = reached
    this.#responses = new Responses(this.#parts)
    this.#clientSide = new ClientSide(this.#parts, this.#responses, reached.target.model, masks)
    const seal = sealHandle(services.sealer, caller, reached.target, () => money.meter.conversationTokens)
    this.#vendorSide = new VendorSide(this.#parts, this.#responses, masks?.marks, seal)
    money.target = reached.target
  }

  /** Runs the session to its end; responses that have begun are settled, however it ends. */
  get run(): Effect.Effect<void> {
    return Effect.uninterruptibleMask((restore) => {
      const { mailbox } = this.#parts
      this.#listen()
      return Effect.onExit(mailbox.run(restore), (exit) => {
        if (Exit.isFailure(exit)) this.endNow()
        return this.#finished
      })
    })
  }

  /** Takes no new responses, and ends when the running ones have ended. */
  drain(): void {
    const { mailbox, own } = this.#parts
    if (mailbox.isDraining) return
    mailbox.isDraining = true
    own.draining()
    this.#vendorSide.settle()
    this.#responses.endIfDrained()
  }

  /** Ends now; running responses are settled. */
  endNow(): void {
    this.#parts.mailbox.end({ reason: "gateway_lost", code: closing.restart })
  }

  #listen(): void {
    const { options, sockets, mailbox, deadlines, own } = this.#parts
    const { client, vendor } = sockets
    deadlines.begin({ quiet: () => this.#vendorSide.settle(), leaving: (leftMs) => own.leaving(leftMs) })
    options.services.sessionViews.add(this.#view)
    client.listen({
      message: (bytes) => this.#clientSide.take(bytes),
      room: () => vendor.resume(),
      closed: () => mailbox.end({ reason: "client_disconnected", code: closing.normal }),
    })
    vendor.listen({
      message: (bytes) => this.#vendorSide.take(bytes),
      room: () => this.#clientSide.resume(),
      closed: (code) => this.#vendorSide.closed(code),
    })
  }

  get #finished(): Effect.Effect<void> {
    return Effect.gen({ self: this }, function* () {
      const { options, sockets, mailbox, meter, money, own, deadlines, about } = this.#parts
      const { services, requestId } = options
      const { reason = "gateway_lost", code = closing.internalError, error } = mailbox.ending ?? {}
      deadlines.end()
      services.sessionViews.delete(this.#view)
      sockets.vendor.close()
      const ended = own.ending(code, error)
      if (error !== undefined) {
        yield* withRequestId(requestId)(Effect.logInfo("A realtime session ended", { code: error.code }))
      }
      sockets.client.close(ended.code, ended.reason)
      this.#vendorSide.settle(true)
      // Usage that the vendor has reported before the end is settled as reported.
      yield* mailbox.rest
      yield* money.end(reason)
      recordRealtimeSeconds(services.context, "in", meter.secondsIn)
      recordRealtimeSeconds(services.context, "out", meter.secondsOut)
      const { said, sampled } = this.#vendorSide
      if (said !== "") yield* services.review.sample(sampled, () => Effect.succeed(said), about)
    })
  }

  readonly #view = (): OpenSession => {
    const { options, meter, money, deadlines } = this.#parts
    return {
      id: options.sessionId,
      ...callerView(options.caller),
      model: options.plan.handle,
      target: targetView(this.#reached.target),
      startedAt: new Date(deadlines.beganMs).toISOString(),
      responses: money.ended,
      secondsIn: tenths(meter.secondsIn),
      secondsOut: tenths(meter.secondsOut),
    }
  }
}

const tenths = (seconds: number): number => Math.round(seconds * 10) / 10
