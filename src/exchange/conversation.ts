/**
 * The vendor's side of an exchange: targets in failover order until one sends its first frame, then that one to its
 * end, under the four tiers. Nothing of what a vendor says in an error goes further than the log.
 */
import { Clock, type Context, Data, Effect, Redacted, Result, type Scope } from "effect"
import type { ModelTarget } from "../catalogue/snapshot.ts"
import { type ServiceError, serviceError } from "../protocol/error.ts"
import type { WarnEvent } from "../protocol/event.ts"
import { recordTier } from "../telemetry.ts"
import { UpstreamBroken, type UpstreamCall, type UpstreamHead, type VendorClient } from "../vendor/client.ts"
import { type Decoder, type Dialect, malformed, type VendorEvent } from "../vendor/dialects/dialect.ts"
import type { ClientLink } from "./client-link.ts"
import type { Plan } from "./plan.ts"
import { silence } from "./silence.ts"
import type { Tally } from "./tally.ts"
import { type TierTimeout, type Timeouts, tierTimeout, withinTier } from "./tiers.ts"

/** The vendor answered, and said no. */
class VendorRejected extends Data.TaggedError("VendorRejected")<{ readonly status: number; readonly code: string }> {}

export type ConversationError = TierTimeout | ServiceError<"upstream_error" | "upstream_disconnected" | "bad_request">

type AttemptError = TierTimeout | VendorRejected | UpstreamBroken | ServiceError<"bad_request">

export interface Conversation {
  readonly client: VendorClient["Service"]
  readonly services: Context.Context<never>
  readonly plan: Plan
  readonly link: ClientLink
  readonly tally: Tally
  readonly timeoutsOf: (target: ModelTarget) => Timeouts
  /** Writes `t.open` and what comes with it. */
  readonly opening: () => string
  /** What the client is to be warned of: those of the plan, and failovers. */
  readonly warnings: Array<WarnEvent>
  /** The target now spoken to. */
  target: ModelTarget | undefined
  /** Whether a first frame has come: the end of failover. */
  opened: boolean
}

/** Speaks to the targets in order; ends when one reply is whole. */
export const converse = Effect.fnUntraced(function* (c: Conversation): Effect.fn.Return<void, ConversationError> {
  const { targets } = c.plan.entry
  for (const [at, target] of targets.entries()) {
    c.target = target
    const result = yield* Effect.result(Effect.scoped(attempt(c, target)))
    if (Result.isSuccess(result)) return
    const error = result.failure
    yield* Effect.logWarning("An upstream call failed", { vendor: target.vendor.id, ...describe(error) })
    if (c.opened || at === targets.length - 1 || !isWorthFailover(error)) return yield* collapse(error)
    const detail = { from: target.vendor.id, to: targets[at + 1]?.vendor.id ?? "" }
    c.warnings.push({ code: "vendor_failover", message: "The vendor was replaced before its first frame", detail })
  }
  return yield* serviceError("upstream_error", "This model has no vendor at the moment", {
    detail: { upstreamStatus: 0 },
  })
})

const attempt = Effect.fnUntraced(function* (
  c: Conversation,
  target: ModelTarget,
): Effect.fn.Return<void, AttemptError, Scope.Scope> {
  const { dialect } = target
  const timeouts = c.timeoutsOf(target)
  const clock = yield* Clock.Clock
  const record = (tier: keyof Timeouts, sinceMs: number) =>
    recordTier(c.services, tier, target.vendor.id, clock.currentTimeMillisUnsafe() - sinceMs)

  const startedAtMs = clock.currentTimeMillisUnsafe()
  const call = yield* openCall(c, target, dialect)
  yield* call.connected.pipe(withinTier("connect", timeouts))
  record("connect", startedAtMs)

  const connectedAtMs = clock.currentTimeMillisUnsafe()
  const reader = new Reader(c, call, dialect, timeouts, clock)
  const first = yield* reader.untilFirstFrame.pipe(withinTier("ttfb", timeouts))
  record("ttfb", connectedAtMs)

  c.opened = true
  if (c.plan.vendorRequest.stream) c.link.write(c.opening())
  yield* reader.deliver(first)
  yield* reader.untilWhole.pipe(
    Effect.ensuring(Effect.sync(() => recordTier(c.services, "idle", target.vendor.id, reader.longestGapMs))),
  )
  call.leave()
  record("total", startedAtMs)
})

