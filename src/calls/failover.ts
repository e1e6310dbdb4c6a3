/** The vendor calls of a call: targets in order until one sends its first frame, then that one to its end. */
import { Effect, Exit, Option, Result } from "effect"
import type { CallTarget } from "../catalogue/snapshot.ts"
import { withRequestId } from "../telemetry/logs.ts"
import { recordShed, recordTierTimeout } from "../telemetry/metrics.ts"
import { spanned, traceHeaders } from "../telemetry/tracing.ts"
import { isShortage } from "../upstream/client.ts"
import type { Verdict } from "../upstream/health.ts"
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
export const converse = (c: Conversation): Effect.Effect<void, ConversationError | EndedEarly> =>
  tryTargets(c, false).pipe(
    // If all targets are cooling down because of their breakers, call them anyway; a vendor's Retry-After is respected.
    Effect.flatMap((error) => (error?._tag === "TargetCoolingDown" ? tryTargets(c, true) : Effect.succeed(error))),
    Effect.flatMap((last) => {
      c.failure = last
      return last === undefined ? Effect.void : Effect.fail(errorForClient(last, c.nowMs(), c.work.tellsCode))
    }),
  )

/** The error of the last call, or, if all targets are cooling down, the one whose cooldown ends first. */
const tryTargets = Effect.fnUntraced(function* (
  c: Conversation,
  despiteBreaker: boolean,
): Effect.fn.Return<AttemptError | undefined, EndedEarly> {
  let worst: AttemptError = noTarget
  for (const target of c.targets) {
    const isSuspect = !despiteBreaker && c.health.isSuspect(target.key)
    let error: AttemptError | undefined = c.health.coolingDown(target.key, despiteBreaker)
    if (error === undefined) {
      c.target = target
      const startedAt = performance.now()
      const { name, options } = c.work.span(target)
      if (c.work.prepare !== undefined) yield* c.work.prepare(target)
      const result = yield* call(c, target, isSuspect).pipe(spanned(name, options), Effect.result)
      const { reason } = c.signal
      if (reason !== undefined) {
        if (isTierTimeout(reason)) yield* report(c, target, reason, startedAt)
        return yield* Effect.fail(reason)
      }
      error = Result.isFailure(result) ? result.failure : undefined
      if (error?._tag !== "TargetCoolingDown") {
        c.work.record(target, performance.now() - startedAt, error)
        if (error === undefined) return undefined
        if (!c.opened) {
          const isUnknownToBreaker = !isSuspect && !despiteBreaker
          if (isUnknownToBreaker && verdictOf(error) === "failing") yield* c.health.failed(target.key)
          yield* coolDownAsAsked(c.health, target, error)
        }
        yield* report(c, target, error, startedAt)
      }
    }
    worst = moreTelling(worst, error)
    if (c.opened || !isWorthFailover(error, c.work.triesAfterRefusal)) return error
  }
  return worst
})

/** One target, to its end. The breaker of a target is asked only while its last calls failed. */
const call = (c: Conversation, target: CallTarget, isSuspect: boolean): Effect.Effect<void, AttemptError> =>
  Effect.flatMap(traceHeaders, (headers) => {
    const parts = c.work.partsAt?.(target) ?? 1
    const first = new UpstreamCall(c, target, headers, 0, parts)
    const judged = { judge: (exit: Exit.Exit<unknown, CallError>) => judge(c, exit), despiteBreaker: false }
    const over = isSuspect ? Effect.andThen(c.health.begin(target.key, first.opened, judged), first.over) : first.over
    return parts === 1 ? over : Effect.andThen(over, remainder(c, target, headers, parts))
  })

/** A request that is larger than a vendor takes at once is made in parts, one after the other. */
const remainder = Effect.fnUntraced(function* (
  c: Conversation,
  target: CallTarget,
  headers: Readonly<Record<string, string>>,
  parts: number,
): Effect.fn.Return<void, AttemptError> {
  for (let part = 1; part < parts && c.signal.reason === undefined; part++) {
    yield* new UpstreamCall(c, target, headers, part, parts).over
  }
})

const judge = (c: Conversation, exit: Exit.Exit<unknown, CallError>): Verdict => {
  if (c.signal.reason !== undefined) return "ignored"
  if (Exit.isSuccess(exit)) return "healthy"
  const error = Option.getOrUndefined(Exit.findErrorOption(exit))
  return error === undefined ? "ignored" : verdictOf(error)
}

/** @param startedAt when the call began, by `performance.now` */
const report = (c: Conversation, target: CallTarget, error: CallError, startedAt: number): Effect.Effect<void> => {
  const tookMs = Math.round(performance.now() - startedAt)
  const atMs = Math.max(0, Math.round(c.nowMs() - c.startedAtMs - tookMs))
  c.attempts.push({ vendor: target.vendor.id, model: target.model, atMs, tookMs, error: nameOf(error) })
  const tier = tierOf(error)
  if (tier !== undefined) recordTierTimeout(c.context, tier, target)
  if (error._tag === "UpstreamBroken" && isShortage(error)) recordShed(c.context, "files")
  // A request for which a target has no words says nothing of the target.
  const isUnfit = error._tag === "ServiceError" && error.code === "bad_request"
  const log = isUnfit
    ? Effect.logInfo("A target cannot be asked for this", { target: target.key, ...error.detail })
    : Effect.logWarning("An upstream call failed", { target: target.key, ...describe(error) })
  return withRequestId(c.requestId)(log)
}

const nameOf = (error: CallError): string => {
  if (error._tag === "UpstreamBroken") return "upstream_disconnected"
  if (error._tag === "ServiceError") return error.code
  return error.status > 0 ? `status ${error.status}` : error.code
}

/** A vendor may send Retry-After with 429 and 5xx. */
export const coolDownAsAsked = (
  health: Conversation["health"],
  target: CallTarget,
  error: CallError,
): Effect.Effect<void> => {
  if (error._tag !== "VendorRejected" || (error.status !== 429 && error.status < 500)) return Effect.void
  return error.retryAfterMs ? health.coolDown(target.key, error.retryAfterMs) : Effect.void
}

export const noTarget: AttemptError = new VendorRejected({ status: 0, code: "no_target" })

/** The error of a call is more informative than a cooldown; of cooldowns, the one that ends first. */
const moreTelling = (known: AttemptError, error: AttemptError): AttemptError => {
  if (error._tag !== "TargetCoolingDown" || known === noTarget) return error
  return known._tag === "TargetCoolingDown" && error.untilMs < known.untilMs ? error : known
}
