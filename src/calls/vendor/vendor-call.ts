/**
 * One call to one target: connection, head, first frame, then frames to the end, with the timeout tiers. Bytes are
 * pushed through from the vendor's socket; the call's fiber waits once, for the end. A vendor's error text is never
 * sent to the client.
 */
import { Effect, Result } from "effect"
import type { CallTarget } from "../../catalogue/snapshot.ts"
import type { Watched } from "../../deadlines.ts"
import { malformedReply, type VendorFault } from "../../dialects/vendor/faults.ts"
import { regionOfHead } from "../../dialects/vendor/region.ts"
import type { EncodeRefusal, SentRequest } from "../../dialects/wire.ts"
import { notStored } from "../../media/spooled-bytes.ts"
import { type ServiceError, serviceError } from "../../protocol/error.ts"
import type { WarnEvent } from "../../protocol/event.ts"
import { invalidInput } from "../../protocol/json/issues.ts"
import type { Tier, Timeouts } from "../../protocol/timeout-tiers.ts"
import { recordTier } from "../../telemetry/metrics.ts"
import {
  type ReplyListener,
  UpstreamBroken,
  type UpstreamHead,
  type UpstreamCall as Wire,
} from "../../upstream/client.ts"
import { withWait } from "../../upstream/retry-after.ts"
import type { Conversation } from "./conversation.ts"
import { authorizationOf, credentialMissing, lacksCredential } from "./credential.ts"
import { type CallError, tierOf, tierTimeout, VendorRejected } from "./errors.ts"
import { wholeBody } from "./whole-body.ts"
import type { Reader } from "./work.ts"

/** Maximum size of a whole reply, and of an error body. */
const maxBodyBytes = 32 * 1024 * 1024
const maxErrorBytes = 64 * 1024

/** The event that a call waits for. `body` and `refusal` are collected to their end. */
type Stage = "start" | "files" | "connection" | "head" | "first frame" | "frames" | "body" | "refusal" | "over"

export class VendorCall implements ReplyListener, Watched {
  readonly #conversation: Conversation
  readonly #target: CallTarget
  readonly #timeouts: Timeouts
  readonly #traceHeaders: Readonly<Record<string, string>>
  #stage: Stage = "start"
  #wire: Wire | undefined
  #head: UpstreamHead = { status: 0, headers: {} }
  #reader: Reader | undefined
  readonly #part: number
  readonly #parts: number
  /** The body of a refusal. */
  readonly #refused: Array<Uint8Array> = []
  #bytes = 0
  #startedAtMs = 0
  #connectedAtMs = 0
  #readAtMs = 0
  /** The time of the last read that a client could use. */
  #saidAtMs = 0
  /** The longest pause between two reads. */
  #longestGapMs = 0
  #clientIsSlow = false
  /** The work that must be done before more is read, e.g. a write to the disk. */
  #pause: Promise<unknown> | undefined
  /** Whether the reply has ended during that work. */
  #hasEnded = false
  #isOpened = false
  #error: CallError | undefined
  /** Notifies the waiter that the call has advanced. */
  #tell: (() => void) | undefined

  /** @param part the index of the part of a request that is made in parts */
  constructor(
    conversation: Conversation,
    target: CallTarget,
    traceHeaders: Readonly<Record<string, string>>,
    part = 0,
    parts = 1,
  ) {
    this.#conversation = conversation
    this.#target = target
    this.#timeouts = conversation.timeoutsOf(target)
    this.#traceHeaders = traceHeaders
    this.#part = part
    this.#parts = parts
  }

  /** Starts the call, and waits for its first frame, or until the call is ended. */
  get opened(): Effect.Effect<void, CallError> {
    return this.#until(() => this.#isOpened || this.#isOver())
  }

  /** Starts the call if that has not happened, and waits for its end, or until the call is ended. */
  get over(): Effect.Effect<void, CallError> {
    return this.#until(() => this.#isOver())
  }