const openCall = Effect.fnUntraced(function* (c: Conversation, target: ModelTarget, dialect: Dialect) {
  const { vendor, credential, model } = target
  if (vendor.credential !== undefined && credential === undefined) {
    return yield* new VendorRejected({ status: 401, code: "credential_missing" })
  }
  const wire = yield* Effect.fromResult(dialect.encode({ ...c.plan.vendorRequest, model })).pipe(
    Effect.mapError(({ capability, message }) => serviceError("bad_request", message, { detail: { capability } })),
  )
  const headers =
    credential === undefined ? wire.headers : { ...wire.headers, ...dialect.authorize(Redacted.value(credential)) }
  return yield* c.client.open({ baseUrl: vendor.baseUrl, path: wire.path, headers, body: wire.body })
})

/** The largest whole reply, and the most that is read of an error. */
const maxBodyBytes = 32 * 1024 * 1024
const maxErrorBytes = 64 * 1024

/** Reads one call, a socket read at a time, and hands events to the client as they come. */
class Reader {
  readonly #c: Conversation
  readonly #call: UpstreamCall
  readonly #dialect: Dialect
  readonly #timeouts: Timeouts
  readonly #clock: Clock.Clock
  #streamDecoder: Decoder | undefined
  #readAtMs: number
  #clientIsSlow = false
  #atEnd = false
  longestGapMs = 0

  constructor(c: Conversation, call: UpstreamCall, dialect: Dialect, timeouts: Timeouts, clock: Clock.Clock) {
    this.#c = c
    this.#call = call
    this.#dialect = dialect
    this.#timeouts = timeouts
    this.#clock = clock
    this.#readAtMs = clock.currentTimeMillisUnsafe()
  }

