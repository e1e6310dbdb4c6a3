/**
 * A realtime session: an actor with two sockets and one hold a response. Frames pass as they come; what concerns money
 * or limits is a job, and jobs run one after the other. Source: sockets "Life and money of a realtime session".
 */
import { Effect, Exit, Queue } from "effect"
import { rateWindows } from "../../admission/rates.ts"
import type { CallServices, OpenSession } from "../../calls/services.ts"
import { tierTimeout } from "../../calls/vendor-errors.ts"
import type { Watch, Watched } from "../../deadlines.ts"
import { machineCode } from "../../dialects/faults.ts"
import { objectAt, parseObject, stringAt } from "../../dialects/json.ts"
import { chatError } from "../../dialects/openai-chat/client-reply.ts"
import {
  type ClientEvent,
  type EventRefusal,
  readClientEvent,
  type SessionLimits,
} from "../../dialects/openai-realtime/client-events.ts"
import { readVendorEvent, type VendorEvent } from "../../dialects/openai-realtime/vendor-events.ts"
import type { Caller } from "../../identity/caller.ts"
import { errorBody, errorStatus, type ServiceError, serviceError } from "../../protocol/error.ts"
import { fieldOf, invalidInput } from "../../protocol/issues.ts"
import type { Timeouts } from "../../protocol/timeout-tiers.ts"
import type { EstimatedReason } from "../../protocol/usage.ts"
import { contentBlocked } from "../../review/review.ts"
import { type StoreUnavailable, toServiceError } from "../../store/unavailable.ts"
import { logCause, withRequestId } from "../../telemetry/logs.ts"
import { recordRealtimeSeconds, recordTier, recordTierTimeout } from "../../telemetry/metrics.ts"
import { type ClientSocket, type ClosingCode, closing } from "../client-socket.ts"
import { shuttingDown } from "../open-sockets.ts"
import type { Reached } from "./connect.ts"
import { SessionMeter } from "./meter.ts"
import { transcriptUnits } from "./plan.ts"
import { type SessionFacts, SessionMoney } from "./session-money.ts"

/** What is done in a session's turn: one after the other. */
export type Job = Effect.Effect<void>

/** How a session ends. */
interface Ending {
  /** Why what was running is estimated. */
  readonly reason: EstimatedReason
  readonly code: ClosingCode
  readonly error?: ServiceError
}

export interface SessionOptions extends SessionFacts {
  readonly services: CallServices
  readonly requestId: string
  /** Names of its model that the client may use. */
  readonly models: ReadonlyArray<string>
  /** How long it may be without an event from either side. */
  readonly idleMs: number
  /** The caller as it is now: a key may have been revoked. */
  readonly again: Effect.Effect<Caller, ServiceError | StoreUnavailable>
  /** Renews it, as a session of its caller. */
  readonly renew: Effect.Effect<void>
}

export class RealtimeSession implements Watched {
  readonly money: SessionMoney
  readonly #options: SessionOptions
  readonly #services: CallServices
  readonly #meter = new SessionMeter()
  readonly #jobs: Queue.Queue<Job>
  #client: ClientSocket | undefined
  #vendor: Reached | undefined
  #limits: SessionLimits
  #timeouts: Timeouts | undefined
  #watch: Watch | undefined
  #beganMs = 0
  #lastEventMs = 0
  #renewedMs = 0
  #hasVendorEvent = false
  /** Why no hold could be made for the next response; it is tried once more when the client asks for one. */
  #short: ServiceError | undefined
  /** Jobs for which the client's later events wait. */
  #waits = 0
  #waiting: Array<Buffer> = []
  #isDraining = false
  #ending: Ending | undefined
  /** When the client has last taken something while some was waiting. */
  #takenBytes = 0
  #progressMs = 0
  /** What the vendor said, for policies that read it. */
  #said: Array<string> = []

