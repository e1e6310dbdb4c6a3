/**
 * The vendor's side of an exchange: targets in their order until one sends its first frame, then that one to its end,
 * under the four tiers. Nothing of what a vendor says in an error goes further than the log.
 */
import { Clock, type Context, Effect, Exit, Option, Redacted, Result, type Scope } from "effect"
import type { ModelTarget } from "../catalogue/snapshot.ts"
import type { EncodeRefusal, VendorEvent, VendorRequest } from "../dialects/dialect.ts"
import { type ServiceError, serviceError } from "../protocol/error.ts"
import type { WarnEvent } from "../protocol/event.ts"
import type { Tier, Timeouts } from "../protocol/timeout-tiers.ts"
import { recordTier, recordTierLimits, recordTierTimeout } from "../telemetry/metrics.ts"
import { spanned, traceHeaders } from "../telemetry/tracing.ts"
import type { UpstreamCall, VendorClient } from "../upstream/client.ts"
import { EgressBlocked } from "../upstream/egress.ts"
import type { TargetHealth, TargetResting, Verdict } from "../upstream/health.ts"
import { egressBlocked } from "../upstream/upstream-keys.ts"
import { chatSpan, countChat } from "./chat-span.ts"
import type { ClientLink } from "./client-link.ts"
import { type ReadError, ReplyReader, VendorRejected } from "./reply-reader.ts"
import type { Tally } from "./tally.ts"
import { type TierTimeout, tierOf, withinTier } from "./tiers.ts"
import type { Watch } from "./watch.ts"

export type ConversationError =
  | TierTimeout
  | ServiceError<"upstream_error" | "upstream_disconnected" | "egress_blocked" | "bad_request">

export type ConversationWatch = Watch<TierTimeout | ServiceError<"stream_backpressure">>

type AttemptError = ReadError | TargetResting

export interface Conversation {
  readonly client: VendorClient["Service"]
  readonly health: TargetHealth["Service"]
  readonly services: Context.Context<never>
  /** Everything but the target's own name of the model. */
  readonly vendorRequest: Omit<VendorRequest, "model">
  /** In the order in which they are tried. */
  readonly targets: ReadonlyArray<ModelTarget>
  readonly link: ClientLink
  readonly tally: Tally
  /** The most that one reply may bring, in bytes. */
  readonly maxReplyBytes: number
  readonly timeoutsOf: (target: ModelTarget) => Timeouts
  /** The clocks that run beside it. */
  readonly watch: ConversationWatch
  /** Writes `t.open` and what comes with it. */
  readonly opening: () => string
  /** What the client is to be warned of: those of the plan, and failovers. */
  readonly warnings: Array<WarnEvent>
  /** The target now spoken to. */
  target: ModelTarget | undefined
  /** Whether a first frame has come: the end of failover. */
  opened: boolean
  /** What each tier took at the target that is spoken to, in milliseconds. */
  readonly took: Partial<Record<Tier, number>>
}

/** Speaks to the targets in order; ends when one reply is whole. */
export const converse = Effect.fnUntraced(function* (c: Conversation): Effect.fn.Return<void, ConversationError> {
  const error = yield* tryTargets(c, false)
  // Where nobody was asked because all rest, breakers yield: asking is better than not. A vendor's own wish stands.
  const last = error?._tag === "TargetResting" ? yield* tryTargets(c, true) : error
  if (last !== undefined) return yield* collapse(last)
})

/** The error of the last target that was called, or, where all rest, of the one that rests shortest. */
const tryTargets = Effect.fnUntraced(function* (
  c: Conversation,
  despiteBreaker: boolean,
): Effect.fn.Return<AttemptError | undefined> {
  let worst: AttemptError = noTarget
  for (const target of c.targets) {
    const startedAt = performance.now()
    const result = yield* Effect.scoped(attempt(c, target, despiteBreaker)).pipe(
      spanned(`chat ${target.model}`, () => chatSpan(c, target)),
      Effect.result,
    )
    const error = Result.isFailure(result) ? result.failure : undefined
    if (error?._tag !== "TargetResting") countChat(c, target, performance.now() - startedAt, error)
    if (error === undefined) return undefined
    if (error._tag !== "TargetResting") {
      countTimeout(c, target, error)
      yield* Effect.logWarning("An upstream call failed", { target: target.key, ...describe(error) })
    }
    worst = moreTelling(worst, error)
    if (c.opened || !isWorthFailover(error)) return error
  }
  return worst
})