  /** The events up to and with the first frame; of a reply that is not streamed, all of them. */
  get untilFirstFrame(): Effect.Effect<ReadonlyArray<VendorEvent>, AttemptError> {
    return Effect.flatMap(this.#call.head, (head) => {
      this.#readAtMs = this.#clock.currentTimeMillisUnsafe()
      if (head.status !== 200) return this.#rejection(head)
      return isEventStream(head) ? this.#firstFrame() : this.#wholeBody()
    }).pipe(Effect.filterOrElse((events) => events[0]?.kind !== "fault", rejectedBy))
  }

  /** Reads on until the vendor's terminal event, or an end after its stop. */
  get untilWhole(): Effect.Effect<void, AttemptError> {
    const { tally } = this.#c
    if (tally.done) return Effect.void
    if (this.#atEnd) return tally.stop === undefined ? disconnected : Effect.void
    return Effect.raceFirst(this.#pump(), this.#idle())
  }

  /** Counts events and writes them to the client; a fault ends the reply. */
  deliver(events: ReadonlyArray<VendorEvent>): Effect.Effect<void, VendorRejected> {
    const { link, tally, plan } = this.#c
    let text = ""
    let fault: VendorRejected | undefined
    for (const event of events) {
      tally.add(event)
      if (event.kind === "delta" && plan.vendorRequest.stream) text += link.events.delta(event.delta)
      if (event.kind === "fault") {
        fault = new VendorRejected(event.fault)
        break
      }
    }
    if (text !== "") link.write(text)
    return fault === undefined ? Effect.void : Effect.fail(fault)
  }

  readonly #pump = Effect.fnUntraced(
    function* (this: Reader): Effect.fn.Return<void, AttemptError> {
      const { link, tally } = this.#c
      while (!tally.done) {
        if (link.queue.isFull) {
          // The idle clock stands still while it is the client that is slow.
          this.#clientIsSlow = true
          yield* link.queue.room
          this.#clientIsSlow = false
          this.#readAtMs = this.#clock.currentTimeMillisUnsafe()
        }
        yield* this.deliver(yield* this.#next())
        if (this.#atEnd && !tally.done) return tally.stop === undefined ? yield* disconnected : undefined
      }
    }.bind(this),
  )

  /** Made when it is first needed: a whole reply has no use for it. */
  get #decoder(): Decoder {
    this.#streamDecoder ??= this.#dialect.decoder()
    return this.#streamDecoder
  }

  /** The next events; none where bytes came that complete no frame. */
  #next(): Effect.Effect<ReadonlyArray<VendorEvent>, UpstreamBroken> {
    return Effect.map(this.#read(), (bytes) => (bytes === undefined ? this.#decoder.end() : this.#decoder.push(bytes)))
  }

  #read(): Effect.Effect<Uint8Array | undefined, UpstreamBroken> {
    return Effect.map(this.#call.read, (bytes) => {
      const nowMs = this.#clock.currentTimeMillisUnsafe()
      this.longestGapMs = Math.max(this.longestGapMs, nowMs - this.#readAtMs)
      this.#readAtMs = nowMs
      this.#atEnd = bytes === undefined
      return bytes
    })
  }

  /** Any byte is a sign of life: keep-alive comments reset this tier, though they are no frames. */
  #idle(): Effect.Effect<never, TierTimeout> {
    const sinceMs = () => (this.#clientIsSlow ? this.#clock.currentTimeMillisUnsafe() : this.#readAtMs)
    return Effect.flatMap(silence(sinceMs, this.#timeouts.idle), () =>
      Effect.fail(tierTimeout("idle", this.#timeouts.idle)),
    )
  }

  readonly #firstFrame = Effect.fnUntraced(
    function* (this: Reader): Effect.fn.Return<ReadonlyArray<VendorEvent>, AttemptError> {
      while (true) {
        const events = yield* this.#next()
        if (this.#decoder.frames() > 0 || events.length > 0) return events
        if (this.#atEnd) return yield* disconnected
      }
    }.bind(this),
  )

  #wholeBody(): Effect.Effect<ReadonlyArray<VendorEvent>, AttemptError> {
    return Effect.map(Effect.raceFirst(this.#collect(maxBodyBytes), this.#idle()), (body) =>
      body === undefined ? [malformed] : this.#dialect.decodeBody(body),
    )
  }

  #rejection({ status }: UpstreamHead): Effect.Effect<never, AttemptError> {
    return Effect.flatMap(this.#collect(maxErrorBytes), (body) =>
      Effect.fail(new VendorRejected(this.#dialect.decodeError(status, body ?? ""))),
    )
  }

  /** The rest of the body as text; undefined where it is larger than the limit. */
  readonly #collect = Effect.fnUntraced(
    function* (this: Reader, limit: number): Effect.fn.Return<string | undefined, UpstreamBroken> {
      const chunks: Array<Uint8Array> = []
      let bytes = 0
      while (bytes <= limit) {
        const chunk = yield* this.#read()
        if (chunk === undefined) return Buffer.concat(chunks).toString("utf8")
        chunks.push(chunk)
        bytes += chunk.length
      }
      return undefined
    }.bind(this),
  )
}

const isEventStream = ({ headers }: UpstreamHead): boolean =>
  headers["content-type"]?.startsWith("text/event-stream") === true

const disconnected = Effect.fail(new UpstreamBroken({ cause: "the reply ended before it was whole" }))

const rejectedBy = ([first]: ReadonlyArray<VendorEvent>): Effect.Effect<never, VendorRejected> =>
  Effect.fail(new VendorRejected(first?.kind === "fault" ? first.fault : { status: 502, code: "malformed_reply" }))

/** Another target may do better: the vendor is away, slow, busy or broken. Its judgement of the request is final. */
const isWorthFailover = (error: AttemptError): boolean => {
  switch (error._tag) {
    case "UpstreamBroken":
      return true
    case "VendorRejected":
      return error.status >= 500 || error.status === 429 || error.code === "credential_missing"
    case "ServiceError":
      return error.code === "upstream_connect_timeout" || error.code === "upstream_ttfb_timeout"
  }
}

/** What a client may know: that the upstream said no, and with which status; or that it went away. */
const collapse = (error: AttemptError): ConversationError => {
  switch (error._tag) {
    case "VendorRejected":
      return serviceError("upstream_error", "The upstream rejected the request", {
        detail: { upstreamStatus: error.status },
      })
    case "UpstreamBroken":
      return serviceError("upstream_disconnected", "The upstream dropped the connection")
    case "ServiceError":
      return error
  }
}

const describe = (error: AttemptError): Record<string, unknown> => {
  switch (error._tag) {
    case "VendorRejected":
      return { status: error.status, code: error.code }
    case "UpstreamBroken":
      return { cause: error.cause instanceof Error ? error.cause.message : String(error.cause) }
    case "ServiceError":
      return { code: error.code }
  }
}
