/**
 * The vendor calls of an exchange: targets in order until one sends its first frame, then that one to its end, with the
 * four timeout tiers. A vendor's error text is logged and never sent to the client.
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
import type { TargetCoolingDown, TargetHealth, Verdict } from "../upstream/health.ts"
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

type AttemptError = ReadError | TargetCoolingDown

export interface Conversation {
  readonly client: VendorClient["Service"]
  readonly health: TargetHealth["Service"]
  readonly services: Context.Context<never>
  /** The request without the target's own name of the model. */
  readonly vendorRequest: Omit<VendorRequest, "model">
  /** In failover order. */
  readonly targets: ReadonlyArray<ModelTarget>
  readonly link: ClientLink
  readonly tally: Tally
  /** Maximum size of a reply, in bytes. */
  readonly maxReplyBytes: number
  readonly timeoutsOf: (target: ModelTarget) => Timeouts
  /** The deadlines of the conversation. */
  readonly watch: ConversationWatch
  /** Writes `t.open` and the warnings so far. */
  readonly opening: () => string
  /** Warnings for the client: of the plan, and of failovers. */
  readonly warnings: Array<WarnEvent>
  /** The current target. */
  target: ModelTarget | undefined
  /** Whether the first frame has arrived, which ends failover. */
  opened: boolean
  /** The time of each tier at the current target, in milliseconds. */
  readonly took: Partial<Record<Tier, number>>
}

/** Calls the targets in order until one reply is complete. */
export const converse = Effect.fnUntraced(function* (c: Conversation): Effect.fn.Return<void, ConversationError> {
  const error = yield* tryTargets(c, false)
  // If all targets are cooling down because of their breakers, call them anyway; a vendor's Retry-After is respected.
  const last = error?._tag === "TargetCoolingDown" ? yield* tryTargets(c, true) : error
  if (last !== undefined) return yield* collapse(last)
})

/** The error of the last call, or, if all targets are cooling down, the one whose cooldown ends first. */
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
    if (error?._tag !== "TargetCoolingDown") countChat(c, target, performance.now() - startedAt, error)
    if (error === undefined) return undefined
    if (error._tag !== "TargetCoolingDown") {
      countTimeout(c, target, error)
      yield* Effect.logWarning("An upstream call failed", { target: target.key, ...describe(error) })
    }
    worst = moreTelling(worst, error)
    if (c.opened || !isWorthFailover(error)) return error
  }
  return worst
})

/** Counts a call that a timeout tier ended. */
export const countTimeout = (c: Conversation, target: ModelTarget, error: object): void => {
  const tier = tierOf(error)
  if (tier !== undefined) recordTierTimeout(c.services, tier, target)
}

const noTarget: AttemptError = new VendorRejected({ status: 0, code: "no_target" })

/** The error of a call is more informative than a cooldown; of cooldowns, the one that ends first. */
const moreTelling = (known: AttemptError, error: AttemptError): AttemptError => {
  if (error._tag !== "TargetCoolingDown" || known === noTarget) return error
  return known._tag === "TargetCoolingDown" && error.untilMs < known.untilMs ? error : known
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
    .pipe(Effect.tapError((error) => coolDownAsAsked(c, target, error)))
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
  message: "Failover to another vendor before the first frame",
  detail: { from: from.vendor.id, to: to.vendor.id },
})

/** A vendor may send Retry-After with 429 and 5xx. */
const coolDownAsAsked = (c: Conversation, target: ModelTarget, error: AttemptError): Effect.Effect<void> => {
  if (error._tag !== "VendorRejected" || (error.status !== 429 && error.status < 500)) return Effect.void
  return error.retryAfterMs ? c.health.coolDown(target.key, error.retryAfterMs) : Effect.void
}

/** Calls a target and waits for its first frame. */
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

/** What the beginning of a call says about the target's health: any answer is healthy, even a refusal. */
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

/**
 * Whether another target may succeed: if the vendor is unreachable, slow, busy or broken. A refused request is final.
 */
const isWorthFailover = (error: AttemptError): boolean => {
  switch (error._tag) {
    case "UpstreamBroken":
      return !(error.cause instanceof EgressBlocked)
    case "TargetCoolingDown":
      return true
    case "VendorRejected":
      return error.status >= 500 || error.status === 429 || error.code === "credential_missing"
    case "ServiceError":
      return error.code !== "upstream_idle_timeout" && error.code !== "upstream_total_timeout"
  }
}

/** The error for the client: that the upstream refused, with its status, or that it disconnected. */
const collapse = (error: AttemptError): Effect.Effect<never, ConversationError> => {
  switch (error._tag) {
    case "VendorRejected":
      return Effect.fail(
        serviceError("upstream_error", "The upstream rejected the request", {
          detail: { upstreamStatus: error.status },
          retryAfterMs: error.retryAfterMs,
        }),
      )
    case "TargetCoolingDown":
      return Effect.flatMap(Clock.currentTimeMillis, (nowMs) =>
        Effect.fail(
          serviceError("upstream_error", "All targets are cooling down", {
            detail: { upstreamStatus: 429 },
            retryAfterMs: Math.max(1, error.untilMs - nowMs),
          }),
        ),
      )
    case "UpstreamBroken":
      if (error.cause instanceof EgressBlocked) return Effect.fail(egressBlocked(error.cause.reason))
      return Effect.fail(serviceError("upstream_disconnected", "The upstream closed the connection"))
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
    case "TargetCoolingDown":
      return { cooldown: error.cause }
    case "ServiceError":
      return { code: error.code }
  }
}