/** Counts a call that one of its tiers ended. */
export const countTimeout = (c: Conversation, target: ModelTarget, error: object): void => {
  const tier = tierOf(error)
  if (tier !== undefined) recordTierTimeout(c.services, tier, target)
}

const noTarget: AttemptError = new VendorRejected({ status: 0, code: "no_target" })

/** A call that failed says more than a target that rests; of those, the one that rests shortest. */
const moreTelling = (known: AttemptError, error: AttemptError): AttemptError => {
  if (error._tag !== "TargetResting" || known === noTarget) return error
  return known._tag === "TargetResting" && error.untilMs < known.untilMs ? error : known
}

interface Opened {
  readonly call: UpstreamCall
  readonly reader: ReplyReader
  readonly first: ReadonlyArray<VendorEvent>
}

const attempt = Effect.fnUntraced(function* (
  c: Conversation,
  target: ModelTarget,
  despiteBreaker: boolean,
): Effect.fn.Return<void, AttemptError, Scope.Scope> {
  const clock = yield* Clock.Clock
  const startedAtMs = clock.currentTimeMillisUnsafe()
  c.target = target
  const { call, reader, first } = yield* c.health
    .begin(target.key, open(c, target, clock), { judge, despiteBreaker })
    .pipe(Effect.tapError((error) => restAsAsked(c, target, error)))
  c.opened = true
  const [preferred] = c.targets
  if (preferred !== undefined && preferred !== target) c.warnings.push(failoverWarning(preferred, target))
  if (c.vendorRequest.stream) c.link.write(c.opening())
  yield* reader.deliver(first)
  yield* reader.untilWhole.pipe(Effect.ensuring(Effect.sync(() => record(c, "idle", target, reader.longestGapMs))))
  call.leave()
  record(c, "total", target, clock.currentTimeMillisUnsafe() - startedAtMs)
})

const record = (c: Conversation, tier: Tier, target: ModelTarget, millis: number): void => {
  c.took[tier] = millis
  recordTier(c.services, tier, target, millis)
}

const failoverWarning = (from: ModelTarget, to: ModelTarget): WarnEvent => ({
  code: "vendor_failover",
  message: "The vendor was replaced before its first frame",
  detail: { from: from.vendor.id, to: to.vendor.id },
})

/** A vendor that is busy may say for how long. */
const restAsAsked = (c: Conversation, target: ModelTarget, error: AttemptError): Effect.Effect<void> => {
  if (error._tag !== "VendorRejected" || (error.status !== 429 && error.status < 500)) return Effect.void
  return error.retryAfterMs ? c.health.rest(target.key, error.retryAfterMs) : Effect.void
}

/** Calls a target, up to its first frame. */
const open = Effect.fnUntraced(function* (
  c: Conversation,
  target: ModelTarget,
  clock: Clock.Clock,
): Effect.fn.Return<Opened, ReadError, Scope.Scope> {
  const timeouts = c.timeoutsOf(target)
  recordTierLimits(c.services, target, timeouts)
  const startedAtMs = clock.currentTimeMillisUnsafe()
  const call = yield* openCall(c, target)
  yield* call.connected.pipe(withinTier("connect", timeouts))
  record(c, "connect", target, clock.currentTimeMillisUnsafe() - startedAtMs)

  const connectedAtMs = clock.currentTimeMillisUnsafe()
  const { link, tally } = c
  const streams = c.vendorRequest.stream
  const maxBytes = c.maxReplyBytes
  const { dialect } = target
  const reader = new ReplyReader({ call, dialect, link, tally, streams, timeouts, maxBytes, clock, watch: c.watch })
  const first = yield* reader.untilFirstFrame.pipe(withinTier("ttfb", timeouts))
  record(c, "ttfb", target, clock.currentTimeMillisUnsafe() - connectedAtMs)
  return { call, reader, first }
})