  connected(): void {
    const { nowMs, lookBy } = this.#conversation
    this.#stage = "head"
    this.#connectedAtMs = nowMs()
    this.#readAtMs = this.#connectedAtMs
    this.#record("connect", this.#connectedAtMs - this.#startedAtMs)
    lookBy(this.#connectedAtMs + this.#timeouts.ttfb)
  }

  head(head: UpstreamHead): void {
    const { nowMs, lookBy, work } = this.#conversation
    this.#readAtMs = nowMs()
    this.#head = head
    this.#conversation.region = regionOfHead(head.headers)
    if (!(work.accepts?.(head.status) ?? head.status === 200)) {
      this.#stage = "refusal"
      return
    }
    // No compression was requested: a compressed reply is refused.
    if (isEncoded(head)) {
      this.#end(new VendorRejected({ status: 502, code: "unexpected_encoding", blame: "moment" }))
      return
    }
    this.#reader = work.reader(this.#target, head, this.#part)
    if (this.#reader.isStreamed) this.#stage = "first frame"
    else {
      this.#stage = "body"
      lookBy(this.#readAtMs + this.#timeouts.idle)
    }
  }

  bytes(bytes: Uint8Array): void {
    if (this.#isOver()) return
    const nowMs = this.#conversation.nowMs()
    if (nowMs - this.#readAtMs > this.#longestGapMs) this.#longestGapMs = nowMs - this.#readAtMs
    this.#readAtMs = nowMs
    const reader = this.#reader
    this.#bytes += bytes.length
    if (reader === undefined) {
      this.#refused.push(bytes)
      if (this.#bytes > maxErrorBytes) this.#end(this.#refusal(""))
      return
    }
    if (this.#stage === "body" && this.#bytes > this.#maxBodyBytes) {
      this.#end(new VendorRejected(malformedReply))
      return
    }
    const saysSomething = reader.read(bytes)
    if (saysSomething) this.#saidAtMs = nowMs
    if (reader.isStreamed) this.#take(reader, saysSomething, false)
    const written = reader.written?.()
    if (written !== undefined) this.#waitFor(written)
  }

  get #maxBodyBytes(): number {
    const { work, maxReplyBytes } = this.#conversation
    return Math.min(work.maxBodyBytes ?? maxBodyBytes, maxReplyBytes)
  }

  ended(): void {
    if (this.#isOver()) return
    if (this.#pause !== undefined) this.#hasEnded = true
    else if (this.#reader === undefined) this.#end(this.#refusal(wholeBody(this.#refused).toString("utf8")))
    else this.#take(this.#reader, this.#reader.readEnd(), true)
  }

  broken(error: UpstreamBroken): void {
    this.#end(error)
  }

  /**
   * Ends the call if a tier is exceeded.
   * @returns the time of the next check
   */
  look(nowMs: number): number {
    const [tier, dueMs] = this.#due()
    if (dueMs > nowMs) return dueMs
    this.#end(tierTimeout(tier, this.#timeouts[tier]))
    return Number.POSITIVE_INFINITY
  }

  /** The tier that ends first, and its time. */
  #due(): readonly [Tier, number] {
    const { connect, ttfb, idle } = this.#timeouts
    switch (this.#stage) {
      case "connection":
        return ["connect", this.#startedAtMs + connect]
      case "head":
      case "first frame":
      case "refusal":
        return ["ttfb", this.#connectedAtMs + ttfb]
      case "body":
        return this.#readAtMs + idle < this.#connectedAtMs + ttfb
          ? ["idle", this.#readAtMs + idle]
          : ["ttfb", this.#connectedAtMs + ttfb]
      case "frames":
        // Any byte resets the idle tier, including keep-alive comments; but without content the idle tier lasts at most twice as
        // long.
        return ["idle", this.#clientIsSlow ? Number.POSITIVE_INFINITY : this.#idleDueMs(idle)]
      case "start":
      case "files":
      case "over":
        return ["total", Number.POSITIVE_INFINITY]
    }
  }

  #idleDueMs(idle: number): number {
    return Math.min(this.#readAtMs + idle, this.#saidAtMs + 2 * idle)
  }

  #start(): void {
    const { files, context, nowMs } = this.#conversation
    this.#stage = "files"
    this.#startedAtMs = nowMs()
    const wire = this.#encode()
    if (Result.isFailure(wire)) {
      this.#end(wire.failure)
      return
    }
    const request = wire.success
    const naming = files?.named(this.#target, request)
    if (naming === undefined) {
      this.#connect(request)
      return
    }
    const connect = (named: SentRequest) => {
      if (this.#isOver()) return
      this.#conversation.namesFiles = named !== request
      this.#connect(named)
    }
    // The vendor has files of its own: it may take some time until they are there.
    Effect.runPromiseWith(context)(naming).then(connect, () => connect(request))
  }

  #connect(request: SentRequest): void {
    const { client, nowMs, lookBy } = this.#conversation
    this.#stage = "connection"
    this.#startedAtMs = nowMs()
    lookBy(this.#startedAtMs + this.#timeouts.connect)
    const authorization = authorizationOf(client, this.#target, request)
    if (!(authorization instanceof Promise)) {
      this.#send(request, authorization)
      return
    }
    authorization.then((headers) => {
      if (Result.isFailure(headers)) this.#end(headers.failure)
      else if (!this.#isOver()) this.#send(request, headers.success)
    })
  }

  #send({ method, path, headers, body }: SentRequest, authorization: Readonly<Record<string, string>>): void {
    const { vendor, isGuarded, network } = this.#target
    const started = this.#conversation.client.start(
      {
        ...(method !== undefined && { method }),
        baseUrl: vendor.baseUrl,
        path,
        headers: { ...headers, ...authorization, ...this.#traceHeaders },
        body,
        isGuarded,
        network,
      },
      this,
    )
    this.#wire = started
    // The call may have ended while it was started.
    if (this.#isOver()) started.abort()
  }

  #encode(): Result.Result<SentRequest, VendorRejected | ServiceError<"bad_request">> {
    if (lacksCredential(this.#target)) return Result.fail(credentialMissing)
    return Result.mapError(this.#conversation.work.encode(this.#target, this.#part), refused)
  }

  #isOver(): boolean {
    return this.#stage === "over"
  }

  /** Takes what a reader has read. */
  #take(reader: Reader, saysSomething: boolean, isEnd: boolean): void {
    if (this.#stage === "frames") this.#deliver(reader, false, isEnd)
    else if (saysSomething) this.#open(reader, isEnd)
    else if (isEnd) this.#end(disconnected())
  }

  /**
   * The first frame that a client could use has arrived, or the whole body. After the last part of the request there is no
   * other target.
   */
  #open(reader: Reader, isEnd: boolean): void {
    const c = this.#conversation
    const { fault } = reader
    if (fault !== undefined) {
      this.#end(this.#rejected(fault))
      return
    }
    this.#record("ttfb", c.nowMs() - this.#connectedAtMs)
    this.#stage = "frames"
    this.#saidAtMs = this.#readAtMs
    this.#isOpened = true
    if (this.#part === this.#parts - 1) {
      c.opened = true
      const [preferred] = c.targets
      if (preferred !== undefined && preferred !== this.#target) {
        c.work.warnings.push(failoverWarning(preferred, this.#target))
      }
    }
    this.#tell?.()
    this.#deliver(reader, true, isEnd)
    c.lookBy(this.#readAtMs + this.#timeouts.idle)
  }

  #deliver(reader: Reader, isFirst: boolean, isEnd: boolean): void {
    const { stream } = this.#conversation
    const delivered = reader.deliver(isFirst, isEnd)
    if (delivered === "whole") this.#end(undefined)
    else if (delivered !== "more") this.#end(this.#rejected(delivered))
    else if (isEnd) this.#end(disconnected())
    else if (stream?.hasRoom === false) this.#waitForClient()
  }

  /** Stops reading while too much waits for the client; the client's own deadline is the stall. */
  #waitForClient(): void {
    const { stream, nowMs, lookBy } = this.#conversation
    if (stream === undefined) return
    lookBy(stream.stall(nowMs()))
    if (!stream.isFull || this.#clientIsSlow) return
    this.#clientIsSlow = true
    this.#wire?.pause()
    const goOn = () => {
      this.#clientIsSlow = false
      this.#readAtMs = nowMs()
      this.#saidAtMs = this.#readAtMs
      lookBy(this.#readAtMs + this.#timeouts.idle)
      if (this.#pause === undefined) this.#wire?.resume()
    }
    stream.onRoom = goOn
  }

  /** Stops reading until that work is done. */
  #waitFor(written: Promise<unknown>): void {
    this.#wire?.pause()
    const all = Promise.all([this.#pause, written])
    this.#pause = all
    all.then(
      () => {
        // The read that was under way may have brought more.
        if (this.#pause !== all || this.#isOver()) return
        this.#pause = undefined
        this.#readAtMs = this.#conversation.nowMs()
        this.#saidAtMs = this.#readAtMs
        if (this.#hasEnded) this.ended()
        else if (!this.#clientIsSlow) this.#wire?.resume()
      },
      (cause: unknown) => this.#end(notStored("A reply", cause)),
    )
  }

  #refusal(body: string): VendorRejected {
    const { status, headers } = this.#head
    const fault = this.#target.dialect.decodeError(status, body)
    return this.#rejected(withWait(fault, headers, this.#conversation.nowMs()))
  }

  /** A fault with the client's own name of the field, or with no field. */
  #rejected({ field, mentioned = [], ...fault }: VendorFault): VendorRejected {
    const { work } = this.#conversation
    const named = fault.blame === "request" ? work.clientField?.(field, mentioned) : undefined
    return new VendorRejected(named === undefined ? fault : { ...fault, field: named })
  }

  /** @param error undefined if the reply is whole */
  #end(error: CallError | undefined): void {
    if (this.#isOver()) return
    if (error === undefined) this.#record("total", this.#conversation.nowMs() - this.#startedAtMs)
    this.#error = error
    this.#close(error === undefined)
  }

  #close(isWhole: boolean): void {
    if (this.#isOver()) return
    const { stream, signal } = this.#conversation
    const reason = this.#error ?? signal.reason
    // The length of a pause that the tier ended is not known.
    if (this.#isOpened && (reason === undefined || tierOf(reason) !== "idle")) this.#record("idle", this.#longestGapMs)
    this.#stage = "over"
    this.#conversation.call = undefined
    if (stream !== undefined) stream.onRoom = undefined
    if (isWhole) this.#wire?.leave()
    else this.#wire?.abort()
    this.#tell?.()
  }

  #record(tier: Tier, millis: number): void {
    const { took, context } = this.#conversation
    took[tier] = millis
    recordTier(context, tier, this.#target, millis)
  }

  /** Waits in one callback, which the vendor and the signal of the conversation complete. One waiter at a time. */
  #until(reached: () => boolean): Effect.Effect<void, CallError> {
    return Effect.callback((resume) => {
      const { signal } = this.#conversation
      const tell = () => {
        if (!reached()) return
        this.#tell = undefined
        signal.listen(undefined)
        resume(this.#error === undefined ? Effect.void : Effect.fail(this.#error))
      }
      this.#tell = tell
      signal.listen(() => this.#close(false))
      if (this.#stage === "start") {
        this.#conversation.call = this
        this.#start()
      }
      // A state that was reached before, or during the start, is reported now.
      this.#tell?.()
      return Effect.sync(() => {
        signal.listen(undefined)
        this.#close(false)
      })
    })
  }
}

const refused = ({ capability, message, issue }: EncodeRefusal): ServiceError<"bad_request"> =>
  issue === undefined ? serviceError("bad_request", message, { detail: { capability } }) : invalidInput([issue])

const isEncoded = ({ headers }: UpstreamHead): boolean => (headers["content-encoding"] ?? "identity") !== "identity"

const disconnected = () => new UpstreamBroken({ cause: "the reply ended before it was whole" })

const failoverWarning = (from: CallTarget, to: CallTarget): WarnEvent => ({
  code: "vendor_failover",
  message: "Failover to another vendor before the first frame",
  detail: { from: from.vendor.id, to: to.vendor.id },
})