  constructor(options: SessionOptions, jobs: Queue.Queue<Job>) {
    this.#options = options
    this.#jobs = jobs
    this.#services = options.services
    this.money = new SessionMoney(options.services, options, this.#meter)
    const { maxOutTokens, hasTools } = options.plan
    this.#limits = { models: options.models, maxOutTokens, hasTools, transcriptUnits: transcriptUnits(options.plan) }
  }

  /** Runs the session to its end; what was begun is settled, however it ends. */
  run(client: ClientSocket, vendor: Reached): Effect.Effect<void> {
    return Effect.uninterruptibleMask((restore) => {
      const loop = Effect.gen({ self: this }, function* () {
        this.#begin(client, vendor)
        while (this.#ending === undefined) yield* yield* restore(Queue.take(this.#jobs))
      })
      return Effect.onExit(loop, (exit) => {
        if (Exit.isFailure(exit)) this.#end({ reason: "gateway_lost", code: closing.restart })
        return this.#finished
      })
    })
  }

  #begin(client: ClientSocket, vendor: Reached): void {
    const { nowMs, deadlines, timeoutsOf, catalogue } = this.#services
    this.#client = client
    this.#vendor = vendor
    this.money.target = vendor.target
    this.#limits = { ...this.#limits, models: [...this.#limits.models, vendor.target.model] }
    this.#timeouts = timeoutsOf(catalogue.current(), vendor.target, this.#options.plan.entry)
    this.#beganMs = nowMs()
    this.#lastEventMs = this.#beganMs
    this.#renewedMs = this.#beganMs
    this.#progressMs = this.#beganMs
    this.#watch = deadlines.add(this, this.look(this.#beganMs))
    this.#services.sessionViews.add(this.#view)
    client.listen({
      message: (bytes) => this.#fromClient(bytes),
      room: () => this.#vendor?.socket.resume(),
      closed: () => this.#end({ reason: "client_disconnected", code: closing.normal }),
    })
    vendor.socket.listen({
      message: (bytes) => this.#fromVendor(bytes),
      room: () => {
        if (this.#waits === 0) this.#client?.resume()
      },
      closed: (code) => this.#vendorClosed(code),
    })
  }

  get #finished(): Effect.Effect<void> {
    return Effect.gen({ self: this }, function* () {
      const { services, requestId, caller } = this.#options
      const { reason = "gateway_lost", code = closing.internalError, error } = this.#ending ?? {}
      if (this.#watch !== undefined) services.deadlines.remove(this.#watch)
      services.sessionViews.delete(this.#view)
      this.#vendor?.socket.close()
      if (error !== undefined) {
        this.#tell(error)
        yield* withRequestId(requestId)(Effect.logInfo("A realtime session ended", { code: error.code }))
      }
      this.#client?.close(code, error?.code)
      // What the vendor has reported before the end is settled as reported.
      for (const job of yield* Queue.clear(this.#jobs)) yield* job
      yield* this.money.end(reason)
      recordRealtimeSeconds(services.context, "in", this.#meter.secondsIn)
      recordRealtimeSeconds(services.context, "out", this.#meter.secondsOut)
      const said = this.#said.join("\n")
      if (said !== "") yield* services.review.sample(caller.policies.outbound, () => said)
    })
  }

  readonly #view = (): OpenSession => {
    const { sessionId, caller, plan } = this.#options
    const { vendor, model } = this.#vendor?.target ?? {}
    return {
      id: sessionId,
      org: caller.org.id,
      app: caller.app?.id ?? "",
      key: caller.keyId,
      model: plan.handle,
      target: `${vendor?.id}/${model}`,
      startedAt: new Date(this.#beganMs).toISOString(),
      responses: this.money.ended,
      secondsIn: tenths(this.#meter.secondsIn),
      secondsOut: tenths(this.#meter.secondsOut),
    }
  }

  /** Takes nothing new, and ends when what runs has ended. */
  drain(): void {
    if (this.#isDraining) return
    this.#isDraining = true
    this.#client?.send(JSON.stringify({ type: "session.ending", event_id: this.#eventId(), retry: true }))
    this.#tell(shuttingDown(), undefined, { retry: true })
    this.#endIfDrained()
  }

  /** Ends now; what runs is settled. */
  endNow(): void {
    this.#end({ reason: "gateway_lost", code: closing.restart })
  }

  ping(): void {
    this.#client?.ping()
  }

  look(nowMs: number): number {
    const { idleMs, renew } = this.#options
    const timeouts = this.#timeouts
    if (timeouts === undefined || this.#ending !== undefined) return Number.POSITIVE_INFINITY
    const firstDueMs = this.#hasVendorEvent ? Number.POSITIVE_INFINITY : this.#beganMs + timeouts.ttfb
    const idleDueMs = this.#lastEventMs + idleMs
    const totalDueMs = this.#beganMs + timeouts.total
    const stallDueMs = this.#stallDueMs(nowMs)
    if (firstDueMs <= nowMs) this.#late("ttfb", timeouts.ttfb)
    else if (idleDueMs <= nowMs) this.#late("idle", idleMs)
    else if (totalDueMs <= nowMs) this.#late("total", timeouts.total)
    else if (stallDueMs <= nowMs)
      this.#end({ reason: "stream_backpressure", code: closing.policy, error: takesNothing() })
    if (this.#renewedMs + renewEveryMs <= nowMs) {
      this.#renewedMs = nowMs
      this.#do(renew)
    }
    return Math.min(firstDueMs, idleDueMs, totalDueMs, stallDueMs, nowMs + lookEveryMs)
  }

  #late(tier: "ttfb" | "idle" | "total", timeoutMs: number): void {
    const target = this.#vendor?.target
    if (target !== undefined) recordTierTimeout(this.#services.context, tier, target)
    this.#end({ reason: "upstream_timeout", code: closing.normal, error: tierTimeout(tier, timeoutMs) })
  }

  #stallDueMs(nowMs: number): number {
    const client = this.#client
    if (client === undefined || client.unsentBytes() === 0 || client.takenBytes() !== this.#takenBytes) {
      this.#progressMs = nowMs
      this.#takenBytes = client?.takenBytes() ?? 0
    }
    return this.#progressMs + this.#services.config.streamStallMs
  }

  #do(job: Job): void {
    Queue.offerUnsafe(this.#jobs, job)
  }

  /** Only the first reason counts. */
  #end(ending: Ending): void {
    if (this.#ending !== undefined) return
    this.#ending = ending
    this.#do(Effect.void)
  }

  // From the client

  #fromClient(bytes: Buffer): void {
    this.#lastEventMs = this.#services.nowMs()
    if (this.#waits > 0) this.#waiting.push(bytes)
    else this.#take(bytes)
  }

  #take(bytes: Buffer): void {
    if (this.#ending !== undefined) return
    const event = readClientEvent(bytes, this.#limits)
    switch (event.is) {
      case "refused":
        this.#refuse(event.refusal)
        return
      case "audio":
        this.#sendCovered(event.sent, () => this.#meter.audio(event.audioBytes))
        return
      case "added":
        if (event.mayAnswer) this.#sendCovered(event.sent, () => this.#meter.add(event.added))
        else this.#sendReviewed(event)
        return
      case "update":
      case "respond":
        this.#sendReviewed(event)
    }
  }

  /** What the vendor may answer by itself goes on while a response is covered. */
  #sendCovered(sent: string | Buffer, count: () => void): void {
    if (this.#isDraining) return
    const pass = () => {
      count()
      this.#toVendor(sent)
    }
    if (this.#short === undefined) pass()
    else this.#wait(Effect.map(this.#coverOrEnd(), (isCovered) => isCovered && pass()))
  }

  #sendReviewed(event: Extract<ClientEvent, { readonly is: "added" | "update" | "respond" }>): void {
    const { inbound } = this.#options.caller.policies
    const { words } = event.added
    if (inbound.length === 0 || words === "") {
      this.#sendAdmitted(event)
      return
    }
    const reviewed = Effect.map(
      this.#services.review.judge(inbound, () => words),
      (denial) => {
        if (denial === undefined) this.#sendAdmitted(event)
        else this.#tell(contentBlocked(denial), "eventId" in event ? event.eventId : undefined)
      },
    )
    this.#wait(reviewed)
  }

  #sendAdmitted(event: Extract<ClientEvent, { readonly is: "added" | "update" | "respond" }>): void {
    if (event.is === "respond") {
      this.#respond(event)
      return
    }
    this.#meter.add(event.added)
    if (event.is === "update") {
      const { maxOutTokens, inBytesPerSecond } = event
      if (maxOutTokens !== undefined) this.money.maxOutTokens = Math.min(maxOutTokens, this.#limits.maxOutTokens)
      if (inBytesPerSecond !== undefined) this.#meter.inBytesPerSecond = inBytesPerSecond
    }
    this.#toVendor(event.sent)
  }

  /** A response is asked for when it is admitted and held. */
  #respond({ added, sent, maxOutTokens, eventId }: Extract<ClientEvent, { readonly is: "respond" }>): void {
    if (this.#isDraining) {
      this.#tell(shuttingDown(), eventId)
      return
    }
    this.#meter.add(added)
    const begun = Effect.matchEffect(this.#admitted, {
      onSuccess: () =>
        Effect.map(this.#coverOrEnd(maxOutTokens), (isCovered) => {
          if (!isCovered) return
          this.money.promised++
          this.#toVendor(sent)
        }),
      onFailure: (error) => Effect.sync(() => this.#notAdmitted(error, eventId)),
    })
    this.#wait(begun)
  }

  /** Each response counts in the caller's rates. */
  get #admitted() {
    const { gate } = this.#services
    return Effect.flatMap(this.#options.again, (caller) =>
      gate.admit({ owner: caller.org.id, keyId: caller.keyId, rates: rateWindows(caller) }),
    )
  }

  /** A caller that is no longer one loses its session; one that is only too fast does not. */
  #notAdmitted(error: ServiceError | StoreUnavailable, eventId?: string): void {
    const known = toServiceError(error)
    const mayTryAgain = known.code === "rate_limited" || known.code === "internal_error"
    if (mayTryAgain) this.#tell(known, eventId)
    else this.#endShort(known)
  }

  /** @returns whether the next response is covered; if not, the session ends */
  #coverOrEnd(maxOutTokens?: number): Effect.Effect<boolean> {
    return Effect.match(this.money.cover(maxOutTokens), {
      onSuccess: () => {
        this.#short = undefined
        return true
      },
      onFailure: (error) => {
        this.#endShort(toServiceError(error))
        return false
      },
    })
  }

  #endShort(error: ServiceError): void {
    this.#end({ reason: "client_disconnected", code: closing.policy, error })
  }

  /** Runs a job before the client's later events. */
  #wait(job: Effect.Effect<unknown>): void {
    this.#waits++
    this.#client?.pause()
    const unlessOver = Effect.suspend(() => (this.#ending === undefined ? Effect.asVoid(job) : Effect.void))
    this.#do(
      Effect.ensuring(
        unlessOver,
        Effect.sync(() => this.#goOn()),
      ),
    )
  }

  #goOn(): void {
    this.#waits--
    while (this.#waits === 0) {
      const next = this.#waiting.shift()
      if (next === undefined) break
      this.#take(next)
    }
    if (this.#waits === 0) this.#client?.resume()
  }

  #toVendor(sent: string | Buffer): void {
    if (this.#vendor?.socket.send(sent) === false) this.#client?.pause()
  }

  #refuse({ message, param, eventId }: EventRefusal): void {
    this.#tell(
      param === undefined ? serviceError("bad_request", message) : invalidInput([{ path: param, message }]),
      eventId,
    )
  }

  // From the vendor

  #fromVendor(bytes: Buffer): void {
    if (this.#ending !== undefined) return
    const nowMs = this.#services.nowMs()
    this.#lastEventMs = nowMs
    if (!this.#hasVendorEvent) {
      this.#hasVendorEvent = true
      if (this.#vendor !== undefined)
        recordTier(this.#services.context, "ttfb", this.#vendor.target, nowMs - this.#beganMs)
    }
    const event = readVendorEvent(bytes)
    if (event.is === "malformed") {
      this.#vendorClosed(1007)
      return
    }
    const told = event.is === "error" && event.ofAccount ? withoutText(event.event) : bytes
    if (this.#client?.send(told) === false) this.#vendor?.socket.pause()
    this.#heed(event, bytes)
  }

  #heed(event: VendorEvent, bytes: Buffer): void {
    switch (event.is) {
      case "delta":
        this.money.output(event.responseId, event.audioBytes, event.textBytes)
        if (event.textBytes > 0 && this.#options.caller.policies.outbound.length > 0) this.#keepWords(bytes)
        return
      case "created":
        this.#begun(event.responseId)
        return
      case "done":
        this.#do(this.#settled(event))
        return
      case "session":
        if (event.inBytesPerSecond !== undefined) this.#meter.inBytesPerSecond = event.inBytesPerSecond
        if (event.outBytesPerSecond !== undefined) this.#meter.outBytesPerSecond = event.outBytesPerSecond
        return
      case "transcribed":
        this.#meter.transcribed(event.usage)
        if (this.money.owesTranscripts) this.#do(this.#transcriptsSettled())
        return
      case "error":
        // What was asked for last does not begin.
        this.money.promised = Math.max(0, this.money.promised - 1)
        this.#endIfDrained()
        return
      case "other":
      case "malformed":
    }
  }

  /** One that the vendor begins by itself is admitted and held now. */
  #begun(responseId: string): void {
    const wasAskedFor = this.money.promised > 0
    const isHeld = this.money.begin(responseId)
    if (wasAskedFor && isHeld) return
    const cancel = () => this.#toVendor(JSON.stringify({ type: "response.cancel", response_id: responseId }))
    const orCancel = <E>(step: Effect.Effect<unknown, E>, refused: (error: E) => void): Job =>
      Effect.match(step, {
        onSuccess: () => undefined,
        onFailure: (error) => {
          cancel()
          refused(error)
        },
      })
    if (!wasAskedFor) this.#do(orCancel(this.#admitted, (error) => this.#notAdmitted(error)))
    if (!isHeld) this.#do(orCancel(this.money.cover(), (error) => this.#endShort(toServiceError(error))))
  }

  /** Settles the response, and holds for the next. */
  #settled(event: Extract<VendorEvent, { readonly is: "done" }>): Job {
    // Its hold may be made by the job before.
    return Effect.suspend(() => this.money.settle(event.responseId, event)).pipe(
      Effect.andThen(this.#covered()),
      Effect.map(() => this.#endIfDrained()),
    )
  }

  #transcriptsSettled(): Job {
    return Effect.andThen(this.money.settleTranscripts(), this.#covered())
  }

  /** Holds for the next response; whether that failed is told when it is asked for. */
  #covered(): Job {
    const next = Effect.suspend(
      (): Effect.Effect<void, ServiceError | StoreUnavailable> =>
        this.#isDraining || this.#ending !== undefined ? Effect.void : this.money.cover(),
    )
    return Effect.catch(next, (error) =>
      Effect.map(logCause(toServiceError(error), this.#options.requestId), () => {
        this.#short = toServiceError(error)
      }),
    )
  }

  #endIfDrained(): void {
    if (this.#isDraining && this.money.isIdle) this.#end({ reason: "gateway_lost", code: closing.restart })
  }

  #vendorClosed(code: number): void {
    const isEnd = code === 1000 && this.money.isIdle
    this.#end({
      reason: "upstream_disconnected",
      code: isEnd ? closing.normal : closing.internalError,
      ...(!isEnd && { error: serviceError("upstream_disconnected", "The upstream closed the connection") }),
    })
  }

  #keepWords(bytes: Buffer): void {
    if (this.#said.length < mostWords) this.#said.push(wordsOf(bytes))
  }

  /** Tells an error of ours as the vendor tells its own. */
  #tell(error: ServiceError, eventId?: string, more: Readonly<Record<string, unknown>> = {}): void {
    const body = errorBody(error, this.#options.requestId)
    const { error: told } = chatError(body, errorStatus[error.code], fieldOf(error))
    const event = { type: "error", event_id: this.#eventId(), error: { ...told, event_id: eventId ?? null, ...more } }
    this.#client?.send(JSON.stringify(event))
  }

  #eventId(): string {
    return `event_${this.#options.requestId.slice("req_".length)}_${(++this.#told).toString(36)}`
  }
  #told = 0
}

const tenths = (seconds: number): number => Math.round(seconds * 10) / 10

const lookEveryMs = 5000
const renewEveryMs = 60_000
/** Parts of what was said that are kept for policies. */
const mostWords = 20_000

const takesNothing = () => serviceError("stream_backpressure", "The client did not read its events in time")

/** An error of the vendor's account: its text is for operators. */
const withoutText = (event: Extract<VendorEvent, { readonly is: "error" }>["event"]): string => {
  const error = objectAt(event, "error")
  return JSON.stringify({
    type: "error",
    event_id: stringAt(event, "event_id"),
    error: {
      type: machineCode(stringAt(error, "type")),
      code: machineCode(stringAt(error, "code")),
      message: "The upstream could not complete the request",
      param: null,
      event_id: stringAt(error, "event_id") ?? null,
    },
  })
}

const wordsOf = (bytes: Buffer): string => stringAt(parseObject(bytes.toString("utf8")), "delta") ?? ""