const openCall = Effect.fnUntraced(function* (c: Conversation, target: ModelTarget) {
  const { vendor, dialect, credential, model, isOwn, isGuarded } = target
  if ((isOwn || vendor.credential !== undefined) && credential === undefined) {
    return yield* new VendorRejected({ status: 401, code: "credential_missing" })
  }
  const wire = yield* Effect.mapError(Effect.fromResult(dialect.encode({ ...c.vendorRequest, model })), refused)
  const authorization = credential === undefined ? {} : dialect.authorize(Redacted.value(credential))
  const headers = { ...wire.headers, ...authorization, ...(yield* traceHeaders) }
  const { baseUrl } = vendor
  return yield* c.client.open({ baseUrl, path: wire.path, headers, body: wire.body, isGuarded })
})

const refused = ({ capability, message }: EncodeRefusal): ServiceError<"bad_request"> =>
  serviceError("bad_request", message, { detail: { capability } })

/** What the beginning of a call says of its target: an answer, even a refusal, is a sign of life. */
const judge = (exit: Exit.Exit<unknown, ReadError>): Verdict => {
  if (Exit.isSuccess(exit)) return "healthy"
  const error = Option.getOrUndefined(Exit.findErrorOption(exit))
  switch (error?._tag) {
    case "UpstreamBroken":
      return error.cause instanceof EgressBlocked ? "ignored" : "failing"
    case "VendorRejected":
      return error.status >= 500 ? "failing" : "ignored"
    case "ServiceError":
      return error.code === "bad_request" ? "ignored" : "failing"
    default:
      return "ignored"
  }
}

/** Another target may do better: the vendor is away, slow, busy or broken. Its judgement of the request is final. */
const isWorthFailover = (error: AttemptError): boolean => {
  switch (error._tag) {
    case "UpstreamBroken":
      return !(error.cause instanceof EgressBlocked)
    case "TargetResting":
      return true
    case "VendorRejected":
      return error.status >= 500 || error.status === 429 || error.code === "credential_missing"
    case "ServiceError":
      return error.code !== "upstream_idle_timeout" && error.code !== "upstream_total_timeout"
  }
}

/** What a client may know: that the upstream said no, and with which status; or that it went away. */
const collapse = (error: AttemptError): Effect.Effect<never, ConversationError> => {
  switch (error._tag) {
    case "VendorRejected":
      return Effect.fail(
        serviceError("upstream_error", "The upstream rejected the request", {
          detail: { upstreamStatus: error.status },
          retryAfterMs: error.retryAfterMs,
        }),
      )
    case "TargetResting":
      return Effect.flatMap(Clock.currentTimeMillis, (nowMs) =>
        Effect.fail(
          serviceError("upstream_error", "The upstream asked to be left alone for a while", {
            detail: { upstreamStatus: 429 },
            retryAfterMs: Math.max(1, error.untilMs - nowMs),
          }),
        ),
      )
    case "UpstreamBroken":
      if (error.cause instanceof EgressBlocked) return Effect.fail(egressBlocked(error.cause.reason))
      return Effect.fail(serviceError("upstream_disconnected", "The upstream dropped the connection"))
    case "ServiceError":
      return Effect.fail(error)
  }
}

const describe = (error: AttemptError): Record<string, unknown> => {
  switch (error._tag) {
    case "VendorRejected":
      return { status: error.status, code: error.code }
    case "UpstreamBroken":
      return { cause: error.cause instanceof Error ? error.cause.message : String(error.cause) }
    case "TargetResting":
      return { rests: error.cause }
    case "ServiceError":
      return { code: error.code }
  }
}
