/** The vendor calls of an exchange: targets in order until one sends its first frame, then that one to its end. */
import { Effect, Exit, Option, Result } from "effect"
import type { ModelTarget } from "../catalogue/snapshot.ts"
import { withRequestId } from "../telemetry/logs.ts"
import { recordTierTimeout } from "../telemetry/metrics.ts"
import { spanned, traceHeaders } from "../telemetry/tracing.ts"
import type { Verdict } from "../upstream/health.ts"
import { chatSpan, countChat } from "./chat-span.ts"
import type { Conversation, EndedEarly } from "./conversation.ts"
import { UpstreamCall } from "./upstream-call.ts"
import {
  type AttemptError,
  type CallError,
  type ConversationError,
  describe,
  errorForClient,
  isTierTimeout,
  isWorthFailover,
  tierOf,
  VendorRejected,
  verdictOf,
} from "./vendor-errors.ts"

/** Calls the targets in order until one reply is complete. */
export const converse = Effect.fnUntraced(function* (
  c: Conversation,
): Effect.fn.Return<void, ConversationError | EndedEarly> {
  const error = yield* tryTargets(c, false)
  // If all targets are cooling down because of their breakers, call them anyway; a vendor's Retry-After is respected.
  const last = error?._tag === "TargetCoolingDown" ? yield* tryTargets(c, true) : error
  if (last !== undefined) return yield* Effect.fail(errorForClient(last, c.nowMs()))
})

/** The error of the last call, or, if all targets are cooling down, the one whose cooldown ends first. */
const tryTargets = Effect.fnUntraced(function* (
  c: Conversation,
  despiteBreaker: boolean,
): Effect.fn.Return<AttemptError | undefined, EndedEarly> {
  let worst: AttemptError = noTarget
  for (const target of c.targets) {
    const error = c.health.coolingDown(target.key, despiteBreaker) ?? (yield* attempt(c, target, despiteBreaker))
    if (error === undefined) return undefined
    worst = moreTelling(worst, error)
    if (c.opened || !isWorthFailover(error)) return error
  }
  return worst
})

const attempt = Effect.fnUntraced(function* (
  c: Conversation,
  target: ModelTarget,
  despiteBreaker: boolean,
): Effect.fn.Return<AttemptError | undefined, EndedEarly> {
  c.target = target
  const startedAt = performance.now()
  const result = yield* call(c, target, despiteBreaker).pipe(
    spanned(`chat ${target.model}`, () => chatSpan(c, target)),
    Effect.result,
  )
  const { reason } = c.signal
  if (reason !== undefined) {
    if (isTierTimeout(reason)) yield* report(c, target, reason)
    return yield* Effect.fail(reason)
  }
  const error = Result.isFailure(result) ? result.failure : undefined
  if (error?._tag === "TargetCoolingDown") return error
  countChat(c, target, performance.now() - startedAt, error)
  if (error === undefined) return undefined
  if (!c.opened) yield* coolDownAsAsked(c, target, error)
  yield* report(c, target, error)
  return error
})

/** The health of a target is asked about only while its last calls failed. */
const call = Effect.fnUntraced(function* (
  c: Conversation,
  target: ModelTarget,
  despiteBreaker: boolean,
): Effect.fn.Return<void, AttemptError> {
  const upstream = new UpstreamCall(c, target, yield* traceHeaders)
  if (despiteBreaker) return yield* upstream.over
  if (c.health.isSuspect(target.key)) {
    yield* c.health.begin(target.key, upstream.opened, { judge: (exit) => judge(c, exit), despiteBreaker })
    return yield* upstream.over
  }
  const exit = yield* Effect.exit(upstream.over)
  if (!c.opened && judge(c, exit) === "failing") yield* c.health.failed(target.key)
  return yield* exit
})

const judge = (c: Conversation, exit: Exit.Exit<unknown, CallError>): Verdict => {
  if (c.signal.reason !== undefined) return "ignored"
  if (Exit.isSuccess(exit)) return "healthy"
  const error = Option.getOrUndefined(Exit.findErrorOption(exit))
  return error === undefined ? "ignored" : verdictOf(error)
}

const report = (c: Conversation, target: ModelTarget, error: CallError): Effect.Effect<void> => {
  const tier = tierOf(error)
  if (tier !== undefined) recordTierTimeout(c.context, tier, target)
  const log = Effect.logWarning("An upstream call failed", { target: target.key, ...describe(error) })
  return withRequestId(c.requestId)(log)
}

/** A vendor may send Retry-After with 429 and 5xx. */
const coolDownAsAsked = (c: Conversation, target: ModelTarget, error: CallError): Effect.Effect<void> => {
  if (error._tag !== "VendorRejected" || (error.status !== 429 && error.status < 500)) return Effect.void
  return error.retryAfterMs ? c.health.coolDown(target.key, error.retryAfterMs) : Effect.void
}

const noTarget: AttemptError = new VendorRejected({ status: 0, code: "no_target" })

/** The error of a call is more informative than a cooldown; of cooldowns, the one that ends first. */
const moreTelling = (known: AttemptError, error: AttemptError): AttemptError => {
  if (error._tag !== "TargetCoolingDown" || known === noTarget) return error
  return known._tag === "TargetCoolingDown" && error.untilMs < known.untilMs ? error : known
}
